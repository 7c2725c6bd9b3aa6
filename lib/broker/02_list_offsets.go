package broker

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
)

// Timestamps of a ListOffsets request that stand for a place.
const (
	placeEnd    = -1
	placeStart  = -2
	placeLatest = -3
)

// ListOffsets (v1-7): where a log starts, ends, or reaches a time.
//
//   - -2 is the log start: the id of the last deleted record + 1. -1 is the high watermark: that of the last visible
//     record + 1, for both isolation levels. Neither comes with a timestamp.
//   - -3 (v7) is the record with the largest timestamp, the first of several. A time is the first record, in the order
//     of ids, that is not older. Both come with the record's timestamp; when there is none, id and timestamp are -1.
//   - v2 adds the isolation level, v4 the leader epoch, v6 is flexible.
//   - Topics and partitions are answered in the order of the request.
func handleListOffsets(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		for j := range t.Partitions {
			topic.Partitions = append(topic.Partitions, c.broker.listOffset(t.Topic, &t.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) listOffset(topic string, in *kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition = in.Partition
	log, ok := b.dir.Log(topic, in.Partition)
	switch {
	case !ok:
		out.ErrorCode = b.absent(topic, in.Partition).Code
		return out
	case in.CurrentLeaderEpoch > leaderEpoch:
		out.ErrorCode = kerr.UnknownLeaderEpoch.Code
		return out
	}
	place, found, err := locate(log, in.Timestamp)
	switch {
	case err != nil && b.gone(partitionKey{topic, in.Partition}, log):
		out.ErrorCode = kerr.UnknownTopicOrPartition.Code
	case err != nil:
		b.unreadable(partitionKey{topic, in.Partition}, err)
		out.ErrorCode = kerr.KafkaStorageError.Code
	case found:
		out.Offset, out.Timestamp, out.LeaderEpoch = place.ID, place.Timestamp, leaderEpoch
	}
	return out
}

// locate finds the place in a log that a timestamp of a request means.
func locate(log *commitlog.Log, timestamp int64) (place commitlog.Stamp, found bool, err error) {
	switch timestamp {
	case placeStart:
		return commitlog.Stamp{ID: log.Positions().Start, Timestamp: -1}, true, nil
	case placeEnd:
		return commitlog.Stamp{ID: log.Positions().HighWatermark, Timestamp: -1}, true, nil
	case placeLatest:
		return log.LatestTime()
	}
	return log.LookupTime(timestamp)
}

// unreadable says that a log cannot be read where a client wants to.
func (b *Broker) unreadable(p partitionKey, err error) {
	b.complaints.warn("records not readable", slog.String("topic", p.topic), slog.Int("partition", int(p.partition)),
		slog.String("reason", err.Error()))
}
