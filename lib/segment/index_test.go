package segment

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"logkit/lib/vfs/crashfs"
)

// onCrashFS creates a segment of 60 batches, sealed, on a file system that fails on demand.
func onCrashFS(t *testing.T) (*crashfs.FS, *Writer) {
	t.Helper()
	fsys, env := crashfs.New(1), newEnv(t)
	env.FS, env.Files = fsys, NewFiles(fsys, 3)
	if err := fsys.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	w, err := Create(env, "/log", 0)
	if err != nil {
		t.Fatal(err)
	}
	return fsys, w
}

func indexesOf(t *testing.T, w *Writer) (both string) {
	t.Helper()
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix} {
		h, err := w.env.Files.Open(w.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Release()
		size, _ := h.Size()
		data := make([]byte, size)
		if _, err := h.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		both += string(data) + "|"
	}
	return both
}

// A log that cannot be read where an index points says nothing against the index. One built from what can be read would
// hide all that is behind.
func TestUnreadableLogKeepsIndexes(t *testing.T) {
	fsys, w := onCrashFS(t)
	headers := fill(t, w, 60, rising)
	seal(t, w)
	before := indexesOf(t, w)
	for _, look := range []func() error{
		func() error { _, err := w.Locate(headers[40].BaseOffset, w.Size()); return err },
		func() error { _, err := w.LocateTime(headers[40].MaxTimestamp, 0, w.Size()); return err },
		func() error { _, err := w.LocateLatest(0, w.Size()); return err },
	} {
		for n := 1; n <= 2; n++ {
			fsys.Fail(crashfs.OpRead, LogSuffix, n, syscall.EIO)
			if err := look(); n == 1 && !errors.Is(err, syscall.EIO) {
				t.Errorf("error %v, want EIO", err)
			}
			if indexesOf(t, w) != before {
				t.Fatal("the indexes have changed")
			}
			look() // in case that there were fewer reads
			if err := look(); err != nil {
				t.Errorf("when it can be read again: %v", err)
			}
		}
	}
	// Nor does one that is rebuilt because it is missing end where the log cannot be read.
	if err := fsys.Remove(w.path + IndexSuffix); err != nil {
		t.Fatal(err)
	}
	w.env.Files.Forget(w.path + IndexSuffix)
	fsys.Fail(crashfs.OpRead, LogSuffix, 1, syscall.EIO)
	if _, err := w.Locate(headers[40].BaseOffset, w.Size()); !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v, want EIO", err)
	}
	if _, err := w.Locate(headers[40].BaseOffset, w.Size()); err != nil {
		t.Error(err)
	}
	if indexesOf(t, w) != before {
		t.Error("the indexes are others than before")
	}
}

// Indexes that were saved in part only, by a disk that is full, still lead to every record.
func TestIndexesSavedInPart(t *testing.T) {
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix} {
		fsys, w := onCrashFS(t)
		late := func(i int) int64 { return map[bool]int64{true: 99999, false: 1000 + int64(i)}[i == 81] }
		all := fill(t, w, 30, late)
		if err := w.Conclude(); err != nil {
			t.Fatal(err)
		}
		next := all[29].NextBase()
		for i := 30; i < 60; i++ {
			data, h := encode(t, next, late(2*i), late(2*i+1))
			if err := w.Append(data, h); err != nil {
				t.Fatal(err)
			}
			all, next = append(all, h), h.NextBase()
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		fsys.Fail(crashfs.OpCreate, suffix+".tmp", 1, syscall.ENOSPC)
		if err := w.Conclude(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("error %v, want ENOSPC", err)
		}
		w.Abandon()
		w.env.Files.Close()
		again, _, err := Recover(w.env, "/log", 0, next)
		if err != nil {
			t.Fatal(err)
		}
		// From here on timestamps are between the usual ones and the late one, and make entries of the time index.
		for i := range 20 {
			data, h := encode(t, next, 5000+int64(i))
			if err := again.Append(data, h); err != nil {
				t.Fatal(err)
			}
			next = h.NextBase()
		}
		if b, err := again.LocateTime(6000, 0, again.Size()); err != nil || b.Header.MaxTimestamp != 99999 {
			t.Errorf("%s missed: time 6000 is in batch %d with %d, %v; want that with 99999", suffix, b.Header.BaseOffset, b.Header.MaxTimestamp, err)
		}
		again.Abandon()
	}
}

// An index that is built while the segment is deleted is not left behind.
func TestIndexOfDeletedSegment(t *testing.T) {
	fsys, w := onCrashFS(t)
	headers := fill(t, w, 60, rising)
	seal(t, w)
	if err := fsys.Remove(w.path + IndexSuffix); err != nil {
		t.Fatal(err)
	}
	w.env.Files.Forget(w.path + IndexSuffix)
	removed := false
	fsys.Before(func(c crashfs.Call) error {
		if c.Op == crashfs.OpRead && !removed {
			removed = true
			return w.Remove()
		}
		return nil
	})
	if _, err := w.Locate(headers[40].BaseOffset, 1<<20); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want ErrNotExist", err)
	}
	if left, err := fsys.ReadDir("/log"); err != nil || len(left) > 0 {
		t.Errorf("%v left, %v", left, err)
	}
}

// A checkpoint saves index entries of what is not flushed yet. A power loss that takes that away leaves the index ahead of
// the log, which is no reason to read all of the log.
func TestIndexAheadOfTheLog(t *testing.T) {
	for _, left := range []int{31, 40} {
		_, w := onCrashFS(t)
		headers := fill(t, w, 60, rising)
		if err := w.IndexSaver()(); err != nil {
			t.Fatal(err)
		}
		size, end := int64(0), int64(0)
		for i, h := range headers[:left] {
			size += h.Size()
			if i == 30 {
				end = h.NextBase()
			}
		}
		if err := w.file.Truncate(size); err != nil {
			t.Fatal(err)
		}
		w.Abandon()
		again, r, err := Recover(w.env, "/log", 0, end)
		if err != nil {
			t.Fatal(err)
		}
		if again.Size() != size || r.Checked > size-headers[0].Size()*20 {
			t.Errorf("%d batches left: %d bytes, of which %d were read; want %d, from about the 30th batch on", left, again.Size(), r.Checked, size)
		}
		again.Abandon()
	}
}
