package segment

import (
	"io"
	"math"

	"logkit/lib/index"
	"logkit/lib/record"
)

// LocateTime finds the first batch in the first limit bytes of the log that ends with id from or later and holds a
// record with a timestamp (ms) not below the one given. Such a record may lie below from. io.EOF: there is no such batch.
func (s *Segment) LocateTime(timestamp, from, limit int64) (Batch, error) {
	e, ok, final, err := s.timeBelow(timestamp)
	if err != nil {
		return Batch{}, err
	}
	if final {
		return Batch{}, io.EOF
	}
	begin := from
	if ok {
		// At the entry's batch and not behind it: then an entry that the log does not bear out costs a longer walk only.
		begin = max(from, e.Last)
	}
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	pos, err := s.floor(h, begin, limit)
	if err != nil {
		return Batch{}, err
	}
	w := newWalker(s.LogPath(), h, pos, limit, s.base)
	defer w.free()
	return walkTo(w, func(header record.Header) bool {
		return header.LastOffset() >= from && header.MaxTimestamp >= timestamp
	})
}

// timeBelow is the last time entry below timestamp. final: the segment is sealed and that is its last entry, so all of
// the segment is below.
func (s *Segment) timeBelow(timestamp int64) (e index.TimeEntry, ok, final bool, err error) {
	sealed := s.written.Load() == nil
	x, release, err := s.times()
	if err != nil {
		return e, false, false, err
	}
	defer release()
	e, ok, err = x.Below(timestamp)
	if err != nil || !ok || !sealed {
		return e, ok, false, err
	}
	last, err := x.At(x.Len() - 1)
	return e, ok, err == nil && last == e, err
}

// LocateLatest finds the first batch in the first limit bytes of the log that has the largest timestamp of all.
// io.EOF: there is no batch.
func (s *Segment) LocateLatest(limit int64) (Batch, error) {
	e, ok, _, err := s.timeBelow(math.MaxInt64)
	if err != nil {
		return Batch{}, err
	}
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	pos := int64(0)
	if ok {
		if pos, err = s.floor(h, e.Last, limit); err != nil {
			return Batch{}, err
		}
	}
	w := newWalker(s.LogPath(), h, pos, limit, s.base)
	defer w.free()
	latest := Batch{Pos: -1}
	_, err = walkTo(w, func(header record.Header) bool {
		if latest.Pos < 0 || header.MaxTimestamp > latest.Header.MaxTimestamp {
			latest = Batch{Header: header, Pos: w.pos - header.Size()}
		}
		return false
	})
	if err == io.EOF && latest.Pos >= 0 {
		return latest, nil
	}
	return Batch{}, err
}
