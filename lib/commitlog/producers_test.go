package commitlog

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logkit/lib/producers"
	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// produce appends a batch of one record of a producer, and expects an id, or that error.
func produce(t *testing.T, l *Log, producer int64, sequence int32, want int64, wantErr error) {
	t.Helper()
	b := sent{producer: producer, sequence: sequence, count: 1}.encode(t)
	base, err := l.Append(b.data, b.h, true)
	if !errors.Is(err, wantErr) || wantErr == nil && want >= 0 && base != want {
		t.Fatalf("producer %d, sequence %d: id %d, %v; want %d, %v", producer, sequence, base, err, want, wantErr)
	}
	if err == nil {
		if err := l.WaitVisible(t.Context(), base); err != nil {
			t.Fatal(err)
		}
	}
}

const anyID = -1

func snapshotsIn(t *testing.T, fsys vfs.FS, dir string) (names []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == snapshotSuffix {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestSnapshotFiles: they are named by the end of the log, at most two stay, and Kafka's decoder and ours read them.
func TestSnapshotFiles(t *testing.T) {
	dir := t.TempDir()
	l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 200}, Checkpoint{})
	for i := range int32(10) {
		produce(t, l, 1, i, anyID, nil)
	}
	if _, err := l.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	names := snapshotsIn(t, vfs.OS, dir)
	if len(names) != keptSnapshots {
		t.Fatalf("snapshots %q, want %d", names, keptSnapshots)
	}
	if want := fmt.Sprintf("%020d.snapshot", l.Positions().End); names[1] != want {
		t.Errorf("last snapshot %s, want %s", names[1], want)
	}
	entries, err := l.readSnapshot(l.Positions().End)
	if err != nil || len(entries) != 5 || entries[4].LastSequence != 9 || entries[4].LastID != l.Positions().HighWatermark-1 {
		t.Errorf("entries %+v, %v", entries, err)
	}
	if _, err := l.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if again := snapshotsIn(t, vfs.OS, dir); !slices.Equal(again, names) {
		t.Errorf("snapshots %q, were %q: nothing has happened", again, names)
	}
}

// TestNoSnapshotsWithoutProducers: a log that no idempotent producer has written to has none, as long as its segments
// do not end.
func TestNoSnapshotsWithoutProducers(t *testing.T) {
	dir := t.TempDir()
	l := openTest(t, vfs.OS, dir, Options{}, Checkpoint{})
	mustAppend(t, l, true, "value")
	if _, err := l.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if names := snapshotsIn(t, vfs.OS, dir); names != nil {
		t.Errorf("snapshots %q", names)
	}
}

// TestCleanStartReadsNoLog: producers are known again, and no .log file has been opened.
func TestCleanStartReadsNoLog(t *testing.T) {
	fsys := crashfs.New(1)
	if err := fsys.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	l, err := Open(newEnv(t, fsys), "/log", Options{SegmentBytes: 300}, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(20) {
		produce(t, l, 1, i, anyID, nil)
	}
	clean, err := l.Close()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	fsys.Before(func(c crashfs.Call) error {
		if filepath.Ext(c.Name) == segment.LogSuffix && (c.Op == crashfs.OpOpenRead || c.Op == crashfs.OpOpenWrite || c.Op == crashfs.OpRead) {
			read++
		}
		return nil
	})
	l = openTest(t, fsys, "/log", Options{}, Checkpoint{Clean: clean})
	if read != 0 {
		t.Errorf("%d accesses to the log", read)
	}
	produce(t, l, 1, 19, clean.High-1, nil)
	produce(t, l, 1, 21, 0, producers.ErrOutOfOrder)
	produce(t, l, 1, 20, clean.End, nil)
}

// TestDamagedSnapshots: whatever has become of the snapshots, what is still in the log is known.
func TestDamagedSnapshots(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(l *Log, last, before int64) error
	}{
		{"the last one is damaged", func(l *Log, last, _ int64) error {
			return vfs.WriteFileAtomic(vfs.OS, l.snapshotPath(last), []byte("no snapshot"))
		}},
		{"both are", func(l *Log, last, before int64) error {
			return errors.Join(vfs.WriteFileAtomic(vfs.OS, l.snapshotPath(last), nil), vfs.WriteFileAtomic(vfs.OS, l.snapshotPath(before), nil))
		}},
		{"the last one is missing", func(l *Log, last, _ int64) error { return vfs.OS.Remove(l.snapshotPath(last)) }},
		{"one is ahead of the log", func(l *Log, last, before int64) error {
			return vfs.WriteFileAtomic(vfs.OS, l.snapshotPath(last+1000), producers.Append(nil, []producers.Entry{{Producer: 1, LastSequence: 99, LastID: 50}}))
		}},
	} {
		for _, orderly := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, orderly %v", test.name, orderly), func(t *testing.T) {
				dir := t.TempDir()
				l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 300}, Checkpoint{})
				for i := range int32(20) {
					produce(t, l, 1, i, anyID, nil)
				}
				from := Checkpoint{}
				clean, err := l.Close()
				if err != nil {
					t.Fatal(err)
				}
				if orderly {
					from.Clean = clean
				}
				ends := l.producers.snapshots
				if err := test.damage(l, ends[1], ends[0]); err != nil {
					t.Fatal(err)
				}
				l = openTest(t, vfs.OS, dir, Options{}, from)
				produce(t, l, 1, 19, clean.High-1, nil)
				produce(t, l, 1, 20, clean.End, nil)
				if n := len(snapshotsIn(t, vfs.OS, dir)); n > keptSnapshots {
					t.Errorf("%d snapshots", n)
				}
			})
		}
	}
}

// TestProducersSurviveRetention: all batches are deleted, and a crash follows; who sent them is still known.
func TestProducersSurviveRetention(t *testing.T) {
	fsys := crashfs.New(1)
	if err := errors.Join(fsys.MkdirAll("/log"), fsys.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	start := int64(0)
	options := Options{SegmentBytes: 300, SaveStart: func(s int64) error { start = s; return nil }}
	l, err := Open(newEnv(t, fsys), "/log", options, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(20) {
		produce(t, l, 1, i, anyID, nil)
	}
	high := l.Positions().HighWatermark
	if _, _, err := l.Retain(Retention{Age: time.Minute}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if p := l.Positions(); p.Start != high {
		t.Fatalf("positions %+v, want all deleted", p)
	}
	produce(t, l, 1, 19, high-1, nil)
	next := fsys.Crash(crashfs.PowerLoss, 1)
	l.Close()
	l = openTest(t, next, "/log", options, Checkpoint{Start: start})
	produce(t, l, 1, 19, high-1, nil)
	produce(t, l, 1, 20, anyID, nil)
}

// TestRefusedAppendIsForgotten: the disk is full; the batch is the next one still when there is room.
func TestRefusedAppendIsForgotten(t *testing.T) {
	fsys := crashfs.New(1)
	if err := fsys.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	l := openTest(t, fsys, "/log", Options{}, Checkpoint{})
	produce(t, l, 1, 0, 0, nil)
	end := l.Positions().End
	for range 3 {
		fsys.Fail(crashfs.OpWrite, segment.LogSuffix, 1, syscall.ENOSPC)
		produce(t, l, 1, 1, 0, ErrStorage)
		produce(t, l, 1, 2, 0, producers.ErrOutOfOrder)
	}
	produce(t, l, 1, 1, end, nil)
	produce(t, l, 1, 1, end, nil)
}

// BenchmarkAppendOfProducers measures an append without a flush, as BenchmarkAppend does with 50 records, where the
// batches come from so many idempotent producers in turn.
func BenchmarkAppendOfProducers(b *testing.B) {
	for _, n := range []int64{0, 1, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := benchLog(b, Options{FlushInterval: time.Hour})
			data, h := batch(b, record.None, slices.Repeat([]string{strings.Repeat("v", 200)}, 50)...)
			append := func(i int64) {
				if n > 0 {
					h.ProducerID, h.ProducerEpoch, h.BaseSequence = i%n, 0, int32(i/n*50)
				}
				if _, err := l.Append(data, h, false); err != nil {
					b.Fatal(err)
				}
			}
			i := int64(0)
			for range n { // all are known
				l.producers.state.Add(producers.Batch{Producer: i % n, Delta: 49, Time: time.Now().UnixMilli()})
				i++
			}
			b.ReportAllocs()
			for b.Loop() {
				append(i)
				i++
			}
		})
	}
}

// TestProducersNeedDescriptors: a log whose producers cannot be read for want of a descriptor is not opened, lest what is
// known of them be lost; the next try has them all.
func TestProducersNeedDescriptors(t *testing.T) {
	fsys := crashfs.New(1)
	if err := fsys.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	l, err := Open(newEnv(t, fsys), "/log", Options{}, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	produce(t, l, 1, 0, 0, nil)
	if _, err := l.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	produce(t, l, 2, 0, anyID, nil)
	refused := 0
	for n := 1; ; n++ {
		next := fsys.Crash(crashfs.ProcessCrash, 1)
		next.Fail(crashfs.OpOpenRead, "", n, syscall.EMFILE)
		again, err := Open(newEnv(t, next), "/log", Options{}, Checkpoint{})
		if err != nil {
			if !vfs.IsNoDescriptor(err) {
				t.Fatal(err)
			}
			refused++
			if again, err = Open(newEnv(t, next), "/log", Options{}, Checkpoint{}); err != nil {
				t.Fatal(err)
			}
		}
		if known := again.producers.state.Len(); known != 2 {
			t.Errorf("open %d fails: %d producers are known, want 2", n, known)
		}
		if _, err := again.Close(); err != nil {
			t.Error(err)
		}
		if n > 8 {
			break
		}
	}
	if refused < 2 {
		t.Errorf("%d times refused", refused)
	}
	l.Close()
}
