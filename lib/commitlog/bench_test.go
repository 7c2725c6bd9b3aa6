package commitlog

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

func benchLog(b *testing.B, options Options) *Log {
	files := segment.NewFiles(vfs.OS, 16)
	env := &segment.Env{FS: vfs.OS, Files: files, Logger: slog.New(slog.DiscardHandler), IndexInterval: 4096}
	l, err := Open(env, b.TempDir(), options, Checkpoint{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(); files.Close() })
	return l
}

// BenchmarkAppend measures an append without a flush, in batches of records of 200 bytes.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 50, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := benchLog(b, Options{FlushInterval: time.Hour})
			values := make([]string, n)
			for i := range values {
				values[i] = strings.Repeat("v", 200)
			}
			data, h := batch(b, record.None, values...)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Append(data, h, false); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkAppendDurable measures how long one producer, and many at once, wait for an append of 50 records to be on
// disk: the latter share their flushes.
func BenchmarkAppendDurable(b *testing.B) {
	for _, producers := range []int{1, 16} {
		b.Run(fmt.Sprint(producers), func(b *testing.B) {
			l := benchLog(b, Options{})
			b.SetParallelism(producers)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				values := make([]string, 50)
				for i := range values {
					values[i] = strings.Repeat("v", 200)
				}
				data, h := batch(b, record.None, values...)
				for pb.Next() {
					base, err := l.Append(data, h, true)
					if err == nil {
						err = l.WaitVisible(b.Context(), base)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkRead measures finding what a fetch of 1 MiB gets, anywhere in a log of many segments.
func BenchmarkRead(b *testing.B) {
	l := benchLog(b, Options{SegmentBytes: 4 << 20, FlushInterval: time.Hour})
	data, h := batch(b, record.None, strings.Repeat("v", 200))
	for range 100_000 {
		if _, err := l.Append(data, h, false); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		b.Fatal(err)
	}
	high := l.Positions().HighWatermark
	b.ReportAllocs()
	id := int64(0)
	for b.Loop() {
		s, err := l.Read(id%high, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
		id += 7_654_321
	}
}

// BenchmarkRecover measures reading a segment after a crash.
func BenchmarkRecover(b *testing.B) {
	l := benchLog(b, Options{FlushInterval: time.Hour})
	values := make([]string, 50)
	for i := range values {
		values[i] = strings.Repeat("v", 200)
	}
	data, h := batch(b, record.None, values...)
	for range 10_000 {
		if _, err := l.Append(data, h, false); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(10_000 * int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		again, err := Open(l.env, l.dir, Options{}, Checkpoint{})
		if err != nil {
			b.Fatal(err)
		}
		again.writer.Abandon()
	}
}
