package segment

import (
	"container/list"
	"errors"
	"io/fs"
	"sync"

	"logkit/lib/vfs"
)

// DefaultOpenFiles is how many files a Files keeps open when nobody uses them.
const DefaultOpenFiles = 256

// Files opens files for reading on demand and shares each open file among its readers, so that thousands of segments
// need no more descriptors than are being read, plus a bounded number kept for the next reader. It may be used by
// several goroutines.
type Files struct {
	fsys vfs.FS
	max  int

	mu   sync.Mutex
	open map[string]*Handle
	idle *list.List // of *Handle without users, the longest unused in front
}

// Handle is an open file, shared with others. It stays readable until Release, also when the file has been deleted
// meanwhile. Release it exactly once.
type Handle struct {
	vfs.File
	files *Files
	path  string
	users int           // guarded by files.mu
	place *list.Element // in files.idle while users is 0; guarded by files.mu
	gone  bool          // forgotten: close at the last Release; guarded by files.mu
}

// NewFiles opens files of fsys and keeps up to max of them open without a user; 0 means DefaultOpenFiles.
func NewFiles(fsys vfs.FS, max int) *Files {
	if max == 0 {
		max = DefaultOpenFiles
	}
	return &Files{fsys: fsys, max: max, open: make(map[string]*Handle), idle: list.New()}
}

// Open returns a handle of the file at path. When the process has no descriptor left, idle files are closed first.
func (f *Files) Open(path string) (*Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.open[path]; h != nil {
		if h.users == 0 {
			f.idle.Remove(h.place)
		}
		h.users++
		return h, nil
	}
	file, err := f.fsys.OpenRead(path)
	for vfs.IsNoDescriptor(err) && f.closeOldest() {
		file, err = f.fsys.OpenRead(path)
	}
	if err != nil {
		return nil, err
	}
	h := &Handle{File: file, files: f, path: path, users: 1}
	f.open[path] = h
	return h, nil
}

// Forget drops the file at path: the next Open opens it afresh. Call it after a file was deleted, renamed or replaced.
func (f *Files) Forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.open[path]
	if h == nil {
		return
	}
	delete(f.open, path)
	h.gone = true
	if h.users == 0 {
		f.idle.Remove(h.place)
		h.File.Close()
	}
}

// Close closes all idle files, and each of the others when it is released.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.closeOldest() {
	}
	for path, h := range f.open {
		delete(f.open, path)
		h.gone = true
	}
	return nil
}

func (f *Files) closeOldest() bool {
	oldest := f.idle.Front()
	if oldest == nil {
		return false
	}
	h := f.idle.Remove(oldest).(*Handle)
	delete(f.open, h.path)
	h.File.Close() // opened for reading: nothing can be lost
	return true
}

// Release gives the handle back. It may not be used afterwards.
func (h *Handle) Release() {
	f := h.files
	f.mu.Lock()
	defer f.mu.Unlock()
	h.users--
	switch {
	case h.users < 0:
		panic("segment: handle of " + h.path + " released twice")
	case h.users > 0:
	case h.gone:
		h.File.Close()
	default:
		h.place = f.idle.PushBack(h)
		if f.idle.Len() > f.max {
			f.closeOldest()
		}
	}
}

// Fd is the descriptor of the open file, for sendfile(2), when the file system has descriptors.
func (h *Handle) Fd() (fd uintptr, ok bool) {
	if f, is := h.File.(interface{ Fd() uintptr }); is {
		return f.Fd(), true
	}
	return 0, false
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
