package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"logkit/lib/producers"
	"logkit/lib/record"
)

// forgetful is a broker that knows idempotent producers, behind a connection that breaks: then all is lost that follows
// on it, until what was under way has been dealt with. It refuses batches with bad records.
type forgetful struct {
	harm func() string // what happens to the next batch: "", "lost", "answer lost", "full", "late", "forgotten"

	mu      sync.Mutex
	state   *producers.State
	values  []string
	id      int64
	pending int
	broken  bool
}

var errLost = errors.New("connection lost")

func (f *forgetful) explain(err error) error { return err }

func (f *forgetful) send(_ context.Context, _ int32, batch []byte, _ bool, sent func()) outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer sent()
	if f.pending++; f.pending == 1 {
		f.broken = false
	}
	base, err := f.receive(batch)
	return outcome{base: base, err: err, settled: func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pending--
	}}
}

func (f *forgetful) receive(batch []byte) (int64, error) {
	if f.broken {
		return 0, errLost
	}
	harm := f.harm()
	switch harm {
	case "lost":
		f.broken = true
		return 0, errLost
	case "full":
		return 0, brokerError(kerr.KafkaStorageError.Code, nil)
	case "forgotten":
		f.state = producers.New(producers.Limits{})
	}
	base, err := f.store(batch)
	switch {
	case harm == "answer lost":
		f.broken = true
		return 0, errLost
	case harm == "late" && err == nil:
		return 0, brokerError(kerr.RequestTimedOut.Code, nil)
	}
	return base, err
}

func (f *forgetful) store(batch []byte) (int64, error) {
	h, err := record.Validate(batch, record.Limits{})
	if err != nil {
		return 0, err
	}
	values := recordsOf(batch)
	if slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "bad") }) {
		return 0, brokerError(kerr.InvalidRecord.Code, nil)
	}
	b := producers.Batch{Producer: h.ProducerID, Epoch: h.ProducerEpoch, Sequence: h.BaseSequence, Delta: h.LastOffsetDelta, FirstID: f.id}
	id, stored, err := f.state.Check(b)
	for _, known := range []struct {
		err  error
		code *kerr.Error
	}{
		{producers.ErrUnknown, kerr.UnknownProducerID}, {producers.ErrOutOfOrder, kerr.OutOfOrderSequenceNumber},
		{producers.ErrEpoch, kerr.InvalidProducerEpoch}, {producers.ErrDuplicate, kerr.DuplicateSequenceNumber},
	} {
		if errors.Is(err, known.err) {
			return 0, brokerError(known.code.Code, nil)
		}
	}
	if stored {
		return id, nil
	}
	f.state.Add(b)
	f.values = append(f.values, values...)
	f.id += h.Size()
	return b.FirstID, nil
}

func recordsOf(batch []byte) (values []string) {
	var it record.Iterator
	if it.Reset(batch) != nil {
		return nil
	}
	for r := (record.Record{}); it.Next(&r); {
		values = append(values, string(r.Value))
	}
	return values
}

// TestStoredOnce: whatever is lost, refused and sent again, each good record is stored once, in order, and each bad one
// refused.
func TestStoredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		harms := rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "", "lost", "answer lost", "full", "late"}), 0, 30).Draw(rt, "harms")
		bad := rapid.SliceOfN(rapid.Bool(), 20, 60).Draw(rt, "records")
		var want []string
		wantRefused := 0
		for i, isBad := range bad {
			if isBad {
				wantRefused++
			} else {
				want = append(want, fmt.Sprintf("good %d", i))
			}
		}
		at := 0
		f := &forgetful{state: producers.New(producers.Limits{}), harm: func() string {
			if at++; at > len(harms) {
				return ""
			}
			return harms[at-1]
		}}
		var err error
		var refused int
		synctest.Test(t, func(t *testing.T) { refused, err = sendAll(t, f, bad) })
		if err != nil || !slices.Equal(f.values, want) || refused != wantRefused {
			rt.Fatalf("stored %q, refused %d, %v\nwant %q, %d", f.values, refused, err, want, wantRefused)
		}
	})
}

// sendAll sends a record for each element, in batches of a few, and waits for the end.
func sendAll(t *testing.T, f *forgetful, bad []bool) (refused int, err error) {
	opts := ProducerOptions{Linger: time.Millisecond, BatchBytes: 150, Refused: func(int64, error) { refused++ }}
	p := newProducer(opts, f, []Partition{{}}, 1000, true, time.Hour)
	p.numberAs(7)
	for i, isBad := range bad {
		value := fmt.Sprintf("good %d", i)
		if isBad {
			value = fmt.Sprintf("bad %d", i)
		}
		if err := p.Add(t.Context(), record.Record{Value: []byte(value)}, int64(i)); err != nil {
			return refused, err
		}
	}
	err = p.Close(t.Context())
	return refused, err
}

// TestForgottenProducer: a broker that has forgotten the producer is told the count anew, and nothing is lost.
func TestForgottenProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := 0
		f := &forgetful{state: producers.New(producers.Limits{}), harm: func() string {
			if at++; at == 4 || at == 9 {
				return "forgotten"
			}
			return ""
		}}
		if _, err := sendAll(t, f, make([]bool, 100)); err != nil {
			t.Fatal(err)
		}
		if len(f.values) != 100 {
			t.Errorf("%d records are stored, want 100", len(f.values))
		}
	})
}

// TestLastEpoch: after it batches are not numbered any more, and none has a number of before.
func TestLastEpoch(t *testing.T) {
	n := numbering{producer: 7, epoch: 1<<15 - 1, next: 5}
	b := &batch{builder: record.NewBuilder(record.None), epoch: unnumbered}
	b.add(record.Record{Value: []byte("value")}, 0)
	if err := b.encode(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []record.Header{{ProducerID: 7, ProducerEpoch: 1<<15 - 1, BaseSequence: 5}, {ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}} {
		for range 2 {
			n.number(b)
		}
		h, err := record.Validate(b.wire, record.Limits{})
		if err != nil || h.ProducerID != want.ProducerID || h.ProducerEpoch != want.ProducerEpoch || h.BaseSequence != want.BaseSequence {
			t.Errorf("step %d: %+v, %v; want %+v", i, h, err, want)
		}
		n.restart()
	}
}
