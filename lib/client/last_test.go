package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"logkit/lib/record"
)

// fill gives a log batches of the given numbers of records, of some bytes each, whose timestamps come from clock.
func (f *fakeLog) fill(partition int, size int, clock func() int64, batches ...int) (all []Record) {
	for _, n := range batches {
		b := record.NewBuilder(record.None)
		for i := range n {
			value := fmt.Sprint(partition, ":", len(all), strings.Repeat("-", size))
			at := clock()
			b.Append(record.Record{Timestamp: at, Value: []byte(value)})
			all = append(all, Record{"t", int32(partition), record.Record{Offset: f.bases[partition] + int64(i), Timestamp: at, Value: []byte(value)}})
		}
		batch, err := b.Finish(nil)
		if err != nil {
			panic(err)
		}
		record.SetBaseOffset(batch, f.bases[partition])
		f.parts[partition] = append(f.parts[partition], batch)
		f.bases[partition] += int64(len(batch))
	}
	return all
}

func (f *fakeLog) spans() (spans []Span) {
	for p := range f.parts {
		spans = append(spans, between(int32(p), 0, f.end(p)))
	}
	return spans
}

func lastValues(t *testing.T, f *fakeLog, spans []Span, n int) (values []string, damage []error) {
	t.Helper()
	err := last(t.Context(), spans, n, func(err error) { damage = append(damage, err) },
		func() *Reader { return newReader(ReaderOptions{}, f, time.Second) },
		func(r *Record) error { values = append(values, string(r.Value)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return values, damage
}

func TestLastMergesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 4))
		log := newFakeLog(4)
		now := int64(1000)
		clock := func() int64 { now += rnd.Int64N(3); return now }
		var all []Record
		for p := range 3 { // partition 3 stays empty
			now = 1000
			all = append(all, log.fill(p, 300*p, clock, 100, 1, 7, 1, 30, 200*p+1)...)
		}
		slices.SortStableFunc(all, func(a, b Record) int {
			return cmp.Or(cmp.Compare(a.Timestamp, b.Timestamp), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
		})
		for _, n := range []int{0, 1, 2, 10, 57, 300, 1000, 100000, 1 << 40} {
			var want []string
			for _, r := range all[max(0, len(all)-n):] {
				want = append(want, string(r.Value))
			}
			got, damage := lastValues(t, log, log.spans(), n)
			if diff := gocmp.Diff(want, got); diff != "" || damage != nil {
				t.Fatalf("last %d: %v\n%s", n, damage, diff)
			}
		}
	})
}

// The order inside a partition is kept, though its timestamps go backwards.
func TestLastKeepsTheOrderOfEachPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(2)
		at := []int64{50, 10, 40, 20, 30, 15, 60, 5}
		i := 0
		log.fill(0, 0, func() int64 { i++; return at[i-1] }, 2, 2, 2, 2)
		log.fill(1, 0, func() int64 { return 17 }, 2)
		got, _ := lastValues(t, log, log.spans(), 8)
		if want := []string{"0:2", "0:3", "0:4", "0:5", "0:6", "0:7", "1:0", "1:1"}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	})
}

func TestLastStaysInsideItsSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		all := log.fill(0, 2000, func() int64 { return 1 }, 50, 50, 50)
		got, _ := lastValues(t, log, []Span{between(0, all[70].Offset, all[120].Offset)}, 200)
		if len(got) != 50 || !strings.HasPrefix(got[0], "0:70-") || !strings.HasPrefix(got[49], "0:119-") {
			t.Errorf("%d records from %.8q to %.8q", len(got), got[0], got[len(got)-1])
		}
	})
}

func TestLastLeavesOutDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.fill(0, 0, func() int64 { return 1 }, 2, 2, 2)
		log.parts[0][1][70] ^= 1
		got, damage := lastValues(t, log, log.spans(), 3)
		if want := []string{"0:1", "0:4", "0:5"}; !slices.Equal(got, want) || len(damage) != 1 || !errors.Is(damage[0], record.ErrCRC) {
			t.Errorf("%v %v", got, damage)
		}
	})
}

// Reading the last few records of a large partition does not read all of it.
func TestLastReadsNoMoreThanItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.fill(0, 200, func() int64 { return 1 }, slices.Repeat([]int{40}, 2000)...)
		lastValues(t, log, log.spans(), 10)
		if log.sent > 200<<10 {
			t.Errorf("%d bytes were sent", log.sent)
		}
	})
}

func TestLastEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := last(ctx, []Span{between(0, 0, 10)}, 3, func(error) {}, func() *Reader { return newReader(ReaderOptions{}, log, time.Second) },
			func(*Record) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// What Skip leaves is what Last finds.
func TestSkipIsTheOtherEndOfLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(3, 4))
		log := newFakeLog(4)
		now := int64(1000)
		clock := func() int64 { now += rnd.Int64N(3); return now }
		total := 0
		for p := range 3 {
			now = 1000
			total += len(log.fill(p, 300*p, clock, 100, 1, 7, 1, 30, 200*p+1))
		}
		for _, n := range []int{0, 1, 2, 10, 57, 300, total, total + 10} {
			r := newReader(ReaderOptions{}, log, time.Second)
			left, err := skip(t.Context(), log.spans(), n, r)
			r.Close()
			if err != nil {
				t.Fatal(err)
			}
			got, _ := lastValues(t, log, left, total)
			want, _ := lastValues(t, log, log.spans(), total-n)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("without the first %d: %s", n, diff)
			}
		}
	})
}
