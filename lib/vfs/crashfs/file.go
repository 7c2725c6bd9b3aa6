package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
	"time"
)

// handle is an open file, or a lock.
type handle struct {
	fs       *FS
	node     *inode
	name     string
	writable bool
	lock     bool
}

// maxFileSize bounds a file, in bytes: it is kept in memory twice.
const maxFileSize = 1 << 30

// handle opens an inode. The lock is held.
func (f *FS) handle(n *inode, name string, writable bool) *handle {
	h := &handle{fs: f, node: n, name: name, writable: writable}
	f.open[h] = true
	return h
}

func (h *handle) Name() string { return h.name }

// usable is nil when the handle is open, and open for writing where that is asked for.
func (h *handle) usable(write bool) error {
	if !h.fs.open[h] {
		return fs.ErrClosed
	}
	if write && !h.writable {
		return syscall.EBADF
	}
	return nil
}

func (h *handle) Close() error {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.alive()
	if err == nil {
		err = h.usable(false)
	}
	if err != nil {
		return &fs.PathError{Op: "close", Path: h.name, Err: err}
	}
	delete(f.open, h)
	if h.lock {
		h.node.locked = false
	}
	return nil
}

// DropCache drops the cache of the whole file: what is given up is given up wherever it is.
func (h *handle) DropCache(int64) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	h.node.data = h.node.cached()
}

func (h *handle) Size() (int64, error) {
	return call(h.fs, OpStat, h.name, func() (int64, error) {
		return int64(len(h.node.data)), h.usable(false)
	})
}

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	return call(h.fs, OpRead, h.name, func() (int, error) {
		if err := h.usable(false); err != nil {
			return 0, err
		}
		if at < 0 {
			return 0, errNegative
		}
		n := 0
		if at < int64(len(h.node.data)) {
			n = copy(p, h.node.data[at:])
		}
		if n < len(p) {
			return n, io.EOF
		}
		return n, nil
	})
}

func (h *handle) WriteAt(p []byte, at int64) (n int, err error) {
	refused := h.fs.enter(Call{Op: OpWrite, Name: h.name})
	n, err = h.write(p, at, refused)
	if err != nil {
		err = &fs.PathError{Op: OpWrite.String(), Path: h.name, Err: err}
	}
	return n, err
}

// write writes all of p, or what a call that was refused has written of it.
func (h *handle) write(p []byte, at int64, refused error) (int, error) {
	f := h.fs
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil && refused != errDying {
		return 0, err
	}
	if err := h.usable(true); err != nil {
		return 0, err
	}
	if at < 0 {
		return 0, errNegative
	}
	if at+int64(len(p)) > maxFileSize {
		return 0, syscall.EFBIG
	}
	switch room := f.room() + int64(len(h.node.data)) - at; {
	case refused != nil && len(p) > 0:
		p = p[:f.rand.IntN(len(p))]
	case room < int64(len(p)) && at+int64(len(p)) > int64(len(h.node.data)):
		p, refused = p[:max(room, 0)], syscall.ENOSPC
	}
	if len(p) > 0 {
		h.node.write(p, int(at))
		h.node.modTime = time.Now()
	}
	return len(p), refused
}

func (h *handle) Truncate(size int64) error {
	return do(h.fs, OpTruncate, h.name, func() error {
		switch growth := size - int64(len(h.node.data)); {
		case h.usable(true) != nil:
			return h.usable(true)
		case size < 0:
			return syscall.EINVAL
		case size > maxFileSize:
			return syscall.EFBIG
		case growth > 0 && growth > h.fs.room():
			return syscall.ENOSPC
		}
		h.node.truncate(int(size))
		h.node.modTime = time.Now()
		return nil
	})
}

func (h *handle) Sync() error {
	f := h.fs
	f.mu.Lock()
	covered := h.node.changes()
	f.mu.Unlock()
	ran := false
	err := do(f, OpSync, h.name, func() error {
		ran = true
		if err := h.usable(false); err != nil {
			return err
		}
		h.node.commit(covered)
		return nil
	})
	if err != nil && !ran && !errors.Is(err, ErrCrashed) {
		f.mu.Lock()
		defer f.mu.Unlock()
		h.node.giveUp(f.rand)
	}
	return err
}

var errNegative = errors.New("negative offset")

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
