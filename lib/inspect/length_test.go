package inspect

import (
	"bytes"
	"testing"

	"logkit/lib/record"
)

// A length that is wrong may lead to where a later batch begins, when all have the same size and that is a power of two. The
// batches between are found all the same.
func TestWrongLengthLeadsToABatch(t *testing.T) {
	var log []byte
	const size, batches = 128, 10
	for i := range batches {
		b := record.NewBuilder(record.None)
		b.Append(record.Record{Timestamp: 1000, Value: bytes.Repeat([]byte("v"), size-record.HeaderSize-8)})
		data, err := b.Finish(nil)
		if err != nil || len(data) != size {
			t.Fatalf("batch of %d bytes, %v", len(data), err)
		}
		record.SetBaseOffset(data, int64(i*size))
		log = append(log, data...)
	}
	for bit := 7; bit <= 9; bit++ {
		damaged := bytes.Clone(log)
		damaged[2*size+11-bit/8] ^= 1 << (bit % 8)
		got := scan(t, damaged, ScanOptions{Base: 0, Size: int64(len(log))})
		if len(got.starts) != batches-1 || len(got.verdicts) != 1 || got.verdicts[0].Kind != BadLength || got.verdicts[0].End != 3*size {
			t.Errorf("bit %d: %d batches, want %d; verdicts %v", bit, len(got.starts), batches-1, got.verdicts)
		}
	}
}
