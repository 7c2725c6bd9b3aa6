package logdir

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"logkit/lib/commitlog"
	"logkit/lib/vfs/crashfs"
)

// TestRefusedDeleteIsUndoneForGood: the directories of partitions that a refused deletion has set aside, and brought back,
// do not turn up set aside once more after a power loss, to be deleted by the next start.
func TestRefusedDeleteIsUndoneForGood(t *testing.T) {
	for seed := range uint64(30) {
		fsys := crashfs.New(seed)
		d, err := Open(fsys, "/data", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := create(d, "t", 2, nil); err != nil {
			t.Fatal(err)
		}
		appendOne(t, d, "t", 1, "before")
		fsys.Fail(crashfs.OpRename, "t-0", 1, syscall.EIO) // t-1 has been renamed by then
		if err := d.Delete("t"); !errors.Is(err, syscall.EIO) {
			t.Fatalf("Delete: %v, want EIO", err)
		}
		appendOne(t, d, "t", 1, "after")
		log, _ := d.Log("t", 1)
		before := log.Positions()
		left := fsys.Crash(crashfs.PowerLoss, seed)
		d.Close()
		again, err := Open(left, "/data", Options{})
		if err != nil {
			t.Fatal(err)
		}
		log, ok := again.Log("t", 1)
		if !ok {
			t.Fatalf("seed %d: the partition is gone with its records", seed)
		}
		if p := log.Positions(); p != before {
			t.Errorf("seed %d: positions %+v, before %+v", seed, p, before)
		}
		again.Close()
	}
}

// TestBroughtBackAsItWas: a partition that is back after a refused deletion is hidden if it was, and when it cannot be opened
// it is known all the same, and what is remembered of it.
func TestBroughtBackAsItWas(t *testing.T) {
	fsys := crashfs.New(1)
	d, err := Open(fsys, "/data", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := create(d, "t", 3, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 2, "kept")
	log, _ := d.Log("t", 2)
	if _, err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	d.Hide("t", 1)
	failed := false
	fsys.Before(func(c crashfs.Call) error {
		switch {
		case c.Op == crashfs.OpRename && strings.HasSuffix(c.Name, "t-0"):
			failed = true
			return syscall.EIO
		case failed && c.Op == crashfs.OpOpenWrite && strings.Contains(c.Name, "t-2/"):
			return syscall.EACCES
		}
		return nil
	})
	if err := d.Delete("t"); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Delete: %v, want EIO", err)
	}
	list := d.PartitionsOf("t")
	if len(list) != 3 || list[0].Err != nil || !list[1].Hidden || !errors.Is(list[2].Err, syscall.EACCES) {
		t.Errorf("partitions %+v; want three, the second hidden, the third not opened", list)
	}
	if err := create(d, "u", 1, nil); err != nil { // forgets what is remembered of partitions that are not there
		t.Fatal(err)
	}
	if start := d.knownMarks().of(partition{"t", 2}); start.Start != 1 {
		t.Errorf("remembered of the third: %+v, want start 1", start)
	}
}

// TestDeletedLogReadsNoOther: whoever holds on to a deleted log does not get the records of one that was made in its place.
func TestDeletedLogReadsNoOther(t *testing.T) {
	d := open(t, t.TempDir())
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "of the first topic")
	old, _ := d.Log("t", 0)
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "of the second topic")
	slice, err := old.Read(0, 1<<20)
	if !errors.Is(err, commitlog.ErrDeleted) || slice.Handle != nil {
		t.Errorf("read: %d bytes, %v; want ErrDeleted", slice.Len, err)
	}
	slice.Release()
	if _, ok, err := old.LookupTime(0); !errors.Is(err, commitlog.ErrDeleted) {
		t.Errorf("time: found %v, %v; want ErrDeleted", ok, err)
	}
	if _, _, err := old.Size(); !errors.Is(err, commitlog.ErrDeleted) {
		t.Errorf("size: %v, want ErrDeleted", err)
	}
}
