package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/goleak"

	"logkit/lib/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBroker stores batches as a broker would, unless refuse says otherwise.
type fakeBroker struct {
	delay  time.Duration
	refuse func(partition int32, values []string, try int) error

	mu     sync.Mutex
	stored map[int32][]string
	sizes  []int // records a batch, in order of arrival
	tries  int
	next   int64
}

func (f *fakeBroker) requests() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tries
}

func (f *fakeBroker) explain(err error) error { return err }

func (f *fakeBroker) send(ctx context.Context, partition int32, batch []byte, again bool, sent func()) outcome {
	var it record.Iterator
	if err := it.Reset(batch); err != nil {
		return outcome{err: err}
	}
	var values []string
	var rec record.Record
	for it.Next(&rec) {
		values = append(values, string(rec.Value))
	}
	base, err := f.store(partition, values, len(batch))
	sent()
	if f.delay > 0 && !sleep(ctx, f.delay) {
		return outcome{err: ctx.Err()}
	}
	return outcome{base: base, err: err}
}

// store keeps a batch in the order of sending; its answer may take a while.
func (f *fakeBroker) store(partition int32, values []string, size int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.refuse != nil {
		if err := f.refuse(partition, values, f.tries); err != nil {
			return 0, err
		}
	}
	if f.stored == nil {
		f.stored = map[int32][]string{}
	}
	f.stored[partition] = append(f.stored[partition], values...)
	f.sizes = append(f.sizes, len(values))
	base := f.next
	f.next += int64(size)
	return base, nil
}

// fixture is a producer over a fakeBroker, and what it reported.
type fixture struct {
	*Producer
	receipts []Receipt
	refusals map[int64]string
}

func produceTo(f *fakeBroker, partitions int, opts ProducerOptions) *fixture {
	fx := &fixture{refusals: map[int64]string{}}
	opts.Acked = func(r Receipt) {
		r.Lines = slices.Clone(r.Lines)
		fx.receipts = append(fx.receipts, r)
	}
	opts.Refused = func(line int64, err error) { fx.refusals[line] = err.Error() }
	parts := make([]Partition, partitions)
	for i := range parts {
		parts[i].ID = int32(i)
	}
	fx.Producer = newProducer(opts, f, parts, 1000, true, 10*time.Second)
	return fx
}

func (fx *fixture) add(t *testing.T, values ...string) {
	t.Helper()
	for i, v := range values {
		if err := fx.Add(t.Context(), record.Record{Value: []byte(v)}, int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func numbered(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("value %d", i+1)
	}
	return values
}

func TestProducerKeepsOrderAndFillsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{delay: time.Millisecond}
		fx := produceTo(broker, 1, ProducerOptions{Linger: time.Second})
		want := numbered(1000)
		fx.add(t, want...)
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, broker.stored[0]); diff != "" {
			t.Error(diff)
		}
		if s := fx.Stats(); s.Acked != 1000 || s.Pending != 0 || s.Refused != 0 || s.AckedBytes != int64(len(strings.Join(want, ""))) {
			t.Errorf("%+v", s)
		}
		for i, n := range broker.sizes[:len(broker.sizes)-1] {
			if n < 40 {
				t.Errorf("batch %d has %d records", i, n)
			}
		}
		line := int64(0)
		for _, r := range fx.receipts {
			for _, l := range r.Lines {
				if line++; l != line {
					t.Fatalf("line %d acknowledged where %d was expected", l, line)
				}
			}
		}
	})
}

func TestProducerLetsALoneRecordGoAfterTheLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{}
		fx := produceTo(broker, 1, ProducerOptions{Linger: 5 * time.Millisecond})
		fx.add(t, "a", "b")
		time.Sleep(5*time.Millisecond - 1)
		synctest.Wait()
		if broker.requests() != 0 {
			t.Error("sent before the linger had passed")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if broker.requests() != 1 || fx.Stats().Acked != 2 {
			t.Errorf("%d requests, %+v", broker.requests(), fx.Stats())
		}
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A batch that is refused is taken apart until the records that are to blame are alone; the rest is stored. What was in
// flight behind it comes first.
func TestProducerNamesTheRefusedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := func(v string) bool { return strings.HasSuffix(v, "17") || strings.HasSuffix(v, "18") || v == "value 1" }
		broker := &fakeBroker{refuse: func(_ int32, values []string, _ int) error {
			if slices.ContainsFunc(values, bad) {
				return kerr.InvalidRecord
			}
			return nil
		}}
		fx := produceTo(broker, 1, ProducerOptions{Linger: time.Second})
		fx.add(t, numbered(120)...)
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(numbered(120), bad)
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(broker.stored[0]))); diff != "" {
			t.Error(diff)
		}
		for _, line := range []int64{1, 17, 18, 117, 118} {
			if fx.refusals[line] == "" {
				t.Errorf("line %d was not named", line)
			}
		}
		if s := fx.Stats(); len(fx.refusals) != 5 || s.Refused != 5 || s.Acked != 115 || s.Pending != 0 {
			t.Errorf("%v %+v", fx.refusals, s)
		}
	})
}

func TestProducerRefusesWhatIsLargerThanTheTopicAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{}
		fx := produceTo(broker, 1, ProducerOptions{})
		fits := record.Record{Value: make([]byte, 900)}
		for record.HeaderSize+record.RecordSize(fits, 0) < 1000 {
			fits.Value = append(fits.Value, 'x')
		}
		fx.add(t, "a", string(fits.Value), string(fits.Value)+"x", "b")
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", string(fits.Value), "b"}, broker.stored[0]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[int64]string{3: (&SizeError{Size: 1001, Max: 1000}).Error()}, fx.refusals); diff != "" {
			t.Error(diff)
		}
	})
}

// Failures that may pass are tried again, and nothing overtakes the batch that failed.
func TestProducerRetriesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := []error{nil, kerr.NotLeaderForPartition, nil, errors.New("connection lost"), nil, kerr.KafkaStorageError}
		broker := &fakeBroker{refuse: func(int32, []string, int) error {
			return faults[time.Now().UnixMilli()/100%int64(len(faults))]
		}}
		fx := produceTo(broker, 3, ProducerOptions{Partition: 2})
		want := numbered(5000)
		for i, v := range want {
			fx.add(t, v)
			if i%10 == 0 {
				time.Sleep(7 * time.Millisecond)
			}
		}
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[int32][]string{2: want}, broker.stored); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProducerGivesUpAfterTheTimeoutWithoutProgress(t *testing.T) {
	for _, row := range []struct {
		name   string
		broker *fakeBroker
		want   error
	}{
		{"errors", &fakeBroker{refuse: func(_ int32, _ []string, try int) error {
			if try > 3 {
				return kerr.NotLeaderForPartition
			}
			return nil
		}}, kerr.NotLeaderForPartition},
		{"silence", &fakeBroker{delay: time.Hour}, context.DeadlineExceeded},
		{"an error for good", &fakeBroker{refuse: func(int32, []string, int) error { return kerr.TopicAuthorizationFailed }}, kerr.TopicAuthorizationFailed},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				fx := produceTo(row.broker, 1, ProducerOptions{BufferBytes: 3000})
				var err error
				for added := 0; err == nil; added++ { // the full buffer must not block for ever
					err = fx.Add(t.Context(), record.Record{Value: []byte("value")}, int64(added))
				}
				if !errors.Is(err, row.want) {
					t.Errorf("Add: %v", err)
				}
				if err := fx.Close(t.Context()); !errors.Is(err, row.want) {
					t.Errorf("Close: %v", err)
				}
				if took := time.Since(began); took > 11*time.Second {
					t.Errorf("gave up after %v", took)
				}
				if s := fx.Stats(); s.Pending == 0 || s.Acked > int64(len(row.broker.stored[0])) {
					t.Errorf("%+v, %d stored", s, len(row.broker.stored[0]))
				}
			})
		})
	}
}

// A slow broker that makes progress is waited for, however long all of it takes.
func TestProducerWaitsForASlowBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{delay: 9 * time.Second}
		fx := produceTo(broker, 2, ProducerOptions{BufferBytes: 2000})
		want := numbered(300)
		for i, v := range want {
			if err := fx.Add(t.Context(), record.Record{Key: []byte(v), Value: []byte(v)}, int64(i)); err != nil {
				t.Fatal(err)
			}
			if s := fx.Stats(); s.Pending > 100 {
				t.Fatalf("%d records buffered", s.Pending)
			}
		}
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := fx.Stats(); s.Acked != 300 {
			t.Errorf("%+v", s)
		}
	})
}

func TestProducerCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := produceTo(&fakeBroker{delay: time.Hour}, 1, ProducerOptions{})
		fx.add(t, numbered(300)...)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := fx.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if s := fx.Stats(); s.Pending != 300 {
			t.Errorf("%+v", s)
		}
	})
}

func TestProducerChoosesPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broker := &fakeBroker{}
		fx := produceTo(broker, 7, ProducerOptions{Partition: ByKey})
		for i := range 700 {
			key := fmt.Append(nil, "key", i%70)
			if err := fx.Add(t.Context(), record.Record{Key: key, Value: key}, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 2000 { // batches of some 60 records: all partitions get some of them, surely enough
			if err := fx.Add(t.Context(), record.Record{Value: bytes.Repeat([]byte("-"), 9)}, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := fx.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p, values := range broker.stored {
			for _, v := range values {
				if strings.HasPrefix(v, "key") && PartitionOf([]byte(v), 7) != p {
					t.Errorf("key %q in partition %d", v, p)
				}
			}
			if len(values) < 30 {
				t.Errorf("%d records in partition %d", len(values), p)
			}
		}
	})
}
