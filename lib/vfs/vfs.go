// Package vfs holds the file operations that a log needs, and no more, so that a test can put a file system in their
// place that crashes, fills up or fails on demand.
//
// Contract for implementers: an operation on a file is durable only after Sync of that file; a created, renamed or
// removed name is durable only after SyncDir of its directory. Until then a crash may keep or lose it, in any order.
// Errors are those of package io/fs (fs.ErrNotExist, fs.ErrExist …), wrapped with operation and path.
package vfs

import (
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// File is an open regular file. All methods may be called from several goroutines at once; reads and writes carry
// their own position, so no call depends on another. A File of the operating system has a method Fd() uintptr too.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Name is the path that the file was opened with.
	Name() string
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Truncate cuts the file to size bytes, or extends it with zeros.
	Truncate(size int64) error
	// Sync makes the contents and the length durable (fdatasync). After an error nothing is known about what was
	// written since the last good Sync: the kernel may have dropped it. Callers must not write on and sync again.
	Sync() error
	// DropCache asks that the bytes from the given position on be read from the disk again, not from memory. What was
	// written and not synced stays. It shows what a failed Sync has given up, which the kernel may go on to show as if it
	// were there; a file system that cannot do it does nothing.
	DropCache(from int64)
}

// FS is a file system. Paths are absolute or relative to the process; no method creates missing parents except MkdirAll.
type FS interface {
	// Create makes a file for reading and writing. A file that exists already is cut to nothing.
	Create(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	// OpenWrite opens an existing file for reading and writing, keeping what is in it.
	OpenWrite(name string) (File, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(dir string) ([]fs.DirEntry, error)
	// Stat describes a file or directory.
	Stat(name string) (fs.FileInfo, error)
	// Born is when a file was made, by the clock of the file system; the zero time where that does not remember it.
	Born(name string) (time.Time, error)
	// MkdirAll makes a directory and its missing parents. Only SyncDir of each parent makes that durable.
	MkdirAll(dir string) error
	// Rename moves a file or directory within a file system, replacing a file of that name.
	Rename(from, to string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes a directory with all that is in it. A missing one is no error.
	RemoveAll(dir string) error
	// SyncDir makes the names in a directory durable: those created, renamed and removed before the call.
	SyncDir(dir string) error
	// Lock takes an exclusive lock that ends with Close or with the process. ErrLocked: another holder has it.
	Lock(name string) (io.Closer, error)
}

// WriteFileAtomic replaces the file name by data: a crash at any moment leaves the old file or the whole of the
// replacing one. It is durable on return. The temporary file beside it is name + ".tmp"; one that a crash has left is
// overwritten, and an error leaves none.
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	err := writeSynced(fsys, tmp, data)
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		fsys.Remove(tmp) // it may not be there; the error to tell is the first one
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

func writeSynced(fsys FS, name string, data []byte) (err error) {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Sync()
}

// ReadFile reads a whole file of at most limit bytes. A longer one is an error, before anything is read.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.OpenRead(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: &TooLongError{Size: size, Limit: limit}}
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}
