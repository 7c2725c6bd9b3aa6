package broker

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
)

// setting is a value in force, under the name that Kafka has for it.
type setting struct {
	name     string
	kind     kmsg.ConfigType
	value    string
	standard string // what it is when nobody says anything
	broker   string // of a topic's setting: the broker's setting that it follows, if any
	doc      string
}

// source tells where the value comes from, as far as this broker knows.
func (s *setting) source() kmsg.ConfigSource {
	if s.value == s.standard {
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
	segmentBytes, segmentAge, flushMessages, flushInterval, retention, retentionBytes, maxMessage, cleanup, compression, timestamps setting
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
	}
}

// limit is how Kafka writes a limit: -1 for none.
func limit(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// topicSettings are the same for all topics.
func (b *Broker) topicSettings() []setting {
	l := b.logSettings()
	return []setting{
		l.cleanup.follows("cleanup.policy"),
		l.compression.follows("compression.type"),
		l.flushMessages.follows("flush.messages"),
		l.flushInterval.follows("flush.ms"),
		l.maxMessage.follows("max.message.bytes"),
		l.timestamps.follows("message.timestamp.type"),
		l.retentionBytes.follows("retention.bytes"),
		l.retention.follows("retention.ms"),
		l.segmentBytes.follows("segment.bytes"),
		l.segmentAge.follows("segment.ms"),
	}
}

func (b *Broker) brokerSettings() []setting {
	o, l := &b.options, b.logSettings()
	listeners := "PLAINTEXT://" + o.Listener.Addr().String()
	dir := o.Dir.Path()
	return []setting{
		text("advertised.listeners", kmsg.ConfigTypeString, "PLAINTEXT://"+b.advertised.String(), listeners, "Address that clients are told."),
		text("auto.create.topics.enable", kmsg.ConfigTypeBoolean, strconv.FormatBool(o.AutoCreate), "true", "A topic is created when a client asks for it."),
		number("broker.id", kmsg.ConfigTypeInt, o.NodeID, -1, "Number of this broker."),
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
		text("zookeeper.connect", kmsg.ConfigTypeString, "", "", "ZooKeeper that coordinates; empty: none."),
	}
}
