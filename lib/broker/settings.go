package broker

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/logdir"
)

// setting is a value in force, under the name that Kafka has for it.
type setting struct {
	name     string
	kind     kmsg.ConfigType
	value    string
	standard string // what it is when nobody says anything
	broker   string // of a topic's setting: the broker's setting that it follows
	own      bool   // of a topic's setting: it does not follow the broker
	inherits string // the value that it would have if it did
	doc      string
}

// source tells where the value comes from, as far as this broker knows.
func (s *setting) source() kmsg.ConfigSource {
	if s.own {
		return kmsg.ConfigSourceDynamicTopicConfig
	}
	return s.brokerSource(s.value)
}

// brokerSource tells where the broker has a value from.
func (s *setting) brokerSource(value string) kmsg.ConfigSource {
	if value == s.standard {
		return kmsg.ConfigSourceDefaultConfig
	}
	return kmsg.ConfigSourceStaticBrokerConfig
}

func number[T int | int32 | int64](name string, kind kmsg.ConfigType, value, standard T, doc string) setting {
	return setting{name: name, kind: kind, doc: doc,
		value: strconv.FormatInt(int64(value), 10), standard: strconv.FormatInt(int64(standard), 10)}
}

func text(name string, kind kmsg.ConfigType, value, standard, doc string) setting {
	return setting{name: name, kind: kind, value: value, standard: standard, doc: doc}
}

func milliseconds(name string, value, standard time.Duration, doc string) setting {
	return number(name, kmsg.ConfigTypeLong, value.Milliseconds(), standard.Milliseconds(), doc)
}

// follows makes a topic's setting out of one of the broker.
func (s setting) follows(topicName string) setting {
	s.name, s.broker = topicName, s.name
	return s
}

// logSettings are those of the broker that every topic follows.
type logSettings struct {
	segmentBytes, segmentAge, flushMessages, flushInterval, retention, retentionBytes, maxMessage, cleanup, compression, timestamps,
	insync setting
}

func (b *Broker) logSettings() logSettings {
	const unlimited = math.MaxInt64
	o := b.options.Log
	return logSettings{
		segmentBytes: number("log.segment.bytes", kmsg.ConfigTypeInt,
			cmp.Or(o.SegmentBytes, commitlog.DefaultSegmentBytes), commitlog.DefaultSegmentBytes, "Size at which a log goes on in another segment."),
		segmentAge: milliseconds("log.roll.ms",
			cmp.Or(o.SegmentAge, commitlog.DefaultSegmentAge), commitlog.DefaultSegmentAge, "Age at which a log goes on in another segment."),
		flushMessages: number("log.flush.interval.messages", kmsg.ConfigTypeLong,
			cmp.Or(o.FlushMessages, unlimited), unlimited, "Records that may wait for a flush, unseen, when no producer waits."),
		flushInterval: milliseconds("log.flush.interval.ms",
			cmp.Or(o.FlushInterval, commitlog.DefaultFlushInterval), commitlog.DefaultFlushInterval, "How long a record may wait for a flush."),
		retention: number("log.retention.ms", kmsg.ConfigTypeLong,
			limit(b.options.Retention.Age.Milliseconds()), DefaultRetention.Milliseconds(), "Age at which records are deleted; -1: never."),
		retentionBytes: number("log.retention.bytes", kmsg.ConfigTypeLong,
			limit(b.options.Retention.Bytes), -1, "Size above which the oldest records are deleted; -1: never."),
		maxMessage: number("message.max.bytes", kmsg.ConfigTypeInt,
			b.options.MaxMessageBytes, DefaultMaxMessageBytes, "Size of the largest record batch."),
		cleanup:     text("log.cleanup.policy", kmsg.ConfigTypeList, "delete", "delete", "Records are deleted, never compacted."),
		compression: text("compression.type", kmsg.ConfigTypeString, "producer", "producer", "Batches are stored as they come."),
		timestamps: text("log.message.timestamp.type", kmsg.ConfigTypeString, "CreateTime", "CreateTime",
			"Timestamps are the producer's."),
		insync: number("min.insync.replicas", kmsg.ConfigTypeInt, 1, 1, "Copies that must have a record before its producer is told."),
	}
}

// limit is how Kafka writes a limit: -1 for none.
func limit(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// topicSettings are those of a topic, of which some may have been set for itself.
func (b *Broker) topicSettings(own logdir.Settings) []setting {
	l := b.logSettings()
	all := []setting{
		l.cleanup.follows("cleanup.policy"),
		l.compression.follows("compression.type"),
		l.flushMessages.follows("flush.messages"),
		l.flushInterval.follows("flush.ms"),
		l.maxMessage.follows("max.message.bytes"),
		l.timestamps.follows("message.timestamp.type"),
		l.insync.follows("min.insync.replicas"),
		l.retentionBytes.follows("retention.bytes"),
		l.retention.follows("retention.ms"),
		l.segmentBytes.follows("segment.bytes"),
		l.segmentAge.follows("segment.ms"),
	}
	for i := range all {
		s := &all[i]
		s.inherits = s.value
		if value, ok := own[s.name]; ok {
			s.own, s.value = true, value
		}
	}
	return all
}

// checkSettings tells whether a topic can be given those settings here. The error is a *logdir.SettingError.
func (b *Broker) checkSettings(s logdir.Settings) error {
	if err := s.Check(); err != nil {
		return err
	}
	const name = "max.message.bytes"
	if n, err := strconv.Atoi(s[name]); err == nil && n >= b.options.MaxRequestBytes {
		return &logdir.SettingError{Name: name, Value: s[name],
			Reason: fmt.Sprintf("a batch must fit into a request, and the largest that is taken has %d bytes", b.options.MaxRequestBytes)}
	}
	return nil
}

func (b *Broker) brokerSettings() []setting {
	o, l := &b.options, b.logSettings()
	listeners := "PLAINTEXT://" + o.Listener.Addr().String()
	dir := b.dir.Path()
	return []setting{
		text("advertised.listeners", kmsg.ConfigTypeString, "PLAINTEXT://"+b.advertised.String(), listeners, "Address that clients are told."),
		text("auto.create.topics.enable", kmsg.ConfigTypeBoolean, strconv.FormatBool(o.AutoCreate), "true", "A topic is created when a client asks for it."),
		number("broker.id", kmsg.ConfigTypeInt, b.id(), -1, "Number of this broker."),
		l.compression,
		milliseconds("connections.max.idle.ms", o.IdleTimeout, DefaultIdleTimeout, "How long a connection may be silent."),
		number("default.replication.factor", kmsg.ConfigTypeInt, 1, 1, "Copies of each partition."),
		text("listeners", kmsg.ConfigTypeString, listeners, "", "Address that connections are accepted on."),
		l.cleanup,
		text("log.dir", kmsg.ConfigTypeString, dir, "", "The data directory."),
		text("log.dirs", kmsg.ConfigTypeString, dir, "", "The data directory."),
		l.flushMessages,
		l.flushInterval,
		l.timestamps,
		l.retentionBytes,
		l.retention,
		l.segmentAge,
		l.segmentBytes,
		number("max.connections", kmsg.ConfigTypeInt, o.MaxConnections, DefaultMaxConnections, "Clients served at the same time."),
		l.maxMessage,
		number("num.partitions", kmsg.ConfigTypeInt, o.Partitions, 1, "Partitions of a topic created on first use."),
		number("socket.request.max.bytes", kmsg.ConfigTypeInt, o.MaxRequestBytes, DefaultMaxRequestBytes, "Size of the largest request."),
		text("zookeeper.connect", kmsg.ConfigTypeString, o.ZooKeeper, "", "ZooKeeper that coordinates the cluster."),
	}
}
