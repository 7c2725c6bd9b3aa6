package inspect

import "hash/crc32"

// crcBlock is how many bytes lie between two remembered checksums.
const crcBlock = 4 << 10

// rangeCRC gives the checksum of any range of a stream at the cost of two blocks, however long the range is: it keeps
// the checksum of everything before each block, and takes apart what two of them have in common. Without it, bytes made
// to look like many long batches would be summed up many times over.
type rangeCRC struct {
	table  *crc32.Table
	shifts *[64]uint32 // x^(2^i) modulo the polynomial

	origin int64    // stream position that prefix[0] belongs to, a multiple of crcBlock
	prefix []uint32 // checksum of the blocks before
}

var (
	castagnoli       = crc32.MakeTable(crc32.Castagnoli)
	castagnoliShifts = shiftTable(crc32.Castagnoli)
	ieeeShifts       = shiftTable(crc32.IEEE)
)

func newCastagnoli() *rangeCRC { return &rangeCRC{table: castagnoli, shifts: castagnoliShifts} }
func newIEEE() *rangeCRC       { return &rangeCRC{table: crc32.IEEETable, shifts: ieeeShifts} }

func (c *rangeCRC) polynomial() uint32 {
	if c.table == castagnoli {
		return crc32.Castagnoli
	}
	return crc32.IEEE
}

// sum returns the checksum of b[from:to], where b begins at stream position pos and holds at least that.
func (c *rangeCRC) sum(b []byte, pos int64, from, to int) uint32 {
	first := (pos + int64(from) + crcBlock - 1) / crcBlock // block boundaries inside
	last := (pos + int64(to)) / crcBlock
	if last <= first {
		return crc32.Checksum(b[from:to], c.table)
	}
	c.extend(b, pos, last)
	head := crc32.Checksum(b[from:first*crcBlock-pos], c.table)
	i, j := first-c.origin/crcBlock, last-c.origin/crcBlock
	// crc(AB) = shift(crc(A), len B) ^ crc(B), so the blocks between alone are:
	shift := c.power(uint64(last-first), 15) // blocks of 2^12 bytes of 2^3 bits
	middle := c.prefix[j] ^ c.multiply(shift, c.prefix[i])
	return crc32.Update(c.multiply(shift, head)^middle, c.table, b[last*crcBlock-pos:to])
}

// extend sees to it that the checksums from pos to block boundary last are there.
func (c *rangeCRC) extend(b []byte, pos, last int64) {
	have := c.origin/crcBlock + int64(len(c.prefix)) - 1 // last boundary that is known
	first := (pos + crcBlock - 1) / crcBlock
	if len(c.prefix) == 0 || have < first {
		c.origin, c.prefix, have = first*crcBlock, append(c.prefix[:0], 0), first
	}
	if old := first - c.origin/crcBlock; old > 1<<16 { // nobody asks for what lies before pos
		c.prefix = append(c.prefix[:0], c.prefix[old:]...)
		c.origin = first * crcBlock
	}
	for ; have < last; have++ {
		at := have*crcBlock - pos
		c.prefix = append(c.prefix, crc32.Update(c.prefix[len(c.prefix)-1], c.table, b[at:at+crcBlock]))
	}
}

// multiply is the product of two polynomials modulo that of the checksum, all with the bits reversed.
func (c *rangeCRC) multiply(a, b uint32) uint32 { return multiply(a, b, c.polynomial()) }

func multiply(a, b, polynomial uint32) (product uint32) {
	for bit := uint32(1) << 31; bit != 0 && a != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			a ^= bit
		}
		if b&1 != 0 {
			b = b>>1 ^ polynomial
		} else {
			b >>= 1
		}
	}
	return product
}

// power is x^(n * 2^k).
func (c *rangeCRC) power(n uint64, k int) uint32 {
	p := uint32(1) << 31 // 1
	for ; n != 0; n, k = n>>1, k+1 {
		if n&1 != 0 {
			p = c.multiply(c.shifts[k], p)
		}
	}
	return p
}

func shiftTable(polynomial uint32) *[64]uint32 {
	var t [64]uint32
	t[0] = 1 << 30 // x
	for i := 1; i < len(t); i++ {
		t[i] = multiply(t[i-1], t[i-1], polynomial)
	}
	return &t
}
