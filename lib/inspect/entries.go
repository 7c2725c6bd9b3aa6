package inspect

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"logkit/lib/index"
)

// maxComplaints is how many wrong entries of one index are named; the rest are counted.
const maxComplaints = 8

// entryReader reads the fixed-size entries of an index from its beginning. Kafka makes the file of an active index ten
// MiB long and fills it from the front, so zeros behind the first entry, up to the end of the file, are no entries.
type entryReader struct {
	file   string
	r      *bufio.Reader
	size   int64 // of the file
	entry  int64 // of an entry
	pos    int64 // of the entry that is next
	buf    []byte
	zeroed bool // only zeros are left

	say   func(*Verdict)
	wrong int64 // complaints
	last  Verdict
}

func newEntryReader(file string, r io.Reader, size, entry int64, say func(*Verdict)) *entryReader {
	return &entryReader{file: file, r: bufio.NewReaderSize(r, 64<<10), size: size, entry: entry, buf: make([]byte, entry), say: say}
}

// next returns the bytes of the next entry, valid until the following call, and where it stands. io.EOF at the end.
func (e *entryReader) next() (b []byte, pos int64, err error) {
	if e.zeroed {
		return nil, e.pos, io.EOF
	}
	pos = e.pos
	n, err := io.ReadFull(e.r, e.buf)
	e.pos += int64(n)
	if err == io.ErrUnexpectedEOF {
		e.complain(&Verdict{Kind: IndexSize, Position: pos, End: e.pos, Expected: fmt.Sprintf("entries of %d bytes", e.entry), Found: count(int64(n), "byte")})
		err = io.EOF
	}
	if err != nil {
		return nil, pos, err
	}
	if leadingZeros(e.buf) == len(e.buf) && e.zerosNext() {
		e.zeroed = true
		return nil, pos, e.drain()
	}
	return e.buf, pos, nil
}

// following returns the bytes of the entry behind the one that next has returned, nil when there is none.
func (e *entryReader) following() []byte {
	b, err := e.r.Peek(int(e.entry))
	if err != nil || leadingZeros(b) == len(b) {
		return nil
	}
	return b
}

// zerosNext tells whether the next entry is of zeros too, or missing.
func (e *entryReader) zerosNext() bool {
	b, _ := e.r.Peek(int(e.entry))
	return leadingZeros(b) == len(b)
}

// drain reads the rest, which must be zeros, and returns io.EOF.
func (e *entryReader) drain() error {
	for {
		b, err := e.r.Peek(e.r.Size())
		if n := leadingZeros(b); n < len(b) {
			at := e.pos + int64(n)
			e.complain(&Verdict{Kind: IndexOrder, Position: at, End: e.size, Expected: "zeros up to the end", Found: "something else"})
			return io.EOF
		}
		e.pos += int64(len(b))
		e.r.Discard(len(b))
		if err != nil {
			return err
		}
	}
}

func (e *entryReader) complain(v *Verdict) {
	v.File, v.ID = e.file, NoID
	e.wrong++
	if e.wrong <= maxComplaints {
		e.say(v)
	} else {
		e.last = *v
	}
}

// finish counts what has not been named.
func (e *entryReader) finish() {
	if more := e.wrong - maxComplaints; more > 0 {
		v := e.last
		v.Expected, v.Found = "", fmt.Sprintf("%s more like that, this is the last", count(more, "entry"))
		e.say(&v)
	}
	e.wrong = 0
}

// offsetCheck holds an offset index against the batches of its log as they go by.
type offsetCheck struct {
	*entryReader
	base    int64
	have    bool
	entry   index.OffsetEntry
	at      int64 // where the entry stands in the index
	open    bool  // an entry waits for the batch that ends with its id
	before  index.OffsetEntry
	exact   bool // an entry has the last id of the very batch it points at, as logd writes it
	trouble error
}

func newOffsetCheck(file string, r io.Reader, size, base int64, say func(*Verdict)) *offsetCheck {
	c := &offsetCheck{entryReader: newEntryReader(file, r, size, index.OffsetEntrySize, say), base: base}
	c.before = index.OffsetEntry{Last: base - 1, Position: -1}
	c.read()
	return c
}

// read takes the next entry that is in order.
func (c *offsetCheck) read() {
	for c.have = false; ; {
		b, pos, err := c.next()
		if err != nil {
			if err != io.EOF {
				c.trouble = err
			}
			return
		}
		e := decodeOffset(c.base, b)
		expected := ""
		if !behindOffset(e, c.before) {
			expected = fmt.Sprintf("behind id %d at position %d", c.before.Last, c.before.Position)
		} else if b := c.following(); b != nil {
			// When this one is out of order with what follows, and what follows is not with what came before, it is this one.
			if n := decodeOffset(c.base, b); behindOffset(n, c.before) && !behindOffset(n, e) {
				expected = fmt.Sprintf("before id %d at position %d", n.Last, n.Position)
			}
		}
		if expected != "" {
			c.complain(&Verdict{Kind: IndexOrder, Position: pos, End: pos + c.entryReader.entry, Expected: expected,
				Found: fmt.Sprintf("id %d at position %d", e.Last, e.Position)})
			continue
		}
		c.entry, c.at, c.have, c.before = e, pos, true, e
		return
	}
}

func behindOffset(e, before index.OffsetEntry) bool {
	return e.Last > before.Last && e.Position > before.Position
}

func (c *offsetCheck) wrongEntry(expected string) {
	c.complain(&Verdict{Kind: IndexEntry, Position: c.at, End: c.at + index.OffsetEntrySize, Expected: expected,
		Found: fmt.Sprintf("id %d at position %d", c.entry.Last, c.entry.Position)})
	c.open = false
	c.read()
}

// batch takes the next intact batch of the log. Kafka may append several batches at once (a follower, the cleaner), and
// gives them one entry: the position of the first and the last id of the last. Before 0.10.1 it took the first id.
func (c *offsetCheck) batch(b *Batch) {
	if c.open {
		switch {
		case b.Last == c.entry.Last:
			c.open = false
			c.read()
		case b.Last > c.entry.Last:
			c.wrongEntry(fmt.Sprintf("the id that a batch ends with, not one in batch %d to %d", b.Base, b.Last))
		}
	}
	for c.have && !c.open && c.entry.Position <= b.Position {
		switch {
		case c.entry.Position < b.Position:
			c.wrongEntry(fmt.Sprintf("the beginning of a batch, the next is at %d", b.Position))
		case c.entry.Last == b.Last || !c.exact && c.entry.Last == b.Base:
			c.read()
		case c.exact || c.entry.Last < b.Last:
			c.wrongEntry(fmt.Sprintf("id %d", b.Last))
		default:
			c.open = true
		}
	}
}

// damage passes over entries that point into a stretch of damage: they may have been right.
func (c *offsetCheck) damage(from, to int64) {
	c.open = false
	for c.have && c.entry.Position < to {
		if c.entry.Position < from {
			c.wrongEntry("the beginning of a batch")
			continue
		}
		c.read()
	}
}

// end takes the end of the log, and returns the entries that point behind it.
func (c *offsetCheck) end() (behind behindEnd, err error) {
	if c.open {
		c.wrongEntry("the id that a batch ends with, not one behind the log")
	}
	for ; c.have; c.read() {
		behind.add(c.at, index.OffsetEntrySize, fmt.Sprintf("id %d at position %d", c.entry.Last, c.entry.Position))
	}
	c.finish()
	return behind, c.trouble
}

// behindEnd are the entries at the end of an index that point behind the end of the log: one trouble, however many.
type behindEnd struct {
	n        int64
	from, to int64  // bytes in the index
	last     string // the last of them
}

func (b *behindEnd) add(at, size int64, text string) {
	if b.n == 0 {
		b.from = at
	}
	b.n, b.to, b.last = b.n+1, at+size, text
}

func (b *behindEnd) String() string {
	if b.n == 1 {
		return b.last
	}
	return fmt.Sprintf("%d entries, the last with %s", b.n, b.last)
}

// timeCheck holds a time index against the batches of its log as they go by.
type timeCheck struct {
	*entryReader
	base    int64
	have    bool
	entry   index.TimeEntry
	at      int64
	before  index.TimeEntry
	latest  int64 // largest timestamp of the batches before
	last    int64 // last id of the log so far
	broken  bool  // there was damage: the largest timestamp may have been in it
	exact   bool  // an entry has the last id of a batch, as logd writes it
	trouble error
}

func newTimeCheck(file string, r io.Reader, size, base int64, say func(*Verdict)) *timeCheck {
	c := &timeCheck{entryReader: newEntryReader(file, r, size, index.TimeEntrySize, say), base: base, latest: -1, last: base - 1}
	c.before = index.TimeEntry{Timestamp: math.MinInt64, Last: base}
	c.read()
	return c
}

func (c *timeCheck) read() {
	for c.have = false; ; {
		b, pos, err := c.next()
		if err != nil {
			if err != io.EOF {
				c.trouble = err
			}
			return
		}
		e := decodeTime(c.base, b)
		expected := ""
		if !behindTime(e, c.before) {
			expected = fmt.Sprintf("behind time %d at id %d", c.before.Timestamp, c.before.Last)
		} else if b := c.following(); b != nil {
			if n := decodeTime(c.base, b); behindTime(n, c.before) && !behindTime(n, e) {
				expected = fmt.Sprintf("before time %d at id %d", n.Timestamp, n.Last)
			}
		}
		if expected != "" {
			c.complain(&Verdict{Kind: IndexOrder, Position: pos, End: pos + c.entryReader.entry, Expected: expected,
				Found: fmt.Sprintf("time %d at id %d", e.Timestamp, e.Last)})
			continue
		}
		c.entry, c.at, c.have, c.before = e, pos, true, e
		return
	}
}

// behindTime allows the same id twice, as Kafka does.
func behindTime(e, before index.TimeEntry) bool {
	return e.Last >= before.Last && e.Timestamp > before.Timestamp
}

func (c *timeCheck) wrongEntry(expected string) {
	c.complain(&Verdict{Kind: IndexEntry, Position: c.at, End: c.at + index.TimeEntrySize, Expected: expected,
		Found: fmt.Sprintf("time %d at id %d", c.entry.Timestamp, c.entry.Last)})
	c.read()
}

// batch takes the next intact batch of the log.
func (c *timeCheck) batch(b *Batch) {
	for c.have && c.entry.Last <= b.Last {
		switch {
		case c.entry.Timestamp < 0: // of messages without timestamps
			c.read()
		case c.entry.Last < b.Base && c.broken:
			c.read()
		case c.exact && c.entry.Last != b.Last:
			c.wrongEntry(fmt.Sprintf("the id that a batch ends with, the next is %d", b.Last))
		case c.entry.Last < b.Base && c.entry.Timestamp != c.latest:
			c.wrongEntry(fmt.Sprintf("an id that a batch has, the next is %d", b.Base))
		case c.entry.Last < b.Base:
			c.read()
		case c.entry.Timestamp < c.latest:
			c.wrongEntry(fmt.Sprintf("at least time %d, which came before", c.latest))
		case c.entry.Timestamp != b.MaxTimestamp:
			c.wrongEntry(fmt.Sprintf("time %d", b.MaxTimestamp))
		default:
			c.read()
		}
	}
	c.latest, c.last = max(c.latest, b.MaxTimestamp), max(c.last, b.Last)
}

func (c *timeCheck) damage() { c.broken = true }

// end takes the end of the log, and returns the entries that point behind it; none when the log ends in damage.
func (c *timeCheck) end(damaged bool) (behind behindEnd, err error) {
	for ; c.have; c.read() {
		if !damaged {
			behind.add(c.at, index.TimeEntrySize, fmt.Sprintf("time %d at id %d", c.entry.Timestamp, c.entry.Last))
		}
	}
	c.finish()
	return behind, c.trouble
}

// decodeOffset and decodeTime decode one entry of the segment with the given base.
func decodeOffset(base int64, b []byte) index.OffsetEntry {
	return index.OffsetEntry{
		Last:     base + int64(int32(binary.BigEndian.Uint32(b))),
		Position: int64(int32(binary.BigEndian.Uint32(b[4:]))),
	}
}

func decodeTime(base int64, b []byte) index.TimeEntry {
	return index.TimeEntry{
		Timestamp: int64(binary.BigEndian.Uint64(b)),
		Last:      base + int64(int32(binary.BigEndian.Uint32(b[8:]))),
	}
}
