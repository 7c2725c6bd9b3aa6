package main

import (
	"io"
	"sync"
)

// tee copies messages to standard output once they are acknowledged, in the order of the input, with their delimiters.
// It holds what is on its way to the broker, which the producer's buffer bounds. After a failed write it copies nothing.
type tee struct {
	to        io.Writer
	delimiter []byte

	mu      sync.Mutex
	first   int64 // line of waiting[0]
	waiting []copied
	held    []byte // the messages of waiting, one after the other
	err     error
}

type copied struct {
	size    int
	settled bool
	acked   bool
}

// hold takes a message before it is sent; lines come one after the other. last leaves out the delimiter.
func (t *tee) hold(line int64, message []byte, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	if len(t.waiting) == 0 {
		t.first = line
	}
	size := len(message)
	t.held = append(t.held, message...)
	if !last {
		t.held = append(t.held, t.delimiter...)
		size += len(t.delimiter)
	}
	t.waiting = append(t.waiting, copied{size: size})
}

// settle says what became of some messages, and writes those that no earlier one holds up any more.
func (t *tee) settle(lines []int64, acked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	for _, line := range lines {
		t.waiting[line-t.first].settled, t.waiting[line-t.first].acked = true, acked
	}
	done, begin, end := 0, 0, 0 // held[begin:end] is to be written next
	for _, c := range t.waiting {
		if !c.settled {
			break
		}
		done++
		if !c.acked {
			t.write(t.held[begin:end])
			begin = end + c.size
		}
		end += c.size
	}
	t.write(t.held[begin:end])
	t.first += int64(done)
	t.waiting = append(t.waiting[:0], t.waiting[done:]...)
	t.held = append(t.held[:0], t.held[end:]...)
	if t.err != nil {
		t.waiting, t.held = nil, nil
	}
}

func (t *tee) write(b []byte) {
	if t.err == nil && len(b) > 0 {
		_, t.err = t.to.Write(b)
	}
}
