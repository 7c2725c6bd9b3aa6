package crashfs

import (
	"math/rand/v2"
	"slices"
)

// sectorSize is how many bytes a disk writes as one.
const sectorSize = 512

// contents are the bytes of a file, twice: as they are seen, and as they are on the disk.
type contents struct {
	data    []byte
	disk    []byte
	pending []change // of data, not yet on the disk; in order
	settled int      // how many changes came before those
}

// change says that the bytes [from, to) may have changed, and how long the file was then.
type change struct{ from, to, size int }

func (c *contents) write(p []byte, at int) {
	from := min(at, len(c.data)) // what lies between is a hole: zeros
	if end := at + len(p); end > len(c.data) {
		c.data = resize(c.data, end)
	}
	copy(c.data[at:], p)
	c.pending = append(c.pending, change{from, at + len(p), len(c.data)})
}

func (c *contents) truncate(size int) {
	from, to := min(size, len(c.data)), max(size, len(c.data))
	c.data = resize(c.data, size)
	c.pending = append(c.pending, change{from, to, size})
}

// changes is how many there have been, ever.
func (c *contents) changes() int { return c.settled + len(c.pending) }

// commit copies the first n changes ever made to the disk.
func (c *contents) commit(n int) {
	n -= c.settled
	if n <= 0 {
		return // another Sync was faster
	}
	c.disk = overlay(c.disk, c.data, c.pending[:n])
	c.pending = c.pending[n:]
	c.settled += n
}

// giveUp forgets what is pending, as a failed Sync does. It is still seen.
func (c *contents) giveUp(r *rand.Rand) {
	c.disk = c.survivor(r)
	c.settled, c.pending = c.changes(), nil
}

// cached is what is seen when the system keeps of a file only what it cannot read again.
func (c *contents) cached() []byte { return overlay(slices.Clone(c.disk), c.data, c.pending) }

// overlay applies changes to the bytes of a disk. What they wrote comes from data, where it may be younger.
func overlay(disk, data []byte, changes []change) []byte {
	for _, ch := range changes {
		disk = resize(disk, max(len(disk), ch.to))
		take(disk, data, ch.from, ch.to)
		disk = resize(disk, ch.size)
	}
	return disk
}

// take copies the bytes [from, to) of data, which has zeros behind its end.
func take(out, data []byte, from, to int) {
	clear(out[from:to])
	if from < len(data) {
		copy(out[from:to], data[from:])
	}
}

// survivor is what a power loss leaves of the file.
func (c *contents) survivor(r *rand.Rand) []byte {
	if len(c.pending) == 0 {
		return slices.Clone(c.disk)
	}
	length := c.survivingLength(r)
	out := slices.Clone(c.disk)
	luck := chance(r)
	for _, ch := range c.pending {
		out = resize(out, max(len(out), ch.to))
		for from := ch.from; from < ch.to; {
			to := min(ch.to, (from/sectorSize+1)*sectorSize)
			c.decide(r, luck, out, from, to)
			from = to
		}
	}
	return resize(out, length)
}

// decide what becomes of the pending bytes [from, to), which lie in one sector.
func (c *contents) decide(r *rand.Rand, luck float64, out []byte, from, to int) {
	if r.Float64() < luck {
		take(out, c.data, from, to)
		return
	}
	switch r.IntN(3) {
	case 0: // as before
	case 1:
		clear(out[from:to])
	case 2:
		for i := from; i < to; i++ {
			out[i] = byte(r.Uint32()) | 0x80 // no text, so that a test can tell
		}
	}
}

// survivingLength picks the length of the file.
func (c *contents) survivingLength(r *rand.Rand) int {
	shortest, longest := len(c.disk), len(c.disk)
	for _, ch := range c.pending {
		shortest, longest = min(shortest, ch.size), max(longest, ch.size)
	}
	switch r.IntN(4) {
	case 0:
		return len(c.disk)
	case 1:
		return shortest + r.IntN(longest-shortest+1)
	}
	return len(c.data)
}

// chance picks how likely a thing survives this time: none does, all do, or some.
func chance(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return 1
	}
	return r.Float64()
}

// resize cuts b, or extends it with zeros.
func resize(b []byte, size int) []byte {
	if size > len(b) {
		return append(b, make([]byte, size-len(b))...)
	}
	return b[:size]
}
