package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
)

// CreateTopics (v0-6): makes topics. They are durable, and ready, when they are answered.
//
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST.
//   - -1 partitions are the broker's default. A replication factor is 1, or -1 for the default, which is 1: more is
//     INVALID_REPLICATION_FACTOR. With partitions assigned by hand both are -1, the partitions are 0 to n-1, and the one
//     replica of each is this broker; else INVALID_REPLICA_ASSIGNMENT.
//   - INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG say why else not, and the message
//     (v1) says what is allowed. KAFKA_STORAGE_ERROR: the disk refused, and the topic is not there.
//   - The timeout is not used: there is nobody to wait for.
//   - v1 adds validate_only, with which nothing is made, v5 tells partitions, replicas and settings of what was made, and
//     is flexible.
func handleCreateTopics(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	twice := repeated(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	answered := make(map[string]bool)
	room := c.broker.newPartitions()
	for i := range req.Topics {
		t := &req.Topics[i]
		if answered[t.Topic] {
			continue
		}
		answered[t.Topic] = true
		made, err := topicShape{}, errRepeated
		if !twice[t.Topic] {
			made, err = c.broker.createTopic(t, room, req.ValidateOnly)
		}
		resp.Topics = append(resp.Topics, c.broker.createdTopic(t.Topic, made, err))
	}
	return respond(resp, correlation)
}

// topicShape is what a topic is made with.
type topicShape struct {
	partitions int32
	settings   logdir.Settings
}

func (b *Broker) createTopic(t *kmsg.CreateTopicsRequestTopic, room *newPartitions, validateOnly bool) (shape topicShape, err error) {
	if err := logdir.ValidTopic(t.Topic); err != nil {
		return shape, err
	}
	if _, ok := b.options.Dir.Topic(t.Topic); ok {
		return shape, logdir.ErrExists
	}
	if shape.partitions, err = b.partitionsOf(t); err != nil {
		return shape, err
	}
	if shape.settings, err = newSettings(t.Configs); err != nil {
		return shape, err
	}
	if err := b.checkSettings(shape.settings); err != nil {
		return shape, err
	}
	if err := room.take(shape.partitions); err != nil || validateOnly {
		return shape, err
	}
	return shape, b.options.Dir.Create(t.Topic, shape.partitions, shape.settings)
}

// partitionsOf is how many partitions a request wants for a topic.
func (b *Broker) partitionsOf(t *kmsg.CreateTopicsRequestTopic) (int32, error) {
	if len(t.ReplicaAssignment) > 0 {
		return b.assignedPartitions(t)
	}
	switch r := t.ReplicationFactor; {
	case r > 1:
		return 0, refused(kerr.InvalidReplicationFactor, "replication factor %d, allowed is only 1: there is no replication", r)
	case r != 1 && r != -1:
		return 0, refused(kerr.InvalidReplicationFactor, "replication factor %d, allowed is 1, or -1 for the default", r)
	}
	switch n := t.NumPartitions; {
	case n == -1:
		return b.options.Partitions, nil
	case n < 1:
		return 0, refused(kerr.InvalidPartitions, "%d partitions, allowed is at least 1, or -1 for the default", n)
	default:
		return n, nil
	}
}

func (b *Broker) assignedPartitions(t *kmsg.CreateTopicsRequestTopic) (int32, error) {
	if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
		return 0, refused(kerr.InvalidRequest, "%d partitions and replication factor %d beside an assignment, allowed are -1 and -1",
			t.NumPartitions, t.ReplicationFactor)
	}
	assigned := t.ReplicaAssignment
	slices.SortFunc(assigned, func(x, y kmsg.CreateTopicsRequestTopicReplicaAssignment) int {
		return int(int64(x.Partition) - int64(y.Partition))
	})
	for i := range assigned {
		if p := assigned[i].Partition; int(p) != i {
			return 0, refused(kerr.InvalidReplicaAssignment, "partition %d among %d assigned, allowed is each of 0 to %d once",
				p, len(assigned), len(assigned)-1)
		}
		if err := b.onlyHere(int32(i), assigned[i].Replicas); err != nil {
			return 0, err
		}
	}
	return int32(len(assigned)), nil
}

func newSettings(configs []kmsg.CreateTopicsRequestTopicConfig) (logdir.Settings, error) {
	s := make(logdir.Settings, len(configs))
	for i := range configs {
		name, value := configs[i].Name, configs[i].Value
		if value == nil {
			return nil, refused(kerr.InvalidConfig, "setting %s: no value", name)
		}
		if _, again := s[name]; again {
			return nil, refused(kerr.InvalidConfig, "setting %s: set more than once", name)
		}
		s[name] = *value
	}
	return s, nil
}

func (b *Broker) createdTopic(name string, made topicShape, err error) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic = name
	if err != nil {
		out.ErrorCode, out.ErrorMessage = b.verdict("create", name, err)
		return out
	}
	out.NumPartitions, out.ReplicationFactor = made.partitions, 1
	for _, s := range b.topicSettings(made.settings) {
		config := kmsg.NewCreateTopicsResponseTopicConfig()
		config.Name, config.Value, config.Source = s.name, &s.value, int8(s.source())
		out.Configs = append(out.Configs, config)
	}
	return out
}
