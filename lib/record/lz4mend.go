package record

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// An LZ4 frame begins with a magic number, a descriptor (flags, block size, and what the flags announce) and a checksum
// of the descriptor.
const (
	lz4MagicSize      = 4
	lz4ContentSizeBit = 1 << 3
	lz4DictionaryBit  = 1 << 0
)

// mendLZ4 returns a copy of an LZ4 frame with the right descriptor checksum. Kafka's clients of format 0 took it over the
// magic number too (KAFKA-3160), which every other decoder refuses. What is too short is returned as it is.
func mendLZ4(frame []byte) []byte {
	if len(frame) < lz4MagicSize+2 {
		return frame
	}
	end := lz4MagicSize + 2
	if frame[lz4MagicSize]&lz4ContentSizeBit != 0 {
		end += 8
	}
	if frame[lz4MagicSize]&lz4DictionaryBit != 0 {
		end += 4
	}
	if len(frame) <= end {
		return frame
	}
	frame = bytes.Clone(frame)
	frame[end] = byte(xxh32(frame[lz4MagicSize:end]) >> 8)
	return frame
}

// xxh32 is the xxHash of fewer than 16 bytes, with seed 0.
func xxh32(b []byte) uint32 {
	const (
		prime1 = 2654435761
		prime2 = 2246822519
		prime3 = 3266489917
		prime4 = 668265263
		prime5 = 374761393
	)
	h := uint32(prime5) + uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h += binary.LittleEndian.Uint32(b) * prime3
		h = bits.RotateLeft32(h, 17) * prime4
	}
	for _, c := range b {
		h += uint32(c) * prime5
		h = bits.RotateLeft32(h, 11) * prime1
	}
	h ^= h >> 15
	h *= prime2
	h ^= h >> 13
	h *= prime3
	return h ^ h>>16
}
