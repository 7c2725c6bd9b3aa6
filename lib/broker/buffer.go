package broker

import (
	"math/bits"
	"sync"
)

// Buffers come in sizes of 4, 5, 6 or 7 times a power of two from minBuffer on, so that at most a quarter of one is
// wasted, and go back to a pool of their size. The garbage collector empties the pools of a broker that has gone quiet.
const (
	minBuffer      = 4 << 10
	minBufferShift = 10 // minBuffer = 4 << minBufferShift
	bufferClasses  = 4 * (31 - minBufferShift)
)

// buffer is pooled memory. Its owner releases it exactly once and keeps no slice of it.
type buffer struct {
	b     []byte // len is what was asked for, cap the size of the class
	class int
}

// bufferPool hands out buffers. The zero value is ready; it may be used by several goroutines.
type bufferPool struct{ classes [bufferClasses]sync.Pool }

// classOf returns the class for n bytes and the size of its buffers.
func classOf(n int) (class, size int) {
	if n <= minBuffer {
		return 0, minBuffer
	}
	shift := bits.Len(uint(n-1)) - 3
	quarters := (n-1)>>shift + 1 // 5 … 8
	return (shift-minBufferShift)*4 + quarters - 4, quarters << shift
}

// get returns a buffer of n bytes, at most math.MaxInt32, with arbitrary contents.
func (p *bufferPool) get(n int) *buffer {
	class, size := classOf(n)
	if pooled, ok := p.classes[class].Get().(*buffer); ok {
		pooled.b = pooled.b[:n]
		return pooled
	}
	return &buffer{b: make([]byte, n, size), class: class}
}

func (p *bufferPool) put(b *buffer) { p.classes[b.class].Put(b) }
