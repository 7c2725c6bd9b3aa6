package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// CreateTopics (v0-6): makes topics. They are durable when they are answered, and partitions of this broker are ready.
//
//   - Each topic is answered by itself, in the order of the request; one that is named twice is refused once, with
//     INVALID_REQUEST.
//   - -1 partitions are the broker's default. A replication factor is 1, or -1 for the default, which is 1: more is
//     INVALID_REPLICATION_FACTOR. Partitions are spread evenly over the brokers that are there. With partitions assigned
//     by hand both are -1, the partitions are 0 to n-1, and the one replica of each is a broker that is there; else
//     INVALID_REPLICA_ASSIGNMENT.
//   - INVALID_TOPIC_EXCEPTION, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG say why else not, and the message
//     (v1) says what is allowed. KAFKA_STORAGE_ERROR: the disk refused, and the topic is not there.
//   - The timeout bounds, within limits, how long ZooKeeper may take: REQUEST_TIMED_OUT, and the topic may be there.
//   - v1 adds validate_only, with which nothing is made, v5 tells partitions, replicas and settings of what was made, and
//     is flexible.
func handleCreateTopics(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	room := c.broker.newPartitions()
	for t, err := range once(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic }) {
		var made topicShape
		if err == nil {
			made, err = c.broker.createTopic(t, room, req.ValidateOnly, req.TimeoutMillis)
		}
		resp.Topics = append(resp.Topics, c.broker.createdTopic(t.Topic, made, err))
	}
	return respond(resp, correlation)
}

// topicShape is what a topic is made with.
type topicShape struct {
	replicas [][]int32 // of each partition
	settings logdir.Settings
}

func (b *Broker) createTopic(t *kmsg.CreateTopicsRequestTopic, room *newPartitions, validateOnly bool, timeout int32) (shape topicShape, err error) {
	if err := logdir.ValidTopic(t.Topic); err != nil {
		return shape, err
	}
	if _, known := b.member.Cluster().Topics[t.Topic]; known {
		return shape, registry.ErrTopicExists
	}
	if shape.replicas, err = b.replicasOf(t, room); err != nil {
		return shape, err
	}
	if shape.settings, err = newSettings(t.Configs); err != nil {
		return shape, err
	}
	if err := b.checkSettings(shape.settings); err != nil {
		return shape, err
	}
	if err := room.take(len(shape.replicas)); err != nil || validateOnly {
		return shape, err
	}
	ctx, cancel := b.coordinating(timeout)
	defer cancel()
	_, err = b.member.CreateTopic(ctx, t.Topic, shape.replicas, shape.settings)
	return shape, err
}

// replicasOf is which partitions a request wants for a topic, and where.
func (b *Broker) replicasOf(t *kmsg.CreateTopicsRequestTopic, room *newPartitions) ([][]int32, error) {
	if len(t.ReplicaAssignment) > 0 {
		return b.assignedReplicas(t)
	}
	switch r := t.ReplicationFactor; {
	case r > 1:
		return nil, refused(kerr.InvalidReplicationFactor, "replication factor %d, allowed is only 1: there is no replication", r)
	case r != 1 && r != -1:
		return nil, refused(kerr.InvalidReplicationFactor, "replication factor %d, allowed is 1, or -1 for the default", r)
	}
	switch n := t.NumPartitions; {
	case n == -1:
		return b.member.Spread(int(b.options.Partitions))
	case n < 1:
		return nil, refused(kerr.InvalidPartitions, "%d partitions, allowed is at least 1, or -1 for the default", n)
	case n > room.left:
		return nil, room.take(int(n))
	default:
		return b.member.Spread(int(n))
	}
}

func (b *Broker) assignedReplicas(t *kmsg.CreateTopicsRequestTopic) ([][]int32, error) {
	if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
		return nil, refused(kerr.InvalidRequest, "%d partitions and replication factor %d beside an assignment, allowed are -1 and -1",
			t.NumPartitions, t.ReplicationFactor)
	}
	assigned := t.ReplicaAssignment
	slices.SortFunc(assigned, func(x, y kmsg.CreateTopicsRequestTopicReplicaAssignment) int {
		return int(int64(x.Partition) - int64(y.Partition))
	})
	replicas := make([][]int32, len(assigned))
	for i := range assigned {
		if p := assigned[i].Partition; int(p) != i {
			return nil, refused(kerr.InvalidReplicaAssignment, "partition %d among %d assigned, allowed is each of 0 to %d once",
				p, len(assigned), len(assigned)-1)
		}
		if err := b.oneBroker(int32(i), assigned[i].Replicas); err != nil {
			return nil, err
		}
		replicas[i] = assigned[i].Replicas
	}
	return replicas, nil
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
	out.NumPartitions, out.ReplicationFactor = int32(len(made.replicas)), 1
	for _, s := range b.topicSettings(made.settings) {
		config := kmsg.NewCreateTopicsResponseTopicConfig()
		config.Name, config.Value, config.Source = s.name, &s.value, int8(s.source())
		out.Configs = append(out.Configs, config)
	}
	return out
}
