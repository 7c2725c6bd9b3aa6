package segment

import (
	"fmt"
	"io"
	"math"

	"logkit/lib/index"
	"logkit/lib/record"
)

// LocateTime finds the first batch in the first limit bytes of the log that ends with id from or later and holds a
// record with a timestamp (ms) not below the one given. Such a record may lie below from. io.EOF: there is no such batch.
func (s *Segment) LocateTime(timestamp, from, limit int64) (Batch, error) {
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	e, ok, err := s.timeBelow(h, timestamp, limit)
	if err != nil {
		return Batch{}, err
	}
	if ok && e.final {
		return Batch{}, io.EOF
	}
	begin := from
	if ok {
		begin = max(from, e.Last+1)
	}
	w, err := s.walkFrom(h, begin, limit)
	if err != nil {
		return Batch{}, err
	}
	defer w.free()
	return walkTo(w, func(header record.Header) bool {
		return header.LastOffset() >= from && header.MaxTimestamp >= timestamp
	})
}

// LocateLatest finds, among the batches in the first limit bytes of the log that end with id from or later, the first one
// that has the largest timestamp of all. io.EOF: there is no batch. It may look at every batch when the latest of those
// before from is later.
func (s *Segment) LocateLatest(from, limit int64) (Batch, error) {
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	e, ok, err := s.timeBelow(h, math.MaxInt64, limit)
	if err != nil {
		return Batch{}, err
	}
	begin := from
	if ok {
		begin = max(from, e.Last) // nothing before it is later, and nothing before it as late
	}
	w, err := s.walkFrom(h, begin, limit)
	if err != nil {
		return Batch{}, err
	}
	defer w.free()
	latest := Batch{Pos: -1}
	_, err = walkTo(w, func(header record.Header) bool {
		if header.LastOffset() >= from && (latest.Pos < 0 || header.MaxTimestamp > latest.Header.MaxTimestamp) {
			latest = Batch{Header: header, Pos: w.pos - header.Size()}
		}
		return false
	})
	if err == io.EOF && latest.Pos >= 0 {
		return latest, nil
	}
	return Batch{}, err
}

// timeEntry is an entry of the time index that the log bears out.
type timeEntry struct {
	index.TimeEntry
	final bool // the last of a segment that is not being written: nothing in it is later
}

// timeBelow is the last time entry below timestamp whose batch is in the first limit bytes of the log. ok is false when
// there is none that can be believed: then the search for a time begins at the start. An entry that the log does not bear
// out makes the indexes be built again.
func (s *Segment) timeBelow(log *Handle, timestamp, limit int64) (e timeEntry, ok bool, err error) {
	size, err := log.Size()
	if err != nil {
		return e, false, err
	}
	for retried := false; ; retried = true {
		writing := s.written.Load() != nil
		last := int64(math.MaxInt64)
		if writing || limit < size { // there may be entries of what is not to be seen
			if last, ok, err = s.lastIndexed(limit); !ok || err != nil {
				return e, false, err
			}
		}
		e, ok, err = s.lookUpTime(timestamp, last)
		if !ok || err != nil {
			return e, false, err
		}
		e.final = e.final && !writing
		err := s.confirmTime(log, e.TimeEntry, limit)
		if err == nil {
			return e, true, nil
		}
		if !isUntrue(err) {
			return e, false, err
		}
		if retried || writing {
			return e, false, nil
		}
		if err := s.rebuildIndexes(err); err != nil {
			return e, false, err
		}
	}
}

// lastIndexed is the last id of the last batch that has an entry in the offset index and is in the first limit bytes.
func (s *Segment) lastIndexed(limit int64) (id int64, ok bool, err error) {
	x, release, err := s.offsets()
	if err != nil {
		return 0, false, err
	}
	defer release()
	e, ok, err := x.FloorPosition(limit - 1)
	return e.Last, ok, err
}

func (s *Segment) lookUpTime(timestamp, last int64) (e timeEntry, ok bool, err error) {
	x, release, err := s.times()
	if err != nil {
		return e, false, err
	}
	defer release()
	e.TimeEntry, ok, err = x.Below(timestamp, last)
	if !ok || err != nil {
		return e, false, err
	}
	final, err := x.At(x.Len() - 1)
	e.final = final == e.TimeEntry
	return e, true, err
}

// confirmTime holds a time entry against the log: the batch with its id must have its timestamp.
func (s *Segment) confirmTime(log *Handle, e index.TimeEntry, limit int64) error {
	w, err := s.walkFrom(log, e.Last, limit)
	if err != nil {
		return err
	}
	defer w.free()
	b, err := walkTo(w, func(h record.Header) bool { return h.LastOffset() >= e.Last })
	switch {
	case err == io.EOF:
		return fmt.Errorf("%w: time %d at id %d, which is behind the last batch", errUntrue, e.Timestamp, e.Last)
	case err != nil:
		return err
	case b.Header.BaseOffset > e.Last || b.Header.MaxTimestamp != e.Timestamp:
		return fmt.Errorf("%w: time %d at id %d, the batch of ids %d to %d has %d",
			errUntrue, e.Timestamp, e.Last, b.Header.BaseOffset, b.Header.LastOffset(), b.Header.MaxTimestamp)
	}
	return nil
}
