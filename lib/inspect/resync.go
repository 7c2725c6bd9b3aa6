package inspect

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// resyncChunk is how many bytes are searched at a time.
const resyncChunk = 64 << 10

// resync moves to the next position behind the front where a batch begins that checks, or to the end. It returns the
// checksum that a batch with head h would have if it reached from the front to there; 0 without h.
//
// The cost is bounded for each byte passed over, whatever lengths are claimed there: see rangeCRC.
func (s *Scanner) resync(h *head) (region uint32) {
	skip := func(n int) { s.w.skip(n) }
	if h != nil {
		table, from := crc32.IEEETable, h.from
		if h.format == Format2 {
			table = castagnoli
		}
		skip = func(n int) {
			if b := s.w.peek(n); from < n {
				region, from = crc32.Update(region, table, b[from:]), 0
			} else {
				from -= n
			}
			s.w.skip(n)
		}
	}
	skip(1)
	for {
		b := s.w.peek(resyncChunk)
		last := len(b) < resyncChunk // what is there is all there is
		if len(b) == 0 {
			return region
		}
		i := 0
		for ; i < len(b) && (last || len(b)-i >= maxHead); i++ {
			if s.plausible(b[i:]) {
				break
			}
		}
		at := i
		if at < len(b) && (last || len(b)-at >= maxHead) {
			skip(at)
			if s.intact(0) {
				return region
			}
			skip(1)
			continue
		}
		skip(at)
	}
}

// plausible is a quick look at whether a batch may begin with b.
func (s *Scanner) plausible(b []byte) bool {
	if s.o.Format == Format07 {
		return len(b) >= 9 && b[4] < 2 && int64(binary.BigEndian.Uint32(b)) <= s.o.MaxBatch
	}
	if len(b) <= magicAt || b[magicAt] > 2 {
		return false
	}
	length, id := int64(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint64(b))
	return length >= 14 && length <= s.o.MaxBatch && id >= max(0, s.o.Base) && id-max(0, s.o.Base) <= idReach
}

// idReach is how far behind the base of its segment an id is looked for: further than an index can reach, so that what
// is too far is found and can be said to be.
const idReach = math.MaxInt32 * 1024

// intact tells whether a batch begins at the offset behind the front whose checksum is right.
func (s *Scanner) intact(offset int) bool {
	b := s.w.peek(offset + maxHead)
	if len(b) <= offset {
		return false
	}
	h, err := parseHead(b[offset:], s.o.Format)
	if err != nil || h.size > s.o.MaxBatch || s.o.Size >= 0 && h.size > s.o.Size-s.w.pos-int64(offset) {
		return false
	}
	b = s.w.peek(offset + int(h.size))
	if len(b) < offset+int(h.size) {
		return false
	}
	if s.sums(h.format).sum(b, s.w.pos, offset+h.from, offset+int(h.size)) != h.crc {
		return false
	}
	if h.format != Format07 {
		return true
	}
	// The checksum of 0.7 leaves the header out, and that of nothing is zero: only two in a row are believed.
	next := s.w.peek(offset + int(h.size) + maxHead)[offset+int(h.size):]
	if len(next) == 0 {
		return true
	}
	n, err := parseHead(next, s.o.Format)
	return err == nil && n.size <= s.o.MaxBatch
}

// sums are the checksums of a format.
func (s *Scanner) sums(f Format) *rangeCRC {
	if f == Format2 {
		return s.castagnoli
	}
	return s.ieee
}

// isShorter tells whether the batch at the front, whose head is h and whose checksum is wrong, really ends before its
// length says, where another begins: the checksum of the bytes up to there is right, which the length is not under. That of
// 0.7 is only over the payload, and nothing is told by it.
func (s *Scanner) isShorter(h *head) bool {
	if h.format == Format07 {
		return false
	}
	for i := h.from; ; i++ {
		b := s.w.peek(int(h.size))
		for i < len(b) && !s.plausible(b[i:]) {
			i++
		}
		if i >= len(b) {
			return false
		}
		if s.sums(h.format).sum(b, s.w.pos, h.from, i) == h.crc && s.intact(i) {
			return true
		}
	}
}

// Limits of behind.
const (
	behindHeads = 8
	behindBytes = 1 << 20
)

// behind tells whether the batch at the front, whose head is h and whose checksum is wrong, ends where another begins, or
// with the log: then its length is right. What follows may be damaged too, as long as its own length leads to something.
func (s *Scanner) behind(h *head) bool {
	n := int(h.size)
	for range behindHeads {
		b := s.w.peek(n + maxHead)
		if len(b) == n || s.intact(n) {
			return true
		}
		if len(b) < n || !s.plausible(b[n:]) || n > int(h.size)+behindBytes {
			return false
		}
		next, err := parseHead(b[n:], s.o.Format)
		if err != nil || next.format != Format07 && !looksLikeHead(b[n:]) {
			return false
		}
		if n += int(next.size); len(s.w.peek(n)) < n {
			return false
		}
	}
	return false
}
