package crashfs

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"logkit/lib/vfs"
)

// FS is a file system. All methods may be called from several goroutines.
type FS struct {
	mu        sync.Mutex
	rand      *rand.Rand
	root      *inode
	journal   []renaming // changes of names that are pending, in order
	renamings int        // how many there have been
	open      map[*handle]bool

	faults
}

var _ vfs.FS = (*FS)(nil)

// New makes an empty file system. What chance decides in it follows from seed.
func New(seed uint64) *FS {
	return &FS{
		root: newDir(), rand: newRand(seed), open: map[*handle]bool{},
		faults: faults{dead: make(chan struct{})},
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// call runs fn with the lock held, unless a crash or a hook comes before it.
func call[T any](f *FS, op Op, name string, fn func() (T, error)) (result T, err error) {
	if err = f.enter(Call{Op: op, Name: name}); err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err = f.alive(); err == nil {
			result, err = fn()
		}
	}
	if err != nil && err != io.EOF {
		err = &fs.PathError{Op: op.String(), Path: name, Err: err}
	}
	return result, err
}

// do is call without a result.
func do(f *FS, op Op, name string, fn func() error) error {
	_, err := call(f, op, name, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// Create makes a file, or empties it; see vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	return call(f, OpCreate, name, func() (vfs.File, error) {
		n, err := f.touch(name)
		if err != nil {
			return nil, err
		}
		if len(n.data) > 0 {
			n.truncate(0)
			n.modTime = time.Now()
		}
		return f.handle(n, name, true), nil
	})
}

// touch finds a file, or makes it when there is none, provided that it can be opened. The lock is held.
func (f *FS) touch(name string) (*inode, error) {
	if err := f.descriptor(); err != nil {
		return nil, err
	}
	at, n, err := f.parent(name)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		n = newFile()
		f.relink(link{at, n})
	case n.isDir():
		return nil, syscall.EISDIR
	}
	return n, nil
}

// OpenRead opens a file; see vfs.FS. A directory is refused.
func (f *FS) OpenRead(name string) (vfs.File, error) { return f.openFile(OpOpenRead, name) }

// OpenWrite opens a file; see vfs.FS.
func (f *FS) OpenWrite(name string) (vfs.File, error) { return f.openFile(OpOpenWrite, name) }

func (f *FS) openFile(op Op, name string) (vfs.File, error) {
	return call(f, op, name, func() (vfs.File, error) {
		if err := f.descriptor(); err != nil {
			return nil, err
		}
		n, err := f.lookup(name)
		if err != nil {
			return nil, err
		}
		if n.isDir() {
			return nil, syscall.EISDIR
		}
		return f.handle(n, name, op == OpOpenWrite), nil
	})
}

// ReadDir lists a directory; see vfs.FS.
func (f *FS) ReadDir(dir string) ([]fs.DirEntry, error) {
	return call(f, OpReadDir, dir, func() ([]fs.DirEntry, error) {
		n, err := f.directory(dir)
		if err != nil {
			return nil, err
		}
		list := make([]fs.DirEntry, 0, len(n.entries))
		for _, name := range sortedNames(n.entries) {
			list = append(list, fs.FileInfoToDirEntry(n.entries[name].info(name)))
		}
		return list, nil
	})
}

// directory finds a directory that is to be opened for a moment. The lock is held.
func (f *FS) directory(dir string) (*inode, error) {
	if err := f.descriptor(); err != nil {
		return nil, err
	}
	n, err := f.lookup(dir)
	if err == nil && !n.isDir() {
		err = syscall.ENOTDIR
	}
	return n, err
}

// Stat describes what a path names; see vfs.FS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	return call(f, OpStat, name, func() (fs.FileInfo, error) {
		n, err := f.lookup(name)
		if err != nil {
			return nil, err
		}
		return n.info(filepath.Base(name)), nil
	})
}

// Born is when a file was made; see vfs.FS. It is an OpStat.
func (f *FS) Born(name string) (time.Time, error) {
	return call(f, OpStat, name, func() (time.Time, error) {
		n, err := f.lookup(name)
		if err != nil {
			return time.Time{}, err
		}
		return n.born, nil
	})
}

// MkdirAll makes directories, one after the other: an OpMkdir for each that is missing.
func (f *FS) MkdirAll(dir string) error {
	p := parts(dir)
	for i := range p {
		path := "/" + strings.Join(p[:i+1], "/")
		if info, err := f.Stat(path); err == nil && info.IsDir() {
			continue
		}
		err := do(f, OpMkdir, path, func() error {
			at, n, err := f.parent(path)
			if err == nil && n == nil {
				f.relink(link{at, newDir()})
			} else if err == nil && !n.isDir() {
				err = syscall.ENOTDIR
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rename moves a file or a directory; see vfs.FS.
func (f *FS) Rename(from, to string) error {
	err := f.enter(Call{Op: OpRename, Name: from, To: to})
	if err == nil {
		err = f.rename(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: OpRename.String(), Old: from, New: to, Err: err}
	}
	return nil
}

func (f *FS) rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.alive(); err != nil {
		return err
	}
	source, n, err := f.parent(from)
	if err != nil {
		return err
	}
	target, old, err := f.parent(to)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case source == target:
		return nil
	case old != nil && old.isDir():
		return syscall.EEXIST
	case old != nil && n.isDir():
		return syscall.ENOTDIR
	case strings.HasPrefix(filepath.Clean("/"+to), filepath.Clean("/"+from)+"/"):
		return syscall.EINVAL
	}
	f.relink(link{source, nil}, link{target, n})
	return nil
}

// Remove deletes a file or an empty directory; see vfs.FS.
func (f *FS) Remove(name string) error {
	return do(f, OpRemove, name, func() error {
		at, n, err := f.parent(name)
		switch {
		case err != nil:
			return err
		case n == nil:
			return syscall.ENOENT
		case len(n.entries) > 0:
			return syscall.ENOTEMPTY
		}
		f.relink(link{at, nil})
		return nil
	})
}

// RemoveAll deletes a directory with all that is in it, one after the other: an OpRemove for each.
func (f *FS) RemoveAll(dir string) error {
	info, err := f.Stat(dir)
	if err == nil && info.IsDir() {
		var list []fs.DirEntry
		list, err = f.ReadDir(dir)
		for i := 0; err == nil && i < len(list); i++ {
			err = f.RemoveAll(filepath.Join(dir, list[i].Name()))
		}
	}
	if err == nil {
		err = f.Remove(dir)
	}
	if isMissing(err) {
		return nil
	}
	return err
}

// SyncDir makes the names in a directory durable; see vfs.FS. Of the changes that came before them it makes those
// durable which they follow from.
func (f *FS) SyncDir(dir string) error {
	f.mu.Lock()
	last := f.renamings
	f.mu.Unlock()
	return do(f, OpSyncDir, dir, func() error {
		n, err := f.directory(dir)
		if err == nil {
			f.commitNames(n, last)
		}
		return err
	})
}

// Lock takes an exclusive lock on a file, making the file when it is missing; see vfs.FS.
func (f *FS) Lock(name string) (io.Closer, error) {
	return call(f, OpLock, name, func() (io.Closer, error) {
		n, err := f.touch(name)
		if err != nil {
			return nil, err
		}
		if n.locked {
			return nil, vfs.ErrLocked
		}
		n.locked = true
		h := f.handle(n, name, true)
		h.lock = true
		return h, nil
	})
}
