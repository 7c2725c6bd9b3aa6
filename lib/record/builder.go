package record

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
)

// Builder collects records and encodes them as one batch. Make it with NewBuilder. It keeps its buffer from batch to
// batch and copies what it is given; it is for one goroutine at a time.
type Builder struct {
	Codec         Codec
	ProducerID    int64 // -1: none, and so the two below
	ProducerEpoch int16
	BaseSequence  int32

	records []byte // encoded
	count   int
	base    int64 // timestamp of the first record
	latest  int64 // largest timestamp
}

// NewBuilder returns an empty Builder for batches without a producer id.
func NewBuilder(codec Codec) *Builder {
	return &Builder{Codec: codec, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
}

// Append adds a record, copying it. Its offset is ignored: its position in the batch counts.
func (b *Builder) Append(r Record) {
	if b.count == 0 {
		b.base, b.latest = r.Timestamp, r.Timestamp
	}
	b.records = appendRecord(b.records, &r, r.Timestamp-b.base, b.count)
	b.latest = max(b.latest, r.Timestamp)
	b.count++
}

// Len is the number of records.
func (b *Builder) Len() int { return b.count }

// Size is the size in bytes of the batch before compression, header included.
func (b *Builder) Size() int { return HeaderSize + len(b.records) }

// SizeWith is what Size would be after appending r.
func (b *Builder) SizeWith(r Record) int {
	timestamp := int64(0)
	if b.count > 0 {
		timestamp = r.Timestamp - b.base
	}
	n := bodySize(&r, varintSize(timestamp), b.count)
	return b.Size() + varintSize(int64(n)) + n
}

// Reset forgets the records. Codec and producer stay.
func (b *Builder) Reset() { b.records, b.count = b.records[:0], 0 }

// Finish appends the batch to dst, with base offset 0, leader epoch -1 and its CRC. The records stay, to be appended to
// or finished again, until Reset. Records that a codec would not make smaller go uncompressed, as librdkafka does it.
// It refuses a batch without records (ErrInvalid), one that an int32 can not measure (ErrTooLarge), and an
// unknown codec (ErrCodec); then dst is returned as it was.
func (b *Builder) Finish(dst []byte) ([]byte, error) {
	if b.count == 0 {
		return dst, invalid("no records")
	}
	if len(b.records) > math.MaxInt32-HeaderSize || b.count > math.MaxInt32 {
		return dst, tooLarge("%d records in %d bytes", b.count, len(b.records))
	}
	start := len(dst)
	h := Header{
		LeaderEpoch: -1, Magic: magic2, Attributes: Attributes(b.Codec), LastOffsetDelta: int32(b.count - 1),
		BaseTimestamp: b.base, MaxTimestamp: b.latest, ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch,
		BaseSequence: b.BaseSequence, Count: int32(b.count),
	}
	out := h.appendTo(slices.Grow(dst, HeaderSize))
	if b.Codec != None {
		var err error
		if out, err = compress(out, b.Codec, b.records); err != nil {
			return dst, err
		}
	}
	if b.Codec == None || len(out)-start-HeaderSize >= len(b.records) {
		out = append(out[:start+HeaderSize], b.records...)
		binary.BigEndian.PutUint16(out[start+attributesAt:], 0)
	}
	batch := out[start:]
	binary.BigEndian.PutUint32(batch[lengthAt:], uint32(len(batch)-LogOverhead))
	binary.BigEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
	return out, nil
}
