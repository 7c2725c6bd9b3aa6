package inspect

import (
	"bytes"
	"io"
	"testing"

	"logkit/lib/record"
)

// BenchmarkScan reads logs of large and of small batches that are in memory.
func BenchmarkScan(b *testing.B) {
	for name, records := range map[string]int{"large": 16, "small": 1} {
		b.Run(name, func(b *testing.B) {
			var log []byte
			builder := record.NewBuilder(record.None)
			value := bytes.Repeat([]byte("0123456789"), 100/records*records/10+records*6)
			for id := int64(0); len(log) < 16<<20; {
				builder.Reset()
				for range records {
					builder.Append(record.Record{Timestamp: id, Value: value})
				}
				start := len(log)
				log, _ = builder.Finish(log)
				record.SetBaseOffset(log[start:], id)
				h, _ := record.ParseHeader(log[start:])
				id = h.NextBase()
			}
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				s := NewScanner(bytes.NewReader(log), ScanOptions{Base: 0, Size: int64(len(log))})
				for {
					item, err := s.Next()
					if err == io.EOF {
						break
					}
					if err != nil || item.Verdict != nil {
						b.Fatal(err, item.Verdict)
					}
				}
			}
		})
	}
}
