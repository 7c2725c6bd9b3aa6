package inspect

import (
	"bytes"
	"errors"
	"io"
)

// windowSize is how many bytes are read at a time: enough to keep a disk busy, few enough for a processor's cache.
const windowSize = 256 << 10

// window is the part of a stream that is being looked at. It grows as bytes come in, never by what a length field says,
// and what has been skipped is forgotten.
type window struct {
	r     io.Reader
	buf   []byte
	start int   // in buf, of what has not been skipped
	pos   int64 // in the stream, of buf[start]
	err   error // why there is no more; io.EOF at the end
}

func newWindow(r io.Reader) *window { return &window{r: r} }

// peek returns the n bytes at pos, or fewer when the stream ends before that. They stay valid until the next peek.
func (w *window) peek(n int) []byte {
	for len(w.buf)-w.start < n && w.err == nil {
		w.fill()
	}
	return w.buf[w.start:min(w.start+n, len(w.buf))]
}

// buffered returns what is there without reading.
func (w *window) buffered() []byte { return w.buf[w.start:] }

// skip moves forward by n bytes, which have been peeked at.
func (w *window) skip(n int) {
	w.start += n
	w.pos += int64(n)
}

// maxEmptyReads is how often in a row a reader may return nothing.
const maxEmptyReads = 100

func (w *window) fill() {
	if len(w.buf) == cap(w.buf) {
		w.makeRoom()
	}
	for range maxEmptyReads {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if err != nil {
			w.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	w.err = io.ErrNoProgress
}

// makeRoom moves what is left to the front when that is the smaller half, and takes twice the memory when it is not, so
// that each byte is moved a bounded number of times.
func (w *window) makeRoom() {
	left := w.buf[w.start:]
	if to := w.buf[:0]; len(left) <= cap(w.buf)/2 && cap(w.buf) > 0 {
		w.buf = append(to, left...)
	} else {
		w.buf = append(make([]byte, 0, max(windowSize, 2*len(left))), left...)
	}
	w.start = 0
}

// failed is the error of the reader, nil at the end of the stream.
func (w *window) failed() error {
	if w.err == nil || errors.Is(w.err, io.EOF) {
		return nil
	}
	return w.err
}

// zeros skips zero bytes, all but the last keep, and tells whether the stream ended with them.
func (w *window) zeros(keep int) (ended bool) {
	for {
		b := w.peek(windowSize)
		n := leadingZeros(b)
		if n < len(b) {
			w.skip(max(0, n-keep))
			return false
		}
		if len(b) < windowSize {
			w.skip(n)
			return true
		}
		w.skip(n - keep)
	}
}

// zeroBlock is what leadingZeros compares with at once: files that were preallocated, or are sparse, have zeros by the GiB.
var zeroBlock [4 << 10]byte

func leadingZeros(b []byte) int {
	n := 0
	for len(b)-n >= len(zeroBlock) && bytes.Equal(b[n:n+len(zeroBlock)], zeroBlock[:]) {
		n += len(zeroBlock)
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}
