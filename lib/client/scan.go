package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"logkit/lib/record"
)

// DamageError reports a batch that can not be read, and that was stepped over.
type DamageError struct {
	Topic     string
	Partition int32
	Offset    int64 // first id that is missing for it
	Err       error // what is wrong with the batch
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("topic %q: partition %d: offset %d: damaged batch: %v", e.Topic, e.Partition, e.Offset, e.Err)
}
func (e *DamageError) Unwrap() error { return e.Err }

// ErrNoBatch says that there is no batch where one should be, and so no way to find what lies behind.
var ErrNoBatch = errors.New("no record batch where one should be, and no way to what lies behind")

// maxBatch is the largest batch, in bytes, that is asked for: what an int32 can frame and memory may hold.
const maxBatch = 1 << 30

// scanned is what one fetch brought for one partition.
type scanned struct {
	batches [][]byte // whole ones that check and end at or above the position asked for
	next    int64    // the id to go on from
	damage  []damaged
	size    int64 // > 0: the data is only the beginning of a batch of this many bytes
	lost    error // ErrNoBatch, when the data begins with none
}

type damaged struct {
	base, offset int64 // of the batch, and the first id missing
	err          error
}

// scan takes apart the records of a fetch that asked for position pos. Nothing read is trusted: a batch whose CRC is
// wrong is left out, and the batch behind it shows where its ids end. When there is none behind it, its header is
// believed if it agrees with itself; if not, the next fetch, one id on, brings it again. Those up to the base reported
// were left out before, and are stepped over by their bytes: in this project's logs their ids can not reach further.
func scan(data []byte, pos, reported int64) scanned {
	s := scanned{next: pos}
	for len(data) >= record.LogOverhead {
		base, size := int64(binary.BigEndian.Uint64(data)), int64(int32(binary.BigEndian.Uint32(data[8:])))+record.LogOverhead
		first := len(s.batches)+len(s.damage) == 0 && s.next == pos
		switch {
		case size < record.HeaderSize || size > maxBatch || base < 0:
			if first {
				s.lost = ErrNoBatch
			}
			return s // else the next fetch begins here, and tells
		case size > int64(len(data)):
			if first {
				s.size = size
			}
			return s // a fetch may end anywhere
		}
		s.take(data[:size], base, pos, reported)
		data = data[size:]
	}
	return s
}

// take adds one whole batch.
func (s *scanned) take(batch []byte, base, pos, reported int64) {
	h, err := record.ParseHeader(batch)
	if err == nil {
		err = record.CheckCRC(batch)
	}
	switch {
	case err == nil:
		if h.LastOffset() >= pos {
			s.batches = append(s.batches, batch)
			s.next = max(s.next, h.LastOffset()+1)
		}
	case base <= reported:
		s.next = max(s.next, base+int64(len(batch)))
	default:
		s.damage = append(s.damage, damaged{base, max(base, pos), err})
		s.next = max(s.next, pos, base) + 1
		if h.Count > 0 && h.LastOffsetDelta == h.Count-1 && int(h.Count) <= len(batch) {
			s.next = max(s.next, base+int64(h.Count))
		}
	}
}
