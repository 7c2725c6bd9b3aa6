package commitlog

import (
	"errors"
	"fmt"
	"io"
	"time"

	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// Retention says what a log may forget. A zero limit does not hold.
type Retention struct {
	Age   time.Duration // of the last append to a segment
	Bytes int64         // of all segments
}

// Retain deletes whole segments, oldest first: those to which nothing has been appended for longer than r.Age, and as
// many as can go while at least r.Bytes bytes are left. The last segment goes only by age, and then another is begun
// first, so ids go on. Age is by the clock of the broker, never by the timestamps of records. It returns how many
// segments and bytes went. Durable on return; a crash in between deletes the rest at the next Open. A full disk does not
// keep it from making room, though some of what it would delete may have to wait for the next call.
func (l *Log) Retain(r Retention, now time.Time) (segments int, bytes int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return 0, 0, l.failure
	}
	notRolled := l.rollExpired(r, now)
	if notRolled != nil && !mayPass(notRolled) {
		return 0, 0, notRolled
	}
	segments, bytes, err = l.deleteExpired(r, now)
	return segments, bytes, errors.Join(notRolled, err)
}

// rollExpired begins another segment behind the last one if that has expired.
func (l *Log) rollExpired(r Retention, now time.Time) error {
	v := l.view.Load()
	if r.Age <= 0 || v.tail == 0 || v.high != l.appended {
		return nil
	}
	changed, err := v.segments[len(v.segments)-1].ModTime()
	if err != nil || now.Sub(changed) <= r.Age {
		return err
	}
	if l.writer == nil {
		if err := l.openWriter(); err != nil {
			return l.refused(err)
		}
	}
	return l.roll((*segment.Writer).ConcludeExpired)
}

func (l *Log) deleteExpired(r Retention, now time.Time) (segments int, bytes int64, err error) {
	v := l.view.Load()
	n, sizes, err := v.expired(r, now)
	if err != nil || n == 0 {
		return 0, 0, err
	}
	start, err := endOf(v.segments[:n])
	if err != nil {
		return 0, 0, err
	}
	if start == 0 { // nothing in them is a batch
		start = min(v.segments[n].Base(), v.high)
	}
	err = l.trim(max(v.start, start))
	for first := l.view.Load().segments[0].Base(); segments < n && v.segments[segments].Base() < first; segments++ {
		bytes += sizes[segments]
	}
	return segments, bytes, err
}

// expired tells how many bytes each segment has, and how many from the oldest on may go. The last never does.
func (v *view) expired(r Retention, now time.Time) (n int, sizes []int64, err error) {
	sizes = make([]int64, len(v.segments))
	total := int64(0)
	for i := range v.segments {
		if sizes[i], err = v.limit(i); err != nil {
			return 0, nil, err
		}
		total += sizes[i]
	}
	for ; n < len(v.segments)-1; n++ {
		changed, err := v.segments[n].ModTime()
		if err != nil {
			return 0, nil, err
		}
		old := r.Age > 0 && now.Sub(changed) > r.Age
		big := r.Bytes > 0 && total-sizes[n] >= r.Bytes
		if !old && !big {
			break
		}
		total -= sizes[n]
	}
	return n, sizes, nil
}

// DeleteBefore makes id the smallest that can be read, and deletes the segments that lie wholly below it. id must be
// at most the high watermark, else the error is an *OutOfRangeError; one below the start changes nothing. It returns the
// start that holds then. Durable on return (Kafka's DeleteRecords).
func (l *Log) DeleteBefore(id int64) (start int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view.Load()
	if id > v.high {
		return v.start, &OutOfRangeError{ID: id, Start: v.start, End: v.high}
	}
	if l.failure != nil {
		return v.start, l.failure
	}
	if id <= v.start {
		return v.start, nil
	}
	if err := l.trim(id); err != nil {
		return l.view.Load().start, err
	}
	return id, nil
}

// trim moves the start of the log. It is remembered before anything is deleted: when everything has gone it is all that
// says where the log stands. Only where there is no room for that is one segment deleted before.
func (l *Log) trim(start int64) error {
	n, err := below(l.view.Load().segments, start)
	if err != nil {
		return err
	}
	if n > 0 {
		l.coverProducers(l.view.Load().segments[n].Base())
		if l.failure != nil { // it may have let go of the lock
			return l.failure
		}
		start = max(start, l.view.Load().start)
	}
	err = l.saveStart(start)
	if vfs.IsNoSpace(err) && n > 0 { // somebody must make room first
		if err = l.deleteOldest(1, start); err == nil {
			err = l.saveStart(start)
		}
	}
	if err != nil {
		return err
	}
	return l.deleteBelow(start)
}

func (l *Log) saveStart(start int64) error {
	if l.options.SaveStart == nil {
		return nil
	}
	if err := l.options.SaveStart(start); err != nil {
		return fmt.Errorf("log %s: start %d is not remembered: %w", l.dir, start, err)
	}
	return nil
}

// deleteBelow moves the start of the log and deletes the segments that lie wholly below it.
func (l *Log) deleteBelow(start int64) error {
	n, err := below(l.view.Load().segments, start)
	if err != nil {
		return err
	}
	return l.deleteOldest(n, start)
}

// deleteOldest moves the start of the log and deletes the first n segments, which lie wholly below it. When that is not
// remembered, a crash may bring them back, whole, or leave a start that is too low: then who asks for a record of theirs
// is led to the first one that is left, and not told that it is gone.
func (l *Log) deleteOldest(n int, start int64) error {
	v := *l.view.Load()
	gone := v.segments[:n]
	v.start, v.segments = start, v.segments[n:]
	l.view.Store(&v)
	return l.remove(gone)
}

// below tells how many segments from the oldest on have no record at or above start. The last always stays.
func below(segments []*segment.Segment, start int64) (n int, err error) {
	for ; n < len(segments)-1 && segments[n].Base() < start; n++ {
		if segments[n+1].Base() <= start {
			continue
		}
		size, err := segments[n].Size()
		if err != nil {
			return n, err
		}
		last, err := segments[n].LastBatch(size)
		if err != nil && err != io.EOF {
			return n, err
		}
		if err == nil && last.Header.LastOffset() >= start {
			break
		}
	}
	return n, nil
}

func (l *Log) remove(segments []*segment.Segment) error {
	if len(segments) == 0 {
		return nil
	}
	for _, s := range segments {
		if err := s.Remove(); err != nil {
			return err
		}
	}
	return l.env.FS.SyncDir(l.dir)
}
