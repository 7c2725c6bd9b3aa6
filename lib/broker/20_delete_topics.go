package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteTopics (v0-5): removes topics with all their records. They are gone for good when they are answered.
//
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST.
//   - Fetches that wait for the topic's records, and produces that wait for their flush, are answered at once with
//     UNKNOWN_TOPIC_OR_PARTITION, as is everything after.
//   - UNKNOWN_TOPIC_OR_PARTITION for a topic that is not there, KAFKA_STORAGE_ERROR when the disk refused: then the topic
//     is still there.
//   - The timeout is not used. v4 is flexible, v5 adds error messages.
func handleDeleteTopics(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	twice := repeated(req.TopicNames, func(name *string) string { return *name })
	answered := make(map[string]bool)
	for _, name := range req.TopicNames {
		if answered[name] {
			continue
		}
		answered[name] = true
		err := errRepeated
		if !twice[name] {
			err = c.broker.deleteTopic(name)
		}
		topic := kmsg.NewDeleteTopicsResponseTopic()
		topic.Topic = &name
		topic.ErrorCode, topic.ErrorMessage = c.broker.verdict("delete", name, err)
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) deleteTopic(name string) error {
	err := b.options.Dir.Delete(name)
	if err == nil {
		b.logger.Info("topic deleted", "topic", name)
	}
	return err
}
