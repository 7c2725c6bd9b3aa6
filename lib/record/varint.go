package record

import "math/bits"

// Longest varints, in bytes.
const (
	maxVarint32 = 5
	maxVarint64 = 10
)

// bad is the position behind something that could not be decoded. It sticks: what is decoded from it is bad too, so
// that a decoder reads straight down and looks once.
const bad = -1

// varint32 decodes the zigzag varint at b[i:], of at most 32 bits, and returns the position behind it.
func varint32(b []byte, i int) (v, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int(b[i]>>1) ^ -int(b[i]&1), i + 1
	}
	u, i := uvarint(b, i, maxVarint32)
	if u > 1<<32-1 {
		return 0, bad
	}
	return int(u>>1) ^ -int(u&1), i
}

// varint64 is varint32 for 64 bits.
func varint64(b []byte, i int) (v int64, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	u, i := uvarint(b, i, maxVarint64)
	return int64(u>>1) ^ -int64(u&1), i
}

// uvarint decodes an unsigned varint of at most most bytes at b[i:]. Kept out of line, it leaves its callers small
// enough to be inlined.
//
//go:noinline
func uvarint(b []byte, i, most int) (u uint64, next int) {
	if uint(i) > uint(len(b)) {
		return 0, bad
	}
	for n, c := range b[i:min(len(b), i+most)] {
		if c < 0x80 {
			if n == maxVarint64-1 && c > 1 {
				return 0, bad // more than 64 bits
			}
			return u | uint64(c)<<(7*n), i + n + 1
		}
		u |= uint64(c&0x7f) << (7 * n)
	}
	return 0, bad
}

// appendVarint appends v as a zigzag varint.
func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// varintSize is the number of bytes appendVarint appends.
func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}
