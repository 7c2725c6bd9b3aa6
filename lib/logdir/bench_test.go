package logdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"logkit/lib/commitlog"
	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// BenchmarkOpenClean measures opening a directory with 5,000 segments in 50 logs after an orderly stop.
func BenchmarkOpenClean(b *testing.B) {
	const logs, each = 50, 100
	path := b.TempDir()
	d, err := Open(vfs.OS, path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := create(d, "t", logs, nil); err != nil {
		b.Fatal(err)
	}
	if err := d.Close(); err != nil {
		b.Fatal(err)
	}
	// The segments are made by hand: with a sync for each this would take minutes.
	builder := record.NewBuilder(record.None)
	builder.Append(record.Record{Value: make([]byte, 1000)})
	data, err := builder.Finish(nil)
	if err != nil {
		b.Fatal(err)
	}
	clean := make(checkpoint)
	for number := range int32(logs) {
		p := partition{"t", number}
		base := int64(0)
		for range each {
			record.SetBaseOffset(data, base)
			if err := os.WriteFile(segment.Path(filepath.Join(path, p.dir()), base)+segment.LogSuffix, data, 0o644); err != nil {
				b.Fatal(err)
			}
			base += int64(len(data))
		}
		last := base - int64(len(data))
		clean[p] = []int64{last, int64(len(data)), last + 1, base}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		if err := clean.write(vfs.OS, path, cleanFile); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		d, err := Open(vfs.OS, path, Options{CheckpointInterval: time.Hour})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if log, ok := d.Log("t", 0); !ok || log.Positions() != (commitlog.Positions{HighWatermark: clean[partition{"t", 0}][2], End: clean[partition{"t", 0}][3]}) {
			b.Fatalf("positions %+v", log.Positions())
		}
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
