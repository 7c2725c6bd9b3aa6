package vfs

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrLocked is returned by Lock when another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("locked by another process")

// TooLongError reports a file that is longer than its reader allows. Sizes are in bytes.
type TooLongError struct{ Size, Limit int64 }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("%d bytes, at most %d allowed", e.Size, e.Limit)
}

// IsNoSpace reports whether err says that the disk, or a quota on it, is full: a condition that goes away by itself
// when somebody makes room, unlike a failing disk.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// IsNoDescriptor reports whether err says that the process or the machine has no file descriptor left.
func IsNoDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
