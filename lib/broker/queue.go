package broker

import "sync"

// answer is what one request is owed. Its connection's writer calls write once, in the order of the requests, and then
// release; or release alone when the connection is lost.
type answer interface {
	// cost is about how many bytes of memory the answer keeps until its release. It never changes.
	cost() int64
	// write waits for what the answer depends on and puts it out.
	write(out *output) error
	// release gives back what the answer holds.
	release()
}

// queue holds the answers of one connection between its reader, who puts, and its writer, who takes. An answer counts
// until it is done, so the bounds are on what is owed in all.
type queue struct {
	maxCount int
	maxBytes int64
	memory   *budget // charged with what bytes has above freeBytes

	mu      sync.Mutex
	changed sync.Cond
	waiting []answer
	count   int   // waiting, and the one being written
	bytes   int64 // their cost
	charged int64 // to memory
	closed  bool  // nothing will be put any more
	lost    bool  // nothing will be written any more
}

func newQueue(maxCount int, maxBytes int64, memory *budget) *queue {
	q := &queue{maxCount: maxCount, maxBytes: maxBytes, memory: memory}
	q.changed.L = &q.mu
	return q
}

// room blocks until another answer may be put. It is false when the connection is lost.
func (q *queue) room() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.lost && (q.count >= q.maxCount || q.bytes >= q.maxBytes) {
		q.changed.Wait()
	}
	return !q.lost
}

// put adds an answer; it never blocks. On a lost connection the answer is released at once.
func (q *queue) put(a answer) {
	q.mu.Lock()
	if q.lost {
		q.mu.Unlock()
		a.release()
		return
	}
	q.waiting = append(q.waiting, a)
	q.add(1, a.cost())
	q.mu.Unlock()
}

// freeBytes of answers each connection has without a charge: so clients that only wait for records, with small
// requests, take nothing from those that send some.
const freeBytes = 64 << 10

// add counts answers and their cost, and keeps the charge at what it must be. The lock is held.
func (q *queue) add(count int, bytes int64) {
	q.count += count
	q.bytes += bytes
	if charge := max(q.bytes-freeBytes, 0); charge > q.charged {
		q.memory.force(charge - q.charged)
		q.charged = charge
	} else if charge < q.charged {
		q.memory.release(q.charged - charge)
		q.charged = charge
	}
	q.changed.Broadcast()
}

// take returns the next answer, which must be given to done. It blocks until there is one, and returns nil when there
// will be none. idle is called, without the lock, before it blocks.
func (q *queue) take(idle func() error) (answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.mu.Unlock()
		err := idle()
		q.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	for len(q.waiting) == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.waiting) == 0 {
		return nil, nil
	}
	a := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	return a, nil
}

// done ends an answer that was taken.
func (q *queue) done(a answer) {
	cost := a.cost()
	a.release()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(-1, -cost)
}

// busy tells whether anything is owed.
func (q *queue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count > 0
}

// isLost tells whether nothing will be written any more.
func (q *queue) isLost() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// close says that nothing will be put any more. What waits is still taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// lose releases what waits and lets nothing in any more.
func (q *queue) lose() {
	q.mu.Lock()
	waiting := q.waiting
	q.waiting, q.lost, q.closed = nil, true, true
	q.mu.Unlock()
	for _, a := range waiting {
		q.done(a)
	}
	q.mu.Lock()
	q.changed.Broadcast()
	q.mu.Unlock()
}
