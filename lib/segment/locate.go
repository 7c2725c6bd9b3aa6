package segment

import (
	"errors"
	"fmt"
	"io"
	"math"

	"logkit/lib/index"
	"logkit/lib/record"
)

// Batch is the place of one batch in a segment.
type Batch struct {
	Header record.Header
	Pos    int64 // byte of the .log file where it begins
}

// Locate finds the first batch in the first limit bytes of the log whose last id is not below id: the one that holds
// id, or, when id lies between two batches, the one behind it. io.EOF: there is none. It reads some 4 KiB.
func (s *Segment) Locate(id, limit int64) (Batch, error) {
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	pos, err := s.floor(h, id, limit)
	if err != nil {
		return Batch{}, err
	}
	w := newWalker(s.LogPath(), h, pos, limit, s.base)
	defer w.free()
	return walkTo(w, func(header record.Header) bool { return header.LastOffset() >= id })
}

// walkTo steps on to the first batch that is wanted, over damage too. io.EOF: there is none.
func walkTo(w *walker, wanted func(record.Header) bool) (Batch, error) {
	for {
		header, pos, err := w.step()
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt):
			if _, err := w.resync(); err != nil {
				return Batch{}, err
			}
		case err != nil:
			return Batch{}, err
		case wanted(header):
			return Batch{Header: header, Pos: pos}, nil
		}
	}
}

// floor returns where the look for id begins: the batch of the index entry at or before it, or the start. An entry that
// the log does not bear out makes the index be built again.
func (s *Segment) floor(log io.ReaderAt, id, limit int64) (int64, error) {
	for retried := false; ; retried = true {
		writing := s.written.Load() != nil
		x, release, err := s.offsets()
		if err != nil {
			return 0, err
		}
		e, ok, err := x.Floor(id)
		if ok && writing && e.Position >= limit {
			e, ok, err = x.FloorPosition(limit - 1) // its batch is not visible yet
		}
		release()
		if err == nil && !ok {
			return 0, nil
		}
		if err == nil {
			err = s.confirm(log, e, limit)
		}
		if err == nil {
			return e.Position, nil
		}
		if retried || writing {
			return 0, nil // damage in the log itself: walk it from the start
		}
		if err := s.rebuildIndexes(err); err != nil {
			return 0, err
		}
	}
}

// confirm holds an index entry against the log.
func (s *Segment) confirm(log io.ReaderAt, e index.OffsetEntry, limit int64) error {
	if e.Position >= limit {
		return fmt.Errorf("entry for id %d points at position %d of %d", e.Last, e.Position, limit)
	}
	w := newWalker(s.LogPath(), log, e.Position, limit, s.base)
	defer w.free()
	h, _, err := w.step()
	if err == nil && h.LastOffset() != e.Last {
		err = fmt.Errorf("entry for id %d points at position %d, where a batch ends with %d", e.Last, e.Position, h.LastOffset())
	}
	return err
}

// Cut returns where a read that begins with the batch b ends: the last known boundary between two batches that is at
// most maxBytes behind b.Pos and not behind limit, but at least behind b itself.
func (s *Segment) Cut(b Batch, maxBytes, limit int64) (int64, error) {
	end := b.Pos + b.Header.Size()
	if limit-b.Pos <= maxBytes {
		return limit, nil
	}
	x, release, err := s.offsets()
	if err != nil {
		return 0, err
	}
	defer release()
	e, ok, err := x.FloorPosition(b.Pos + maxBytes)
	if err != nil {
		return 0, err
	}
	if ok && e.Position > end {
		return e.Position, nil
	}
	return s.walkCut(b, maxBytes, limit)
}

// walkCut is Cut for a read that is smaller than the distance between two index entries.
func (s *Segment) walkCut(b Batch, maxBytes, limit int64) (int64, error) {
	h, err := s.Log()
	if err != nil {
		return 0, err
	}
	defer h.Release()
	end := b.Pos + b.Header.Size()
	w := newWalker(s.LogPath(), h, end, min(limit, max(end, b.Pos+maxBytes)), b.Header.NextBase())
	defer w.free()
	for {
		if _, _, err := w.step(); err != nil {
			return w.pos, nil // at the end, or before a batch that does not fit or is damaged
		}
	}
}

// LastBatch finds the last batch in the first limit bytes of the log. io.EOF: there is none.
func (s *Segment) LastBatch(limit int64) (Batch, error) {
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	pos, err := s.floor(h, math.MaxInt64, limit)
	if err != nil {
		return Batch{}, err
	}
	w := newWalker(s.LogPath(), h, pos, limit, s.base)
	defer w.free()
	last := Batch{Pos: -1}
	_, err = walkTo(w, func(header record.Header) bool {
		last = Batch{Header: header, Pos: w.pos - header.Size()}
		return false
	})
	if err == io.EOF && last.Pos >= 0 {
		return last, nil
	}
	return Batch{}, err
}
