package commitlog

import (
	"errors"
	"fmt"
)

// Close flushes, saves what the next Open needs and closes the files. It returns nil for Clean when the log is not in
// order: the next Open then recovers it. Whoever waits or appends gets ErrClosed.
func (l *Log) Close() (*Clean, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.failure, ErrClosed) || errors.Is(l.failure, ErrDeleted) {
		return nil, l.failure
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	err := l.flushAll()
	l.awaitQuiet()
	if err == nil {
		err = l.flushAll() // what has been appended meanwhile
	}
	l.failure = fmt.Errorf("%s: %w", l.dir, ErrClosed) // nothing begins from here on, though finish lets go of the lock
	l.awaitQuiet()
	clean, closeErr := l.finish(err == nil)
	l.announce()
	return clean, errors.Join(err, closeErr)
}

// awaitQuiet returns when no flush runs and nothing is saved, which go on after a failure too: files may not be
// closed, or moved away, under them. The lock is held, but free in between.
func (l *Log) awaitQuiet() {
	for l.flushing || l.saving {
		l.flushed.Wait()
	}
}

func (l *Log) finish(good bool) (*Clean, error) {
	v := l.view.Load()
	last := v.segments[len(v.segments)-1]
	if l.writer != nil {
		if !good || l.uncut { // the next Open tries to cut it, with what it finds
			return nil, l.writer.Abandon()
		}
		if err := l.writer.Conclude(); err != nil {
			return nil, errors.Join(err, l.writer.Abandon())
		}
		l.writer.Seal()
	}
	if !good {
		return nil, nil
	}
	if l.producers.state.Len() > 0 || len(l.producers.snapshots) > 0 {
		if err := l.writeSnapshot(); err != nil {
			return nil, err
		}
	}
	return &Clean{Base: last.Base(), Size: v.tail, High: v.high, End: l.end.Load()}, nil
}

// Abandon ends the log because its files are deleted: nothing is flushed, and whoever waits, appends or reads gets
// ErrDeleted. Readers that hold a slice may finish it. It blocks while a flush runs.
func (l *Log) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.failure, ErrClosed) || errors.Is(l.failure, ErrDeleted) {
		return
	}
	l.failure = fmt.Errorf("%s: %w", l.dir, ErrDeleted)
	l.deleted.Store(true)
	if l.timer != nil {
		l.timer.Stop()
	}
	l.announce()
	l.awaitQuiet()
	if l.writer != nil {
		l.writer.Abandon()
	}
	for _, s := range l.view.Load().segments {
		s.Forget()
	}
}

// Checkpoint saves the indexes of the segment being written and returns the id before which everything is durable: a
// recovery point for the next Open. It flushes only when there is something to save of the producers.
func (l *Log) Checkpoint() (recoveryPoint int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil && l.writer != nil && l.snapshotDue() {
		if err := l.saveProducers(); err != nil {
			return 0, err
		}
	}
	for l.saving {
		l.flushed.Wait()
	}
	point := l.RecoveryPoint()
	if l.failure == nil && l.writer != nil {
		if err := l.save(l.writer.IndexSaver()); err != nil {
			return 0, err
		}
	}
	return point, nil
}

// RecoveryPoint is what Checkpoint would return: an id before which everything is durable that there is. It is above the
// high watermark when records that were durable are missing, lest their ids be given to others after the next Open.
func (l *Log) RecoveryPoint() int64 { return max(l.view.Load().high, l.floor) }
