package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// TimeEntry says that Timestamp (ms since 1970) is the largest of all batches up to the moment it was written, and that
// the batch that has it ends with id Last.
type TimeEntry struct {
	Timestamp int64
	Last      int64
}

// AppendTime appends the encoding of e, in the index of the segment that begins with id base, to dst. ErrRange: e does
// not fit, the segment should have been rolled earlier.
func AppendTime(dst []byte, base int64, e TimeEntry) ([]byte, error) {
	relative := e.Last - base
	if relative < 0 || relative > math.MaxInt32 {
		return dst, fmt.Errorf("id %d in the segment of %d: %w", e.Last, base, ErrRange)
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	return binary.BigEndian.AppendUint32(dst, uint32(relative)), nil
}

// Times is a view of the time index of one segment; see Offsets.
type Times struct {
	base    int64
	source  io.ReaderAt
	entries int
}

// NewTimes views size bytes of source as the time index of the segment that begins with id base. A partial entry at
// the end does not count.
func NewTimes(base int64, source io.ReaderAt, size int64) Times {
	return Times{base: base, source: source, entries: int(size / TimeEntrySize)}
}

// Len is the number of entries.
func (x Times) Len() int { return x.entries }

// At reads entry i, which must be in [0, Len).
func (x Times) At(i int) (TimeEntry, error) {
	b := make([]byte, TimeEntrySize)
	if _, err := x.source.ReadAt(b, int64(i)*TimeEntrySize); err != nil {
		return TimeEntry{}, fmt.Errorf("time index entry %d: %w", i, err)
	}
	return decodeTime(x.base, b), nil
}

func decodeTime(base int64, b []byte) TimeEntry {
	return TimeEntry{
		Timestamp: int64(binary.BigEndian.Uint64(b)),
		Last:      base + int64(int32(binary.BigEndian.Uint32(b[8:]))),
	}
}

// Below finds the last entry with a timestamp below the one given, of those for ids up to last. No record up to and
// including its Last is as late as timestamp, so the search for the first such record begins behind it. ok is false when
// there is none.
func (x Times) Below(timestamp, last int64) (e TimeEntry, ok bool, err error) {
	holds := func(e TimeEntry) bool { return e.Timestamp < timestamp && e.Last <= last }
	e, ok, err = floor(x.source, x.entries, TimeEntrySize, func(b []byte) TimeEntry { return decodeTime(x.base, b) }, holds)
	if err != nil {
		err = fmt.Errorf("time index: %w", err)
	}
	return e, ok, err
}

// CheckTimes tells whether data can be the time index of a segment whose ids are in [base, end): whole entries, rising
// strictly. It returns ErrSize or ErrOrder with the entry's number and values.
func CheckTimes(base int64, data []byte, end int64) error {
	if len(data)%TimeEntrySize != 0 {
		return fmt.Errorf("%d bytes in entries of %d: %w", len(data), TimeEntrySize, ErrSize)
	}
	previous := TimeEntry{Timestamp: math.MinInt64, Last: base - 1}
	for i := 0; i < len(data); i += TimeEntrySize {
		e := decodeTime(base, data[i:])
		if i > 0 && e.Timestamp <= previous.Timestamp || e.Last <= previous.Last || e.Last >= end {
			return fmt.Errorf("entry %d: time %d at id %d after time %d at id %d, ids end before %d: %w",
				i/TimeEntrySize, e.Timestamp, e.Last, previous.Timestamp, previous.Last, end, ErrOrder)
		}
		previous = e
	}
	return nil
}
