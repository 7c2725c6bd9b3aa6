package commitlog

import (
	"fmt"
	"math"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// Append writes one batch at the end of the log and returns the id of its first record. The batch must have been
// checked (record.Validate) and h be the header that this has returned; base id, leader epoch and max timestamp are set in
// batch itself, which is not kept.
// The order of the log is the order of the calls. Append does not wait for a flush: with flush true one is asked for at
// once, and WaitVisible tells when it is done. It may block while another segment is begun.
//
// A batch of an idempotent producer that is stored already is not stored again: the id is the one that it has, and it may
// still wait for its flush, like the original.
//
// Errors: a *DiskError when the disk refused, a *producers.SequenceError when the batch is not the next one of its
// producer, ErrClosed. Nothing of the batch is in the log then.
func (l *Log) Append(batch []byte, h record.Header, flush bool) (base int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.prepare(&h); err != nil {
		return 0, err
	}
	if base, stored, err := l.sequence(h, flush); stored || err != nil {
		return base, err
	}
	record.SetBaseOffset(batch, h.BaseOffset)
	record.SetLeaderEpoch(batch, 0)
	record.SetMaxTimestamp(batch, h.MaxTimestamp)
	if err := l.writer.Append(batch, h); err != nil {
		return 0, l.refused(err)
	}
	now := time.Now()
	if l.began.IsZero() {
		l.began = now
	}
	l.producers.add(h, now)
	l.appended = h.LastOffset() + 1
	l.end.Store(h.NextBase())
	l.unflushed += int64(h.LastOffsetDelta) + 1
	if flush || l.unflushed >= l.options.FlushMessages {
		l.wantFlush()
	} else {
		l.arm()
	}
	return h.BaseOffset, nil
}

// prepare sees to it that there is a segment into which a batch with header h fits, and sets its base id.
func (l *Log) prepare(h *record.Header) error {
	for {
		if l.failure != nil {
			return l.failure
		}
		if l.writer == nil {
			if err := l.openWriter(); err != nil {
				return l.refused(err)
			}
		}
		if err := l.cutRest(); err != nil {
			return l.refused(err)
		}
		h.BaseOffset = l.end.Load()
		if h.BaseOffset > math.MaxInt64-2*math.MaxInt32 {
			return &DiskError{Dir: l.dir, Err: fmt.Errorf("ids are used up at %d", h.BaseOffset)}
		}
		old := !l.began.IsZero() && time.Since(l.began) >= l.options.SegmentAge
		if !old && !l.spoiled && l.writer.Fits(h.Size(), h.LastOffset(), l.options.SegmentBytes) {
			return nil
		}
		// Rolling lets go of the lock while a flush runs, so the question is asked again.
		if err := l.roll((*segment.Writer).Conclude); err != nil {
			return err
		}
	}
}

// openWriter opens the last segment for writing, after a clean start has left it closed.
func (l *Log) openWriter() error {
	v := l.view.Load()
	last := v.segments[len(v.segments)-1]
	writer, recovery, err := segment.Recover(l.env, l.dir, last.Base(), math.MaxInt64)
	if err != nil {
		return err
	}
	if recovery.Cut > 0 || writer.Size() != v.tail {
		writer.Abandon()
		return fmt.Errorf("%s: %d bytes, %d after the clean stop", last.LogPath(), writer.Size(), v.tail)
	}
	l.spoiled = endsDamaged(writer, recovery)
	l.install(writer)
	l.correct(recovery)
	return nil
}

// correct moves the marks of a log that was opened as it was closed to where its last batch is, when that lies behind
// them: nothing but the file's own syntax protects what was written down of them, and an id must not be given twice.
func (l *Log) correct(found segment.Recovery) {
	v := *l.view.Load()
	if found.Batches == 0 || found.End <= v.high && found.Next <= l.end.Load() {
		return
	}
	l.logger.Error("log goes on behind what was written down when it was closed", "segment", l.writer.LogPath(),
		"high", v.high, "found", found.End, "end", l.end.Load(), "next", found.Next)
	v.high = max(v.high, found.End)
	l.appended = v.high
	l.end.Store(max(l.end.Load(), found.Next))
	l.view.Store(&v)
	l.announce()
}

// endsDamaged tells whether a segment ends with damage that may not be cut off. Then what is appended begins another: the
// damage could be the first part of a batch, and become a batch again by the first bytes of the next, which would be
// hidden in it.
func endsDamaged(writer *segment.Writer, found segment.Recovery) bool {
	n := len(found.Damage)
	return n > 0 && found.Damage[n-1].To == writer.Size()
}

// install makes writer, which is the last segment of the view or follows it, the one that is appended to.
func (l *Log) install(writer *segment.Writer) {
	v := *l.view.Load()
	if n := len(v.segments); v.segments[n-1].Base() == writer.Base() {
		// Readers go on with the writer's own Segment: its indexes grow in memory.
		v.segments = append(v.segments[:n-1:n-1], writer.Segment)
	} else {
		v.segments = append(v.segments[:n:n], writer.Segment)
		v.tail = 0
	}
	l.writer = writer
	l.view.Store(&v)
}

// cutRest cuts off what the recovery of the log had to leave behind its end; without room for a copy of what is intact in
// it, nothing can be appended. The lock is held.
func (l *Log) cutRest() error {
	if !l.uncut {
		return nil
	}
	kept, err := l.writer.CutRest()
	if err != nil {
		return err
	}
	l.uncut = false
	l.logger.Info("log cut where its last whole batch ends", "segment", l.writer.LogPath(), "at", l.writer.Size())
	l.reportKept(l.writer, kept)
	return nil
}

// refused is called when the disk did not take something that has left no trace in the log. A full disk, or a lack of
// descriptors, may pass; anything else does not.
func (l *Log) refused(err error) error {
	disk := &DiskError{Dir: l.dir, Err: err}
	if mayPass(err) {
		l.logger.Error("append refused", "dir", l.dir, "error", err)
		return disk
	}
	return l.fail(err)
}

// mayPass tells whether what the disk did not take may be tried again: it is full, or descriptors are lacking.
func mayPass(err error) bool {
	_, torn := err.(*segment.TornError)
	return !torn && (vfs.IsNoSpace(err) || vfs.IsNoDescriptor(err))
}

// fail ends the writing for good and tells everybody who waits.
func (l *Log) fail(err error) error {
	disk := &DiskError{Dir: l.dir, Err: err, Sticky: true}
	if l.failure == nil {
		l.failure = disk
		l.logger.Error("log failed", "dir", l.dir, "error", err)
		l.announce()
		if l.options.OnFailure != nil {
			go l.options.OnFailure(disk)
		}
	}
	return disk
}

// roll ends the last segment, which conclude concludes, and begins another at the end of the log. Everything is flushed
// first, so only the last segment ever holds what is not durable.
func (l *Log) roll(conclude func(*segment.Writer) error) error {
	sealed := l.writer
	if err := l.cutRest(); err != nil {
		return l.refused(err)
	}
	err := l.flushAll()
	for err == nil && l.saving { // its index may be among what is written
		l.flushed.Wait()
		err = l.flushAll()
	}
	if err != nil {
		return err
	}
	if l.writer != sealed {
		return nil // somebody else has rolled while the lock was free
	}
	// All batches are durable, but not that the file ends behind them, when an append was refused and cut off.
	if err := sealed.Sync(); err != nil {
		return l.fail(err)
	}
	// The indexes first: when another segment follows, they are taken for complete.
	if err := conclude(sealed); err != nil {
		return l.refused(err)
	}
	next, err := segment.Create(l.env, l.dir, l.end.Load())
	if err != nil {
		return l.refused(err)
	}
	sealed.Seal()
	l.install(next)
	l.began, l.spoiled = time.Time{}, false
	if err := l.saveProducers(); err != nil {
		l.logger.Warn("producers are not saved at the end of a segment", "segment", sealed.LogPath(), "reason", err)
	}
	return nil
}
