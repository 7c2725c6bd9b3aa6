package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

func TestListOffsets(t *testing.T) {
	s := serve(t, setup{})
	log := s.topic("t", 2)
	c := s.dial()
	const at = 1_700_000_000_000 // the time of the first record of each batch; the others are a ms apart
	records := batch(t, record.None, "a", "b", "c")
	c.produce("t", 0, records)
	second := c.produce("t", 0, records)
	if _, err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}

	type place struct {
		Code      int16
		ID, Stamp int64
	}
	for _, test := range []struct {
		name      string
		topic     string
		partition int32
		epoch     int32
		timestamp int64
		want      place
	}{
		{"start", "t", 0, -1, -2, place{0, 1, -1}},
		{"end", "t", 0, -1, -1, place{0, second + 3, -1}},
		{"start of an empty log", "t", 1, -1, -2, place{0, 0, -1}},
		{"end of an empty log", "t", 1, -1, -1, place{0, 0, -1}},
		{"known epoch", "t", 0, 0, -1, place{0, second + 3, -1}},
		{"later epoch", "t", 0, 1, -1, place{kerr.UnknownLeaderEpoch.Code, -1, -1}},
		{"unknown partition", "t", 9, -1, -1, place{kerr.UnknownTopicOrPartition.Code, -1, -1}},
		{"unknown topic", "u", 0, -1, -2, place{kerr.UnknownTopicOrPartition.Code, -1, -1}},
		{"time of the deleted record", "t", 0, -1, at, place{0, 1, at + 1}},
		{"time of a record", "t", 0, -1, at + 2, place{0, 2, at + 2}},
		{"time behind all", "t", 0, -1, at + 3, place{0, -1, -1}},
		{"time in an empty log", "t", 1, -1, at, place{0, -1, -1}},
		{"largest time", "t", 0, -1, -3, place{0, 2, at + 2}},
	} {
		for version := int16(1); version <= 7; version++ {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp, part.CurrentLeaderEpoch = test.partition, test.timestamp, test.epoch
			topic := kmsg.NewListOffsetsRequestTopic()
			topic.Topic, topic.Partitions = test.topic, []kmsg.ListOffsetsRequestTopicPartition{part}
			req := kmsg.NewPtrListOffsetsRequest()
			req.Version, req.Topics = version, []kmsg.ListOffsetsRequestTopic{topic}
			if version < 4 && test.epoch > 0 {
				continue // has no epoch
			}
			got := c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
			if diff := cmp.Diff(test.want, place{got.ErrorCode, got.Offset, got.Timestamp}); diff != "" {
				t.Errorf("%s, v%d (-want +got):\n%s", test.name, version, diff)
			}
		}
	}
}
