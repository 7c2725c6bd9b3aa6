package broker

import (
	iofs "io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

func deleteRequest(version int16, topics ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = version, topics
	return req
}

func TestDeleteTopics(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	for version := int16(0); version <= 5; version++ {
		s.topic("a", 2)
		s.topic("b", 1)
		resp := c.ask(deleteRequest(version, "b", "u", "twice", "a b", "a", "twice")).(*kmsg.DeleteTopicsResponse)
		type told struct {
			Name    string
			Code    int16
			Message bool
		}
		var got []told
		for _, topic := range resp.Topics {
			got = append(got, told{*topic.Topic, topic.ErrorCode, topic.ErrorMessage != nil})
		}
		want := []told{{"b", 0, false}, {"u", kerr.UnknownTopicOrPartition.Code, version >= 5},
			{"twice", kerr.InvalidRequest.Code, version >= 5}, {"a b", kerr.UnknownTopicOrPartition.Code, version >= 5}, {"a", 0, false}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v%d (-want +got):\n%s", version, diff)
		}
		if left := s.dir.Topics(); len(left) != 0 {
			t.Errorf("v%d: topics left: %v", version, left)
		}
	}
}

// TestDeleteUnderWaiters: a fetch that could wait for long, and produces whose flush the disk keeps waiting, are
// answered when the topic goes; so is what comes after.
func TestDeleteUnderWaiters(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs, log: commitlog.Options{FlushInterval: time.Hour}})
	s.topic("t", 2)
	s.topic("other", 1)
	admin, reader, writer := s.dial(), s.dial(), s.dial()
	long := fetchRequest(11, time.Hour, fetched{"other", 0, 0}, fetched{"t", 1, 0})
	longID := reader.send(long)
	s.eventually("the fetch waits", func() bool { return s.polls.Load() == 1 })
	fs.hold(true)
	produce := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")})
	produceID := writer.send(produce)
	s.eventually("the flush waits", func() bool { _, syncs := fs.counts(); return syncs == 1 })

	del := deleteRequest(5, "t")
	delID := admin.send(del)
	unknown := kerr.UnknownTopicOrPartition.Code
	// The disk still holds the flush, and with it the deletion; the waiters have their answers all the same.
	resp := writer.receive(produce, produceID).(*kmsg.ProduceResponse)
	if got := resp.Topics[0].Partitions[0].ErrorCode; got != unknown {
		t.Errorf("waiting produce: error %d, want %d", got, unknown)
	}
	fetchResp := reader.receive(long, longID).(*kmsg.FetchResponse)
	if got := fetchResp.Topics[1].Partitions[0].ErrorCode; got != unknown {
		t.Errorf("waiting fetch: error %d, want %d", got, unknown)
	}
	if got := fetchResp.Topics[0].Partitions[0].ErrorCode; got != 0 {
		t.Errorf("waiting fetch of another topic: error %d", got)
	}
	fs.hold(false)
	if got := admin.receive(del, delID).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; got != 0 {
		t.Errorf("delete: error %d", got)
	}
	resp = writer.ask(produceRequest(9, 1, produced{"t", 0, batch(t, record.None, "x")})).(*kmsg.ProduceResponse)
	if got := resp.Topics[0].Partitions[0].ErrorCode; got != unknown {
		t.Errorf("produce afterwards: error %d, want %d", got, unknown)
	}
	if got := reader.fetch("t", 0, 0).ErrorCode; got != unknown {
		t.Errorf("fetch afterwards: error %d, want %d", got, unknown)
	}
}

// TestDeletedTopicMadeAgain: it begins with nothing of the old one, and readers of the old ids are told so.
func TestDeletedTopicMadeAgain(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	c.ask(incrementalRequest(1, false, "t", change{"max.message.bytes", kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr("70")}))
	c.produce("t", 0, batch(t, record.None, "x"))
	c.ask(deleteRecordsRequest(2, fetched{"t", 0, -1}))
	c.ask(deleteRequest(5, "t"))
	c.ask(createRequest(6, false, newTopic("t", 1, 1)))
	if base := c.produce("t", 0, batch(t, record.None, "a record that would be too large")); base != 0 {
		t.Errorf("first id %d, want 0", base)
	}
	if got := c.fetch("t", 0, 5000).ErrorCode; got != kerr.OffsetOutOfRange.Code {
		t.Errorf("fetch of an old id: error %d, want %d", got, kerr.OffsetOutOfRange.Code)
	}
}

// TestDeletedDuringLookUp: the topic goes after its log was found and before its files were opened. That is no disk
// error, and nothing to put into the broker's log.
func TestDeletedDuringLookUp(t *testing.T) {
	for _, test := range []struct {
		name string
		ask  func(c *client) int16
		want int16
	}{
		{"fetch", func(c *client) int16 { return c.fetch("t", 0, 0).ErrorCode }, kerr.UnknownTopicOrPartition.Code},
		{"time", func(c *client) int16 {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Timestamp = 1
			topic := kmsg.NewListOffsetsRequestTopic()
			topic.Topic, topic.Partitions = "t", []kmsg.ListOffsetsRequestTopicPartition{part}
			req := kmsg.NewPtrListOffsetsRequest()
			req.Version, req.Topics = 7, []kmsg.ListOffsetsRequestTopic{topic}
			return c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode
		}, kerr.UnknownTopicOrPartition.Code},
		{"size", func(c *client) int16 {
			return int16(len(c.ask(logDirsRequest(4, nil)).(*kmsg.DescribeLogDirsResponse).Dirs[0].Topics))
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			fs := &meddlingFS{FS: vfs.OS}
			s := serve(t, setup{fs: fs, log: commitlog.Options{SegmentBytes: 100}})
			s.topic("t", 1)
			c := s.dial()
			for range 2 { // the size of a segment that is not the last is asked from the file system
				c.produce("t", 0, batch(t, record.None, "a record that fills a segment"))
			}
			fs.meddle.Store(func() {
				if err := s.remove("t"); err != nil {
					t.Error(err)
				}
			})
			if got := test.ask(c); got != test.want {
				t.Errorf("answer %d, want %d", got, test.want)
			}
			if _, ok := s.dir.Topic("t"); ok {
				t.Error("the look-up has asked for no file")
			}
			if lines := s.log.lines("not readable"); len(lines) > 0 {
				t.Errorf("said: %q", lines)
			}
		})
	}
}

// meddlingFS is the operating system's, but does something once before a .log file is looked at.
type meddlingFS struct {
	vfs.FS
	meddle atomic.Value // func()
}

func (m *meddlingFS) Stat(name string) (iofs.FileInfo, error) {
	if strings.HasSuffix(name, ".log") {
		if f, _ := m.meddle.Swap(func() {}).(func()); f != nil {
			f()
		}
	}
	return m.FS.Stat(name)
}
