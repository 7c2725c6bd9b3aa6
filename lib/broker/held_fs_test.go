package broker

import (
	"strings"
	"sync"

	"logkit/lib/vfs"
)

// heldFS is the operating system's, except that Sync of .log files waits while it is held, and every write to one is
// told.
type heldFS struct {
	vfs.FS
	mu     sync.Mutex
	open   sync.Cond
	held   bool
	skip   bool // sync nothing at all, whatever it is; set before the first use
	syncs  int  // that wait, or have waited
	writes int
}

func newHeldFS() *heldFS {
	h := &heldFS{FS: vfs.OS}
	h.open.L = &h.mu
	return h
}

func (h *heldFS) hold(held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = held
	h.open.Broadcast()
}

func (h *heldFS) counts() (writes, syncs int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes, h.syncs
}

func (h *heldFS) SyncDir(dir string) error {
	if h.skip {
		return nil
	}
	return h.FS.SyncDir(dir)
}

func (h *heldFS) Create(name string) (vfs.File, error)    { return h.wrap(h.FS.Create(name)) }
func (h *heldFS) OpenWrite(name string) (vfs.File, error) { return h.wrap(h.FS.OpenWrite(name)) }

func (h *heldFS) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil || !h.skip && !strings.HasSuffix(f.Name(), ".log") {
		return f, err
	}
	return &heldFile{f, h}, nil
}

type heldFile struct {
	vfs.File
	fs *heldFS
}

func (f *heldFile) WriteAt(b []byte, at int64) (int, error) {
	f.fs.mu.Lock()
	f.fs.writes++
	f.fs.mu.Unlock()
	return f.File.WriteAt(b, at)
}

func (f *heldFile) Sync() error {
	f.fs.mu.Lock()
	f.fs.syncs++
	for f.fs.held {
		f.fs.open.Wait()
	}
	skip := f.fs.skip
	f.fs.mu.Unlock()
	if skip {
		return nil
	}
	return f.File.Sync()
}
