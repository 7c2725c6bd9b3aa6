package producers

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// one is a batch of producer 1 in epoch 3.
func one(sequence, records int32, id int64) Batch {
	return Batch{Producer: 1, Epoch: 3, Sequence: sequence, Delta: records - 1, FirstID: id}
}

func inEpoch(epoch int16, b Batch) Batch {
	b.Epoch = epoch
	return b
}

func TestCheck(t *testing.T) {
	// Seven batches of ten records each, at ids 1000, 2000, …
	var seven []Batch
	for i := range int32(7) {
		seven = append(seven, one(i*10, 10, int64(i+1)*1000))
	}
	const top = math.MaxInt32
	for _, test := range []struct {
		name string
		log  []Batch
		b    Batch
		id   int64 // of the stored batch; 0: none
		err  error
	}{
		{"first batch", nil, one(0, 5, 0), 0, nil},
		{"first batch, not the beginning", nil, one(5, 5, 0), 0, ErrUnknown},
		{"next", seven, one(70, 1, 0), 0, nil},
		{"gap", seven, one(71, 1, 0), 0, ErrOutOfOrder},
		{"the last one again", seven, one(60, 10, 0), 7000, nil},
		{"the fifth from the end again", seven, one(20, 10, 0), 3000, nil},
		{"the sixth from the end again", seven, one(10, 10, 0), 0, ErrDuplicate},
		{"the first again", seven, one(0, 10, 0), 0, ErrDuplicate},
		{"half of a stored one", seven, one(65, 5, 0), 0, ErrDuplicate},
		{"stored in part", seven, one(65, 6, 0), 0, ErrOutOfOrder},
		{"lower epoch", seven, inEpoch(2, one(70, 1, 0)), 0, ErrEpoch},
		{"lower epoch, stored sequences", seven, inEpoch(2, one(60, 10, 0)), 0, ErrEpoch},
		{"higher epoch", seven, inEpoch(4, one(0, 10, 0)), 0, nil},
		{"higher epoch, not the beginning", seven, inEpoch(4, one(70, 10, 0)), 0, ErrOutOfOrder},
		{"sequences of the epoch before", append(seven[:7:7], inEpoch(4, one(0, 1, 8000))), inEpoch(4, one(60, 10, 0)), 0, ErrOutOfOrder},
		{"begun in the middle: before", []Batch{one(50, 10, 1000)}, one(40, 10, 0), 0, ErrOutOfOrder},
		{"begun in the middle: partly before", []Batch{one(50, 10, 1000)}, one(49, 2, 0), 0, ErrOutOfOrder},
		{"gap in the log: before it", append(seven[:7:7], one(100, 10, 9000)), one(60, 10, 0), 0, ErrOutOfOrder},
		{"last sequence of all, next", []Batch{one(top-9, 10, 1000)}, one(0, 10, 0), 0, nil},
		{"across the last sequence, next", []Batch{one(top-4, 10, 1000)}, one(5, 1, 0), 0, nil},
		{"across the last sequence, again", []Batch{one(top-4, 10, 1000), one(5, 5, 2000)}, one(top-4, 10, 0), 1000, nil},
		{"across the last sequence, half again", []Batch{one(top-4, 10, 1000)}, one(top-4, 5, 0), 0, ErrDuplicate},
		{"across the last sequence, gap", []Batch{one(top-4, 10, 1000)}, one(6, 1, 0), 0, ErrOutOfOrder},
		{"largest batch", []Batch{one(0, top, 1000)}, one(0, top, 0), 1000, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(Limits{})
			for _, b := range test.log {
				s.Add(b)
			}
			before := s.Entries()
			id, stored, err := s.Check(test.b)
			if id != test.id || stored != (test.id != 0) || !errors.Is(err, test.err) {
				t.Errorf("id %d, stored %v, %v; want %d, %v, %v", id, stored, err, test.id, test.id != 0, test.err)
			}
			if diff := cmp.Diff(before, s.Entries()); diff != "" {
				t.Errorf("Check changed something:\n%s", diff)
			}
			var refused *SequenceError
			if last := len(test.log) - 1; errors.As(err, &refused) && err != nil && last >= 0 {
				if want := test.log[last].FirstID + int64(test.log[last].Delta) + 1; refused.Before != want {
					t.Errorf("ids below %d, want %d", refused.Before, want)
				}
			}
		})
	}
}

// TestBounds: who has been silent longest goes first, for want of room or by time.
func TestBounds(t *testing.T) {
	s := New(Limits{Producers: 3, Expiry: time.Minute})
	at := func(producer, second int64) Batch {
		return Batch{Producer: producer, Time: second * 1000, FirstID: second}
	}
	known := func(want ...int64) {
		t.Helper()
		var got []int64
		for _, e := range s.Entries() {
			got = append(got, e.Producer)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("known producers (-want +got):\n%s", diff)
		}
	}
	s.Add(at(1, 0))
	s.Add(at(2, 10))
	s.Add(at(3, 20))
	s.Add(inEpoch(1, at(1, 30)))
	known(2, 3, 1)
	s.Add(at(4, 40))
	known(3, 1, 4)
	if gone := s.Expire(80_000); gone != 0 {
		t.Errorf("%d expired after exactly a minute", gone)
	}
	if gone := s.Expire(90_001); gone != 2 || s.Len() != 1 {
		t.Errorf("%d expired, %d left; want 2 and 1", gone, s.Len())
	}
	known(4)
	s.SetLimits(Limits{Expiry: time.Second})
	s.Expire(50_000)
	known()
}

// TestView: a view shows what was known when it was taken, whatever happens to the State afterwards, which does not notice.
func TestView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Producers: rapid.SampledFrom([]int{1, 10, chunkSize, 3 * chunkSize}).Draw(t, "producers"), Expiry: time.Second}
		s, twin := New(limits), New(limits)
		type taken struct {
			View
			want []Entry
		}
		var views []taken
		for i := range rapid.Int64Range(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 20).Draw(t, "step") {
			case 0:
				views = append(views, taken{s.View(), twin.Entries()})
			case 1:
				if a, b := s.Expire(i*10), twin.Expire(i*10); a != b {
					t.Fatalf("%d have expired, without a view %d", a, b)
				}
			default:
				b := Batch{Producer: rapid.Int64Range(0, 200).Draw(t, "producer"), Sequence: int32(i), FirstID: i, Time: i * 10}
				s.Add(b)
				twin.Add(b)
			}
		}
		views = append(views, taken{s.View(), twin.Entries()})
		for i, v := range views {
			if diff := cmp.Diff(v.want, v.Entries()); diff != "" {
				t.Fatalf("view %d of %d (-want +got):\n%s", i, len(views), diff)
			}
		}
		if s.Len() != twin.Len() {
			t.Fatalf("%d producers, want %d", s.Len(), twin.Len())
		}
	})
}
