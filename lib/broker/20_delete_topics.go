package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// DeleteTopics (v0-5): removes topics with all their records. They are gone for good when they are answered: what other
// brokers have of them, also brokers that are not there, they remove when they learn it.
//
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST.
//   - Fetches that wait for the topic's records, and produces that wait for their flush, are answered at once with
//     UNKNOWN_TOPIC_OR_PARTITION, as is everything after.
//   - UNKNOWN_TOPIC_OR_PARTITION for a topic that is not there. KAFKA_STORAGE_ERROR: the topic is gone, but this broker's
//     disk refused to remove its partitions, which is tried again.
//   - The timeout bounds, within limits, how long ZooKeeper may take: REQUEST_TIMED_OUT, and the topic may be gone.
//   - v4 is flexible, v5 adds error messages.
func handleDeleteTopics(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	for name, err := range once(req.TopicNames, func(name *string) string { return *name }) {
		if err == nil {
			err = c.broker.deleteTopic(*name, req.TimeoutMillis)
		}
		topic := kmsg.NewDeleteTopicsResponseTopic()
		topic.Topic = name
		topic.ErrorCode, topic.ErrorMessage = c.broker.verdict("delete", *name, err)
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) deleteTopic(name string, timeout int32) error {
	t, err := b.topicNamed(name)
	if illegal := (*logdir.TopicNameError)(nil); errors.As(err, &illegal) {
		return registry.ErrNoTopic
	}
	if err != nil {
		return err
	}
	ctx, cancel := b.coordinating(timeout)
	defer cancel()
	err = b.member.DeleteTopic(ctx, t)
	if err == nil {
		b.logger.Info("topic deleted", "topic", name)
	}
	return err
}
