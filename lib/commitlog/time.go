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
	err = l.look(func(v *view) (err error) {
		found, ok, err = v.lookupTime(timestamp)
		return err
	})
	return found, ok, err
}

func (v *view) lookupTime(timestamp int64) (found Stamp, ok bool, err error) {
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
			err = eachRecord(v.segments[i], batch, func(r *record.Record) (more bool) {
				if ok = r.Offset >= v.start && r.Timestamp >= timestamp; ok {
					found = Stamp{r.Offset, r.Timestamp}
				}
				return !ok
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
	err = l.look(func(v *view) (err error) {
		found, ok, err = v.latestTime()
		return err
	})
	return found, ok, err
}

func (v *view) latestTime() (found Stamp, ok bool, err error) {
	var from int64
	if found, ok, from, err = v.latestAtStart(); err != nil {
		return found, false, err
	}
	var latest segment.Batch
	var in *segment.Segment
	for i := v.segmentFor(from); i < len(v.segments); i++ {
		limit, err := v.limit(i)
		if err != nil {
			return found, false, err
		}
		batch, err := v.segments[i].LocateLatest(from, limit)
		if err == io.EOF {
			continue
		}
		if err != nil {
			return found, false, err
		}
		if in == nil || batch.Header.MaxTimestamp > latest.Header.MaxTimestamp {
			latest, in = batch, v.segments[i]
		}
	}
	if in == nil || ok && latest.Header.MaxTimestamp <= found.Timestamp {
		return found, ok, nil
	}
	return latestRecord(in, latest, v.start)
}

// latestAtStart is latestTime for the batch that the start of the log lies in, of which some records are gone, so that its
// header says nothing of the others. from is the id behind it; the start, when there is no such batch.
func (v *view) latestAtStart() (found Stamp, ok bool, from int64, err error) {
	i := v.segmentFor(v.start)
	limit, err := v.limit(i)
	if err != nil {
		return found, false, v.start, err
	}
	batch, err := v.segments[i].Locate(v.start, limit)
	if err == io.EOF || err == nil && batch.Header.BaseOffset >= v.start {
		return found, false, v.start, nil
	}
	if err == nil {
		found, ok, err = latestRecord(v.segments[i], batch, v.start)
	}
	return found, ok, batch.Header.LastOffset() + 1, err
}

// latestRecord finds the record of a batch with the largest timestamp, among those with ids from start on, whatever the
// header says: it is the producer's word.
func latestRecord(s *segment.Segment, b segment.Batch, start int64) (found Stamp, ok bool, err error) {
	err = eachRecord(s, b, func(r *record.Record) (more bool) {
		if r.Offset >= start && (!ok || r.Timestamp > found.Timestamp) {
			found, ok = Stamp{r.Offset, r.Timestamp}, true
		}
		return true
	})
	return found, ok, err
}

// eachRecord calls visit with the records of a batch until it returns false.
func eachRecord(s *segment.Segment, b segment.Batch, visit func(*record.Record) (more bool)) error {
	h, err := s.Log()
	if err != nil {
		return err
	}
	defer h.Release()
	data := make([]byte, b.Header.Size())
	if _, err := h.ReadAt(data, b.Pos); err != nil && err != io.EOF {
		return err
	}
	var it record.Iterator
	if err := it.Reset(data); err != nil {
		return err
	}
	for r := (record.Record{}); it.Next(&r); {
		if !visit(&r) {
			return nil
		}
	}
	return it.Err()
}
