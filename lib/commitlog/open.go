package commitlog

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logkit/lib/producers"
	"logkit/lib/segment"
)

// Checkpoint is what is remembered of a log from the last time that it was open.
type Checkpoint struct {
	// Start is the id of the last deleted record + 1. 0: nothing is known, it is the first id that is left.
	Start int64
	// RecoveryPoint is an id before which everything was durable.
	RecoveryPoint int64
	// Clean is there when the log was closed in order and nothing can have changed since.
	Clean *Clean
}

// start is the start of a log whose first segment begins with base. known is the largest id that it can have, by all that
// is known: a larger one is a damaged number, by which everything would be deleted.
func (l *Log) start(from Checkpoint, base, known int64) int64 {
	switch {
	case from.Start > known:
		l.logger.Error("start of the log is not believed", "dir", l.dir, "start", from.Start, "at_most", known, "instead", base)
		return base
	case from.Start > 0:
		return from.Start
	}
	return base
}

// Clean describes a log that was closed in order, so that opening it need not read it.
type Clean struct {
	Base int64 // base id of the last segment
	Size int64 // its bytes
	High int64 // id of the last record + 1
	End  int64 // next base
}

// plausible tells whether the numbers go together, and with the recovery point that was written down with them; 0: none was.
// A recovery finds out what is right when they do not.
func (c *Clean) plausible(recoveryPoint int64) bool {
	return c.Base <= c.End && c.High <= c.End && (c.Size == 0) == (c.High <= c.Base) && (recoveryPoint == 0 || c.High <= recoveryPoint)
}

// Open opens the log in dir, which must exist, and makes its first segment when there is none. Without a Clean that
// agrees with the files it recovers: see the package comment. What it cut and found damaged goes to the logger, a line
// each. Options.Syncs and env may be shared with other logs.
func Open(env *segment.Env, dir string, options Options, from Checkpoint) (*Log, error) {
	l := &Log{env: env, dir: dir, logger: env.Logger, options: options.withDefaults()}
	l.flushed.L = &l.mu
	l.mu.Lock() // for what lets go of it
	defer l.mu.Unlock()
	l.producers.state = producers.New(l.options.Producers)
	l.floor = from.RecoveryPoint
	bases, err := l.list()
	if err != nil {
		return nil, err
	}
	clean := false
	switch {
	case len(bases) == 0:
		err = l.createFirst(from)
	case l.openClean(bases, from):
		clean = true
	default:
		err = l.recover(bases, from)
	}
	if err == nil {
		err = l.loadProducers(clean)
	}
	if err == nil && !clean {
		err = l.removeLeftovers()
	}
	if err != nil {
		if l.writer != nil {
			l.writer.Abandon()
		}
		return nil, err
	}
	return l, nil
}

// list returns the base ids of the segments in the directory, in order, and notes the snapshots. What a crash left
// half-written is removed.
func (l *Log) list() ([]int64, error) {
	names, err := l.env.FS.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var bases []int64
	for _, entry := range names {
		if base, ok := segment.ParseName(entry.Name(), segment.LogSuffix); ok {
			bases = append(bases, base)
		} else if end, ok := segment.ParseName(entry.Name(), snapshotSuffix); ok {
			l.producers.snapshots = append(l.producers.snapshots, end)
		} else if strings.HasSuffix(entry.Name(), ".tmp") {
			if err := l.env.FS.Remove(filepath.Join(l.dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	slices.Sort(bases)
	slices.Sort(l.producers.snapshots)
	return bases, nil
}

func (l *Log) createFirst(from Checkpoint) error {
	start := max(from.Start, from.RecoveryPoint)
	if start > from.Start {
		l.logger.Error("records below the recovery point are missing", "dir", l.dir, "from", from.Start, "to", start)
	}
	writer, err := segment.Create(l.env, l.dir, start)
	if err != nil {
		return err
	}
	l.begin([]*segment.Segment{writer.Segment}, 0, writer, Positions{Start: start, HighWatermark: start, End: start})
	return nil
}

// begin sets the state of a log that has just been opened. writer is that of the last segment, which has tail bytes; nil
// while it is not open for writing.
func (l *Log) begin(segments []*segment.Segment, tail int64, writer *segment.Writer, p Positions) {
	l.view.Store(&view{segments: segments, start: p.Start, high: p.HighWatermark, tail: tail})
	if tail > 0 {
		l.began, _ = segments[len(segments)-1].Born() // in vain: it counts from the next append
	}
	l.end.Store(p.End)
	l.appended = p.HighWatermark
	l.writer = writer
}

// openClean takes the log over as it was closed. It looks at the names and at one size, and reads no record.
func (l *Log) openClean(bases []int64, from Checkpoint) bool {
	clean := from.Clean
	if clean == nil || bases[len(bases)-1] != clean.Base || !clean.plausible(from.RecoveryPoint) {
		return false
	}
	segments := make([]*segment.Segment, len(bases))
	for i, base := range bases {
		segments[i] = segment.Open(l.env, l.dir, base)
	}
	size, err := segments[len(segments)-1].Size()
	if err != nil || size != clean.Size {
		return false
	}
	l.begin(segments, size, nil, Positions{Start: min(l.start(from, bases[0], clean.High), clean.High), HighWatermark: clean.High, End: clean.End})
	return true
}

// recover opens the log after a crash. A segment is begun only when all before it is durable (see roll), so the last one
// alone can hold what the crash has torn.
func (l *Log) recover(bases []int64, from Checkpoint) error {
	began := time.Now()
	segments := make([]*segment.Segment, len(bases))
	for i, base := range bases {
		segments[i] = segment.Open(l.env, l.dir, base)
	}
	segments, err := dropEmpty(segments)
	if err != nil {
		return err
	}
	last := len(segments) - 1
	writer, found, err := segment.Recover(l.env, l.dir, bases[last], max(bases[last], from.RecoveryPoint))
	if err != nil {
		return err
	}
	segments[last] = writer.Segment
	l.uncut, l.spoiled = found.Uncut != nil, endsDamaged(writer, found)
	l.report(writer, found, time.Since(began))
	if found.Batches == 0 {
		before, err := endOf(segments[:last])
		if err != nil {
			writer.Abandon()
			return err
		}
		if found.Claimed == bases[last] { // of a segment without records
			found.Claimed = before
		}
	}
	start := l.start(from, bases[0], max(found.Claimed, bases[last], from.RecoveryPoint))
	high := max(start, found.Claimed)
	if high < from.RecoveryPoint && len(found.Damage) == 0 {
		l.logger.Error("records below the recovery point are missing", "segment", writer.LogPath(), "from", high, "to", from.RecoveryPoint)
	}
	// The log has reached the base of an empty segment once.
	end := max(high, found.Next, bases[len(bases)-1], l.floor)
	l.begin(segments, writer.Size(), writer, Positions{Start: start, HighWatermark: high, End: end})
	if l.uncut && !mayPass(found.Uncut) {
		l.fail(found.Uncut)
	}
	return nil
}

// dropEmpty deletes an empty segment at the end that is not where the log ended: roll had failed, or died, when it had
// begun that one, and what was appended afterwards is in the segment before it.
func dropEmpty(segments []*segment.Segment) ([]*segment.Segment, error) {
	for last := len(segments) - 1; last > 0; last-- {
		size, err := segments[last].Size()
		if err != nil || size > 0 {
			return segments, err
		}
		ends, err := endsBefore(segments[last-1], segments[last].Base())
		if err != nil || ends {
			return segments, err
		}
		if err := segments[last].Remove(); err != nil {
			return segments, err
		}
		segments = segments[:last]
	}
	return segments, nil
}

// endsBefore tells whether a segment ends with a whole batch, and the ids of that end before next.
func endsBefore(s *segment.Segment, next int64) (bool, error) {
	size, err := s.Size()
	if err != nil {
		return false, err
	}
	last, err := s.LastBatch(size)
	if err == io.EOF {
		return false, nil
	}
	return last.Pos+last.Header.Size() == size && last.Header.NextBase() <= next, err
}

// removeLeftovers deletes the segments below the start that a crash has kept from being deleted.
func (l *Log) removeLeftovers() error {
	v := *l.view.Load()
	n, err := below(v.segments, v.start)
	if err != nil || n == 0 {
		return err
	}
	l.coverProducers(v.segments[n].Base())
	gone := v.segments[:n]
	v.segments = v.segments[n:]
	l.view.Store(&v)
	return l.remove(gone)
}

// report says what a recovery has done: a line, and one more for each damage and for what was cut.
func (l *Log) report(writer *segment.Writer, found segment.Recovery, took time.Duration) {
	for _, d := range found.Damage {
		l.logger.Error("damage below the recovery point, kept as it is",
			"segment", writer.LogPath(), "from", d.From, "to", d.To, "reason", d.Err)
	}
	switch {
	case found.Uncut != nil:
		l.logger.Error("log not cut behind the last whole batch, takes no records",
			"segment", writer.LogPath(), "at", writer.Size(), "bytes", found.Cut, "cause", found.Cause, "reason", found.Uncut)
	case found.Cut > 0:
		l.logger.Warn("cut what a crash has left behind the last whole batch",
			"segment", writer.LogPath(), "at", writer.Size(), "bytes", found.Cut, "reason", found.Cause)
		l.reportKept(writer, found.Kept)
	}
	l.logger.Info("log recovered", "segment", writer.LogPath(), "checked", found.Checked, "cut", found.Cut,
		"end", found.End, "took", took)
}

// reportKept says where intact batches are that had to be cut off, if there are any.
func (l *Log) reportKept(writer *segment.Writer, kept *segment.CutOff) {
	if kept == nil {
		return
	}
	args := []any{"segment", writer.LogPath(), "file", kept.Path, "batches", kept.Batches}
	if kept.Batches > 0 {
		args = append(args, "first_id", kept.First, "last_id", kept.Last)
	}
	if kept.Unsure {
		args = append(args, "incomplete", "the search was given up: there may be more")
	}
	l.logger.Error("intact batches cut off behind damage, kept in a file", append(args, "read_with", "logsegdump --values or --salvage")...)
}

// endOf is the id of the last record in segments + 1, or 0 when there is none.
func endOf(segments []*segment.Segment) (int64, error) {
	for i := len(segments) - 1; i >= 0; i-- {
		size, err := segments[i].Size()
		if err != nil {
			return 0, err
		}
		last, err := segments[i].LastBatch(size)
		if err == nil {
			return last.Header.LastOffset() + 1, nil
		}
		if err != io.EOF {
			return 0, err
		}
	}
	return 0, nil
}
