package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/cluster"
	"logkit/lib/commitlog"
)

// DeleteRecords (v0-2): lets logs begin later.
//
//   - An id becomes the log start: what is below it is deleted, as far as whole segments go, and never shown again. It
//     is remembered durably before the answer, which has the log start that holds then as the low watermark.
//   - -1 is the high watermark: everything that is visible goes. An id below the log start changes nothing and is no
//     error. One above the high watermark, or below -1, is OFFSET_OUT_OF_RANGE.
//   - UNKNOWN_TOPIC_OR_PARTITION, and KAFKA_STORAGE_ERROR when the disk refused.
//   - The timeout is not used. v2 is flexible.
func handleDeleteRecords(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = t.Topic
		for j := range t.Partitions {
			in := &t.Partitions[j]
			out := kmsg.NewDeleteRecordsResponseTopicPartition()
			start, err := c.broker.deleteRecords(partitionKey{t.Topic, in.Partition}, in.Offset)
			if err != nil {
				start = -1
			}
			out.Partition, out.LowWatermark = in.Partition, start
			out.ErrorCode, _ = c.broker.verdict("delete records", t.Topic, err)
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return respond(resp, correlation)
}

func (b *Broker) deleteRecords(p partitionKey, id int64) (start int64, err error) {
	const allVisible = -1
	log, ok := b.dir.Log(p.topic, p.partition)
	if !ok {
		if b.absent(p.topic, p.partition) == kerr.NotLeaderForPartition {
			return 0, refused(kerr.NotLeaderForPartition, "another broker has the partition, or this one cannot open it")
		}
		return 0, refused(kerr.UnknownTopicOrPartition, "no such topic or partition")
	}
	marks := log.Positions()
	switch {
	case id == allVisible:
		id = marks.HighWatermark
	case id < 0:
		return 0, &commitlog.OutOfRangeError{ID: id, Start: marks.Start, End: marks.HighWatermark}
	}
	start, err = log.DeleteBefore(id)
	if err != nil && b.gone(p, log) {
		err = fmt.Errorf("%w: %w", commitlog.ErrDeleted, err)
	}
	if err != nil {
		err = &cluster.DiskError{Err: err}
	}
	return start, err
}
