package commitlog

import (
	"errors"
	"io"
	"io/fs"

	"logkit/lib/segment"
)

// Slice is a run of whole batches in one segment file, as they are on disk.
type Slice struct {
	// Handle is the open .log file, or nil when there is nothing to read. It is readable until Release.
	Handle *segment.Handle
	// Pos and Len say which bytes of it, when there are any.
	Pos, Len int64
	// More tells that the slice ends with its segment, and that there is more to be read in the next one.
	More bool
	// Positions are the marks of the log at the moment of the look-up: the slice ends at or before its high watermark.
	Positions Positions
}

// Release gives the file back. It may be called on an empty slice and more than once.
func (s *Slice) Release() {
	if s.Handle != nil {
		s.Handle.Release()
		s.Handle = nil
	}
}

// Read finds the batches from the one that holds id, or follows it, up to maxBytes bytes and the high watermark, whole
// batches only, but at least one; a slice ends with its segment. At the high watermark, and from there to the end, it
// is empty. Release the slice after use. An *OutOfRangeError comes with a slice that has the Positions.
func (l *Log) Read(id, maxBytes int64) (s Slice, err error) {
	err = l.look(func(v *view) (err error) {
		s, err = l.read(v, id, maxBytes)
		return err
	})
	if errors.Is(err, ErrDeleted) {
		s.Release()
	}
	return s, err
}

// look calls find with the present view, and once more with the next one as long as a file goes away under it by
// retention. When it has gone with the whole log, that is the error: what find has found may be another log's, which was
// made in the same place since.
func (l *Log) look(find func(v *view) error) error {
	for {
		v := l.view.Load()
		err := find(v)
		if l.deleted.Load() {
			return l.Err()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if l.view.Load() == v {
			if failure := l.Err(); failure != nil {
				err = failure
			}
			return err
		}
	}
}

func (l *Log) read(v *view, id, maxBytes int64) (Slice, error) {
	s := Slice{Positions: l.positions(v)}
	if id < v.start || id > s.Positions.End {
		return s, &OutOfRangeError{ID: id, Start: v.start, End: v.high}
	}
	if id >= v.high {
		return s, nil
	}
	for i := v.segmentFor(id); i < len(v.segments); i++ {
		limit, err := v.limit(i)
		if err != nil {
			return s, err
		}
		batch, err := v.segments[i].Locate(id, limit)
		if err == io.EOF {
			l.checkJoin(v, i, batch)
			continue
		}
		if err != nil {
			return s, err
		}
		err = s.fill(v, i, batch, maxBytes, limit)
		return s, err
	}
	return s, nil
}

// fill makes the slice one of segment i, of which limit bytes are visible, that begins with a batch.
func (s *Slice) fill(v *view, i int, batch segment.Batch, maxBytes, limit int64) error {
	seg := v.segments[i]
	end, err := seg.Cut(batch, maxBytes, limit)
	if err != nil {
		return err
	}
	if s.Handle, err = seg.Log(); err != nil {
		return err
	}
	s.Pos, s.Len = batch.Pos, end-batch.Pos
	last := len(v.segments) - 1
	s.More = end == limit && (i < last-1 || i == last-1 && v.tail > 0)
	return nil
}

// checkJoin says, once, when the segment behind segment i does not begin where that one ends, with the batch last. Ids have
// gaps, so no reader would see that a file is missing, and looking at every segment when the log is opened takes too long:
// a reader that goes on to the next segment has that batch in hand.
func (l *Log) checkJoin(v *view, i int, last segment.Batch) {
	if i+1 == len(v.segments) || last.Header.Length == 0 {
		return
	}
	// By the rule of ids, or by that of Kafka, for a log that came from there.
	next, h := v.segments[i+1], last.Header
	if next.Base() == h.NextBase() || next.Base() == h.LastOffset()+1 {
		return
	}
	if _, said := l.unjoined.LoadOrStore(next.Base(), true); !said {
		l.logger.Error("segments do not join, what was between them is missing", "segment", v.segments[i].LogPath(),
			"ends_before", h.NextBase(), "next", next.LogPath())
	}
}

// limit is how many bytes of segment i are visible.
func (v *view) limit(i int) (int64, error) {
	if i == len(v.segments)-1 {
		return v.tail, nil
	}
	return v.segments[i].Size()
}

// Size returns how many bytes all that is appended takes on disk, flushed or not, without the indexes, and in how many
// segments. ErrDeleted: the log has been.
func (l *Log) Size() (bytes int64, segments int, err error) {
	err = l.look(func(v *view) (err error) {
		segments = len(v.segments)
		bytes, err = sizeOf(v.segments)
		return err
	})
	return bytes, segments, err
}

func sizeOf(segments []*segment.Segment) (bytes int64, err error) {
	for _, s := range segments {
		size, err := s.Size()
		if err != nil {
			return 0, err
		}
		bytes += size
	}
	return bytes, nil
}
