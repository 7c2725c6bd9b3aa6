package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions (v0-3): gives topics more partitions. They are durable when they are answered, and those of this
// broker are ready.
//
//   - The count of a topic is what it has afterwards. One that is not higher than before is INVALID_PARTITIONS; there is
//     no way back.
//   - They are spread evenly over the brokers that are there. An assignment by hand has one list for each partition to be
//     made, of one broker that is there: else INVALID_REPLICA_ASSIGNMENT.
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST. Besides UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION and KAFKA_STORAGE_ERROR.
//   - With validate_only nothing is made. The timeout is that of CreateTopics. v2 is flexible.
func handleCreatePartitions(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	room := c.broker.newPartitions()
	for t, err := range once(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic }) {
		if err == nil {
			err = c.broker.createPartitions(t, room, req.ValidateOnly, req.TimeoutMillis)
		}
		topic := kmsg.NewCreatePartitionsResponseTopic()
		topic.Topic = t.Topic
		topic.ErrorCode, topic.ErrorMessage = c.broker.verdict("create partitions", t.Topic, err)
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) createPartitions(t *kmsg.CreatePartitionsRequestTopic, room *newPartitions, validateOnly bool, timeout int32) error {
	topic, err := b.topicNamed(t.Topic)
	if err != nil {
		return err
	}
	has := int32(len(topic.Replicas))
	if t.Count <= has {
		return refused(kerr.InvalidPartitions, "number of partitions %d: it has %d, only more are possible", t.Count, has)
	}
	more := t.Count - has
	if t.Assignment != nil && len(t.Assignment) != int(more) {
		return refused(kerr.InvalidReplicaAssignment, "%d assignments for %d more partitions", len(t.Assignment), more)
	}
	for i := range t.Assignment {
		if err := b.oneBroker(has+int32(i), t.Assignment[i].Replicas); err != nil {
			return err
		}
	}
	if err := room.take(int(more)); err != nil || validateOnly {
		return err
	}
	added, err := b.member.Spread(int(more))
	if err != nil {
		return err
	}
	for i := range t.Assignment {
		added[i] = t.Assignment[i].Replicas
	}
	ctx, cancel := b.coordinating(timeout)
	defer cancel()
	return b.member.AddPartitions(ctx, topic, added)
}
