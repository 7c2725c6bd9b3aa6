package commitlog

import (
	"errors"
	"testing"
	"time"

	"logkit/lib/vfs/crashfs"
)

// savingLog is a log on a file system that holds the snapshot that a checkpoint writes, until it is released.
func savingLog(t *testing.T, options Options) (l *Log, fsys *crashfs.FS, release func(), saved <-chan error) {
	t.Helper()
	fsys = crashfs.New(1)
	if err := fsys.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	l, err := Open(newEnv(t, fsys), "/log", options, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	produce(t, l, 1, 0, anyID, nil)
	produce(t, l, 2, 0, anyID, nil)
	begun, release := fsys.Hold(crashfs.OpWrite, snapshotSuffix+".tmp")
	done := make(chan error, 1)
	go func() {
		_, err := l.Checkpoint()
		done <- err
	}()
	<-begun
	return l, fsys, release, done
}

// TestAppendWhileSaving: appends do not wait for a snapshot, and it tells of what was before its offset and of nothing else.
func TestAppendWhileSaving(t *testing.T) {
	l, _, release, saved := savingLog(t, Options{})
	end := l.Positions().End
	for i := range int32(6) {
		produce(t, l, 1, i+1, anyID, nil)
		produce(t, l, int64(i)+3, 0, anyID, nil)
	}
	release()
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	entries, err := l.readSnapshot(end)
	if err != nil || len(entries) != 2 || entries[0].Producer != 1 || entries[0].LastSequence != 0 ||
		entries[1].Producer != 2 || entries[1].LastID != end-l.batchSize(t) {
		t.Errorf("snapshot %+v, %v; want the two batches below %d", entries, err, end)
	}
	if !l.producers.unsaved {
		t.Error("what was appended meanwhile counts as saved")
	}
	high := l.Positions().HighWatermark
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if last := l.producers.snapshots[len(l.producers.snapshots)-1]; last < high {
		t.Errorf("last snapshot at %d, the log ends at %d", last, high)
	}
}

// batchSize is that of the batches of produce, in bytes.
func (l *Log) batchSize(t *testing.T) int64 {
	b := sent{producer: 1, count: 1}.encode(t)
	return b.h.Size()
}

// TestNothingEndsWhileSaving: what would take files away from under a snapshot, or write others in its place, waits.
func TestNothingEndsWhileSaving(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Log) error{
		"close":   func(_ *testing.T, l *Log) error { _, err := l.Close(); return err },
		"abandon": func(_ *testing.T, l *Log) error { l.Abandon(); return nil },
		"retention": func(_ *testing.T, l *Log) error {
			_, _, err := l.Retain(Retention{Age: time.Minute}, time.Now().Add(time.Hour))
			return err
		},
		"checkpoint": func(_ *testing.T, l *Log) error { _, err := l.Checkpoint(); return err },
		"roll": func(t *testing.T, l *Log) error {
			data, h := batch(t, 0, "in the next segment")
			_, err := l.Append(data, h, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{SegmentBytes: 200}
			l, fsys, release, saved := savingLog(t, options)
			ended := make(chan error, 1)
			changes := fsys.Changes()
			go func() { ended <- end(t, l) }()
			// It has come to wait when the lock is free again; until then nothing it does may reach the files.
			for range 20 {
				l.Err()
				select {
				case err := <-ended:
					t.Fatalf("ended, with %v, before the snapshot was written", err)
				case <-time.After(time.Millisecond):
				}
			}
			if n := fsys.Changes(); n != changes {
				t.Errorf("%d changes of the files meanwhile", n-changes)
			}
			release()
			if err := <-saved; err != nil && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := l.Err(); err == nil {
				if _, err := l.Close(); err != nil {
					t.Error(err)
				}
			}
			if n := fsys.Descriptors(); n > 4 {
				t.Errorf("%d files are open", n)
			}
		})
	}
}
