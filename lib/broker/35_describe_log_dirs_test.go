package broker

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/record"
)

// logDirsRequest asks for partitions, or for all when it is nil.
func logDirsRequest(version int16, partitions map[string][]int32) *kmsg.DescribeLogDirsRequest {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = version
	if partitions != nil {
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
	}
	for name, numbers := range partitions {
		topic := kmsg.NewDescribeLogDirsRequestTopic()
		topic.Topic, topic.Partitions = name, numbers
		req.Topics = append(req.Topics, topic)
	}
	return req
}

func TestDescribeLogDirs(t *testing.T) {
	s := serve(t, setup{log: commitlog.Options{SegmentBytes: 100}})
	s.topic("a", 2)
	s.topic("b", 1)
	c := s.dial()
	records := batch(t, record.None, "some bytes that fill a segment")
	for range 3 {
		c.produce("a", 1, records)
	}
	size := int64(3 * len(records))
	all := map[string]int64{"a-0": 0, "a-1": size, "b-0": 0}
	for _, test := range []struct {
		name   string
		wanted map[string][]int32
		want   map[string]int64
	}{
		{"all", nil, all},
		{"none", map[string][]int32{}, map[string]int64{}},
		{"one, twice", map[string][]int32{"a": {1, 1}}, map[string]int64{"a-1": size}},
		{"unknown ones", map[string][]int32{"a": {0, 5, -1}, "u": {0}}, map[string]int64{"a-0": 0}},
		{"a topic without partitions", map[string][]int32{"b": nil}, map[string]int64{}},
	} {
		for version := int16(0); version <= 4; version++ {
			resp := c.ask(logDirsRequest(version, test.wanted)).(*kmsg.DescribeLogDirsResponse)
			if len(resp.Dirs) != 1 || resp.ErrorCode != 0 || resp.Dirs[0].ErrorCode != 0 || resp.Dirs[0].Dir != s.dir.Path() {
				t.Fatalf("%s, v%d: %+v", test.name, version, resp)
			}
			got := map[string]int64{}
			for _, topic := range resp.Dirs[0].Topics {
				for _, p := range topic.Partitions {
					got[fmt.Sprintf("%s-%d", topic.Topic, p.Partition)] = p.Size
					if p.OffsetLag != 0 || p.IsFuture {
						t.Errorf("%s, v%d: %+v", test.name, version, p)
					}
					if segments := segmentsOf(p); version >= 2 && (p.Size > 0) != (segments == 3) {
						t.Errorf("%s, v%d: %d bytes in %d segments", test.name, version, p.Size, segments)
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, v%d (-want +got):\n%s", test.name, version, diff)
			}
		}
	}
}

func segmentsOf(p kmsg.DescribeLogDirsResponseDirTopicPartition) (segments uint32) {
	p.UnknownTags.Each(func(tag uint32, value []byte) {
		if tag == segmentsTag {
			segments = binary.BigEndian.Uint32(value)
		}
	})
	return segments
}
