package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// damaged is the three-segment log after a byte in the middle of its last segment has changed: everything is on the disk
// and nothing is below a recovery point.
type damaged struct {
	*threeSegments
	name string // of the last segment
	cut  int    // where its first damaged batch begins
	data []byte // of the segment
	want [][]byte
}

func newDamaged(t *testing.T) *damaged {
	d := &damaged{threeSegments: newThreeSegments(t)}
	logs := d.logs()
	d.name = logs[len(logs)-1]
	first, _ := d.at(t, d.name, 0)
	d.cut = len(first)
	hit, _ := d.at(t, d.name, d.cut)
	d.data = bytes.Clone(d.files[d.name])
	d.data[d.cut+70] ^= 1
	d.want = before(d.batches, hit)
	if len(d.data) < d.cut+len(hit)+100 {
		t.Fatal("nothing stands behind the damaged batch")
	}
	d.lay(t)
	return d
}

// lay puts the files on a disk.
func (d *damaged) lay(t *testing.T) {
	d.put(t, d.name, d.data)
	for _, name := range d.names {
		f, err := d.fsys.OpenWrite(filepath.Join(damagedDir, name))
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for _, dir := range []string{"/", "/data", damagedDir} {
		if err := d.fsys.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// start opens the log; it may fail.
func (d *damaged) start(t *testing.T, options Options) (*Log, error) {
	files := segment.NewFiles(d.fsys, 8)
	t.Cleanup(func() { files.Close() })
	options.SegmentBytes = 550
	env := &segment.Env{FS: d.fsys, Files: files, Logger: slog.New(slog.NewTextHandler(&d.said, nil)), IndexInterval: 150}
	return Open(env, damagedDir, options, Checkpoint{})
}

// kept returns the contents of the files of what was cut off, by name; there must be no others beside those of a log.
func (s *threeSegments) kept(t *testing.T) map[string][]byte {
	t.Helper()
	entries, err := s.fsys.ReadDir(damagedDir)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left over", e.Name())
		}
		if !strings.Contains(e.Name(), segment.CutSuffix) {
			continue
		}
		if files[e.Name()], err = vfs.ReadFile(s.fsys, filepath.Join(damagedDir, e.Name()), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// check: the log ends before the damaged batch, all that stood behind is in one file, and the log goes on.
func (d *damaged) check(t *testing.T, l *Log) {
	t.Helper()
	if got := readAll(t, l); !same(got, d.want) {
		t.Errorf("%d batches are read, want %d", len(got), len(d.want))
	}
	kept := d.kept(t)
	name := fmt.Sprintf("%s%s%d", d.name, segment.CutSuffix, d.cut)
	if len(kept) != 1 || !bytes.Equal(kept[name], d.data[d.cut:]) {
		t.Errorf("%d files, %d bytes in %s; want one, %d bytes", len(kept), len(kept[name]), name, len(d.data)-d.cut)
	}
	left, err := vfs.ReadFile(d.fsys, filepath.Join(damagedDir, d.name), 1<<20)
	if err != nil || !bytes.Equal(left, d.data[:d.cut]) {
		t.Errorf("%d bytes are left of the segment, want %d: %v", len(left), d.cut, err)
	}
}

// goesOn: appending works, and what is appended comes back.
func (d *damaged) goesOn(t *testing.T, l *Log) {
	t.Helper()
	for range 6 { // also into another segment
		mustAppend(t, l, true, "afterwards")
	}
	if got := readAll(t, l); len(got) != len(d.want)+6 {
		t.Errorf("%d batches are read, want %d", len(got), len(d.want)+6)
	}
}

// TestKeptIsSaid: whoever reads the log of the daemon finds where the batches are, which, and what reads them.
func TestKeptIsSaid(t *testing.T) {
	d := newDamaged(t)
	l, err := d.start(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.check(t, l)
	lines := strings.Split(d.said.String(), "\n")
	var said string
	for _, line := range lines {
		if strings.Contains(line, "level=ERROR") {
			said += line
		}
	}
	var first, last record.Header
	count := 0
	for i, b := range d.batches {
		if i > len(d.want) {
			h, _ := record.ParseHeader(b)
			if count++; count == 1 {
				first = h
			}
			last = h
		}
	}
	for _, want := range []string{
		fmt.Sprintf("file=%s/%s%s%d ", damagedDir, d.name, segment.CutSuffix, d.cut), fmt.Sprintf("batches=%d ", count),
		fmt.Sprintf("first_id=%d ", first.BaseOffset), fmt.Sprintf("last_id=%d", last.LastOffset()), "logsegdump",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in what is said as an error: %s", want, said)
		}
	}
	d.goesOn(t, l)
	if _, _, err := l.Retain(Retention{Bytes: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if len(d.kept(t)) != 1 {
		t.Error("retention has deleted what was kept")
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCrashWhileKeeping: whenever the process dies, or the power fails, on the way, nothing is lost.
func TestCrashWhileKeeping(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			d := newDamaged(t)
			calls := 0
			for n := 1; ; n++ {
				d.lay(t)
				d.fsys.StopAt(n)
				l, err := d.start(t, Options{})
				if err == nil {
					l.Close()
					break
				}
				if !errors.Is(err, crashfs.ErrCrashed) {
					t.Fatalf("call %d: %v", n, err)
				}
				calls++
				// And once more, a little later: what one process has only seen must be durable for the next.
				d.fsys = d.fsys.Crash(mode, uint64(n))
				d.fsys.StopAt(n)
				if l, err := d.start(t, Options{}); err == nil {
					l.Abandon()
				}
				d.fsys = d.fsys.Crash(crashfs.PowerLoss, uint64(n))
				if l, err = d.start(t, Options{}); err != nil {
					t.Fatalf("call %d, then: %v", n, err)
				}
				d.check(t, l)
				d.goesOn(t, l)
				if _, err := l.Close(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					t.Fatalf("crash at call %d", n)
				}
			}
			if calls < 6 {
				t.Errorf("%d calls, there must be some to keep and some to cut", calls)
			}
		})
	}
}

// TestNoRoomToKeep: where there is no room for what would be cut off, nothing is: what is before is served, appends are
// refused, and as soon as there is room everything goes on by itself.
func TestNoRoomToKeep(t *testing.T) {
	d := newDamaged(t)
	for room := int64(0); room < int64(len(d.data)-d.cut)-100; room += 20 { // shorter indexes make some
		d.lay(t)
		d.said.Reset()
		d.fsys.SetCapacity(d.fsys.Used() + room)
		options := Options{OnFailure: func(err error) { t.Errorf("room for %d bytes: the log has failed for good: %v", room, err) }}
		for range 2 { // opening again does not help, and does no harm
			l, err := d.start(t, options)
			if err != nil {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
			d.refuses(t, l)
			if clean, err := l.Close(); clean != nil || err != nil {
				t.Fatalf("closed as if it were in order: %+v, %v", clean, err)
			}
		}
		l, err := d.start(t, options)
		if err != nil {
			t.Fatal(err)
		}
		d.refuses(t, l)
		d.fsys.SetCapacity(0)
		mustAppend(t, l, true, "there is room")
		d.want = append(d.want[:len(d.want):len(d.want)], readAll(t, l)[len(d.want):]...)
		if kept := d.kept(t); len(kept) != 1 {
			t.Errorf("%d files are kept, want one", len(kept))
		}
		if !strings.Contains(d.said.String(), "first_id=") {
			t.Errorf("what was kept is not said: %s", &d.said)
		}
		d.goesOn(t, l)
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
		d.want = d.want[:len(d.want)-1]
		if t.Failed() {
			t.Fatalf("room for %d bytes", room)
		}
	}
}

// refuses: what is before the cut is served and nothing else happens.
func (d *damaged) refuses(t *testing.T, l *Log) {
	t.Helper()
	if got := readAll(t, l); !same(got, d.want) {
		t.Errorf("%d batches are read, want %d", len(got), len(d.want))
	}
	data, h := batch(t, record.None, "no room")
	if _, err := l.Append(data, h, true); !errors.Is(err, ErrStorage) || !vfs.IsNoSpace(err) || l.Err() != nil {
		t.Errorf("append: %v, the log has failed: %v; want a full disk that may pass", err, l.Err())
	}
	l.mu.Lock()
	if err := l.rollExpired(Retention{Age: 1}, time.Now().AddDate(3000, 0, 0)); !errors.Is(err, ErrStorage) {
		t.Errorf("retention rolled a segment that is not cut: %v", err)
	}
	l.mu.Unlock()
	if point, err := l.Checkpoint(); err == nil && point > l.Positions().HighWatermark {
		t.Errorf("recovery point %d", point)
	}
	if len(d.kept(t)) != 0 {
		t.Error("a file without all of it is left")
	}
	left, err := vfs.ReadFile(d.fsys, filepath.Join(damagedDir, d.name), 1<<20)
	if err != nil || !bytes.Equal(left, d.data) {
		t.Errorf("the segment was changed: %v", err)
	}
}

// TestCannotKeep: another error of the disk ends the writing, not the reading, and loses nothing; the next start may do it.
func TestCannotKeep(t *testing.T) {
	d := newDamaged(t)
	for _, op := range []crashfs.Op{crashfs.OpCreate, crashfs.OpWrite, crashfs.OpSync, crashfs.OpRename, crashfs.OpTruncate} {
		d.lay(t)
		failed := make(chan error, 1)
		d.fsys.Fail(op, map[bool]string{true: ".tmp"}[op != crashfs.OpTruncate], 1, syscall.EIO)
		l, err := d.start(t, Options{OnFailure: func(err error) { failed <- err }})
		if err != nil {
			t.Fatalf("%v: %v", op, err)
		}
		if !errors.Is(l.Err(), syscall.EIO) {
			t.Fatalf("%v: the log has failed with %v", op, l.Err())
		}
		if err := <-failed; !errors.Is(err, syscall.EIO) {
			t.Errorf("%v: told that it has failed with %v", op, err)
		}
		if got := readAll(t, l); !same(got, d.want) {
			t.Errorf("%v: %d batches are read, want %d", op, len(got), len(d.want))
		}
		l.Close()
		left, err := vfs.ReadFile(d.fsys, filepath.Join(damagedDir, d.name), 1<<20)
		if err != nil || !bytes.Equal(left, d.data) {
			t.Errorf("%v: the segment was changed: %v", op, err)
		}
		if l, err = d.start(t, Options{}); err != nil {
			t.Fatal(err)
		}
		d.check(t, l)
		if _, err := l.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatal(op)
		}
	}
}

// TestUnreadableTail: what the disk cannot read above the recovery point is not cut, and what is before it is served; below
// the recovery point the log is not opened.
func TestUnreadableTail(t *testing.T) {
	d := newDamaged(t)
	first, _ := record.ParseHeader(d.batches[len(d.want)-1])
	served := 0
	for n := 1; n < 20; n++ {
		for _, point := range []int64{0, first.LastOffset() + 1, d.high} {
			d.lay(t)
			d.fsys.Fail(crashfs.OpRead, d.name, n, syscall.EIO)
			files := segment.NewFiles(d.fsys, 8)
			env := &segment.Env{FS: d.fsys, Files: files, Logger: slog.New(slog.NewTextHandler(&d.said, nil)), IndexInterval: 150}
			l, err := Open(env, damagedDir, Options{}, Checkpoint{RecoveryPoint: point})
			if err != nil && !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			if err == nil {
				if errors.Is(l.Err(), syscall.EIO) {
					served++
					if got := readAll(t, l); len(got) > len(d.want) || len(got) < len(d.want)-1 || !same(got, d.want[:len(got)]) {
						t.Errorf("read %d fails: %d batches are served, want %d", n, len(got), len(d.want))
					}
				}
				l.Close()
			}
			files.Close()
			d.fsys = d.fsys.Crash(crashfs.ProcessCrash, 1) // one that does not fail
			left, err := vfs.ReadFile(d.fsys, filepath.Join(damagedDir, d.name), 1<<20)
			if kept := d.kept(t); err != nil || !bytes.Equal(left, d.data) && len(kept) != 1 {
				t.Fatalf("read %d fails, recovery point %d: %d bytes left of %d, %d files kept: %v", n, point, len(left), len(d.data), len(kept), err)
			}
		}
	}
	if served == 0 {
		t.Error("no log with an unreadable tail was served")
	}
}
