package commitlog

import (
	"context"
	"time"

	"logkit/lib/segment"
)

// SyncLimit bounds how many flushes run at the same time in all logs that share it. Whoever finds no place waits his
// turn, and what is appended to his log meanwhile goes with his flush: with thousands of busy logs records become visible
// later, instead of thousands of syncs a second.
type SyncLimit struct {
	places chan struct{}
	late   func(waited time.Duration)
}

// lateAfter is how long a flush may wait for its turn before that is worth a word.
const lateAfter = time.Second

// NewSyncLimit allows n flushes at a time. late, if not nil, is told, from any goroutine, of a flush that has waited for
// more than a second.
func NewSyncLimit(n int, late func(waited time.Duration)) *SyncLimit {
	return &SyncLimit{places: make(chan struct{}, n), late: late}
}

func (s *SyncLimit) acquire() {
	if s == nil {
		return
	}
	select {
	case s.places <- struct{}{}:
		return
	default:
	}
	began := time.Now()
	s.places <- struct{}{}
	if waited := time.Since(began); waited > lateAfter && s.late != nil {
		s.late(waited)
	}
}

func (s *SyncLimit) release() {
	if s != nil {
		<-s.places
	}
}

// wantFlush asks for a flush of all that is appended so far. The lock is held.
func (l *Log) wantFlush() {
	l.wanted = true
	if !l.flushing && l.failure == nil {
		l.flushing = true
		go l.flushLoop()
	}
}

// arm sets the timer that asks for a flush, when none is on its way. The lock is held.
func (l *Log) arm() {
	if l.armed || l.wanted {
		return
	}
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(l.options.FlushInterval, l.timeout)
	} else {
		l.timer.Reset(l.options.FlushInterval)
	}
}

func (l *Log) timeout() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if l.unflushed > 0 {
		l.wantFlush()
	}
}

// flushLoop flushes as long as somebody wants it. It is the only one of its log.
func (l *Log) flushLoop() {
	for {
		l.options.Syncs.acquire() // never replaced
		l.mu.Lock()
		writer, target, tail := l.beginFlush()
		l.mu.Unlock()

		err := writer.Sync()

		l.options.Syncs.release()
		l.mu.Lock()
		l.endFlush(err, target, tail)
		l.flushed.Broadcast()
		if !l.wanted || l.failure != nil {
			l.flushing = false
			if l.unflushed > 0 && l.failure == nil {
				l.arm()
			}
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// beginFlush tells what the next sync will cover. The lock is held.
func (l *Log) beginFlush() (writer *segment.Writer, target, tail int64) {
	l.wanted = false
	l.unflushed = 0
	return l.writer, l.appended, l.writer.Size()
}

// endFlush makes visible what a sync has covered. The lock is held.
func (l *Log) endFlush(err error, target, tail int64) {
	if err != nil {
		l.fail(err)
		return
	}
	v := *l.view.Load()
	if v.high == target {
		return
	}
	v.high, v.tail = target, tail
	l.view.Store(&v)
	l.announce()
}

// flushAll returns when all that is appended is flushed, and no flush runs. The lock is held, but free in between.
func (l *Log) flushAll() error {
	for l.flushing {
		l.flushed.Wait()
	}
	if l.failure != nil {
		return l.failure
	}
	if l.writer == nil || l.appended == l.view.Load().high {
		return nil
	}
	writer, target, tail := l.beginFlush()
	l.endFlush(writer.Sync(), target, tail)
	return l.failure
}

// flushAppended returns when all that is appended at the call is flushed. Others may append while it waits.
func (l *Log) flushAppended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for target := l.appended; l.view.Load().high < target; {
		if l.failure != nil {
			return l.failure
		}
		l.wantFlush()
		l.flushed.Wait()
	}
	return nil
}

// Flush makes everything appended before the call durable and visible. It blocks until that is so.
func (l *Log) Flush() error {
	if err := l.Err(); err != nil {
		return err
	}
	return l.flushAppended()
}

// announce wakes all who wait for the high watermark. The lock is held.
func (l *Log) announce() {
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
	for ch := range l.watchers {
		select {
		case ch <- struct{}{}:
		default: // it has a wake-up to come already
		}
	}
}

// WaitVisible blocks until the record with id last is visible, which means durable. It does not ask for a flush. When
// the log fails or is closed before, that error is returned: a *DiskError or ErrClosed; or else the context's.
func (l *Log) WaitVisible(ctx context.Context, last int64) error {
	for {
		if l.view.Load().high > last {
			return nil
		}
		l.mu.Lock()
		if l.view.Load().high > last {
			l.mu.Unlock()
			return nil
		}
		if l.failure != nil {
			defer l.mu.Unlock()
			return l.failure
		}
		if l.moved == nil {
			l.moved = make(chan struct{})
		}
		moved := l.moved
		l.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Watch sends to ch, without ever blocking, whenever the high watermark moves, the log fails or is closed. A channel
// with room for one is enough: it is a hint to look again.
func (l *Log) Watch(ch chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers == nil {
		l.watchers = make(map[chan<- struct{}]struct{})
	}
	l.watchers[ch] = struct{}{}
}

// Unwatch ends Watch.
func (l *Log) Unwatch(ch chan<- struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, ch)
}
