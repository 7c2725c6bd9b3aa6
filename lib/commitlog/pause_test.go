package commitlog

import (
	"testing"
	"time"

	"logkit/lib/producers"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

// BenchmarkAppendDuringCheckpoint appends without rest while checkpoints write snapshots of as many producers as are
// remembered by default, with five batches each, and tells how long the slowest append took during one.
func BenchmarkAppendDuringCheckpoint(b *testing.B) {
	l, err := Open(newEnv(b, vfs.OS), b.TempDir(), Options{}, Checkpoint{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for i := range int64(5 * producers.DefaultProducers) {
		l.producers.state.Add(producers.Batch{
			Producer: i % producers.DefaultProducers, Sequence: int32(i / producers.DefaultProducers), FirstID: i,
			Time: time.Now().UnixMilli(),
		})
	}
	builder := record.NewBuilder(record.None)
	builder.ProducerID, builder.ProducerEpoch, builder.BaseSequence = 1<<40, 0, 0
	builder.Append(record.Record{Timestamp: 1, Value: []byte("value")})
	data, err := builder.Finish(nil)
	if err != nil {
		b.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		b.Fatal(err)
	}
	var slowest, total time.Duration
	for b.Loop() {
		done := make(chan error)
		go func() {
			_, err := l.Checkpoint()
			done <- err
		}()
		worst := time.Duration(0)
		for running := true; running; {
			began := time.Now()
			h.ProducerID++ // a batch of another one, so there is something to save
			if _, err := l.Append(data, h, false); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, time.Since(began))
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				running = false
			default:
			}
		}
		slowest, total = max(slowest, worst), total+worst
	}
	b.ReportMetric(float64(slowest.Microseconds())/1000, "ms-slowest")
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms-slowest/op")
}
