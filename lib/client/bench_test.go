package client

import (
	"bytes"
	"context"
	"testing"
	"time"

	"logkit/lib/record"
)

// instant acknowledges everything at once.
type instant struct{}

func (instant) send(context.Context, int32, []byte, bool, func()) outcome { return outcome{} }
func (instant) explain(err error) error                                   { return err }

// BenchmarkProducer queues, batches and encodes lines of 200 bytes.
func BenchmarkProducer(b *testing.B) {
	p := newProducer(ProducerOptions{Linger: time.Second}, instant{}, []Partition{{}}, 1<<20, true, time.Minute)
	line := bytes.Repeat([]byte("x"), 199)
	b.SetBytes(int64(len(line)) + 1)
	b.ReportAllocs()
	for n := range int64(b.N) {
		if err := p.Add(b.Context(), record.Record{Value: line, Timestamp: 1}, n); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}
