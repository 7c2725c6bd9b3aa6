package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Sizes in bytes of a message of Kafka 0.7.
const (
	lengthSize07 = 4 // the length field, which the length does not count
	least07      = 5 // least length: magic and CRC
	// HeaderSize07 is what Parse07 needs when there is so much; a message may be a byte shorter.
	HeaderSize07 = 10
)

// Header07 is the fixed part of a message of Kafka 0.7 (magic 1) or older (magic 0). It has no id: that is its position
// in the log.
type Header07 struct {
	Length     int32 // bytes behind this field
	Magic      int8  // 0 or 1
	Attributes Attributes
	CRC        uint32 // of the payload alone
	payloadAt  int
}

// Parse07 decodes the header at the start of b, which may go on behind the message or end before it does. It refuses
// too few bytes (ErrShort), a magic other than 0 and 1 (ErrMagic) and a length too small for the form (ErrLength).
func Parse07(b []byte) (Header07, error) {
	if len(b) < lengthSize07+least07 {
		return Header07{}, fmt.Errorf("%w: %d bytes, a message has at least %d", ErrShort, len(b), lengthSize07+least07)
	}
	h := Header07{Length: int32(binary.BigEndian.Uint32(b)), Magic: int8(b[4]), payloadAt: 9}
	switch h.Magic {
	case 0:
	case 1:
		h.payloadAt = 10
	default:
		return Header07{}, fmt.Errorf("%w: magic byte %d, neither 0 nor 1", ErrMagic, h.Magic)
	}
	if least := int32(h.payloadAt - lengthSize07); h.Length < least {
		return Header07{}, fmt.Errorf("%w: %d, at least %d", ErrLength, h.Length, least)
	}
	if len(b) < h.payloadAt {
		return Header07{}, fmt.Errorf("%w: %d bytes, the header has %d", ErrShort, len(b), h.payloadAt)
	}
	if h.Magic == 1 {
		h.Attributes = Attributes(b[5])
	}
	h.CRC = binary.BigEndian.Uint32(b[h.payloadAt-4:])
	return h, nil
}

// Size is the size of the whole message in bytes.
func (h Header07) Size() int64 { return lengthSize07 + int64(h.Length) }

// Codec returns how the payload is compressed, which may be a codec that 0.7 does not have: only Gzip and Snappy are.
func (h Header07) Codec() Codec { return Codec(h.Attributes & 3) }

// CheckCRC07 compares the checksum of exactly one whole message with the one in its header. The error is a *CRCError,
// or as from Parse07. Length, magic and attributes are not under the CRC.
func CheckCRC07(message []byte) error {
	h, err := Parse07(message)
	if err != nil {
		return err
	}
	if found := crc32.ChecksumIEEE(message[h.payloadAt:]); found != h.CRC {
		return &CRCError{Expected: h.CRC, Found: found}
	}
	return nil
}

// Iterator07 reads the payloads of one message of Kafka 0.7 after another: one, or those of a compressed set. All of a
// set have the id of the message around them; a consumer sees that of the message behind it. The zero value is ready. An
// Iterator07 is for one goroutine at a time.
type Iterator07 struct {
	// MaxDecompressed limits the decompressed size of a set in bytes; 0 is the package's MaxDecompressed.
	MaxDecompressed int64

	offset  int64
	block   []byte // the inner messages, or the one message itself
	pos     int
	count   int
	err     error
	scratch []byte
}

// Reset begins with exactly one whole message, which stands at the id offset and must not change while it is read. It
// checks length and CRC, decompresses a set and looks through it once. Errors are as from Iterator.Reset.
func (it *Iterator07) Reset(message []byte, offset int64) error {
	it.block, it.pos, it.count, it.offset = nil, 0, 0, offset
	it.err = it.open(message)
	if it.err != nil {
		it.block, it.count = nil, 0
	}
	return it.err
}

func (it *Iterator07) open(message []byte) error {
	h, err := Parse07(message)
	switch {
	case err != nil:
		return err
	case h.Size() > int64(len(message)):
		return fmt.Errorf("%w: %d of %d bytes", ErrShort, len(message), h.Size())
	case h.Size() < int64(len(message)):
		return fmt.Errorf("%w: %d bytes and %d behind them", ErrLength, h.Size(), int64(len(message))-h.Size())
	}
	if err := CheckCRC07(message); err != nil {
		return err
	}
	switch codec := h.Codec(); codec {
	case None:
		it.block, it.count = message, 1
		return nil
	case Gzip, Snappy:
		it.scratch, err = decompress(it.scratch[:0], codec, message[h.payloadAt:], it.MaxDecompressed)
		if err != nil {
			return err
		}
		it.block = it.scratch
	default:
		return fmt.Errorf("%w: %d in the form of Kafka 0.7", ErrCodec, codec)
	}
	for pos := 0; pos < len(it.block); it.count++ {
		h, err := it.inner(pos)
		if err != nil {
			return err
		}
		pos += int(h.Size())
	}
	return nil
}

// inner is the header of the message at pos of the block.
func (it *Iterator07) inner(pos int) (Header07, error) {
	h, err := Parse07(it.block[pos:])
	switch {
	case err != nil:
		return h, invalid("message at byte %d of the set: %v", pos, err)
	case h.Size() > int64(len(it.block)-pos):
		return h, invalid("message at byte %d of the set: %d bytes, %d are left", pos, h.Size(), len(it.block)-pos)
	case h.Codec() != None:
		return h, invalid("message at byte %d of the set: %w", pos, errNested)
	}
	return h, nil
}

// Count is the number of payloads. It means something only after a Reset without error.
func (it *Iterator07) Count() int { return it.count }

// Err returns what Reset returned.
func (it *Iterator07) Err() error { return it.err }

// Next sets r to the next payload, which has neither key nor timestamp, and reports whether there was one. It points
// into the message or the iterator's own buffer, is valid until the following Reset and must not be written to.
func (it *Iterator07) Next(r *Record) bool {
	if it.pos >= len(it.block) {
		return false
	}
	h, err := Parse07(it.block[it.pos:]) // it has been looked at before
	if err != nil {
		it.err, it.pos = err, len(it.block)
		return false
	}
	end := it.pos + int(h.Size())
	*r = Record{Offset: it.offset, Timestamp: NoTimestamp, Value: it.block[it.pos+h.payloadAt : end : end]}
	it.pos = end
	return true
}
