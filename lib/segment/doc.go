// Package segment holds one segment of a partition's log: the file of batches and the two indexes beside it.
//
// The files of a segment are named after the id of its first record, its base id, in 20 digits, so that the order of
// names is the order of ids (Kafka's LogSegment, and the paper, section 3.1):
//
//	00000000000014517018.log        record batches, one behind the other (package record)
//	00000000000014517018.index      sparse offset index (package index)
//	00000000000014517018.timeindex  sparse time index (package index)
//
// A segment is read through Segment, by any number of goroutines and without locks, and written through Writer, by one
// goroutine at a time. The indexes of the segment being written are in memory and reach the disk when it is sealed,
// when it is closed, and at checkpoints. They are only a place to begin: whatever they say is compared with the log
// itself, and an index that is missing or wrong is built again from it.
//
// An id between two batches belongs to no record; looking for it finds the batch behind it.
package segment

import (
	"errors"
	"fmt"
)

// CorruptError reports bytes of a segment that are no batch, or not the batch that must stand there.
type CorruptError struct {
	Path string // of the .log file
	Pos  int64  // byte in that file where the batch should begin
	ID   int64  // the smallest id that the batch could have
	Err  error  // what is wrong
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: position %d: id %d or later: %v", e.Path, e.Pos, e.ID, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// isCorrupt tells what stands in a log from errors of reading it.
func isCorrupt(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}
