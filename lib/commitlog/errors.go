package commitlog

import (
	"errors"
	"fmt"
)

var (
	// ErrStorage: the disk refused an append or a flush.
	ErrStorage = errors.New("storage error")
	// ErrClosed: the log is closed.
	ErrClosed = errors.New("log is closed")
	// ErrDeleted: the partition has been deleted.
	ErrDeleted = errors.New("log is deleted")
	// ErrOutOfRange: a read from an id that the log does not have. The error is an *OutOfRangeError.
	ErrOutOfRange = errors.New("id is out of range")
)

// DiskError is what the file system said to an append or a flush; errors.Is finds ErrStorage in it and its cause.
type DiskError struct {
	Dir    string // directory of the log
	Err    error
	Sticky bool // the log takes no more appends until it is opened again
}

func (e *DiskError) Error() string {
	if e.Sticky {
		return fmt.Sprintf("log %s takes no more records: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("log %s: %v", e.Dir, e.Err)
}

func (e *DiskError) Unwrap() []error { return []error{ErrStorage, e.Err} }

// OutOfRangeError: a read from an id that is below the log's start or above its end.
type OutOfRangeError struct {
	ID    int64
	Start int64 // the smallest id that may be read from
	End   int64 // the high watermark: reading from it waits for the next record
}

func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("id %d is out of range [%d, %d]", e.ID, e.Start, e.End)
}

func (e *OutOfRangeError) Unwrap() error { return ErrOutOfRange }
