package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

func initProducerID(version int16, change func(*kmsg.InitProducerIDRequest)) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = version
	if change != nil {
		change(req)
	}
	return req
}

func TestInitProducerID(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	transactional := func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = kmsg.StringPtr("x") }
	seen := make(map[int64]bool)
	for _, test := range []struct {
		name   string
		from   int16
		change func(*kmsg.InitProducerIDRequest)
		want   int16
	}{
		{"plain", 0, nil, 0},
		{"epoch is to be raised", 3, func(r *kmsg.InitProducerIDRequest) { r.ProducerID, r.ProducerEpoch = 5, 2 }, 0},
		{"id without epoch", 3, func(r *kmsg.InitProducerIDRequest) { r.ProducerID = 5 }, kerr.InvalidRequest.Code},
		{"epoch without id", 3, func(r *kmsg.InitProducerIDRequest) { r.ProducerEpoch = 5 }, kerr.InvalidRequest.Code},
		{"transactional id", 0, transactional, kerr.InvalidRequest.Code},
	} {
		for version := test.from; version <= 4; version++ {
			got := c.ask(initProducerID(version, test.change)).(*kmsg.InitProducerIDResponse)
			switch {
			case got.ErrorCode != test.want:
				t.Errorf("%s, v%d: error %d, want %d", test.name, version, got.ErrorCode, test.want)
			case test.want != 0 && (got.ProducerID != -1 || got.ProducerEpoch != -1):
				t.Errorf("%s, v%d: refused with id %d and epoch %d", test.name, version, got.ProducerID, got.ProducerEpoch)
			case test.want == 0 && (got.ProducerID < 0 || seen[got.ProducerID] || got.ProducerEpoch != 0):
				t.Errorf("%s, v%d: id %d, epoch %d", test.name, version, got.ProducerID, got.ProducerEpoch)
			}
			seen[got.ProducerID] = true
		}
	}
}

// TestNoTransactions: whoever asks for the coordinator of a transaction is refused for good.
func TestNoTransactions(t *testing.T) {
	s := serve(t, setup{})
	c := s.dial()
	for version := int16(1); version <= 3; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey, req.CoordinatorType = version, "x", 1
		got := c.ask(req).(*kmsg.FindCoordinatorResponse)
		if got.ErrorCode != kerr.InvalidRequest.Code || got.ErrorMessage == nil {
			t.Errorf("v%d: error %d, message %v", version, got.ErrorCode, got.ErrorMessage)
		}
	}
	for _, row := range s.apis.rows {
		if row.key >= kmsg.AddPartitionsToTxn && row.key <= kmsg.TxnOffsetCommit {
			t.Errorf("%v is advertised", row.key)
		}
	}
}

// sequenced encodes a batch of an idempotent producer with so many records.
func sequenced(t testing.TB, producer int64, epoch int16, sequence int32, records int) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = producer, epoch, sequence
	for range records {
		b.Append(record.Record{Timestamp: 1_700_000_000_000, Value: []byte("value")})
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSequences: what becomes of a batch, by its sequence.
func TestSequences(t *testing.T) {
	s := serve(t, setup{})
	log := s.topic("t", 1)
	c := s.dial()
	var ids []int64
	for i := range int32(7) {
		ids = append(ids, c.produce("t", 0, sequenced(t, 9, 1, i*10, 10)))
	}
	if _, err := log.DeleteBefore(ids[3]); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		batch    []byte
		code     int16
		id       int64
		logStart int64
	}{
		{"the last one again", sequenced(t, 9, 1, 60, 10), 0, ids[6], ids[3]},
		{"one that is deleted, again", sequenced(t, 9, 1, 20, 10), 0, ids[2], ids[3]},
		{"one that is forgotten", sequenced(t, 9, 1, 10, 10), kerr.DuplicateSequenceNumber.Code, -1, ids[3]},
		{"gap", sequenced(t, 9, 1, 71, 10), kerr.OutOfOrderSequenceNumber.Code, -1, ids[3]},
		{"old epoch", sequenced(t, 9, 0, 70, 10), kerr.InvalidProducerEpoch.Code, -1, ids[3]},
		{"unknown producer", sequenced(t, 8, 0, 70, 10), kerr.UnknownProducerID.Code, -1, ids[3]},
	} {
		end := log.Positions().End
		for _, acks := range []int16{-1, 1} {
			for _, version := range []int16{3, 5, 11} {
				resp := c.ask(produceRequest(version, acks, produced{"t", 0, test.batch})).(*kmsg.ProduceResponse)
				got := resp.Topics[0].Partitions[0]
				if got.ErrorCode != test.code || got.BaseOffset != test.id || version >= 5 && got.LogStartOffset != test.logStart {
					t.Errorf("%s, acks=%d, v%d: error %d, id %d, log start %d; want %d, %d, %d", test.name, acks, version,
						got.ErrorCode, got.BaseOffset, got.LogStartOffset, test.code, test.id, test.logStart)
				}
			}
		}
		if log.Positions().End != end {
			t.Errorf("%s: it was appended", test.name)
		}
	}
}

// TestSentAgainBeforeTheFlush: while the disk is held back, the answer to a batch that is sent again waits like the
// first, and that it was forgotten is no better a reason to answer early. No flush is asked for twice.
func TestSentAgainBeforeTheFlush(t *testing.T) {
	fs := newHeldFS()
	s := serve(t, setup{fs: fs})
	log := s.topic("t", 1)
	first, other := s.dial(), s.dial()
	fs.hold(true)
	var sent []int32
	request := func(i int32, acks int16) *kmsg.ProduceRequest {
		return produceRequest(9, acks, produced{"t", 0, sequenced(t, 9, 0, i, 1)})
	}
	for i := range int32(6) {
		sent = append(sent, first.send(request(i, -1)))
	}
	s.eventually("all are appended", func() bool {
		writes, syncs := fs.counts()
		return writes == 6 && syncs == 1
	})
	again, forgotten := request(5, -1), request(0, -1)
	ids := []int32{other.send(again), other.send(forgotten)}
	quick := s.dial().ask(request(5, 1)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if quick.ErrorCode != 0 {
		t.Errorf("with acks=1: error %d", quick.ErrorCode)
	}
	s.eventually("the answers wait", func() bool {
		_, _, count := s.oneQueue(other)
		return count == 2
	})
	if writes, _ := fs.counts(); writes != 6 || log.Positions().HighWatermark != 0 {
		t.Errorf("%d appends, high watermark %d", writes, log.Positions().HighWatermark)
	}
	fs.hold(false)
	for _, id := range sent {
		if got := first.receive(again, id).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; got.ErrorCode != 0 {
			t.Errorf("the original: error %d", got.ErrorCode)
		}
	}
	for i, want := range []int16{0, kerr.DuplicateSequenceNumber.Code} {
		got := other.receive(again, ids[i]).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if got.ErrorCode != want || want == 0 && got.BaseOffset != quick.BaseOffset {
			t.Errorf("sent again: error %d, id %d; want %d, %d", got.ErrorCode, got.BaseOffset, want, quick.BaseOffset)
		}
	}
	if _, syncs := fs.counts(); syncs > 2 {
		t.Errorf("%d syncs, the second takes all that came during the first", syncs)
	}
}
