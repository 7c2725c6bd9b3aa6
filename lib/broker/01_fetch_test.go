package broker

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/commitlog"
	"logkit/lib/record"
)

// TestFetchPlaces: which batches each id is answered with. There are two batches of three records.
func TestFetchPlaces(t *testing.T) {
	s := serve(t, setup{})
	log := s.topic("t", 1)
	c := s.dial()
	one := batch(t, record.None, "a", "b", "c")
	c.produce("t", 0, one)
	second := c.produce("t", 0, bytes.Clone(one))
	size := int64(len(one))
	end := log.Positions().End

	for _, test := range []struct {
		name  string
		id    int64
		bytes int64
		code  *kerr.Error
	}{
		{"start", 0, 2 * size, nil},
		{"inside the first batch", 1, 2 * size, nil},
		{"last record of it", 2, 2 * size, nil},
		{"gap behind it", 3, size, nil},
		{"last id of the gap", second - 1, size, nil},
		{"second batch", second, size, nil},
		{"last record", second + 2, size, nil},
		{"high watermark", second + 3, 0, nil},
		{"behind it, within the log", end, 0, nil},
		{"behind the log", end + 1, 0, kerr.OffsetOutOfRange},
		{"negative", -1, 0, kerr.OffsetOutOfRange},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := c.fetch("t", 0, test.id)
			if kerr.ErrorForCode(got.ErrorCode) != errorOrNil(test.code) || int64(len(got.RecordBatches)) != test.bytes {
				t.Errorf("error %d, %d bytes; want %v, %d", got.ErrorCode, len(got.RecordBatches), test.code, test.bytes)
			}
			if got.HighWatermark != second+3 || got.LastStableOffset != second+3 || got.LogStartOffset != 0 {
				t.Errorf("marks %d, %d, %d; want %d, the same, 0", got.HighWatermark, got.LastStableOffset, got.LogStartOffset, second+3)
			}
			if got.RecordBatches == nil {
				t.Error("records are null")
			}
		})
	}

	if _, err := log.DeleteBefore(second); err != nil {
		t.Fatal(err)
	}
	got := c.fetch("t", 0, second-1)
	if got.ErrorCode != kerr.OffsetOutOfRange.Code || got.LogStartOffset != second || got.HighWatermark != second+3 {
		t.Errorf("below the start: %+v", got)
	}
}

func errorOrNil(e *kerr.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// TestFetchOfSeveral: answers come in the order of the request, errors beside records.
func TestFetchOfSeveral(t *testing.T) {
	s := serve(t, setup{})
	s.topic("a", 2)
	s.topic("b", 1)
	c := s.dial()
	records := batch(t, record.None, "x")
	c.produce("a", 1, records)
	c.produce("b", 0, records)
	for version := int16(4); version <= 12; version++ {
		resp := c.ask(fetchRequest(version, time.Hour, // no wait: there is an error
			fetched{"b", 7, 0}, fetched{"b", 0, 0}, fetched{"nowhere", 0, 0}, fetched{"a", 1, 0}, fetched{"a", 0, 0})).(*kmsg.FetchResponse)
		type result struct {
			Topic     string
			Partition int32
			Code      int16
			Bytes     int
			High      int64
		}
		var got []result
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				got = append(got, result{topic.Topic, p.Partition, p.ErrorCode, len(p.RecordBatches), p.HighWatermark})
			}
		}
		want := []result{{"b", 7, 3, 0, -1}, {"b", 0, 0, len(records), 1}, {"nowhere", 0, 3, 0, -1}, {"a", 1, 0, len(records), 1}, {"a", 0, 0, 0, 0}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("v%d (-want +got):\n%s", version, diff)
		}
	}
}

// TestFetchLimits: the first batch comes whole whatever the limits are, the rest keeps them.
func TestFetchLimits(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 3)
	c := s.dial()
	records := batch(t, record.None, "0123456789")
	size := len(records)
	for p := range int32(3) {
		for range 3 {
			c.produce("t", p, bytes.Clone(records))
		}
	}
	all := []fetched{{"t", 0, 0}, {"t", 1, 0}, {"t", 2, 0}}
	for _, test := range []struct {
		name         string
		whole, each  int
		want         []int // batches of each partition
		sameConn     bool
		wantNextTime []int
	}{
		{"none", 1 << 20, 1 << 20, []int{3, 3, 3}, false, nil},
		{"less than one batch each", 1 << 20, 1, []int{1, 1, 1}, false, nil},
		{"two batches each", 1 << 20, 2*size + 5, []int{2, 2, 2}, false, nil},
		{"less than one batch in all", 1, 1 << 20, []int{1, 0, 0}, true, []int{0, 1, 0}},
		{"nothing", 0, 0, []int{1, 0, 0}, true, []int{0, 1, 0}},
		{"four batches in all", 4*size + 1, 1 << 20, []int{3, 1, 0}, true, []int{1, 0, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := s.dial()
			ask := func() (got []int) {
				req := fetchRequest(11, 0, all...)
				req.MaxBytes = int32(test.whole)
				for i := range req.Topics[0].Partitions {
					req.Topics[0].Partitions[i].PartitionMaxBytes = int32(test.each)
				}
				for _, p := range c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions {
					got = append(got, len(p.RecordBatches)/size)
				}
				return got
			}
			if diff := cmp.Diff(test.want, ask()); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			if test.sameConn {
				if diff := cmp.Diff(test.wantNextTime, ask()); diff != "" {
					t.Errorf("the second time (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestFetchRotates: when there is never room for all, each partition has its turn.
func TestFetchRotates(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 5)
	c := s.dial()
	var all []fetched
	for p := range int32(5) {
		c.produce("t", p, batch(t, record.None, "x"))
		all = append(all, fetched{"t", p, 0})
	}
	turns := make([]int, 5)
	for range 10 {
		req := fetchRequest(11, 0, all...)
		req.MaxBytes = 1
		for i, p := range c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions {
			if len(p.RecordBatches) > 0 {
				turns[i]++
			}
		}
	}
	if diff := cmp.Diff([]int{2, 2, 2, 2, 2}, turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// TestFetchKeepsTurns: a fetch for some other partition alone, at its end, takes no turn away.
func TestFetchKeepsTurns(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 3)
	c := s.dial()
	for p := range int32(2) {
		c.produce("t", p, batch(t, record.None, "x"))
	}
	turns := make([]int, 3)
	for range 6 {
		req := fetchRequest(11, 0, fetched{"t", 2, 0}, fetched{"t", 1, 0}, fetched{"t", 0, 0})
		req.MaxBytes = 1
		for _, p := range c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions {
			if len(p.RecordBatches) > 0 {
				turns[p.Partition]++
			}
		}
		c.ask(fetchRequest(11, 0, fetched{"t", 2, 0}))
	}
	if diff := cmp.Diff([]int{3, 3, 0}, turns); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// waits tells whether so many fetches are in their long poll.
func (s *server) waits(want int64) func() bool {
	return func() bool { return s.polls.Load() == want }
}

// TestFetchWaits: a long poll ends when a record becomes visible, which is after its flush.
func TestFetchWaits(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs})
	s.topic("t", 1)
	producer, consumer := s.dial(), s.dial()
	req := fetchRequest(12, time.Hour, fetched{"t", 0, 0})
	id := consumer.send(req)
	s.eventually("the fetch waits", s.waits(1))

	fs.hold(true)
	producer.send(produceRequest(9, -1, produced{"t", 0, batch(t, record.None, "x")}))
	s.eventually("the flush has begun", func() bool { _, syncs := fs.counts(); return syncs == 1 })
	if _, _, owed := s.oneQueue(consumer); owed != 1 {
		t.Error("the fetch was answered before the flush")
	}
	fs.hold(false)
	p := consumer.receive(req, id).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if len(p.RecordBatches) == 0 || p.HighWatermark != 1 {
		t.Errorf("%d bytes, high watermark %d", len(p.RecordBatches), p.HighWatermark)
	}
	s.eventually("the wait is over", s.waits(0))
}

// TestFetchMinBytes: it waits for as much as was asked for, and answers with less when the time is over.
func TestFetchMinBytes(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	producer, consumer := s.dial(), s.dial()
	records := batch(t, record.None, "0123456789")
	req := fetchRequest(12, time.Hour, fetched{"t", 0, 0})
	req.MinBytes = int32(2*len(records)) - 1
	id := consumer.send(req)
	s.eventually("the fetch waits", s.waits(1))
	producer.produce("t", 0, bytes.Clone(records))
	if _, _, owed := s.oneQueue(consumer); owed != 1 {
		t.Error("answered with less than min_bytes")
	}
	producer.produce("t", 0, bytes.Clone(records))
	p := consumer.receive(req, id).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if len(p.RecordBatches) != 2*len(records) {
		t.Errorf("%d bytes, want %d", len(p.RecordBatches), 2*len(records))
	}
	req.MinBytes, req.MaxWaitMillis = 1<<20, 1
	p = consumer.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
	if len(p.RecordBatches) != 2*len(records) {
		t.Errorf("when the time is over: %d bytes, want %d", len(p.RecordBatches), 2*len(records))
	}
}

func TestFetchWaitEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(*server, *client)
	}{
		{"client closes", func(_ *server, c *client) { c.conn.Close() }},
		{"client closes its side", func(_ *server, c *client) { c.conn.(interface{ CloseWrite() error }).CloseWrite() }},
		{"topic is deleted", func(s *server, _ *client) {
			if err := s.remove("t"); err != nil {
				s.t.Fatal(err)
			}
		}},
		{"broker stops", func(s *server, _ *client) { s.shutdown() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, setup{})
			s.topic("t", 1)
			c := s.dial()
			req := fetchRequest(12, time.Hour, fetched{"t", 0, 0})
			id := c.send(req)
			s.eventually("the fetch waits", s.waits(1))
			test.end(s, c)
			s.eventually("the wait is over", s.waits(0))
			if test.name != "client closes" {
				c.receive(req, id)
			}
			if lines := s.log.lines("level=WARN"); len(lines) != 0 {
				t.Errorf("log %q", lines)
			}
		})
	}
}

func TestFetchSessionsAndEpochs(t *testing.T) {
	s := serve(t, setup{})
	s.topic("t", 1)
	c := s.dial()
	req := fetchRequest(12, 0, fetched{"t", 0, 0})
	for _, test := range []struct{ id, epoch int32 }{{5, 1}, {5, 3}, {0, 1}} {
		req.SessionID, req.SessionEpoch = test.id, test.epoch
		if resp := c.ask(req).(*kmsg.FetchResponse); resp.ErrorCode != kerr.FetchSessionIDNotFound.Code || resp.SessionID != 0 {
			t.Errorf("session %d epoch %d: error %d, session %d", test.id, test.epoch, resp.ErrorCode, resp.SessionID)
		}
	}
	for _, test := range []struct{ id, epoch int32 }{{0, 0}, {0, -1}, {5, 0}, {5, -1}} { // with an id: that session ends
		req.SessionID, req.SessionEpoch = test.id, test.epoch
		if resp := c.ask(req).(*kmsg.FetchResponse); resp.ErrorCode != 0 || resp.SessionID != 0 || len(resp.Topics) != 1 {
			t.Errorf("session %d epoch %d: %+v", test.id, test.epoch, resp)
		}
	}
	req.SessionID, req.SessionEpoch = 0, -1
	for leader, want := range map[int32]int16{-1: 0, 0: 0, 1: kerr.UnknownLeaderEpoch.Code} {
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = leader
		if got := c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode; got != want {
			t.Errorf("leader epoch %d: error %d, want %d", leader, got, want)
		}
	}
}

// TestLargeFetchGoesBySendfile: and takes no memory for what it sends.
func TestLargeFetchGoesBySendfile(t *testing.T) {
	var calls, sent atomic.Int64
	s := serve(t, setup{broker: func(b *Broker) {
		b.send = func(raw syscall.RawConn, in source, pos int64, n int) (int, error) {
			got, err := sendFile(raw, in, pos, n)
			calls.Add(1)
			sent.Add(int64(got))
			return got, err
		}
	}})
	log := s.topic("t", 1)
	c := s.dial()
	records := batch(t, record.None, string(make([]byte, 900<<10)))
	for range 20 {
		c.produce("t", 0, bytes.Clone(records))
	}
	c.produce("t", 0, batch(t, record.None, "small"))

	c.write(encodeRequest(fetchRequest(12, 0, fetched{"t", 0, 0}), 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	total := c.discard()
	runtime.ReadMemStats(&after)
	if calls.Load() == 0 || total < 20*len(records) || sent.Load() < int64(20*len(records)) {
		t.Errorf("%d calls of sendfile for %d bytes of %d", calls.Load(), sent.Load(), total)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes allocated for an answer of %d", grown, total)
	}

	calls.Store(0)
	if p := c.fetch("t", 0, log.Positions().HighWatermark-1); len(p.RecordBatches) == 0 || calls.Load() != 0 {
		t.Errorf("a small answer: %d bytes, %d calls of sendfile", len(p.RecordBatches), calls.Load())
	}
}

// TestFetchEndsWithASegment: what is read from one partition ends with its segment. When there is more in the next one, it
// is not waited for min_bytes that cannot come.
func TestFetchEndsWithASegment(t *testing.T) {
	records := batch(t, record.None, string(make([]byte, 1000)))
	s := serve(t, setup{log: commitlog.Options{SegmentBytes: int64(len(records)) * 2}})
	log := s.topic("t", 1)
	c := s.dial()
	for range 5 {
		c.produce("t", 0, bytes.Clone(records))
	}
	if _, segments, err := log.Size(); err != nil || segments < 3 {
		t.Fatalf("%d segments, %v", segments, err)
	}
	req := fetchRequest(12, time.Hour, fetched{"t", 0, 0})
	req.MinBytes = 1 << 20
	for next, end := int64(0), log.Positions().HighWatermark; ; {
		req.Topics[0].Partitions[0].FetchOffset = next
		if next > end-int64(len(records)) { // the last segment: there it waits
			c.send(req)
			s.eventually("the fetch waits", s.waits(1))
			return
		}
		p := c.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
			t.Fatalf("from %d on: error %d, %d bytes", next, p.ErrorCode, len(p.RecordBatches))
		}
		next += int64(len(p.RecordBatches))
	}
}
