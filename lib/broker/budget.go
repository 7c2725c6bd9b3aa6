package broker

import (
	"container/list"
	"context"
	"sync"
)

// budget is an account of bytes shared by all connections. Those who wait are served in order, so that a large frame
// is not starved by small ones.
type budget struct {
	total int64

	mu      sync.Mutex
	used    int64 // may exceed total: see force
	waiters list.List
}

type claim struct {
	bytes   int64
	granted chan struct{}
}

func newBudget(total int64) *budget { return &budget{total: total} }

// acquire blocks until n bytes are free, or the context ends. A claim above the total is granted when nothing else is.
func (b *budget) acquire(ctx context.Context, n int64) error {
	b.mu.Lock()
	if b.waiters.Len() == 0 && b.fits(n) {
		b.used += n
		b.mu.Unlock()
		return nil
	}
	c := &claim{bytes: n, granted: make(chan struct{})}
	place := b.waiters.PushBack(c)
	b.mu.Unlock()

	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.granted: // it came while the context ended
		b.used -= n
	default:
		b.waiters.Remove(place)
	}
	b.grant()
	return context.Cause(ctx)
}

// force takes n bytes without waiting. It is for what must not wait because waiting would keep others' bytes.
func (b *budget) force(n int64) {
	b.mu.Lock()
	b.used += n
	b.mu.Unlock()
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	b.used -= n
	b.grant()
	b.mu.Unlock()
}

// contended tells whether somebody waits.
func (b *budget) contended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiters.Len() > 0
}

func (b *budget) fits(n int64) bool { return b.used+n <= b.total || b.used <= 0 }

func (b *budget) grant() {
	for first := b.waiters.Front(); first != nil; first = b.waiters.Front() {
		c := first.Value.(*claim)
		if !b.fits(c.bytes) {
			return
		}
		b.used += c.bytes
		b.waiters.Remove(first)
		close(c.granted)
	}
}
