package logdir

import (
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"logkit/lib/commitlog"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// idCheck tells when an id is given out twice.
type idCheck struct {
	mu   sync.Mutex
	seen map[int64]bool
}

func (c *idCheck) take(t *testing.T, d *Dir, n int) (last int64) {
	t.Helper()
	for range n {
		id, err := d.NextProducerID()
		if err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		if id < 0 || c.seen[id] {
			t.Fatalf("id %d, which is negative or was given out before", id)
		}
		c.seen[id] = true
		c.mu.Unlock()
		last = id
	}
	return last
}

// TestProducerIDs: no id is given out twice, neither to many at once, nor after an orderly end, nor after power losses.
func TestProducerIDs(t *testing.T) {
	fsys := crashfs.New(1)
	ids := &idCheck{seen: make(map[int64]bool)}
	open := func() *Dir {
		t.Helper()
		d, err := Open(fsys, "/data", Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open()
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { ids.take(t, d, producerIDBlock) })
	}
	group.Wait()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.NextProducerID(); !errors.Is(err, commitlog.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	for seed := range uint64(10) {
		d = open()
		ids.take(t, d, 1+int(seed)*300)
		next := fsys.Crash(crashfs.PowerLoss, seed)
		d.Close()
		fsys = next
	}
	d = open()
	defer d.Close()
	before := ids.take(t, d, producerIDBlock-1)
	if after := ids.take(t, d, 1); after-before > producerIDBlock {
		t.Errorf("id %d follows %d: blocks are left out", after, before)
	}
}

// TestProducerIDsNeedTheDisk: an id whose block is not written down is not given out; it is tried again.
func TestProducerIDsNeedTheDisk(t *testing.T) {
	fsys := crashfs.New(1)
	d, err := Open(fsys, "/data", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, op := range []crashfs.Op{crashfs.OpCreate, crashfs.OpWrite, crashfs.OpSync, crashfs.OpRename} {
		fsys.Fail(op, producerIDFile+".tmp", 1, syscall.EIO)
		if id, err := d.NextProducerID(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%v: id %d, %v; want EIO", op, id, err)
		}
	}
	if _, err := d.NextProducerID(); err != nil {
		t.Error(err)
	}
}

// TestProducerIDFile: a number is gone on from; without one, directories do not begin at the same place.
func TestProducerIDFile(t *testing.T) {
	first := func(contents string) int64 {
		fsys := crashfs.New(1)
		if err := fsys.MkdirAll("/data"); err != nil {
			t.Fatal(err)
		}
		if contents != "" {
			if err := vfs.WriteFileAtomic(fsys, filepath.Join("/data", producerIDFile), []byte(contents)); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(fsys, "/data", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		id, err := d.NextProducerID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got := first("0\n7000\n"); got != 7000 {
		t.Errorf("first id %d, the file says 7000", got)
	}
	seen := make(map[int64]bool)
	for _, contents := range []string{"", "", "0\n7000", "1\n7000\n", "0\n-1\n", "0\n0\n", "0\n7000\n7001\n", "0\n9223372036854775807\n", "\n"} {
		id := first(contents)
		if id < 0 || seen[id] || id == 7000 {
			t.Errorf("file %q: first id %d", contents, id)
		}
		seen[id] = true
	}
}
