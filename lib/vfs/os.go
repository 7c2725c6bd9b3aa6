package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the file system of the operating system. Files are created with mode 0644, directories with 0755, both less
// the umask.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync asks for the data and for what is needed to read it back, such as the length, but not for the times of the
// file: one journal write less for each sync (fdatasync(2)).
func (f osFile) Sync() error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

func (f osFile) DropCache(from int64) {
	unix.Fadvise(int(f.Fd()), from, 0, unix.FADV_DONTNEED) // an advice: its failure changes nothing
}

func open(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Create(name string) (File, error) {
	return open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}
func (osFS) OpenRead(name string) (File, error)        { return open(name, os.O_RDONLY) }
func (osFS) OpenWrite(name string) (File, error)       { return open(name, os.O_RDWR) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (osFS) Stat(name string) (fs.FileInfo, error)     { return os.Stat(name) }
func (osFS) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o755) }
func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (osFS) Remove(name string) error                  { return os.Remove(name) }
func (osFS) RemoveAll(dir string) error                { return os.RemoveAll(filepath.Clean(dir)) }

func (osFS) Born(name string) (time.Time, error) {
	var info unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_BTIME, &info); err != nil {
		return time.Time{}, &fs.PathError{Op: "statx", Path: name, Err: err}
	}
	if info.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}, nil
	}
	return time.Unix(info.Btime.Sec, int64(info.Btime.Nsec)), nil
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	// flock belongs to the open file, so it also keeps out a second opener in this process.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			err = ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}
