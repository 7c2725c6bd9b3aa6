package broker

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
)

// segmentsTag is the tagged field of a partition that says in how many segments its log is, as an int32. Kafka has no
// such field; clients step over tags that they do not know (KIP-482).
const segmentsTag = 0x6c6b

// DescribeLogDirs (v0-4): what the logs take on disk.
//
//   - There is one directory. Null asks for all partitions, a list for those in it that exist.
//   - The size of a partition is the bytes of its .log files, flushed or not. Nothing lags, and nothing is being moved.
//   - A partition whose files cannot be looked at is left out, and said in the broker's log.
//   - v2 is flexible, and tells the number of segments in a tagged field of its own. v3 adds an error for the whole, v4
//     the bytes of the volume, which are not told (-1).
func handleDescribeLogDirs(c *conn, request kmsg.Request, correlation int32) (answer, error) {
	req := request.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = c.broker.dir.Path()
	wanted := wantedPartitions(req.Topics)
	for _, t := range c.broker.dir.Topics() {
		only, listed := wanted[t.Name]
		if req.Topics != nil && !listed {
			continue
		}
		topic := kmsg.NewDescribeLogDirsResponseDirTopic()
		topic.Topic = t.Name
		for _, number := range t.Partitions {
			if req.Topics != nil && !only[number] {
				continue
			}
			if p, ok := c.broker.describeLog(partitionKey{t.Name, number}); ok {
				topic.Partitions = append(topic.Partitions, p)
			}
		}
		if len(topic.Partitions) > 0 {
			dir.Topics = append(dir.Topics, topic)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return respond(resp, correlation)
}

func wantedPartitions(topics []kmsg.DescribeLogDirsRequestTopic) map[string]map[int32]bool {
	wanted := make(map[string]map[int32]bool, len(topics))
	for i := range topics {
		t := &topics[i]
		if wanted[t.Topic] == nil {
			wanted[t.Topic] = make(map[int32]bool, len(t.Partitions))
		}
		for _, number := range t.Partitions {
			wanted[t.Topic][number] = true
		}
	}
	return wanted
}

func (b *Broker) describeLog(key partitionKey) (p kmsg.DescribeLogDirsResponseDirTopicPartition, ok bool) {
	p = kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	log, ok := b.dir.Log(key.topic, key.partition)
	if !ok {
		return p, false
	}
	bytes, segments, err := log.Size()
	if err != nil {
		if !b.gone(key, log) {
			b.unreadable(key, err)
		}
		return p, false
	}
	p.Partition, p.Size = key.partition, bytes
	p.UnknownTags.Set(segmentsTag, binary.BigEndian.AppendUint32(nil, uint32(segments)))
	return p, true
}

// gone tells whether a partition has been deleted since its log was found. Whatever a look-up has met then is no fault
// of the disk.
func (b *Broker) gone(key partitionKey, log *commitlog.Log) bool {
	current, _ := b.dir.Log(key.topic, key.partition)
	return current != log
}
