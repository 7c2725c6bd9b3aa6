package segment

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"logkit/lib/record"
)

// chunk is how many bytes a walk reads at a time: enough for the batches between two index entries.
const chunk = 8 << 10

// errOrder: a batch whose ids do not follow those before it.
var errOrder = errors.New("ids go back")

// walker steps over the headers of the batches in [pos, end) of a log file, without looking at what is in them.
type walker struct {
	path  string
	r     io.ReaderAt
	pos   int64 // where the next batch begins
	end   int64 // bytes of the file that may be looked at
	next  int64 // smallest id that the next batch may have: a foreign log may go on right behind the last
	reach int64 // largest id that a batch may have: what an index of the segment can say
	last  int64 // where the batch before pos begins, when only its header has been looked at; else -1
	floor int64 // what next was there
	buf   []byte
	start int64 // position of buf in the file

	budget int64 // bytes that resync may read yet of what turns out to be no batch
}

// errBudget: the search for an intact batch was given up.
var errBudget = errors.New("too much looks like a batch")

// newWalker begins at pos, where the next batch may have the id next, in the segment with that base id or one below it.
// Free it after use.
func newWalker(path string, r io.ReaderAt, pos, end, next int64) *walker {
	w := walkers.Get().(*walker)
	*w = walker{path: path, r: r, pos: pos, end: end, next: next, reach: reach(next), last: -1, buf: w.buf[:0], budget: math.MaxInt64}
	return w
}

// walkers keeps walkers with the buffer of a usual walk.
var walkers = sync.Pool{New: func() any { return &walker{buf: make([]byte, 0, chunk)} }}

// reach is the largest id that a segment with that base id can have: those of an index are int32.
func reach(base int64) int64 { return base + min(math.MaxInt32, math.MaxInt64-base) }

// free gives the walker, and what bytes returned, away.
func (w *walker) free() {
	if cap(w.buf) == chunk {
		walkers.Put(w)
	}
}

// step returns the header of the batch at pos and where that batch begins, and moves behind it. io.EOF: the walk has
// reached end. *CorruptError: what stands there is no batch, or no whole one; the walk stays where it is.
func (w *walker) step() (h record.Header, pos int64, err error) {
	if w.pos >= w.end {
		return h, w.pos, io.EOF
	}
	b, err := w.bytes(record.HeaderSize)
	if err != nil {
		return h, w.pos, err
	}
	if h, err = record.ParseHeader(b); err != nil {
		return h, w.pos, w.corrupt(err)
	}
	if err := w.check(h); err != nil {
		return h, w.pos, w.corrupt(err)
	}
	pos = w.pos
	w.last, w.floor = pos, w.next
	w.pos, w.next = pos+h.Size(), h.LastOffset()+1
	return h, pos, nil
}

// check holds a header against its place in the log.
func (w *walker) check(h record.Header) error {
	switch {
	case h.BaseOffset < w.next:
		return fmt.Errorf("batch with base id %d: %w", h.BaseOffset, errOrder)
	case h.LastOffsetDelta < 0 || h.BaseOffset > min(w.reach, math.MaxInt64-math.MaxInt32-h.Size()) || h.LastOffset() > w.reach:
		return fmt.Errorf("batch with base id %d and last id %d: %w", h.BaseOffset, h.LastOffset(), errOrder)
	case h.Size() > w.end-w.pos:
		return fmt.Errorf("batch of %d bytes, %d are left: %w", h.Size(), w.end-w.pos, io.ErrUnexpectedEOF)
	}
	return nil
}

// bytes returns the n bytes at pos, no more than a header has, which stay valid until the next call.
func (w *walker) bytes(n int64) ([]byte, error) {
	if n > w.end-w.pos {
		return nil, w.corrupt(fmt.Errorf("%d bytes, a batch has at least %d: %w", w.end-w.pos, record.HeaderSize, io.ErrUnexpectedEOF))
	}
	b, err := w.window(w.pos, n)
	return b[:min(n, int64(len(b)))], err
}

// window returns the bytes from at on, at least n of them, that are in the buffer, which it fills when there are fewer.
func (w *walker) window(at, n int64) ([]byte, error) {
	if at >= w.start && at+n <= w.start+int64(len(w.buf)) {
		return w.buf[at-w.start:], nil
	}
	if cap(w.buf) == 0 {
		w.buf = make([]byte, chunk)
	}
	w.buf = w.buf[:min(int64(cap(w.buf)), w.end-at)]
	w.start = at
	read, err := w.r.ReadAt(w.buf, at)
	w.buf = w.buf[:read]
	if int64(read) >= n {
		return w.buf, nil
	}
	if err == io.EOF { // the file is shorter than end says
		err = w.corrupt(io.ErrUnexpectedEOF)
	}
	return nil, err
}

// checkSum holds what stands at pos, size bytes, against its checksum, which covers all from the byte from on. It is read
// piece by piece: a length that has not been confirmed costs no memory.
func (w *walker) checkSum(want uint32, from int, size int64, update func(uint32, []byte) uint32) error {
	sum := uint32(0)
	for at, end := w.pos+int64(from), w.pos+size; at < end; {
		b, err := w.window(at, 1)
		if err != nil {
			return err
		}
		b = b[:min(int64(len(b)), end-at)]
		sum = update(sum, b)
		at += int64(len(b))
	}
	if sum != want {
		return w.corrupt(&record.CRCError{Expected: want, Found: sum})
	}
	return nil
}

func (w *walker) corrupt(err error) error {
	return &CorruptError{Path: w.path, Pos: w.pos, ID: w.next, Err: err}
}

// stepIntact is step for a batch whose checksum is right too. It reads the whole of it.
func (w *walker) stepIntact() (h record.Header, pos int64, err error) {
	last, next := w.last, w.next
	h, pos, err = w.step()
	if err != nil {
		return h, pos, err
	}
	w.pos, w.last, w.next = pos, last, next
	if err := w.checkSum(h.CRC, record.CRCStart, h.Size(), record.UpdateCRC); err != nil {
		return h, pos, err
	}
	w.pos, w.last, w.next = pos+h.Size(), -1, h.LastOffset()+1
	return h, pos, nil
}

// resync moves to the next position where a batch begins that is intact and whose ids are not below next. The search
// begins behind pos, or inside the batch before it when that is damaged: then its length, or the ids it claims, may be
// what has led astray.
// ok is false when there is no such batch; then the walk is at end. errBudget is among the errors.
func (w *walker) resync() (ok bool, err error) {
	w.pos++
	if w.last >= 0 && !w.intactAt(w.last, 0) {
		w.pos, w.next = w.last+1, w.floor
	}
	w.last = -1
	for ; w.end-w.pos >= record.HeaderSize; w.pos++ {
		if _, err := w.bytes(record.HeaderSize); err != nil {
			return false, err
		}
		rest := w.buf[w.pos-w.start:]
		i := record.FindHeader(rest)
		if i < 0 {
			w.pos += int64(len(rest)) - record.HeaderSize
			continue
		}
		w.pos += int64(i)
		h, bad := record.ParseHeader(rest[i:])
		if bad != nil || w.check(h) != nil {
			continue
		}
		if w.intactAt(w.pos, w.next) {
			return true, nil
		}
		if w.budget -= h.Size(); w.budget < 0 {
			return false, errBudget
		}
	}
	w.pos = w.end
	return false, nil
}

// intactAt tells whether an intact batch begins at pos, with no id below next.
func (w *walker) intactAt(pos, next int64) bool {
	probe := newWalker(w.path, w.r, pos, w.end, next)
	defer probe.free()
	probe.reach = w.reach
	_, _, err := probe.stepIntact()
	return err == nil
}
