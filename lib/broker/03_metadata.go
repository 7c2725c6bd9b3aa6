package broker

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/registry"
)

// Metadata (v0-9): the brokers, and where the partitions of topics are.
//
//   - The brokers are those that are registered, and this one. It names itself as the controller too, so that admin
//     clients work: there is no master, and any broker may be asked to change topics.
//   - All topics are asked for by an empty list in v0, and by null from v1 on, where an empty list asks for none. One that
//     is named more than once is answered once, as in Kafka: an answer is no larger than all that there is to tell.
//   - A partition whose broker is not there, or cannot open it, has no leader: LEADER_NOT_AVAILABLE, and its replica is
//     offline (v5).
//   - A topic that is not there is created when the broker allows it and the request does: always in v0-3, and as it
//     says from v4 on. Otherwise UNKNOWN_TOPIC_OR_PARTITION; before that is said of a topic that this broker has not
//     heard of, it looks it up. A name that no topic may have is INVALID_TOPIC_EXCEPTION either way. One request makes no
//     more partitions than CreateTopics: LEADER_NOT_AVAILABLE for the rest, and clients ask again.
//   - v1 adds the controller, v2 the cluster id, v5 offline replicas, v7 the leader epoch, which is 0. v8 adds
//     authorized operations, which are not told, v9 is flexible.
func handleMetadata(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	b := c.broker
	req := request.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)

	brokers := b.brokers()
	for _, known := range brokers {
		out := kmsg.NewMetadataResponseBroker()
		out.NodeID, out.Host, out.Port = known.ID, known.Host, known.Port
		resp.Brokers = append(resp.Brokers, out)
	}
	resp.ControllerID = b.id()
	resp.ClusterID = kmsg.StringPtr(b.member.ClusterID())

	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		topics := b.member.Cluster().Topics
		for _, name := range slices.Sorted(maps.Keys(topics)) {
			resp.Topics = append(resp.Topics, b.describeTopic(topics[name], brokers))
		}
		return respond(resp, correlation)
	}
	var room *newPartitions // nil: no topic is created
	if b.options.AutoCreate && (req.Version < 4 || req.AllowAutoTopicCreation) {
		room = b.newPartitions()
	}
	answered := make(map[string]bool)
	for _, asked := range req.Topics {
		if asked.Topic == nil {
			return nil, badFrame("Metadata v%d for a topic without a name", req.Version)
		}
		if answered[*asked.Topic] {
			continue
		}
		answered[*asked.Topic] = true
		t, err := b.findTopic(*asked.Topic, room)
		if err != nil {
			resp.Topics = append(resp.Topics, b.failTopic(*asked.Topic, err))
			continue
		}
		resp.Topics = append(resp.Topics, b.describeTopic(t, brokers))
	}
	return respond(resp, correlation)
}

// brokers are those that are there, sorted by id.
func (b *Broker) brokers() []registry.Broker {
	return slices.SortedFunc(maps.Values(b.member.Brokers()), func(x, y registry.Broker) int { return cmp.Compare(x.ID, y.ID) })
}

// findTopic returns a topic, which it creates where it is not there and room is not nil.
func (b *Broker) findTopic(name string, room *newPartitions) (registry.Topic, error) {
	if t, known := b.member.Cluster().Topics[name]; known {
		return t, nil
	}
	if err := logdir.ValidTopic(name); err != nil {
		return registry.Topic{}, err
	}
	t, err := b.topicNamed(name)
	if err == nil || room == nil || !errors.Is(err, registry.ErrNoTopic) {
		return t, err
	}
	if err := room.take(int(b.options.Partitions)); err != nil {
		return t, errors.Join(errMadeLater, err)
	}
	ctx, cancel := b.coordinating(0)
	defer cancel()
	replicas, err := b.member.Spread(int(b.options.Partitions))
	if err != nil {
		return t, err
	}
	t, err = b.member.CreateTopic(ctx, name, replicas, nil)
	if errors.Is(err, registry.ErrTopicExists) {
		return b.topicNamed(name)
	}
	return t, err
}

// errMadeLater refuses to create more topics for one request. The client asks again, and finds those that there are by then.
var errMadeLater = errors.New("not created yet")

func (b *Broker) failTopic(name string, err error) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = &name
	topic.ErrorCode, _ = b.verdict("create", name, err)
	if errors.Is(err, commitlog.ErrClosed) || errors.Is(err, registry.ErrClosed) ||
		errors.Is(err, registry.ErrTopicDeleted) || errors.Is(err, errMadeLater) {
		topic.ErrorCode = kerr.LeaderNotAvailable.Code // tried again by all clients
	}
	return topic
}

func (b *Broker) describeTopic(t registry.Topic, brokers []registry.Broker) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = &t.Name
	for number, replicas := range t.Replicas {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(number), replicas[0], leaderEpoch
		if replicas[0] == registry.NoBroker {
			replicas = nil
		}
		p.Replicas, p.ISR = replicas, replicas
		if !b.isServed(t, p.Partition, brokers) {
			p.ErrorCode = kerr.LeaderNotAvailable.Code
			p.Leader, p.LeaderEpoch, p.OfflineReplicas = -1, -1, replicas
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	return topic
}

// isServed tells whether a partition has a leader, as far as this broker knows.
func (b *Broker) isServed(t registry.Topic, number int32, brokers []registry.Broker) bool {
	if b.member.Leads(t, number) {
		_, ok := b.member.Log(t.Name, number)
		return ok
	}
	_, there := slices.BinarySearchFunc(brokers, t.Replicas[number][0], func(known registry.Broker, id int32) int {
		return cmp.Compare(known.ID, id)
	})
	return there
}
