package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"logkit/lib/producers"
	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

const (
	// snapshotSuffix is that of a snapshot of the producers. Its name is that of a segment that would begin where the
	// log ended when it was written.
	snapshotSuffix = ".snapshot"
	// keptSnapshots is how many are kept: the second is for the day when the last one is damaged.
	keptSnapshots = 2
	// maxUnsaved is how many bytes of log a checkpoint lets go by without a snapshot when no producer is in them.
	maxUnsaved = 16 << 20
)

// producing is what the log knows of idempotent producers. The lock of the log guards it.
//
// A snapshot is written when all that it tells of is flushed: where a segment ends, at checkpoints and when the log is
// closed. What is in the log behind the last one is read when the log is opened. So nothing is lost with the segments
// that are deleted: each ends in front of a snapshot.
type producing struct {
	state     *producers.State
	unsaved   bool    // something is in state that is in no snapshot
	snapshots []int64 // where the log ended when they were written; in order
}

// batchOf is what counts of a batch for the producers. ok is false when it has none.
func batchOf(h record.Header, now time.Time) (b producers.Batch, ok bool) {
	return producers.Batch{
		Producer: h.ProducerID, Epoch: h.ProducerEpoch, Sequence: h.BaseSequence, Delta: h.LastOffsetDelta,
		FirstID: h.BaseOffset, Time: now.UnixMilli(),
	}, h.ProducerID >= 0 && h.ProducerEpoch >= 0 && h.BaseSequence >= 0 && h.LastOffsetDelta >= 0
}

// add remembers a batch that is in the log.
func (p *producing) add(h record.Header, now time.Time) {
	if b, ok := batchOf(h, now); ok {
		p.state.Add(b)
		p.unsaved = true
	}
}

// sequence holds a batch against what is known of its producer: is it stored already, and if so, with which base id?
// The error is a *producers.SequenceError. With flush, what is stored is flushed soon, if it is not yet.
func (l *Log) sequence(h record.Header, flush bool) (base int64, stored bool, err error) {
	b, ok := batchOf(h, time.Now())
	if !ok {
		return 0, false, nil
	}
	l.producers.state.Expire(b.Time)
	base, stored, err = l.producers.state.Check(b)
	last := base + int64(b.Delta)
	if refused := (*producers.SequenceError)(nil); errors.As(err, &refused) && refused.Err == producers.ErrDuplicate {
		last = refused.Before - 1
	} else if !stored {
		return base, stored, err
	}
	if flush && last >= l.view.Load().high && l.unflushed > 0 {
		l.wantFlush()
	}
	return base, stored, err
}

func (l *Log) snapshotPath(end int64) string { return segment.Path(l.dir, end) + snapshotSuffix }

// saveProducers writes a snapshot of what is known at the call, when all that it tells of is flushed, and deletes those that
// are one too many. The lock is held, but free while it is flushed, encoded and written.
func (l *Log) saveProducers() error {
	for l.saving {
		l.flushed.Wait()
	}
	if l.failure != nil {
		return l.failure
	}
	return l.writeSnapshot()
}

// save calls write, which writes files beside the log. The lock is held, but free meanwhile, except that nothing else is
// saved and no segment ends (Log.saving).
func (l *Log) save(write func() error) error {
	l.saving = true
	l.mu.Unlock()
	err := write()
	l.mu.Lock()
	l.saving = false
	l.flushed.Broadcast()
	return err
}

// writeSnapshot is saveProducers for whoever knows that no other is being written.
func (l *Log) writeSnapshot() error {
	p, end := &l.producers, l.end.Load()
	if n := len(p.snapshots); n > 0 && p.snapshots[n-1] == end {
		return nil
	}
	p.state.Expire(time.Now().UnixMilli())
	view := p.state.View()
	p.unsaved = false
	err := l.save(func() error {
		if err := l.flushAppended(); err != nil {
			return err
		}
		return vfs.WriteFileAtomic(l.env.FS, l.snapshotPath(end), producers.Append(nil, view.Entries()))
	})
	if err != nil {
		p.unsaved = true
		return fmt.Errorf("snapshot of producers: %w", err)
	}
	p.snapshots = append(p.snapshots, end)
	for len(p.snapshots) > keptSnapshots {
		l.dropSnapshot(p.snapshots[0]) // one that comes back after a crash goes at the next Open
	}
	return nil
}

// dropSnapshot deletes a snapshot; only SyncDir makes that durable.
func (l *Log) dropSnapshot(end int64) error {
	l.producers.snapshots = slices.DeleteFunc(l.producers.snapshots, func(e int64) bool { return e == end })
	if err := l.env.FS.Remove(l.snapshotPath(end)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.logger.Warn("snapshot of producers is not deleted", "file", l.snapshotPath(end), "reason", err)
		return err
	}
	return nil
}

// snapshotDue tells whether a checkpoint should write a snapshot: when there is news, or when so much has been appended
// that it would take long to read through after a crash.
func (l *Log) snapshotDue() bool {
	from := l.view.Load().segments[0].Base()
	if n := len(l.producers.snapshots); n > 0 {
		from = l.producers.snapshots[n-1]
	}
	return l.producers.unsaved || l.end.Load()-from >= maxUnsaved
}

// coverProducers sees to it that a snapshot tells of all producers in the segments below base, which are about to be
// deleted. It may let go of the lock. When it is in vain, for want of room as likely as not, they are deleted all the
// same: what is lost is lost only by a crash before the next snapshot.
func (l *Log) coverProducers(base int64) {
	p := &l.producers
	if n := len(p.snapshots); n > 0 && p.snapshots[n-1] >= base || n == 0 && p.state.Len() == 0 {
		return
	}
	if err := l.saveProducers(); err != nil {
		l.logger.Warn("producers of deleted segments are known to this process alone", "dir", l.dir, "reason", err)
	}
}

// loadProducers takes up the last snapshot that can be believed, and adds what is in the log behind it. clean: the log
// was closed in order; then there is nothing behind it, and without any snapshot there was nothing to save.
func (l *Log) loadProducers(clean bool) error {
	p, end, now := &l.producers, l.end.Load(), time.Now()
	if len(p.snapshots) == 0 && clean {
		return nil
	}
	if err := l.dropUnbelievable(end); err != nil {
		return err
	}
	from := l.view.Load().segments[0].Base()
	for n := len(p.snapshots); n > 0; n = len(p.snapshots) {
		last := p.snapshots[n-1]
		entries, err := l.readSnapshot(last)
		if err == nil {
			p.state.Restore(entries, now.UnixMilli())
			from = last
			break
		}
		if mayPass(err) {
			return err
		}
		l.logger.Error("snapshot of producers is not used", "file", l.snapshotPath(last), "reason", err)
		l.dropSnapshot(last)
	}
	if from < end {
		return l.replayProducers(from, now)
	}
	return nil
}

// dropUnbelievable deletes, durably, the snapshots of what is behind the end of the log: other records will get those
// ids. Of the rest it leaves those that are to be kept.
func (l *Log) dropUnbelievable(end int64) error {
	changed := false
	for _, at := range slices.Clone(l.producers.snapshots) {
		if at <= end && len(l.producers.snapshots) <= keptSnapshots {
			continue
		}
		if at > end {
			l.logger.Warn("snapshot of producers is ahead of the log, deleted", "file", l.snapshotPath(at), "end", end)
		}
		if err := l.dropSnapshot(at); err != nil {
			return err
		}
		changed = true
	}
	if changed {
		return l.env.FS.SyncDir(l.dir)
	}
	return nil
}

func (l *Log) readSnapshot(end int64) ([]producers.Entry, error) {
	data, err := vfs.ReadFile(l.env.FS, l.snapshotPath(end), producers.MaxSnapshotBytes)
	if err != nil {
		return nil, err
	}
	return producers.Decode(data)
}

// replayProducers adds the producers of the batches from an id on. What cannot be read is said, and left out: then a batch
// that is there can be stored once more. A lack of descriptors is not worth that.
func (l *Log) replayProducers(from int64, now time.Time) error {
	v := l.view.Load()
	for i := v.segmentFor(from); i < len(v.segments); i++ {
		limit, err := v.limit(i)
		if err == nil && limit > 0 {
			err = v.segments[i].Headers(from, limit, func(h record.Header) { l.producers.add(h, now) })
		}
		if mayPass(err) {
			return err
		}
		if err != nil {
			l.logger.Error("producers in this segment are not known", "segment", v.segments[i].LogPath(), "reason", err)
		}
	}
	return nil
}
