package broker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

func TestProduceThenFetch(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 2)
	c := s.dial()
	sent := batch(t, record.Zstd, "one", "two", "three")

	first := c.produce("t", 1, sent)
	second := c.produce("t", 1, sent)
	if want := int64(len(sent)); first != 0 || second != want {
		t.Fatalf("base ids %d and %d, want 0 and %d", first, second, want)
	}
	got := c.fetch("t", 1, 0)
	want := bytes.Clone(sent)
	record.SetBaseOffset(sent, second)
	want = append(want, sent...)
	record.SetLeaderEpoch(want, 0)
	record.SetLeaderEpoch(want[len(sent):], 0)
	if diff := cmp.Diff(want, got.RecordBatches); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got.HighWatermark != second+3 {
		t.Errorf("high watermark %d, want %d: the last id + 1", got.HighWatermark, second+3)
	}
	if empty := c.fetch("t", 0, 0); len(empty.RecordBatches) != 0 || empty.HighWatermark != 0 {
		t.Errorf("the other partition: %d bytes, high watermark %d", len(empty.RecordBatches), empty.HighWatermark)
	}
}

// TestProduceRefusals: each batch is refused by itself; the good one beside it is stored.
func TestProduceRefusals(t *testing.T) {
	good := batch(t, record.None, "x")
	changed := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	for _, test := range []struct {
		name    string
		version int16
		topic   string
		records []byte
		want    *kerr.Error
	}{
		{"unknown topic", 9, "nowhere", good, kerr.UnknownTopicOrPartition},
		{"no records", 9, "t", nil, kerr.InvalidRecord},
		{"two batches", 9, "t", append(bytes.Clone(good), good...), kerr.InvalidRecord},
		{"cut short", 9, "t", good[:len(good)-1], kerr.InvalidRecord},
		{"bad checksum", 9, "t", changed(func(b []byte) { b[len(b)-1] ^= 1 }), kerr.CorruptMessage},
		{"magic 1", 9, "t", changed(func(b []byte) { b[16] = 1 }), kerr.UnsupportedForMessageFormat},
		{"too large", 9, "t", batch(t, record.None, string(make([]byte, 2000))), kerr.MessageTooLarge},
		{"zstd before v7", 6, "t", batch(t, record.Zstd, strings.Repeat("x", 500)), kerr.UnsupportedCompressionType},
		{"v2", 2, "t", good, kerr.UnsupportedForMessageFormat},
		{"v0", 0, "t", good, kerr.UnsupportedForMessageFormat},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, setup{options: func(o *Options) { o.MaxMessageBytes = 1000 }})
			s.topic("t", 1)
			s.topic("u", 1)
			req := produceRequest(test.version, -1, produced{test.topic, 0, test.records}, produced{"u", 0, bytes.Clone(good)})
			resp := s.dial().ask(req).(*kmsg.ProduceResponse)
			if got := resp.Topics[0].Partitions[0]; got.ErrorCode != test.want.Code || got.BaseOffset != -1 {
				t.Errorf("error %d (%v), base %d; want %v, -1", got.ErrorCode, kerr.ErrorForCode(got.ErrorCode), got.BaseOffset, test.want)
			}
			if test.version < 3 {
				return
			}
			if got := resp.Topics[1].Partitions[0]; got.ErrorCode != 0 || got.BaseOffset != 0 {
				t.Errorf("the good batch: error %d, base %d", got.ErrorCode, got.BaseOffset)
			}
		})
	}
}

func TestProduceInvalidAcks(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	resp := s.dial().ask(produceRequest(9, 2, produced{"t", 0, batch(t, record.None, "x")})).(*kmsg.ProduceResponse)
	if got := resp.Topics[0].Partitions[0].ErrorCode; got != kerr.InvalidRequiredAcks.Code {
		t.Errorf("error %d, want %v", got, kerr.InvalidRequiredAcks)
	}
}

// TestAllVersionsOfProduce: the answer of each version is what kmsg understands, and holds the ids.
func TestAllVersionsOfProduce(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	for version := int16(3); version <= 11; version++ {
		end := c.fetch("t", 0, 0).HighWatermark
		resp := c.ask(produceRequest(version, -1, produced{"t", 0, batch(t, record.None, "x")})).(*kmsg.ProduceResponse)
		part := resp.Topics[0].Partitions[0]
		if resp.Topics[0].Topic != "t" || part.ErrorCode != 0 || part.BaseOffset < end || part.LogAppendTime != -1 {
			t.Errorf("v%d: %+v", version, part)
		}
		if version >= 5 && part.LogStartOffset != 0 {
			t.Errorf("v%d: log start %d", version, part.LogStartOffset)
		}
	}
}

func TestProduceWithoutAcks(t *testing.T) {
	s := serve(t, setup{})
	log := s.topic("t", 1)
	c := s.dial()
	c.send(produceRequest(9, 0, produced{"t", 0, batch(t, record.None, "x")}))
	versions := kmsg.NewPtrApiVersionsRequest()
	c.ask(versions) // comes next: the produce has no answer
	if log.Positions().End == 0 {
		t.Error("nothing was appended")
	}
	c.send(produceRequest(9, 0, produced{"t", 0, nil}))
	c.closed()
	if lines := s.log.lines("acks=0"); len(lines) != 1 {
		t.Errorf("log lines %q, want one", lines)
	}
}

// TestProduceIsNotWaitedForByTheNext holds the disk back: what comes behind a produce with acks=all is read and appended
// while that waits, nothing is answered or visible, and then everything is answered in order.
func TestProduceIsNotWaitedForByTheNext(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs})
	log := s.topic("t", 1)
	c, other := s.dial(), s.dial()

	fs.hold(true)
	first := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "first")})
	second := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "second")})
	quick := produceRequest(9, 1, produced{"t", 0, batch(t, record.None, "quick")})
	versions := kmsg.NewPtrApiVersionsRequest()
	ids := []int32{c.send(first), c.send(second), c.send(quick), c.send(versions)}
	s.eventually("the requests behind the first are handled", func() bool {
		_, _, count := s.oneQueue(c)
		writes, syncs := fs.counts()
		return writes == 3 && syncs == 1 && count == 4
	})
	if p := log.Positions(); p.HighWatermark != 0 || p.End == 0 {
		t.Errorf("positions %+v before the flush", p)
	}
	if got := other.fetch("t", 0, 0); len(got.RecordBatches) != 0 || got.HighWatermark != 0 {
		t.Errorf("a consumer sees %d bytes, high watermark %d, before the flush", len(got.RecordBatches), got.HighWatermark)
	}

	fs.hold(false)
	last := int64(-1)
	for i, req := range []kmsg.Request{first, second, quick} {
		part := c.receive(req, ids[i]).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if part.ErrorCode != 0 || part.BaseOffset <= last {
			t.Errorf("answer %d: error %d, base %d after %d", i, part.ErrorCode, part.BaseOffset, last)
		}
		last = part.BaseOffset
	}
	c.receive(versions, ids[3])
	if _, syncs := fs.counts(); syncs > 3 {
		t.Errorf("%d syncs for three produces, two of which came during the first", syncs)
	}
}

// oneQueue returns the state of the queue of c's connection.
func (s *server) oneQueue(c *client) (found bool, bytes int64, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		if conn.socket.RemoteAddr().String() == c.conn.LocalAddr().String() {
			conn.queue.mu.Lock()
			defer conn.queue.mu.Unlock()
			return true, conn.queue.bytes, conn.queue.count
		}
	}
	return false, 0, 0
}

// TestPendingIsBounded: a client that sends and sends while the disk is slow is not read beyond the bound.
func TestPendingIsBounded(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs})
	s.topic("t", 1)
	c := s.dial()
	fs.hold(true)
	req := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")})
	const more = 50
	for range maxPending + more {
		c.send(req)
	}
	s.eventually("the queue is full", func() bool {
		_, _, count := s.oneQueue(c)
		return count == maxPending
	})
	if writes, _ := fs.counts(); writes != maxPending {
		t.Errorf("%d appends while the queue is full, want %d", writes, maxPending)
	}
	fs.hold(false)
	for i := range int32(maxPending + more) {
		c.receive(req, i+1)
	}
}

func TestProduceTimesOut(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs})
	s.topic("t", 1)
	c := s.dial()
	fs.hold(true)
	defer fs.hold(false)
	req := produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")})
	req.TimeoutMillis = 1 // counts as a second
	part := c.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if part.ErrorCode != kerr.RequestTimedOut.Code {
		t.Errorf("error %d, want %v", part.ErrorCode, kerr.RequestTimedOut)
	}
}

func TestProduceCountsAreBounded(t *testing.T) {
	many := kmsg.NewPtrProduceRequest()
	many.Version, many.Acks = 9, 1
	many.Topics = make([]kmsg.ProduceRequestTopic, maxProduceParts+1)
	s := serve(t, setup{})
	c := s.dial()
	c.send(many)
	c.closed()
	if lines := s.log.lines("topics, partitions"); len(lines) != 1 {
		t.Errorf("log lines %q, want one", lines)
	}
}
