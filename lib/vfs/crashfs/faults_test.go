package crashfs_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

func TestFail(t *testing.T) {
	for _, c := range []struct {
		op   crashfs.Op
		call func(vfs.FS, vfs.File) error
	}{
		{crashfs.OpCreate, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.Create("g"); return err }},
		{crashfs.OpOpenRead, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.OpenRead("f"); return err }},
		{crashfs.OpOpenWrite, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.OpenWrite("f"); return err }},
		{crashfs.OpReadDir, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.ReadDir("/"); return err }},
		{crashfs.OpStat, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.Stat("f"); return err }},
		{crashfs.OpStat, func(_ vfs.FS, f vfs.File) error { _, err := f.Size(); return err }},
		{crashfs.OpMkdir, func(fsys vfs.FS, _ vfs.File) error { return fsys.MkdirAll("d") }},
		{crashfs.OpRename, func(fsys vfs.FS, _ vfs.File) error { return fsys.Rename("f", "g") }},
		{crashfs.OpRemove, func(fsys vfs.FS, _ vfs.File) error { return fsys.Remove("f") }},
		{crashfs.OpRemove, func(fsys vfs.FS, _ vfs.File) error { return fsys.RemoveAll("f") }},
		{crashfs.OpLock, func(fsys vfs.FS, _ vfs.File) error { _, err := fsys.Lock("l"); return err }},
		{crashfs.OpSyncDir, func(fsys vfs.FS, _ vfs.File) error { return fsys.SyncDir("/") }},
		{crashfs.OpRead, func(_ vfs.FS, f vfs.File) error { _, err := f.ReadAt(make([]byte, 3), 0); return err }},
		{crashfs.OpTruncate, func(_ vfs.FS, f vfs.File) error { return f.Truncate(0) }},
	} {
		t.Run(c.op.String(), func(t *testing.T) {
			fsys := crashfs.New(1)
			script{t, &fsys}.durable("f", "abc")
			f, err := fsys.OpenWrite("f")
			if err != nil {
				t.Fatal(err)
			}
			fsys.Fail(c.op, "", 1, syscall.EIO)
			if err := c.call(fsys, f); !errors.Is(err, syscall.EIO) {
				t.Errorf("%v, want EIO", err)
			}
			if got := state(t, fsys); got != "f=abc" {
				t.Errorf("after the failed call %q", got)
			}
			if err := c.call(fsys, f); err != nil {
				t.Errorf("second call: %v", err)
			}
		})
	}
}

// TestFailCounts: only the n-th call on a path with the suffix fails.
func TestFailCounts(t *testing.T) {
	fsys := crashfs.New(1)
	fsys.Fail(crashfs.OpCreate, ".log", 2, syscall.EIO)
	var failed []string
	for _, name := range []string{"a", "1.log", "b", "2.log", "3.log"} {
		if _, err := fsys.Create(name); err != nil {
			failed = append(failed, name)
		}
	}
	if got := strings.Join(failed, " "); got != "2.log" {
		t.Errorf("failed: %q, want 2.log", got)
	}
}

// TestFailedWrite: a part of the bytes may be there, but never all, and the count is true.
func TestFailedWrite(t *testing.T) {
	parts := map[int]bool{}
	for seed := range uint64(50) {
		fsys := crashfs.New(seed)
		f, _ := fsys.Create("f")
		fsys.Fail(crashfs.OpWrite, "", 1, syscall.EIO)
		n, err := f.WriteAt([]byte("abcd"), 0)
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v, want EIO", err)
		}
		if got, want := state(t, fsys), "f="+"abcd"[:n]; got != want {
			t.Fatalf("%d bytes written, and %q", n, got)
		}
		parts[n] = true
	}
	if len(parts) != 4 || parts[4] {
		t.Errorf("numbers of bytes written: %v; want 0 to 3", parts)
	}
}

// TestFailedSync: what was pending is seen, but the next Sync does not write it; what is written later it does.
func TestFailedSync(t *testing.T) {
	lost := 0
	for seed := range uint64(50) {
		fsys := crashfs.New(seed)
		s := script{t, &fsys}
		s.durable("f", "aa")
		s.write("f", 2, "bb")
		f, _ := fsys.OpenWrite("f")
		fsys.Fail(crashfs.OpSync, "", 1, syscall.EIO)
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v, want EIO", err)
		}
		s.write("f", 4, "cc")
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if got := state(t, fsys); got != "f=aabbcc" {
			t.Fatalf("seen: %q", got)
		}
		if got := state(t, fsys.Crash(crashfs.ProcessCrash, 0)); got != "f=aabbcc" {
			t.Fatalf("seen by the next process: %q", got)
		}
		next := fsys.Crash(crashfs.PowerLoss, 0)
		got := state(t, next)
		if got != "f=aabbcc" {
			lost++
		}
		if !strings.HasPrefix(got, "f=aa") || !strings.HasSuffix(got, "cc") || len(got) != len("f=aabbcc") {
			t.Fatalf("on the disk: %q", got)
		}
		again := fsys.Crash(crashfs.ProcessCrash, 0)
		again.DropCaches()
		if dropped := state(t, again); dropped != got {
			t.Fatalf("on the disk %q, seen without caches %q", got, dropped)
		}
	}
	if lost == 0 {
		t.Error("nothing was lost in any run")
	}
}

// TestFailedSyncThenCut: what is cut off may never have reached the disk.
func TestFailedSyncThenCut(t *testing.T) {
	for seed := range uint64(50) {
		fsys := crashfs.New(seed)
		s := script{t, &fsys}
		s.durable("f", "aa")
		s.write("f", 2, "bbbb")
		f, _ := fsys.OpenWrite("f")
		fsys.Fail(crashfs.OpSync, "", 1, syscall.EIO)
		f.Sync()
		s.truncate("f", 1)
		if got := state(t, fsys.Crash(crashfs.PowerLoss, seed)); !strings.HasPrefix(got, "f=a") {
			t.Fatalf("on the disk: %q", got)
		}
	}
}

// TestDropCachesKeepsPending: what is pending is in memory alone and cannot be dropped.
func TestDropCachesKeepsPending(t *testing.T) {
	fsys := crashfs.New(1)
	s := script{t, &fsys}
	s.durable("f", "aaa")
	s.write("f", 1, "bbb")
	s.truncate("f", 2)
	fsys.DropCaches()
	if got := state(t, fsys); got != "f=ab" {
		t.Errorf("%q, want f=ab", got)
	}
}

// TestHold: while a Sync is held nothing is durable, and what is written meanwhile is not covered by it.
func TestHold(t *testing.T) {
	fsys := crashfs.New(1)
	s := script{t, &fsys}
	s.durable("f.log", "")
	f, _ := fsys.OpenWrite("f.log")
	s.write("f.log", 0, "a")
	begun, release := fsys.Hold(crashfs.OpSync, ".log")
	done := make(chan error)
	go func() { done <- f.Sync() }()
	if c := <-begun; c.String() != "sync f.log" {
		t.Errorf("held: %v", c)
	}
	s.write("f.log", 1, "b")
	s.durable("other", "x") // is not held
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seed := range uint64(50) {
		seen[state(t, fsys.Crash(crashfs.PowerLoss, seed))] = true
	}
	if !seen["f.log=a other=x"] || !seen["f.log=ab other=x"] || seen["f.log= other=x"] {
		t.Errorf("states: %v", seen)
	}
}

// TestHeldCallsDie: a crash ends the waiting.
func TestHeldCallsDie(t *testing.T) {
	fsys := crashfs.New(1)
	f, _ := fsys.Create("f")
	begun, release := fsys.Hold(crashfs.OpSync, "")
	defer release()
	done := make(chan error)
	go func() { done <- f.Sync() }()
	<-begun
	fsys.Crash(crashfs.ProcessCrash, 1)
	if err := <-done; !errors.Is(err, crashfs.ErrCrashed) {
		t.Errorf("%v, want ErrCrashed", err)
	}
}

// TestAfterCrash: all that was open is dead, locks included, and the next process begins with nothing open.
func TestAfterCrash(t *testing.T) {
	fsys := crashfs.New(1)
	f, _ := fsys.Create("f")
	lock, _ := fsys.Lock("l")
	next := fsys.Crash(crashfs.ProcessCrash, 1)
	_, werr := f.WriteAt([]byte("x"), 0)
	_, rerr := f.ReadAt(make([]byte, 1), 0)
	_, cerr := fsys.Create("g")
	for call, err := range map[string]error{
		"write": werr, "read": rerr, "create": cerr, "sync": f.Sync(), "truncate": f.Truncate(0), "close": f.Close(),
		"rename": fsys.Rename("f", "g"), "mkdir": fsys.MkdirAll("d"), "unlock": lock.Close(), "remove": fsys.RemoveAll("f"),
	} {
		if !errors.Is(err, crashfs.ErrCrashed) {
			t.Errorf("%s: %v, want ErrCrashed", call, err)
		}
	}
	if _, err := next.Lock("l"); err != nil {
		t.Errorf("lock after the crash: %v", err)
	}
	if got := state(t, next); got != "f= l=" {
		t.Errorf("after the crash %q", got)
	}
	if n := next.Descriptors(); n != 1 {
		t.Errorf("%d descriptors, want that of the lock", n)
	}
}

func TestStopAtTearsWrites(t *testing.T) {
	parts := map[string]bool{}
	for seed := range uint64(50) {
		fsys := crashfs.New(seed)
		f, _ := fsys.Create("f")
		fsys.StopAt(1)
		if n, err := f.WriteAt([]byte("abc"), 0); n == 3 || !errors.Is(err, crashfs.ErrCrashed) {
			t.Fatalf("wrote %d bytes: %v", n, err)
		}
		parts[state(t, fsys.Crash(crashfs.ProcessCrash, seed))] = true
	}
	if len(parts) != 3 || parts["f=abc"] {
		t.Errorf("left by the write: %v; want none, one or two bytes", parts)
	}
}

func TestCapacity(t *testing.T) {
	fsys := crashfs.New(1)
	fsys.SetCapacity(10)
	f, _ := fsys.Create("f")
	g, _ := fsys.Create("g")
	for _, c := range []struct {
		name string
		do   func() (int, error)
		n    int
		full bool
		used int64
	}{
		{"some", func() (int, error) { return f.WriteAt(make([]byte, 6), 0) }, 6, false, 6},
		{"what there is room for", func() (int, error) { return g.WriteAt(make([]byte, 6), 0) }, 4, true, 10},
		{"over what is there", func() (int, error) { return f.WriteAt(make([]byte, 6), 0) }, 6, false, 10},
		{"over it and beyond", func() (int, error) { return f.WriteAt(make([]byte, 6), 2) }, 4, true, 10},
		{"behind a hole", func() (int, error) { return f.WriteAt(make([]byte, 6), 100) }, 0, true, 10},
		{"longer", func() (int, error) { return 0, f.Truncate(7) }, 0, true, 10},
		{"shorter", func() (int, error) { return 0, f.Truncate(1) }, 0, false, 5},
		{"again", func() (int, error) { return g.WriteAt(make([]byte, 5), 4) }, 5, false, 10},
		{"removed, but open", func() (int, error) { return 0, fsys.Remove("g") }, 0, false, 10},
		{"closed", func() (int, error) { return 0, g.Close() }, 0, false, 1},
	} {
		n, err := c.do()
		if n != c.n || vfs.IsNoSpace(err) != c.full || (err != nil) != c.full {
			t.Errorf("%s: %d, %v; want %d, full %v", c.name, n, err, c.n, c.full)
		}
		if got := fsys.Used(); got != c.used {
			t.Errorf("%s: %d bytes used, want %d", c.name, got, c.used)
		}
	}
}

func TestDescriptors(t *testing.T) {
	fsys := crashfs.New(1)
	fsys.SetDescriptors(2)
	f, _ := fsys.Create("f")
	lock, _ := fsys.Lock("l")
	_, create := fsys.Create("g")
	_, open := fsys.OpenRead("f")
	_, again := fsys.Lock("m")
	_, list := fsys.ReadDir("/")
	for call, err := range map[string]error{
		"create": create, "open": open, "lock": again, "list": list, "sync": fsys.SyncDir("/"),
	} {
		if !vfs.IsNoDescriptor(err) {
			t.Errorf("%s: %v, want EMFILE", call, err)
		}
	}
	f.Close()
	if got := state(t, fsys); got != "f= l=" {
		t.Errorf("after the refusals %q", got)
	}
	lock.Close()
	if n := fsys.Descriptors(); n != 0 {
		t.Errorf("%d descriptors are open", n)
	}
}

// TestConcurrent is for the race detector: everything at once, and a crash in the middle.
func TestConcurrent(t *testing.T) {
	fsys := crashfs.New(1)
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			dir := fmt.Sprintf("d%d", w%2)
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s/%d", dir, i%3)
				err := errors.Join(fsys.MkdirAll(dir), vfs.WriteFileAtomic(fsys, name, []byte("abc")))
				fsys.ReadDir(dir)
				fsys.RemoveAll(dir)
				fsys.DropCaches()
				if errors.Is(err, crashfs.ErrCrashed) {
					return
				}
			}
		})
	}
	for fsys.Changes() < 500 {
		fsys.Stat("d0")
	}
	state(t, fsys.Crash(crashfs.PowerLoss, 1))
	group.Wait()
}

// A file that could not be replaced is as it was, and nothing is left beside it.
func TestWriteFileAtomicLeavesNothing(t *testing.T) {
	for _, op := range []crashfs.Op{crashfs.OpCreate, crashfs.OpWrite, crashfs.OpSync, crashfs.OpRename} {
		fsys := crashfs.New(1)
		if err := errors.Join(fsys.MkdirAll("/d"), vfs.WriteFileAtomic(fsys, "/d/f", []byte("old"))); err != nil {
			t.Fatal(err)
		}
		fsys.Fail(op, ".tmp", 1, syscall.EIO)
		if err := vfs.WriteFileAtomic(fsys, "/d/f", []byte("young")); !errors.Is(err, syscall.EIO) {
			t.Errorf("%v fails: %v", op, err)
		}
		entries, err := fsys.ReadDir("/d")
		if err != nil || len(entries) != 1 || entries[0].Name() != "f" {
			t.Errorf("%v fails: %v is left (%v)", op, entries, err)
		}
		if text, err := vfs.ReadFile(fsys, "/d/f", 10); err != nil || string(text) != "old" {
			t.Errorf("%v fails: %q (%v)", op, text, err)
		}
	}
}
