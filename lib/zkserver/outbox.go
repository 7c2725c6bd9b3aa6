package zkserver

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// Limits of what waits to be written to one connection, in bytes. From outboxSoft on its requests are no longer read;
// past outboxHard, which only events can reach, the connection is given up. When all connections together have more than
// outboxTotal, one that is past outboxSoft is given up at its next event: those that read are not.
const (
	outboxSoft  = 1 << 20
	outboxHard  = 16 << 20
	outboxTotal = 128 << 20
)

// outboxKeep is the largest buffer in bytes that an idle connection keeps.
const outboxKeep = 4 << 10

// outbox is the queue of frames to one connection. Each frame goes out when the zxid it needs is durable, and never
// before the frames ahead of it, which is what keeps events in front of the replies that show the same change. Pongs
// alone go past the queue: a disk that hangs must not look like a dead server.
type outbox struct {
	durable *atomic.Int64
	total   *atomic.Int64 // of held, over all connections
	await   func()        // asks for a call of release after the next commit; called with mu held

	mu      sync.Mutex
	ready   sync.Cond // for the writer: there may be something to write
	room    sync.Cond // for the reader: there may be room for another reply
	queue   []byte
	marks   []mark // of the frames in queue
	pongs   []byte
	writing int  // bytes taken by the writer and not yet on their way
	held    int  // bytes of queue and writing that total knows of
	replies int  // replies in the queue and in the writer's hands
	waiting bool // release will be called, after the next commit
	blocked bool // the writer sleeps until then: the frame at the head is not durable
	last    bool // close after what is in the queue
	closed  bool
}

// mark is the end of a frame in the queue.
type mark struct {
	need int64 // zxid
	end  int   // position in the queue behind the frame
	born int64 // when the request came, in ns since the server's start; 0 for events
}

func newOutbox(durable, total *atomic.Int64, await func()) *outbox {
	o := &outbox{durable: durable, total: total, await: await}
	o.ready.L, o.room.L = &o.mu, &o.mu
	return o
}

// count brings total up to date. The caller holds mu.
func (o *outbox) count() {
	held := len(o.queue) + o.writing
	o.total.Add(int64(held - o.held))
	o.held = held
}

// add queues the frame whose body encode appends. It reports whether the queue is within its limits.
func (o *outbox) add(need, born int64, encode func(b []byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.last {
		return true
	}
	o.queue = appendFrame(o.queue, encode)
	o.marks = append(o.marks, mark{need, len(o.queue), born})
	if born != 0 {
		o.replies++
	}
	if !o.blocked {
		o.ready.Signal()
	}
	o.count()
	return len(o.queue) <= outboxSoft || len(o.queue) <= outboxHard && o.total.Load() <= outboxTotal
}

// addRaw queues text that is no frame, the answer to a four-letter word.
func (o *outbox) addRaw(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, text...)
	o.marks = append(o.marks, mark{0, len(o.queue), 0})
	o.ready.Signal()
}

// pong queues the answer to a ping. A client that sends pings and reads none of the answers gets no more of them.
func (o *outbox) pong(encode func(b []byte) []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && !o.last && len(o.pongs) < outboxKeep {
		o.pongs = appendFrame(o.pongs, encode)
		o.ready.Signal()
	}
}

func appendFrame(b []byte, encode func(b []byte) []byte) []byte {
	start := len(b)
	b = encode(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// waitRoom blocks while there are maxReplies replies or outboxSoft bytes that the client has not taken. It reports
// false when the connection is closed.
func (o *outbox) waitRoom(maxReplies int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && (o.replies >= maxReplies || len(o.queue)+o.writing >= outboxSoft) {
		o.room.Wait()
	}
	return !o.closed
}

// next blocks until there are frames to write, and returns them and their marks, appended to b and marks. It reports
// false when there will be no more.
func (o *outbox) next(b []byte, marks []mark) ([]byte, []mark, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed {
		n := o.releasable()
		if n > 0 || len(o.pongs) > 0 {
			b, marks = o.take(n, append(b, o.pongs...), marks)
			o.pongs = o.pongs[:0]
			o.writing = len(b)
			o.count()
			return b, marks, true
		}
		if len(o.marks) == 0 && o.last {
			return b, marks, false
		}
		if len(o.marks) > 0 && !o.waiting {
			o.waiting = true
			o.await()
			continue // a commit may have ended before the call was asked for
		}
		// waiting is not enough to know this: it stays set when the frame became durable while the call was asked for.
		o.blocked = len(o.marks) > 0
		o.ready.Wait()
		o.blocked = false
	}
	return b, marks, false
}

// releasable counts the frames at the head of the queue that may go out.
func (o *outbox) releasable() int {
	durable := o.durable.Load()
	for i, m := range o.marks {
		if m.need > durable {
			return i
		}
	}
	return len(o.marks)
}

// take moves the first n frames to b.
func (o *outbox) take(n int, b []byte, marks []mark) ([]byte, []mark) {
	if n == 0 {
		return b, marks
	}
	end := o.marks[n-1].end
	b, marks = append(b, o.queue[:end]...), append(marks, o.marks[:n]...)
	o.queue = append(o.queue[:0], o.queue[end:]...)
	o.marks = append(o.marks[:0], o.marks[n:]...)
	for i := range o.marks {
		o.marks[i].end -= end
	}
	if len(o.queue) == 0 && cap(o.queue) > outboxKeep {
		o.queue, o.marks = nil, nil
	}
	return b, marks
}

// written tells that what next returned last, with so many replies in it, has been written.
func (o *outbox) written(replies int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = 0
	o.count()
	o.replies -= replies
	o.room.Signal()
}

// release wakes the writer after a commit.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = false
	o.ready.Signal()
}

// stuck reports whether a frame waits for a zxid that is not durable.
func (o *outbox) stuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.releasable() < len(o.marks)
}

// finish lets the writer end after what is in the queue.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = true
	o.ready.Signal()
}

// close drops the queue and wakes everybody who waits for it.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.queue, o.marks, o.pongs, o.writing = nil, nil, nil, 0
	o.count()
	o.ready.Broadcast()
	o.room.Broadcast()
}

// pending returns the replies that the client has not got yet.
func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.replies
}
