package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Sizes in bytes.
const (
	LogOverhead = 12 // base offset and length, which the length does not count
	HeaderSize  = 61 // a batch before its records
)

// Positions of the header's fields, in bytes from the start of the batch.
const (
	lengthAt          = 8
	leaderEpochAt     = 12
	magicAt           = 16
	crcAt             = 17
	attributesAt      = 21 // the CRC covers all from here on
	lastOffsetDeltaAt = 23
	baseTimestampAt   = 27
	maxTimestampAt    = 35
	producerIDAt      = 43
	producerEpochAt   = 51
	baseSequenceAt    = 53
	countAt           = 57
)

const magic2 = 2

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Attributes are the flags of a batch.
type Attributes int16

const (
	codecMask         Attributes = 7
	logAppendTimeBit  Attributes = 1 << 3
	transactionalBit  Attributes = 1 << 4
	controlBit        Attributes = 1 << 5
	deleteHorizonBit  Attributes = 1 << 6
	brokersAttributes            = logAppendTimeBit | transactionalBit | controlBit | deleteHorizonBit
)

// Codec returns how the records are compressed, which may be a codec that does not exist.
func (a Attributes) Codec() Codec { return Codec(a & codecMask) }

// LogAppendTime reports that every record has the batch's max timestamp, set by a broker.
func (a Attributes) LogAppendTime() bool { return a&logAppendTimeBit != 0 }

// Transactional reports that the batch belongs to a transaction.
func (a Attributes) Transactional() bool { return a&transactionalBit != 0 }

// Control reports that the records are a broker's markers and no messages.
func (a Attributes) Control() bool { return a&controlBit != 0 }

// HasDeleteHorizon reports that the base timestamp is a compaction deadline (KIP-534).
func (a Attributes) HasDeleteHorizon() bool { return a&deleteHorizonBit != 0 }

// Header is the fixed part of a batch. Timestamps are ms since 1970.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes behind this field
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

// ParseHeader decodes the header at the start of b, which may go on behind the batch or end before it does. It
// refuses fewer than HeaderSize bytes (ErrShort), another message format (ErrMagic) and a length too small for a
// header (ErrLength), and looks at nothing else: the rest means something only once CheckCRC has passed.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("%w: %d bytes, a header has %d", ErrShort, len(b), HeaderSize)
	}
	b = b[:HeaderSize]
	h := Header{
		BaseOffset:      int64(binary.BigEndian.Uint64(b)),
		Length:          int32(binary.BigEndian.Uint32(b[lengthAt:])),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(b[leaderEpochAt:])),
		Magic:           int8(b[magicAt]),
		CRC:             binary.BigEndian.Uint32(b[crcAt:]),
		Attributes:      Attributes(binary.BigEndian.Uint16(b[attributesAt:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[lastOffsetDeltaAt:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(b[baseTimestampAt:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(b[maxTimestampAt:])),
		ProducerID:      int64(binary.BigEndian.Uint64(b[producerIDAt:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(b[producerEpochAt:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(b[baseSequenceAt:])),
		Count:           int32(binary.BigEndian.Uint32(b[countAt:])),
	}
	if h.Magic != magic2 {
		return Header{}, fmt.Errorf("%w: magic byte %d", ErrMagic, h.Magic)
	}
	if h.Length < HeaderSize-LogOverhead {
		return Header{}, fmt.Errorf("%w: %d, at least %d", ErrLength, h.Length, HeaderSize-LogOverhead)
	}
	return h, nil
}

// FindHeader returns the first position in b where a whole header could stand, told by its magic byte alone and so at the
// speed of memory; -1: nowhere.
func FindHeader(b []byte) int {
	if len(b) < HeaderSize {
		return -1
	}
	return bytes.IndexByte(b[magicAt:len(b)-HeaderSize+magicAt+1], magic2)
}

// appendTo is the inverse of ParseHeader.
func (h *Header) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.BaseOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Length))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.LeaderEpoch))
	dst = append(dst, byte(h.Magic))
	dst = binary.BigEndian.AppendUint32(dst, h.CRC)
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Attributes))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.LastOffsetDelta))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.BaseTimestamp))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.MaxTimestamp))
	dst = binary.BigEndian.AppendUint64(dst, uint64(h.ProducerID))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.ProducerEpoch))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.BaseSequence))
	return binary.BigEndian.AppendUint32(dst, uint32(h.Count))
}

// Size is the size of the whole batch in bytes.
func (h Header) Size() int64 { return LogOverhead + int64(h.Length) }

// LastOffset is the id of the last record, or of the last one that compaction has removed behind it.
func (h Header) LastOffset() int64 { return advance(h.BaseOffset, int64(h.LastOffsetDelta)) }

// NextBase is the base offset of the batch that follows in a log whose ids are positions: further by the size of the
// batch, or by the number of its ids where a compressed batch holds more records than it has bytes.
func (h Header) NextBase() int64 {
	return advance(h.BaseOffset, max(h.Size(), int64(h.LastOffsetDelta)+1))
}

// advance adds n to id, stopping at the last id there is.
func advance(id, n int64) int64 {
	if n > 0 && id > math.MaxInt64-n {
		return math.MaxInt64
	}
	if n < 0 && id < math.MinInt64-n {
		return math.MinInt64
	}
	return id + n
}

// CheckCRC compares the checksum of exactly one whole batch, of at least HeaderSize bytes (else ErrShort), with the
// one in its header. The error is a *CRCError, which wraps ErrCRC.
func CheckCRC(batch []byte) error {
	if len(batch) < HeaderSize {
		return fmt.Errorf("%w: %d bytes, a header has %d", ErrShort, len(batch), HeaderSize)
	}
	expected, found := binary.BigEndian.Uint32(batch[crcAt:]), crc32.Checksum(batch[attributesAt:], castagnoli)
	if expected != found {
		return &CRCError{Expected: expected, Found: found}
	}
	return nil
}

// CRCStart is the position in a batch from which on its CRC covers everything.
const CRCStart = attributesAt

// UpdateCRC adds b to a checksum, for who has a batch in pieces: it begins with 0 and what follows from CRCStart on.
func UpdateCRC(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }
