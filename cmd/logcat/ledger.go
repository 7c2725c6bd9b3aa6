package main

import (
	"context"
	"sync"
)

// message is one message of the input, on its way.
type message struct {
	line  int64  // its number over all files, from 1
	bytes []byte // nil: more than the sink takes
	size  int64
	last  bool // it ends with its file, not with a delimiter
	mark  mark
	from  source
}

// ledger tells its followers what became of the messages, in the order of the input: of each one as soon as it and all
// before it are settled.
type ledger struct {
	followers []follower
	moved     chan struct{} // gets one when messages have been told

	mu    sync.Mutex
	first int64 // line of fates[0]
	fates []fate
}

// follower is told about messages in their order. Its methods are called one at a time.
type follower interface {
	// hold takes a message before it is sent. Its bytes are valid during the call.
	hold(m *message)
	// settled says of the oldest message held whether it was acknowledged, or refused.
	settled(acked bool)
	// flush comes behind one or several calls of settled.
	flush()
	// full reports that too much is held: what comes has to wait.
	full() bool
}

// maxWaiting is how many messages may wait for an earlier one.
const maxWaiting = 4 << 20

type fate uint8

const (
	pending fate = iota
	acknowledged
	refused
)

func newLedger(followers ...follower) *ledger {
	return &ledger{followers: followers, moved: make(chan struct{}, 1)}
}

// hold takes a message before it is sent; lines come one after the other. It waits while too many messages are held up by
// an earlier one, for which another partition is in trouble. It gives up, and returns false, when the context ends or one of
// the channels is closed.
func (l *ledger) hold(ctx context.Context, m *message, failed, halted <-chan struct{}) bool {
	for !l.take(m) {
		select {
		case <-l.moved:
		case <-ctx.Done():
			return false
		case <-failed:
			return false
		case <-halted:
			return false
		}
	}
	return true
}

func (l *ledger) take(m *message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		if f.full() && len(l.fates) > 0 {
			return false
		}
	}
	if len(l.fates) == 0 {
		l.first = m.line
	}
	l.fates = append(l.fates, pending)
	for _, f := range l.followers {
		f.hold(m)
	}
	return true
}

// settle says what became of some messages.
func (l *ledger) settle(lines []int64, is fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range lines {
		if i := line - l.first; i >= 0 && i < int64(len(l.fates)) { // else the run is over, and it was not held
			l.fates[i] = is
		}
	}
	told := 0
	for ; told < len(l.fates) && l.fates[told] != pending; told++ {
		for _, f := range l.followers {
			f.settled(l.fates[told] == acknowledged)
		}
	}
	if told == 0 {
		return
	}
	l.first += int64(told)
	l.fates = append(l.fates[:0], l.fates[told:]...)
	for _, f := range l.followers {
		f.flush()
	}
	select {
	case l.moved <- struct{}{}:
	default:
	}
}

// queue is first in, first out.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) push(v T) { q.items = append(q.items, v) }

func (q *queue[T]) pop() T {
	v := q.items[q.head]
	q.head++
	if q.head*2 >= len(q.items) {
		q.items = append(q.items[:0], q.items[q.head:]...)
		q.head = 0
	}
	return v
}

func (q *queue[T]) len() int { return len(q.items) - q.head }
