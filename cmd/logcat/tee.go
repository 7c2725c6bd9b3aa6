package main

import (
	"io"

	"logkit/lib/format"
)

// maxHeld is how many bytes of messages wait for an earlier one until reading has to wait too: more than a producer's
// buffer, so that only what passes a partition in trouble counts.
const maxHeld = 64 << 20

// tee copies messages to standard output once they are acknowledged, in the order of the input, with their delimiters.
// After a failed write it copies nothing.
type tee struct {
	to        io.Writer
	delimiter []byte
	tame      bool // for a terminal, which would obey what a message says

	sizes      queue[int] // of the messages held
	held       []byte     // these messages, one after the other
	begin, end int        // held[begin:end] is to be written next, held[end:] is not settled
	err        error
}

func (t *tee) hold(m *message) {
	if t.err != nil {
		return
	}
	before := len(t.held)
	if t.tame {
		t.held = format.AppendTame(t.held, m.bytes)
	} else {
		t.held = append(t.held, m.bytes...)
	}
	if !m.last {
		t.held = append(t.held, t.delimiter...)
	}
	t.sizes.push(len(t.held) - before)
}

func (t *tee) settled(acked bool) {
	if t.sizes.len() == 0 { // held after the error
		return
	}
	size := t.sizes.pop()
	if !acked {
		t.write()
		t.begin += size
	}
	t.end += size
}

func (t *tee) flush() {
	t.write()
	t.held = append(t.held[:0], t.held[t.end:]...)
	t.begin, t.end = 0, 0
	if t.err != nil {
		t.sizes, t.held = queue[int]{}, nil
	}
}

func (t *tee) full() bool { return len(t.held) > maxHeld }

func (t *tee) write() {
	if t.err == nil && t.begin < t.end {
		_, t.err = t.to.Write(t.held[t.begin:t.end])
	}
	t.begin = t.end
}
