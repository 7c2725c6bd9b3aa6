package commitlog

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"logkit/lib/producers"
	"logkit/lib/record"
)

// TestProducersModel does what TestModel does with batches of idempotent producers, which are sent again, left out and
// sent in the wrong epoch. The model looks through all batches that ever were in the log: whatever a crash, an orderly
// end, a refused append or the deletion of segments has left of the log, a batch is stored once and in its place.
//
// When the disk fails at the wrong moment, segments are deleted although their producers could not be saved, so
// deletions and failures each get runs of their own.
func TestProducersModel(t *testing.T) {
	soak(t, 700, 100_000)
	rapid.Check(t, func(t *rapid.T) {
		options := Options{
			SegmentBytes:  rapid.SampledFrom([]int64{1, 500, 2000}).Draw(t, "segment bytes"),
			FlushInterval: time.Hour,
		}
		m := newMachine(t, options, 200)
		defer m.close()
		actions := m.actions()
		left := []string{"retain", "delete records"}
		if rapid.Bool().Draw(t, "deletions") {
			left = []string{"disk fills", "disk has room", "call fails"}
		}
		for _, name := range append(left, "read", "find time", "append") {
			delete(actions, name)
		}
		send := func(t *rapid.T) {
			m.t = t
			m.after(m.send(m.drawSequence(t), rapid.Bool().Draw(t, "flush")))
		}
		for _, name := range []string{"send", "send once more", "send and send"} { // mostly
			actions[name] = send
		}
		t.Repeat(actions)
	})
}

// of are the batches of a producer that are, or have been, in the log.
func (m *machine) of(producer int64) (all []record.Header) {
	for _, b := range m.written {
		if b.h.ProducerID == producer {
			all = append(all, b.h)
		}
	}
	return all
}

// sent is a batch on its way, without an id.
type sent struct {
	producer int64
	epoch    int16
	sequence int32
	count    int32
}

// drawSequence is a batch that is the next one of its producer, or one of those before, or anything.
func (m *machine) drawSequence(t *rapid.T) sent {
	s := sent{producer: rapid.Int64Range(0, 2).Draw(t, "producer"), count: rapid.Int32Range(1, 3).Draw(t, "records")}
	all := m.of(s.producer)
	if len(all) > 0 {
		last := all[len(all)-1]
		s.epoch, s.sequence = last.ProducerEpoch, last.BaseSequence+last.Count
	}
	switch rapid.SampledFrom([]string{"next", "next", "next", "again", "epoch", "anything"}).Draw(t, "kind") {
	case "again":
		if n := len(all); n > 0 {
			h := all[rapid.IntRange(max(0, n-8), n-1).Draw(t, "batch")]
			s = sent{h.ProducerID, h.ProducerEpoch, h.BaseSequence, h.Count}
		}
	case "epoch":
		s.epoch, s.sequence = s.epoch+1, 0
	case "anything":
		s.epoch = max(0, s.epoch+int16(rapid.IntRange(-1, 1).Draw(t, "epoch")))
		s.sequence = max(0, s.sequence+rapid.Int32Range(-8, 3).Draw(t, "beside"))
	}
	return s
}

// verdict is what must become of a batch: it is stored with that id, refused for one of those reasons, or appended.
func (m *machine) verdict(s sent) (id int64, stored bool, reasons []error) {
	all := m.of(s.producer)
	if len(all) == 0 {
		if s.sequence != 0 {
			return 0, false, []error{producers.ErrUnknown}
		}
		return 0, false, nil
	}
	last := all[len(all)-1]
	switch {
	case s.epoch < last.ProducerEpoch:
		return 0, false, []error{producers.ErrEpoch}
	case s.epoch > last.ProducerEpoch && s.sequence > 0:
		return 0, false, []error{producers.ErrOutOfOrder}
	case s.epoch > last.ProducerEpoch:
		return 0, false, nil
	}
	all = slices.DeleteFunc(all, func(h record.Header) bool { return h.ProducerEpoch != s.epoch })
	for _, h := range all[max(0, len(all)-5):] {
		if h.BaseSequence == s.sequence && h.Count == s.count {
			return h.BaseOffset, true, nil
		}
	}
	switch next := last.BaseSequence + last.Count; {
	case s.sequence == next:
		return 0, false, nil
	case s.sequence+s.count <= next:
		// How far back a log remembers depends on when it was opened.
		return 0, false, []error{producers.ErrDuplicate, producers.ErrOutOfOrder}
	}
	return 0, false, []error{producers.ErrOutOfOrder}
}

func (m *machine) send(s sent, flush bool) error {
	b := s.encode(m.t)
	id, stored, reasons := m.verdict(s)
	if !stored && reasons == nil {
		return m.append(b, flush)
	}
	base, err := m.log.Append(slices.Clone(b.data), b.h, flush)
	if errors.Is(err, ErrStorage) {
		return err // the room for a segment, as it may be
	}
	switch {
	case stored && (err != nil || base != id):
		m.t.Errorf("%+v: id %d, %v; it is stored with id %d", s, base, err, id)
	case stored && flush:
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return m.log.WaitVisible(ctx, b.at(base).h.LastOffset())
	case !stored && !slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }):
		m.t.Errorf("%+v: id %d, %v; want %v", s, base, err, reasons)
	}
	if flush && errors.Is(err, producers.ErrDuplicate) {
		return m.flush() // one may be under way, and what it makes visible is to be counted afterwards
	}
	return nil
}

func (s sent) encode(t rapid.TB) written {
	b := record.NewBuilder(record.None)
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = s.producer, s.epoch, s.sequence
	var records []record.Record
	for range s.count {
		records = append(records, record.Record{Timestamp: math.MaxInt32, Value: []byte("value")})
		b.Append(records[len(records)-1])
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	return written{h, data, records}
}
