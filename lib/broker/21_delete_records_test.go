package broker

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// deleteRecordsRequest wants records below the ids deleted.
func deleteRecordsRequest(version int16, from ...fetched) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = version
	for _, f := range from {
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = f.partition, f.id
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic, topic.Partitions = f.topic, []kmsg.DeleteRecordsRequestTopicPartition{p}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func TestDeleteRecords(t *testing.T) {
	s := serve(t, setup{})
	log := s.topic("t", 1)
	c := s.dial()
	c.produce("t", 0, batch(t, record.None, "a", "b", "c"))
	second := c.produce("t", 0, batch(t, record.None, "d"))
	outside, unknown := kerr.OffsetOutOfRange.Code, kerr.UnknownTopicOrPartition.Code
	type told struct {
		Low  int64
		Code int16
	}
	for i, test := range []struct {
		from fetched
		want told
	}{
		{fetched{"t", 0, 0}, told{0, 0}},
		{fetched{"t", 0, 2}, told{2, 0}},
		{fetched{"t", 0, 1}, told{2, 0}}, // below the start: nothing changes
		{fetched{"t", 0, 10}, told{10, 0}},
		{fetched{"t", 0, second + 2}, told{-1, outside}},
		{fetched{"t", 0, math.MaxInt64}, told{-1, outside}},
		{fetched{"t", 0, -2}, told{-1, outside}},
		{fetched{"t", 0, math.MinInt64}, told{-1, outside}},
		{fetched{"t", 1, 0}, told{-1, unknown}},
		{fetched{"t", -1, 0}, told{-1, unknown}},
		{fetched{"u", 0, 0}, told{-1, unknown}},
		{fetched{"t", 0, -1}, told{second + 1, 0}},
		{fetched{"t", 0, -1}, told{second + 1, 0}},
	} {
		resp := c.ask(deleteRecordsRequest(int16(i)%3, test.from)).(*kmsg.DeleteRecordsResponse)
		got := resp.Topics[0].Partitions[0]
		if diff := cmp.Diff(test.want, told{got.LowWatermark, got.ErrorCode}); diff != "" || got.Partition != test.from.partition {
			t.Errorf("%+v (-want +got):\n%s", test.from, diff)
		}
		if test.want.Code == 0 && log.Positions().Start != test.want.Low {
			t.Errorf("%+v: the log starts at %d", test.from, log.Positions().Start)
		}
	}
	if got := c.fetch("t", 0, 0); got.ErrorCode != outside || got.LogStartOffset != second+1 {
		t.Errorf("fetch of what is deleted: error %d, start %d", got.ErrorCode, got.LogStartOffset)
	}
}
