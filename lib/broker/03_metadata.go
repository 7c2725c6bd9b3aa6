package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
)

// Metadata (v0-9): the brokers, and where the partitions of topics are.
//
//   - There is one broker, which names itself as the controller too, so that admin clients work.
//   - All topics are asked for by an empty list in v0, and by null from v1 on, where an empty list asks for none.
//   - A topic that is not there is created when the broker allows it and the request does: always in v0-3, and as it
//     says from v4 on. It is ready on return. Otherwise UNKNOWN_TOPIC_OR_PARTITION. A name that no topic may have is
//     INVALID_TOPIC_EXCEPTION either way.
//   - v1 adds the controller, v2 the cluster id, v5 offline replicas, v7 the leader epoch, which is 0. v8 adds
//     authorized operations, which are not told, v9 is flexible.
func handleMetadata(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	b := c.broker
	req := request.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)

	self := kmsg.NewMetadataResponseBroker()
	self.NodeID, self.Host, self.Port = b.options.NodeID, b.advertised.host, b.advertised.port
	resp.Brokers = []kmsg.MetadataResponseBroker{self}
	resp.ControllerID = b.options.NodeID
	resp.ClusterID = kmsg.StringPtr(b.options.Dir.ClusterID())

	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range b.options.Dir.Topics() {
			resp.Topics = append(resp.Topics, b.describeTopic(t))
		}
		return respond(resp, correlation)
	}
	create := b.options.AutoCreate && (req.Version < 4 || req.AllowAutoTopicCreation)
	for _, asked := range req.Topics {
		if asked.Topic == nil {
			return nil, badFrame("Metadata v%d for a topic without a name", req.Version)
		}
		resp.Topics = append(resp.Topics, b.findTopic(*asked.Topic, create))
	}
	return respond(resp, correlation)
}

func (b *Broker) findTopic(name string, create bool) kmsg.MetadataResponseTopic {
	dir := b.options.Dir
	t, ok := dir.Topic(name)
	if !ok && create {
		if err := dir.Create(name, b.options.Partitions, nil); err != nil && !errors.Is(err, logdir.ErrExists) {
			return b.failTopic(name, err)
		}
		t, ok = dir.Topic(name)
	}
	if ok {
		return b.describeTopic(t)
	}
	if err := logdir.ValidTopic(name); err != nil {
		return b.failTopic(name, err)
	}
	return b.failTopic(name, kerr.UnknownTopicOrPartition)
}

func (b *Broker) failTopic(name string, err error) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = &name
	var (
		illegal *logdir.TopicNameError
		known   *kerr.Error
	)
	switch {
	case errors.As(err, &illegal):
		topic.ErrorCode = kerr.InvalidTopicException.Code
	case errors.As(err, &known):
		topic.ErrorCode = known.Code
	case errors.Is(err, commitlog.ErrClosed):
		topic.ErrorCode = kerr.LeaderNotAvailable.Code
	default:
		b.logger.Error("topic not created", "topic", name, "reason", err)
		topic.ErrorCode = kerr.KafkaStorageError.Code
	}
	return topic
}

func (b *Broker) describeTopic(t logdir.Topic) kmsg.MetadataResponseTopic {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = &t.Name
	replicas := []int32{b.options.NodeID}
	for number := range t.Partitions {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = number, b.options.NodeID, leaderEpoch
		p.Replicas, p.ISR = replicas, replicas
		if _, ok := b.options.Dir.Log(t.Name, number); !ok {
			p.ErrorCode = kerr.LeaderNotAvailable.Code
			p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = -1, -1, nil, nil
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	return topic
}
