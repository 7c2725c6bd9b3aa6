package record

import (
	"fmt"
	"testing"
)

// benchRecords are n log lines of about 100 bytes.
func benchRecords(n int) []Record {
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{Offset: int64(i), Timestamp: 1_700_000_000_000 + int64(i), Value: fmt.Appendf(nil,
			"2026-01-02 03:04:%02d status installed libexample%d-dev:amd64 1.%d.0-1 and the rest of a common line", i%60, i, i%7)}
	}
	return records
}

// forSizes runs the benchmark at three sizes of batch. Time and allocations are per batch,
// bytes those of the batch uncompressed; ns/record is what counts.
func forSizes(b *testing.B, codec Codec, run func(b *testing.B, records []Record, batch []byte)) {
	for _, n := range []int{1, 50, 5000} {
		records := benchRecords(n)
		batch := build(b, codec, records)
		size := len(build(b, None, records))
		b.Run(fmt.Sprintf("%v/%d", codec, n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			run(b, records, batch)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, codec := range codecs {
		forSizes(b, codec, func(b *testing.B, records []Record, batch []byte) {
			builder := NewBuilder(codec)
			var dst []byte
			for b.Loop() {
				builder.Reset()
				for i := range records {
					builder.Append(records[i])
				}
				var err error
				if dst, err = builder.Finish(dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkIterate(b *testing.B) {
	for _, codec := range codecs {
		forSizes(b, codec, func(b *testing.B, records []Record, batch []byte) {
			var it Iterator
			var r Record
			for b.Loop() {
				if err := it.Reset(batch); err != nil {
					b.Fatal(err)
				}
				n := 0
				for it.Next(&r) {
					n++
				}
				if n != len(records) || it.Err() != nil {
					b.Fatal(n, it.Err())
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, codec := range codecs {
		forSizes(b, codec, func(b *testing.B, records []Record, batch []byte) {
			for b.Loop() {
				if _, err := Validate(batch, Limits{MaxBytes: 1 << 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
