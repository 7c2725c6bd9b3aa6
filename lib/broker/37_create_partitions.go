package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions (v0-3): gives topics more partitions. They are durable, and ready, when they are answered.
//
//   - The count of a topic is what it has afterwards. One that is not higher than before is INVALID_PARTITIONS; there is
//     no way back.
//   - An assignment by hand has one list for each partition to be made, of this broker alone: else
//     INVALID_REPLICA_ASSIGNMENT.
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST. Besides UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION and KAFKA_STORAGE_ERROR.
//   - With validate_only nothing is made. The timeout is not used. v2 is flexible.
func handleCreatePartitions(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	twice := repeated(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	answered := make(map[string]bool)
	room := c.broker.newPartitions()
	for i := range req.Topics {
		t := &req.Topics[i]
		if answered[t.Topic] {
			continue
		}
		answered[t.Topic] = true
		err := errRepeated
		if !twice[t.Topic] {
			err = c.broker.createPartitions(t, room, req.ValidateOnly)
		}
		topic := kmsg.NewCreatePartitionsResponseTopic()
		topic.Topic = t.Topic
		topic.ErrorCode, topic.ErrorMessage = c.broker.verdict("create partitions", t.Topic, err)
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) createPartitions(t *kmsg.CreatePartitionsRequestTopic, room *newPartitions, validateOnly bool) error {
	topic, err := b.topicNamed(t.Topic)
	if err != nil {
		return err
	}
	if t.Count <= topic.Partitions {
		return refused(kerr.InvalidPartitions, "%d partitions, it has %d: only more are possible", t.Count, topic.Partitions)
	}
	more := t.Count - topic.Partitions
	if t.Assignment != nil && len(t.Assignment) != int(more) {
		return refused(kerr.InvalidReplicaAssignment, "%d assignments for %d more partitions", len(t.Assignment), more)
	}
	for i := range t.Assignment {
		if err := b.onlyHere(topic.Partitions+int32(i), t.Assignment[i].Replicas); err != nil {
			return err
		}
	}
	if err := room.take(more); err != nil || validateOnly {
		return err
	}
	return b.options.Dir.AddPartitions(t.Topic, t.Count)
}
