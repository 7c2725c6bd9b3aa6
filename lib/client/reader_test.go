package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/record"
)

// fakeLog serves one topic as a broker would whose ids are positions.
type fakeLog struct {
	leaders []int32
	fail    func(try int) error // of fetches

	mu    sync.Mutex
	parts [][][]byte // batches
	bases []int64    // of the next batch
	tries int
	sent  int // bytes of batches
}

func newFakeLog(partitions int) *fakeLog {
	return &fakeLog{leaders: make([]int32, partitions), parts: make([][][]byte, partitions), bases: make([]int64, partitions)}
}

// add appends a batch of the given values and returns the id of the first.
func (f *fakeLog) add(partition int, values ...string) int64 {
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Append(record.Record{Value: []byte(v)})
	}
	batch, err := b.Finish(nil)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	base := f.bases[partition]
	record.SetBaseOffset(batch, base)
	f.parts[partition] = append(f.parts[partition], batch)
	f.bases[partition] += int64(len(batch))
	return base
}

// end is the id of a partition's last record + 1.
func (f *fakeLog) end(partition int) int64 {
	batches := f.parts[partition]
	if len(batches) == 0 {
		return 0
	}
	last := batches[len(batches)-1]
	return int64(binary.BigEndian.Uint64(last)) + int64(int32(binary.BigEndian.Uint32(last[57:])))
}

// between is a span of the topic that a fakeLog serves.
func between(partition int32, start, end int64) Span {
	return Span{Topic: "t", Partition: partition, Start: start, End: end}
}

func (f *fakeLog) explain(err error) error { return err }

func (f *fakeLog) lookUp(_ context.Context, topic string) (Topic, error) {
	if topic != "t" {
		return Topic{}, kerr.UnknownTopicOrPartition
	}
	found := Topic{Name: topic}
	for i, leader := range f.leaders {
		found.Partitions = append(found.Partitions, Partition{int32(i), leader})
	}
	return found, nil
}

func (f *fakeLog) fetch(ctx context.Context, leader int32, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	resp := kmsg.NewPtrFetchResponse()
	f.mu.Lock()
	f.tries++
	if f.fail != nil {
		if err := f.fail(f.tries); err != nil {
			f.mu.Unlock()
			return nil, err
		}
	}
	empty := true
	for _, t := range req.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			got := f.partition(leader, p)
			empty = empty && got.ErrorCode == 0 && len(got.RecordBatches) == 0
			topic.Partitions = append(topic.Partitions, got)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	f.mu.Unlock()
	if empty && !sleep(ctx, time.Duration(req.MaxWaitMillis)*time.Millisecond) {
		return nil, ctx.Err()
	}
	return resp, nil
}

func (f *fakeLog) partition(leader int32, p kmsg.FetchRequestTopicPartition) kmsg.FetchResponseTopicPartition {
	got := kmsg.NewFetchResponseTopicPartition()
	got.Partition = p.Partition
	got.LogStartOffset = 0
	got.HighWatermark = f.end(int(p.Partition))
	if f.leaders[p.Partition] != leader {
		got.ErrorCode = kerr.NotLeaderForPartition.Code
		return got
	}
	if p.FetchOffset < 0 || p.FetchOffset > f.bases[p.Partition] {
		got.ErrorCode = kerr.OffsetOutOfRange.Code
		return got
	}
	for _, batch := range f.parts[p.Partition] {
		last := int64(binary.BigEndian.Uint64(batch)) + int64(int32(binary.BigEndian.Uint32(batch[23:])))
		if last >= p.FetchOffset && (got.RecordBatches == nil || len(got.RecordBatches)+len(batch) <= int(p.PartitionMaxBytes)) {
			got.RecordBatches = append(got.RecordBatches, batch...)
			f.sent += len(batch)
		}
	}
	return got
}

// collect reads until n spans have ended.
func collect(t *testing.T, r *Reader, n int) (values map[int32][]string, damage []int64, errs []error) {
	t.Helper()
	values = map[int32][]string{}
	var it record.Iterator
	var rec record.Record
	for n > 0 {
		for _, c := range <-r.C() {
			for _, batch := range c.Batches {
				if err := it.Reset(batch); err != nil {
					t.Fatal(err)
				}
				for it.Next(&rec) {
					if rec.Offset >= c.Start && rec.Offset < c.End {
						values[c.Partition] = append(values[c.Partition], string(rec.Value))
					}
				}
			}
			for _, d := range c.Damage {
				damage = append(damage, d.Offset)
			}
			if c.Err != nil {
				errs = append(errs, c.Err)
			}
			if c.Last {
				n--
			}
		}
	}
	return values, damage, errs
}

func TestReaderReadsEachSpanOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(3)
		log.leaders[2] = 1
		want := map[int32][]string{}
		var second int64
		for i := range 200 {
			for p := range 2 {
				v := []string{fmt.Sprint(p, i, "a"), fmt.Sprint(p, i, "b"), fmt.Sprint(p, i, "c")}
				base := log.add(p, v...)
				if p == 1 && i == 0 {
					second = base + 1
				}
				want[int32(p)] = append(want[int32(p)], v...)
			}
		}
		want[1] = want[1][1:]
		end := log.end(0) - 1
		want[0] = want[0][:len(want[0])-1]
		r := newReader(ReaderOptions{PartitionBytes: 300}, log, time.Second)
		defer r.Close()
		r.Add(between(0, 0, end), between(1, second, log.end(1)), between(2, 0, 0))
		got, _, errs := collect(t, r, 3)
		if diff := cmp.Diff(want, got); diff != "" || errs != nil {
			t.Error(diff, errs)
		}
	})
}

func TestReaderFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		r := newReader(ReaderOptions{}, log, time.Second)
		defer r.Close()
		r.Add(between(0, 0, NoEnd))
		for i := range 5 {
			time.Sleep(3 * time.Second)
			base := log.add(0, fmt.Sprint(i))
			if c := <-r.C(); len(c) != 1 || len(c[0].Batches) != 1 || int64(binary.BigEndian.Uint64(c[0].Batches[0])) != base {
				t.Fatalf("%v, want one batch at %d", c, base)
			}
		}
	})
}

func TestReaderStepsOverDamage(t *testing.T) {
	for _, last := range []bool{false, true} {
		for _, at := range []int{17, 22, 24, 26, 59, 70} { // CRC, attributes, last offset delta, count, first record
			t.Run(fmt.Sprintf("byte %d, last %v", at, last), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := newFakeLog(1)
					log.add(0, "a", "b")
					broken := log.add(0, "c", "d")
					log.parts[0][1][at] ^= 0x41
					log.add(0, "e", "f")
					bytes := int32(1000)
					if last { // one batch a fetch: nothing shows where the damaged one ends
						bytes = 1
					}
					r := newReader(ReaderOptions{PartitionBytes: bytes}, log, time.Second)
					defer r.Close()
					r.Add(between(0, 0, log.end(0)))
					got, damage, errs := collect(t, r, 1)
					if diff := cmp.Diff([]string{"a", "b", "e", "f"}, got[0]); diff != "" {
						t.Error(diff)
					}
					if diff := cmp.Diff([]int64{broken}, damage); diff != "" || errs != nil {
						t.Error(diff, errs)
					}
				})
			})
		}
	}
}

func TestReaderEndsWhereNoBatchBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.add(0, "a", "b")
		at := log.add(0, "c", "d")
		copy(log.parts[0][1][8:], "\xff\xff\xff\xff")
		r := newReader(ReaderOptions{}, log, time.Second)
		defer r.Close()
		r.Add(between(0, 0, log.end(0)))
		got, _, errs := collect(t, r, 1)
		damage := new(DamageError)
		if len(got[0]) != 2 || len(errs) != 1 || !errors.As(errs[0], &damage) || damage.Offset > at {
			t.Errorf("%v %v", got, errs)
		}
	})
}

func TestReaderNamesTheRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(2)
		log.add(0, "a")
		r := newReader(ReaderOptions{}, log, time.Second)
		defer r.Close()
		r.Add(between(0, 0, log.end(0)), between(1, 7, NoEnd))
		got, _, errs := collect(t, r, 2)
		var oor *OutOfRangeError
		if len(got[0]) != 1 || len(errs) != 1 || !errors.As(errs[0], &oor) || *oor != (OutOfRangeError{"t", 1, 7, 0, 0}) {
			t.Errorf("%v %v", got, errs)
		}
	})
}

func TestReaderSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.add(0, "a")
		log.fail = func(try int) error {
			if try <= 4 {
				return errors.New("connection lost")
			}
			return nil
		}
		var outages []bool
		r := newReader(ReaderOptions{Outage: func(err error) { outages = append(outages, err != nil) }}, log, time.Second)
		r.Add(between(0, 0, log.end(0)))
		got, _, errs := collect(t, r, 1)
		r.Close()
		if len(got[0]) != 1 || errs != nil || !slices.Equal(outages, []bool{true, false}) {
			t.Errorf("%v %v %v", got, errs, outages)
		}
	})
}

func TestReaderGivesUpAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.add(0, "a")
		lost := errors.New("connection lost")
		log.fail = func(int) error { return lost }
		r := newReader(ReaderOptions{}, log, time.Second)
		defer r.Close()
		began := time.Now()
		r.Add(between(0, 0, log.end(0)), Span{Topic: "missing", End: NoEnd})
		_, _, errs := collect(t, r, 2)
		if len(errs) != 2 || !errors.Is(errs[0], ErrUnknownTopic) || !errors.Is(errs[1], lost) {
			t.Error(errs)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

// The partition's leader moves while it is read.
func TestReaderFindsTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.add(0, "a")
		r := newReader(ReaderOptions{}, log, time.Second)
		defer r.Close()
		r.Add(between(0, 0, log.bases[0]+200))
		if c := <-r.C(); len(c) != 1 || c[0].Err != nil {
			t.Fatal(c)
		}
		log.mu.Lock()
		log.leaders[0] = 5
		log.mu.Unlock()
		log.add(0, "b")
		if c := <-r.C(); len(c) != 1 || c[0].Err != nil || len(c[0].Batches) != 1 {
			t.Fatal(c)
		}
	})
}
