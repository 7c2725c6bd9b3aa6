package broker

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
)

// refusal is why an admin request is not done: a code of Kafka's, and words for the person who asked.
type refusal struct {
	code   *kerr.Error
	reason string
}

func refused(code *kerr.Error, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.reason }
func (r *refusal) Unwrap() error { return r.code }

// verdict is the code and the message in the answer to an admin request. What only the disk can have said goes to the
// log, too.
func (b *Broker) verdict(doing, topic string, err error) (code int16, message *string) {
	if err == nil {
		return 0, nil
	}
	var (
		known   *refusal
		name    *logdir.TopicNameError
		setting *logdir.SettingError
		outside *commitlog.OutOfRangeError
	)
	switch {
	case errors.As(err, &known):
	case errors.As(err, &name):
		known = &refusal{kerr.InvalidTopicException, "illegal name: " + name.Reason}
	case errors.As(err, &setting):
		known = &refusal{kerr.InvalidConfig, setting.Error()}
	case errors.As(err, &outside):
		known = &refusal{kerr.OffsetOutOfRange, outside.Error()}
	case errors.Is(err, logdir.ErrExists):
		known = &refusal{kerr.TopicAlreadyExists, "topic exists"}
	case errors.Is(err, logdir.ErrFewer):
		known = &refusal{kerr.InvalidPartitions, err.Error()}
	case errors.Is(err, logdir.ErrNoTopic), errors.Is(err, commitlog.ErrDeleted):
		known = &refusal{kerr.UnknownTopicOrPartition, "no such topic or partition"}
	case errors.Is(err, commitlog.ErrClosed):
		known = &refusal{kerr.NotController, "the broker is stopping"}
	default:
		b.logger.Error("disk error", "doing", doing, "topic", topic, "reason", err)
		known = &refusal{kerr.KafkaStorageError, err.Error()}
	}
	return known.code.Code, &known.reason
}

// topicNamed returns a topic that must be there.
func (b *Broker) topicNamed(name string) (logdir.Topic, error) {
	t, ok := b.options.Dir.Topic(name)
	if ok {
		return t, nil
	}
	if err := logdir.ValidTopic(name); err != nil {
		return t, err
	}
	return t, fmt.Errorf("topic %q: %w", name, logdir.ErrNoTopic)
}

// repeated tells which names a request has more than once, where each may stand once. All of them are refused: nobody
// could say which was meant.
func repeated[T any](list []T, name func(*T) string) map[string]bool {
	times := make(map[string]bool, len(list))
	for i := range list {
		n := name(&list[i])
		_, again := times[n]
		times[n] = again
	}
	return times
}

// errRepeated refuses a topic or resource that stands in a request more than once.
var errRepeated = refused(kerr.InvalidRequest, "named more than once in the request")

// maxNewPartitions is how many partitions one request may make (Kafka's limit on a batch of its controller): each is a
// directory, files and descriptors.
const maxNewPartitions = 10_000

// newPartitions is the account of the partitions that one request makes.
type newPartitions struct{ allowed, left int32 }

func (b *Broker) newPartitions() *newPartitions {
	return &newPartitions{b.maxNewPartitions, b.maxNewPartitions}
}

func (n *newPartitions) take(count int32) error {
	if count > n.left {
		return refused(kerr.InvalidPartitions, "%d more partitions, a request may make %d", count, n.allowed)
	}
	n.left -= count
	return nil
}

// onlyHere refuses replicas that are not exactly this broker: there is no replication.
func (b *Broker) onlyHere(partition int32, replicas []int32) error {
	if len(replicas) == 1 && replicas[0] == b.options.NodeID {
		return nil
	}
	return refused(kerr.InvalidReplicaAssignment, "partition %d: replicas %v, allowed is only broker %d: there is no replication",
		partition, replicas, b.options.NodeID)
}

// changeSettings edits what is set for a topic, or only tells whether that would be refused.
func (b *Broker) changeSettings(topic string, validateOnly bool, change func(logdir.Settings) error) error {
	if _, err := b.topicNamed(topic); err != nil {
		return err
	}
	checked := func(s logdir.Settings) error {
		if err := change(s); err != nil {
			return err
		}
		return b.checkSettings(s)
	}
	if validateOnly {
		return checked(b.options.Dir.Settings(topic))
	}
	return b.options.Dir.ChangeSettings(topic, checked)
}

// onlyTopics refuses to change what is no topic's.
func onlyTopics(kind kmsg.ConfigResourceType, name string) error {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		return nil
	case kmsg.ConfigResourceTypeBroker:
		return refused(kerr.InvalidRequest,
			"broker %q: its settings are the flags and the configuration file of logd, and do not change while it runs", name)
	}
	return refused(kerr.InvalidRequest, "%s %q: only settings of topics can be changed", kind, name)
}

// resourceName tells apart the resources of a request.
func resourceName(kind kmsg.ConfigResourceType, name string) string {
	return fmt.Sprintf("%d %s", kind, name)
}
