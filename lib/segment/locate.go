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
// id, or, when id lies between two batches, the one behind it. io.EOF: there is none; then the batch is the last one that
// was passed, whose header is all zero when that is none either. It reads some 4 KiB.
func (s *Segment) Locate(id, limit int64) (Batch, error) {
	h, err := s.Log()
	if err != nil {
		return Batch{}, err
	}
	defer h.Release()
	w, err := s.walkFrom(h, id, limit)
	if err != nil {
		return Batch{}, err
	}
	defer w.free()
	var last Batch
	b, err := walkTo(w, func(header record.Header) bool {
		if header.LastOffset() >= id {
			return true
		}
		last = Batch{Header: header, Pos: w.pos - header.Size()}
		return false
	})
	if err == io.EOF {
		return last, err
	}
	return b, err
}

// walkTo steps on to the first batch that is wanted, over damage too. io.EOF: there is none.
func walkTo(w *walker, wanted func(record.Header) bool) (Batch, error) {
	for {
		header, pos, err := w.step()
		if err == nil {
			if wanted(header) {
				return Batch{Header: header, Pos: pos}, nil
			}
			continue
		}
		if !isCorrupt(err) {
			return Batch{}, err
		}
		if _, err := w.resync(); err != nil {
			return Batch{}, err
		}
	}
}

// walkFrom returns a walker that begins where the look for id does: at the batch of the index entry at or before it, or at
// the start. An entry that the log does not bear out makes the index be built again. Free the walker after use.
func (s *Segment) walkFrom(log *Handle, id, limit int64) (*walker, error) {
	for retried := false; ; retried = true {
		writing := s.written.Load() != nil
		x, release, err := s.offsets()
		if err != nil {
			return nil, err
		}
		e, ok, err := visibleFloor(x, log, id, limit)
		release()
		if err == nil && !ok {
			return newWalker(s.LogPath(), log, 0, limit, s.base), nil
		}
		if err == nil {
			w := newWalker(s.LogPath(), log, e.Position, limit, s.base)
			if err = w.confirm(e); err == nil {
				return w, nil
			}
			w.free()
		}
		if !isUntrue(err) { // the index may be right, and lead past what the disk cannot read
			return nil, err
		}
		if retried || writing { // damage in the log itself: walk it from the start
			return newWalker(s.LogPath(), log, 0, limit, s.base), nil
		}
		if err := s.rebuildIndexes(err); err != nil {
			return nil, err
		}
	}
}

// visibleFloor is the index entry at or before id whose batch is in the first limit bytes of the log.
func visibleFloor(x index.Offsets, log *Handle, id, limit int64) (e index.OffsetEntry, ok bool, err error) {
	if e, ok, err = x.Floor(id); !ok || err != nil || e.Position < limit {
		return e, ok, err
	}
	// Its batch is not to be seen yet, or the log ends before it.
	if size, err := log.Size(); err != nil || e.Position >= size {
		return e, true, err
	}
	return x.FloorPosition(limit - 1)
}

// errUntrue: an index entry says of the log what is not so.
var errUntrue = errors.New("index entry is wrong")

// isUntrue tells an error that speaks against an index from one of reading. An index that is shorter than it was is one.
func isUntrue(err error) bool {
	return errors.Is(err, errUntrue) || isCorrupt(err) || errors.Is(err, io.EOF)
}

// confirm holds an index entry against the log. The walker stands at its position, and stays there.
func (w *walker) confirm(e index.OffsetEntry) error {
	if e.Position >= w.end {
		return fmt.Errorf("%w: id %d at position %d of %d", errUntrue, e.Last, e.Position, w.end)
	}
	pos, next := w.pos, w.next
	h, _, err := w.step()
	if err == nil && h.LastOffset() != e.Last {
		err = fmt.Errorf("%w: id %d at position %d, where a batch ends with %d", errUntrue, e.Last, e.Position, h.LastOffset())
	}
	w.pos, w.next, w.last = pos, next, -1
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
	w, err := s.walkFrom(h, math.MaxInt64, limit)
	if err != nil {
		return Batch{}, err
	}
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
