package inspect

import (
	"encoding/binary"

	"logkit/lib/index"
)

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
