package commitlog

import (
	"io"

	"logkit/lib/record"
	"logkit/lib/segment"
)

// Stamp is a record's id and its timestamp in ms since 1970.
type Stamp struct{ ID, Timestamp int64 }

// LookupTime finds the first visible record, in the order of ids, with a timestamp not below the one given. Timestamps
// need not rise with ids. ok is false when there is none. It reads the batches it passes until it has found the record.
func (l *Log) LookupTime(timestamp int64) (found Stamp, ok bool, err error) {
	v := l.view.Load()
	for i := v.segmentFor(v.start); i < len(v.segments); i++ {
		limit, err := v.limit(i)
		if err != nil {
			return found, false, err
		}
		for from := v.start; ; {
			batch, err := v.segments[i].LocateTime(timestamp, from, limit)
			if err == io.EOF {
				break
			}
			if err != nil {
				return found, false, err
			}
			found, ok, err = firstRecord(v.segments[i], batch, func(r *record.Record) bool {
				return r.Offset >= v.start && r.Timestamp >= timestamp
			})
			if ok || err != nil {
				return found, ok, err
			}
			from = batch.Header.LastOffset() + 1 // the record that is late enough lies below the start
		}
	}
	return found, false, nil
}

// LatestTime finds the visible record with the largest timestamp, the first of several. ok is false when the log is
// empty.
func (l *Log) LatestTime() (found Stamp, ok bool, err error) {
	v := l.view.Load()
	var latest segment.Batch
	var in *segment.Segment
	for i := v.segmentFor(v.start); i < len(v.segments); i++ {
		limit, err := v.limit(i)
		if err != nil {
			return found, false, err
		}
		batch, err := v.segments[i].LocateLatest(limit)
		if err == io.EOF {
			continue
		}
		if err != nil {
			return found, false, err
		}
		if batch.Header.LastOffset() >= v.start && (in == nil || batch.Header.MaxTimestamp > latest.Header.MaxTimestamp) {
			latest, in = batch, v.segments[i]
		}
	}
	if in == nil {
		return found, false, nil
	}
	return firstRecord(in, latest, func(r *record.Record) bool { return r.Timestamp >= latest.Header.MaxTimestamp })
}

// firstRecord finds the first record of a batch that is wanted.
func firstRecord(s *segment.Segment, b segment.Batch, wanted func(*record.Record) bool) (found Stamp, ok bool, err error) {
	h, err := s.Log()
	if err != nil {
		return found, false, err
	}
	defer h.Release()
	data := make([]byte, b.Header.Size())
	if _, err := h.ReadAt(data, b.Pos); err != nil && err != io.EOF {
		return found, false, err
	}
	var it record.Iterator
	if err := it.Reset(data); err != nil {
		return found, false, err
	}
	for r := (record.Record{}); it.Next(&r); {
		if wanted(&r) {
			return Stamp{r.Offset, r.Timestamp}, true, nil
		}
	}
	return found, false, it.Err()
}
