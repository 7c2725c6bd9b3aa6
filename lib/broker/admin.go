package broker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/cluster"
	"logkit/lib/commitlog"
	"logkit/lib/logdir"
	"logkit/lib/registry"
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
		disk    *cluster.DiskError
	)
	switch {
	case errors.As(err, &known):
	case errors.As(err, &name):
		known = &refusal{kerr.InvalidTopicException, "illegal name: " + name.Reason}
	case errors.As(err, &setting):
		known = &refusal{kerr.InvalidConfig, setting.Error()}
	case errors.As(err, &outside):
		known = &refusal{kerr.OffsetOutOfRange, outside.Error()}
	case errors.Is(err, registry.ErrTopicExists):
		known = &refusal{kerr.TopicAlreadyExists, "topic exists"}
	case errors.Is(err, registry.ErrTopicDeleted):
		known = &refusal{kerr.TopicAlreadyExists, "a topic of that name is being deleted"}
	case errors.Is(err, registry.ErrPartitions):
		known = &refusal{kerr.InvalidPartitions, "somebody else has changed the number of partitions meanwhile"}
	case errors.Is(err, registry.ErrNoTopic), errors.Is(err, commitlog.ErrDeleted):
		known = &refusal{kerr.UnknownTopicOrPartition, "no such topic or partition"}
	case errors.Is(err, commitlog.ErrClosed), errors.Is(err, registry.ErrClosed), errors.Is(err, context.Canceled):
		known = &refusal{kerr.NotController, "the broker is stopping"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, registry.ErrUnknownOutcome):
		known = &refusal{kerr.RequestTimedOut, "zookeeper has not answered in time"}
	case errors.As(err, &disk), errors.Is(err, registry.ErrRefused):
		b.logger.Error("disk error", "doing", doing, "topic", topic, "reason", err)
		known = &refusal{kerr.KafkaStorageError, err.Error()}
	default:
		b.logger.Error("request failed", "doing", doing, "topic", topic, "reason", err)
		known = &refusal{kerr.UnknownServerError, err.Error()}
	}
	return known.code.Code, &known.reason
}

// Bounds of how long ZooKeeper may take for one request.
const (
	leastCoordination = 5 * time.Second
	mostCoordination  = time.Minute
)

// coordinating bounds what is asked of ZooKeeper by the timeout of the request, in ms, within limits.
func (b *Broker) coordinating(timeout int32) (context.Context, context.CancelFunc) {
	d := time.Duration(timeout) * time.Millisecond
	return context.WithTimeout(b.hard, min(max(d, leastCoordination), mostCoordination))
}

// topicNamed returns a topic that must be there. One that this broker has not heard of is looked up, unless ZooKeeper is
// away: then it is not there, as far as anybody knows. registry.ErrNoTopic is in the error.
func (b *Broker) topicNamed(name string) (registry.Topic, error) {
	if err := logdir.ValidTopic(name); err != nil {
		return registry.Topic{}, err
	}
	missing := fmt.Errorf("topic %q: %w", name, registry.ErrNoTopic)
	if t, known := b.member.Cluster().Topics[name]; known {
		return t, nil
	}
	if !b.member.Registered() {
		return registry.Topic{}, missing
	}
	ctx, cancel := b.coordinating(0)
	defer cancel()
	t, found, err := b.member.Find(ctx, name)
	if err == nil && !found {
		err = missing
	}
	return t, err
}

// absent is why there is no log of a partition here.
func (b *Broker) absent(topic string, partition int32) *kerr.Error {
	if t, known := b.member.Cluster().Topics[topic]; known && partition >= 0 && int(partition) < len(t.Replicas) {
		return kerr.NotLeaderForPartition
	}
	return kerr.UnknownTopicOrPartition
}

// once yields the elements of a request in their order, but each name only once: with errRepeated when it stands there
// more than once. Then all of them are refused: nobody could say which was meant.
func once[T any](list []T, name func(*T) string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		twice := repeated(list, name)
		answered := make(map[string]bool, len(list))
		for i := range list {
			var err error
			n := name(&list[i])
			if twice[n] {
				err = errRepeated
			}
			if answered[n] {
				continue
			}
			answered[n] = true
			if !yield(&list[i], err) {
				return
			}
		}
	}
}

// repeated tells which names a request has more than once.
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

func (n *newPartitions) take(count int) error {
	if count > int(n.left) {
		return refused(kerr.InvalidPartitions, "%d more partitions, a request may make %d", count, n.allowed)
	}
	n.left -= int32(count)
	return nil
}

// oneBroker refuses replicas that are not exactly one broker that is there: there is no replication.
func (b *Broker) oneBroker(partition int32, replicas []int32) error {
	brokers := b.member.Brokers()
	if len(replicas) == 1 {
		if _, there := brokers[replicas[0]]; there {
			return nil
		}
	}
	return refused(kerr.InvalidReplicaAssignment, "partition %d: replicas %v, allowed is one of brokers %v: there is no replication",
		partition, replicas, slices.Sorted(maps.Keys(brokers)))
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
	ctx, cancel := b.coordinating(0)
	defer cancel()
	if validateOnly {
		own, err := b.member.Settings(ctx, topic)
		if err != nil {
			return err
		}
		return checked(own)
	}
	return b.member.ChangeSettings(ctx, topic, checked)
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
