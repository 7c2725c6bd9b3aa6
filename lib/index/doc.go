// Package index holds the two sparse indexes of a segment, in Kafka's own format, and knows nothing of files: it works
// on bytes that somebody else reads and writes. All integers are big-endian.
//
// Offset index, file suffix .index, 8 bytes an entry, both columns rising strictly:
//
//	+-------------------+-------------------+
//	| relative id int32 |  position  int32  |
//	+-------------------+-------------------+
//	  last id of a batch   where that batch
//	  minus base id of     begins in the .log
//	  the segment          file
//
// Time index, file suffix .timeindex, 12 bytes an entry, both columns rising strictly:
//
//	+---------------------------------------+-------------------+
//	|            timestamp int64            | relative id int32 |
//	+---------------------------------------+-------------------+
//	  largest timestamp of any batch so far,  last id of the batch
//	  in ms since 1970                        that has it
//
// Sparse means that only some batches have an entry (about one in 4 KiB of log), so a look-up finds a batch at or
// before the one wanted, and the reader walks on from there. An index says where to begin, never what is there: the
// log alone is the truth, and an index that disagrees with it is rebuilt.
package index

import "errors"

// Sizes of one entry in bytes.
const (
	OffsetEntrySize = 8
	TimeEntrySize   = 12
)

var (
	// ErrRange: an id or a position lies further from the base of the segment than an int32 can say.
	ErrRange = errors.New("index entry out of range")
	// ErrOrder: the entries of an index do not rise, or point outside the log.
	ErrOrder = errors.New("index entries out of order")
	// ErrSize: the length of an index is no whole number of entries.
	ErrSize = errors.New("index has a partial entry")
)
