package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// OffsetEntry says that the batch beginning at byte Position of the .log file ends with id Last.
type OffsetEntry struct {
	Last     int64
	Position int64
}

// AppendOffset appends the encoding of e, in the index of the segment that begins with id base, to dst. ErrRange: e
// does not fit, the segment should have been rolled earlier.
func AppendOffset(dst []byte, base int64, e OffsetEntry) ([]byte, error) {
	relative := e.Last - base
	if relative < 0 || relative > math.MaxInt32 || e.Position < 0 || e.Position > math.MaxInt32 {
		return dst, fmt.Errorf("id %d at position %d in the segment of %d: %w", e.Last, e.Position, base, ErrRange)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(relative))
	return binary.BigEndian.AppendUint32(dst, uint32(e.Position)), nil
}

// Offsets is a view of the offset index of one segment. It reads entries from their source when asked, so a sealed
// index need not be in memory; errors are those of the source. A view is immutable and may be shared.
type Offsets struct {
	base    int64
	source  io.ReaderAt
	entries int
}

// NewOffsets views size bytes of source as the offset index of the segment that begins with id base. A partial entry
// at the end does not count.
func NewOffsets(base int64, source io.ReaderAt, size int64) Offsets {
	return Offsets{base: base, source: source, entries: int(size / OffsetEntrySize)}
}

// Len is the number of entries.
func (x Offsets) Len() int { return x.entries }

// At reads entry i, which must be in [0, Len).
func (x Offsets) At(i int) (OffsetEntry, error) {
	b := make([]byte, OffsetEntrySize)
	if _, err := x.source.ReadAt(b, int64(i)*OffsetEntrySize); err != nil {
		return OffsetEntry{}, fmt.Errorf("offset index entry %d: %w", i, err)
	}
	return decodeOffset(x.base, b), nil
}

func decodeOffset(base int64, b []byte) OffsetEntry {
	return OffsetEntry{
		Last:     base + int64(int32(binary.BigEndian.Uint32(b))),
		Position: int64(int32(binary.BigEndian.Uint32(b[4:]))),
	}
}

// Floor finds the entry with the largest last id that is not above id: the place to begin looking for id. ok is false
// when there is none, and the search begins at the start of the log.
func (x Offsets) Floor(id int64) (e OffsetEntry, ok bool, err error) {
	return x.floor(func(e OffsetEntry) bool { return e.Last <= id })
}

// FloorPosition finds the entry with the largest position that is not above position: a boundary between two batches.
func (x Offsets) FloorPosition(position int64) (e OffsetEntry, ok bool, err error) {
	return x.floor(func(e OffsetEntry) bool { return e.Position <= position })
}

func (x Offsets) floor(holds func(OffsetEntry) bool) (e OffsetEntry, ok bool, err error) {
	e, ok, err = floor(x.source, x.entries, OffsetEntrySize, func(b []byte) OffsetEntry { return decodeOffset(x.base, b) }, holds)
	if err != nil {
		err = fmt.Errorf("offset index: %w", err)
	}
	return e, ok, err
}

// CheckOffsets tells whether data can be the offset index of a log of logSize bytes that begins with id base: whole
// entries, rising strictly, all inside the log. It returns ErrSize or ErrOrder with the entry's number and values.
func CheckOffsets(base int64, data []byte, logSize int64) error {
	if len(data)%OffsetEntrySize != 0 {
		return fmt.Errorf("%d bytes in entries of %d: %w", len(data), OffsetEntrySize, ErrSize)
	}
	previous := OffsetEntry{Last: base - 1, Position: -1}
	for i := 0; i < len(data); i += OffsetEntrySize {
		e := decodeOffset(base, data[i:])
		if e.Last <= previous.Last || e.Position <= previous.Position || e.Position >= logSize {
			return fmt.Errorf("entry %d: id %d at position %d after id %d at %d in a log of %d bytes: %w",
				i/OffsetEntrySize, e.Last, e.Position, previous.Last, previous.Position, logSize, ErrOrder)
		}
		previous = e
	}
	return nil
}
