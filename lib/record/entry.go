package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// Sizes in bytes of an entry of format 0 or 1.
const (
	EntryHeaderSize = 18            // up to the attributes: what ParseEntry needs
	minEntry0       = 14            // least length of format 0
	minEntry1       = minEntry0 + 8 // and of format 1
)

// Positions of an entry's fields. The CRC covers all from the magic byte on.
const (
	entryCRCAt        = 12
	entryAttributesAt = 17
	entryTimestampAt  = 18
)

// NoTimestamp is the timestamp of messages whose format has none.
const NoTimestamp = -1

// EntryHeader is the fixed part of an entry of format 0 or 1: a message, or a wrapper around a compressed set of them.
type EntryHeader struct {
	Offset     int64 // id; of a wrapper, that of its last message
	Length     int32 // bytes behind this field
	CRC        uint32
	Magic      int8 // 0 or 1
	Attributes Attributes
}

// ParseEntry decodes the header at the start of b, which may go on behind the entry or end before it does. It refuses
// fewer than EntryHeaderSize bytes (ErrShort), a magic other than 0 and 1 (ErrMagic) and a length too small for the
// format (ErrLength), and looks at nothing else.
func ParseEntry(b []byte) (EntryHeader, error) {
	if len(b) < EntryHeaderSize {
		return EntryHeader{}, fmt.Errorf("%w: %d bytes, the header of an entry has %d", ErrShort, len(b), EntryHeaderSize)
	}
	h := EntryHeader{
		Offset:     int64(binary.BigEndian.Uint64(b)),
		Length:     int32(binary.BigEndian.Uint32(b[lengthAt:])),
		CRC:        binary.BigEndian.Uint32(b[entryCRCAt:]),
		Magic:      int8(b[magicAt]),
		Attributes: Attributes(b[entryAttributesAt]),
	}
	least := int32(minEntry0)
	switch h.Magic {
	case 0:
	case 1:
		least = minEntry1
	default:
		return EntryHeader{}, fmt.Errorf("%w: magic byte %d, neither 0 nor 1", ErrMagic, h.Magic)
	}
	if h.Length < least {
		return EntryHeader{}, fmt.Errorf("%w: %d, at least %d", ErrLength, h.Length, least)
	}
	return h, nil
}

// Size is the size of the whole entry in bytes.
func (h EntryHeader) Size() int64 { return LogOverhead + int64(h.Length) }

// CheckEntryCRC compares the checksum of exactly one whole entry with the one in its header. The error is a *CRCError.
func CheckEntryCRC(entry []byte) error {
	if len(entry) < EntryHeaderSize {
		return fmt.Errorf("%w: %d bytes, the header of an entry has %d", ErrShort, len(entry), EntryHeaderSize)
	}
	expected, found := binary.BigEndian.Uint32(entry[entryCRCAt:]), crc32.ChecksumIEEE(entry[magicAt:])
	if expected != found {
		return &CRCError{Expected: expected, Found: found}
	}
	return nil
}

// EntryCRCStart is the position in an entry from which on its CRC covers everything.
const EntryCRCStart = magicAt

// UpdateEntryCRC is UpdateCRC for an entry, from EntryCRCStart on.
func UpdateEntryCRC(crc uint32, b []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, b) }

// EntryIterator reads the messages of one entry after another: one, or those in a wrapper, with the ids that a consumer
// sees. The zero value is ready. An EntryIterator is for one goroutine at a time.
type EntryIterator struct {
	// MaxDecompressed limits the decompressed size of a wrapper in bytes; 0 is the package's MaxDecompressed.
	MaxDecompressed int64

	header    EntryHeader
	timestamp int64  // of the entry
	block     []byte // the inner entries, or the one entry itself
	shift     int64  // what turns an inner offset into an id
	first     int64
	last      int64
	latest    int64 // largest timestamp
	count     int
	pos       int // in block
	inner     bool
	err       error
	scratch   []byte
}

// Reset begins with exactly one whole entry, which must not change while it is read. It checks length and CRC,
// decompresses a wrapper and looks through it once: after it Span is known. Errors are as from Iterator.Reset.
func (it *EntryIterator) Reset(entry []byte) error {
	it.block, it.pos, it.count, it.shift, it.inner = nil, 0, 0, 0, false
	it.first, it.last, it.latest = 0, 0, NoTimestamp
	it.err = it.open(entry)
	if it.err != nil {
		it.block, it.count = nil, 0
	}
	return it.err
}

func (it *EntryIterator) open(entry []byte) error {
	h, err := ParseEntry(entry)
	if err != nil {
		return err
	}
	it.header = h
	switch {
	case h.Size() > int64(len(entry)):
		return fmt.Errorf("%w: %d of %d bytes", ErrShort, len(entry), h.Size())
	case h.Size() < int64(len(entry)):
		return fmt.Errorf("%w: %d bytes and %d behind them", ErrLength, h.Size(), int64(len(entry))-h.Size())
	}
	if err := CheckEntryCRC(entry); err != nil {
		return err
	}
	m, err := decodeEntry(entry)
	if err != nil {
		return err
	}
	it.timestamp = m.timestamp
	codec := h.Attributes.Codec()
	if codec == None {
		it.block = entry
		it.first, it.last, it.latest, it.count = h.Offset, h.Offset, m.timestamp, 1
		return nil
	}
	return it.unwrap(codec, m.value)
}

// unwrap decompresses a wrapper's value.
func (it *EntryIterator) unwrap(codec Codec, value []byte) (err error) {
	switch {
	case codec == Zstd:
		return fmt.Errorf("%w: zstd in format %d", ErrCodec, it.header.Magic)
	case codec == LZ4 && it.header.Magic == 0:
		value = mendLZ4(value)
	}
	it.scratch, err = decompress(it.scratch[:0], codec, value, it.MaxDecompressed)
	if err != nil {
		return err
	}
	it.block, it.inner = it.scratch, true
	return it.survey()
}

// survey looks through the inner entries, and finds out what their offsets mean. Format 0 keeps ids in them. Format 1
// counts from the first of the set, and the wrapper has the id of the last; a wrapper with id 0 around offsets that
// are not is from a client that did not know that (old librdkafka).
func (it *EntryIterator) survey() error {
	previous := int64(-1)
	for pos := 0; pos < len(it.block); {
		m, size, err := it.decodeInner(pos)
		if err != nil {
			return err
		}
		if m.offset <= previous {
			return invalid("byte %d: inner offset %d behind %d", pos, m.offset, previous)
		}
		if it.count == 0 {
			it.first = m.offset
		}
		previous = m.offset
		it.latest = max(it.latest, m.timestamp)
		it.count++
		pos += size
	}
	if it.count == 0 {
		return invalid("a wrapper without messages")
	}
	it.last = previous
	if it.header.Magic == 1 {
		if it.header.Offset != 0 {
			if it.header.Offset < it.last {
				return invalid("wrapper with id %d around inner offset %d", it.header.Offset, it.last)
			}
			it.shift = it.header.Offset - it.last
		}
		if it.header.Attributes.LogAppendTime() {
			it.latest = it.timestamp
		}
	}
	it.first, it.last = it.first+it.shift, it.last+it.shift
	return nil
}

var errNested = errors.New("a wrapper in a wrapper")

// decodeInner decodes the entry at pos of a wrapper's block. Its CRC is not looked at: that of the wrapper covers it.
func (it *EntryIterator) decodeInner(pos int) (m entry, size int, err error) {
	h, err := ParseEntry(it.block[pos:])
	switch {
	case err != nil:
		return m, 0, invalid("inner entry at byte %d: %v", pos, err)
	case h.Size() > int64(len(it.block)-pos):
		return m, 0, invalid("inner entry at byte %d: %d bytes, %d are left", pos, h.Size(), len(it.block)-pos)
	case h.Magic != it.header.Magic:
		return m, 0, invalid("inner entry at byte %d: format %d in a wrapper of %d", pos, h.Magic, it.header.Magic)
	case h.Attributes.Codec() != None:
		return m, 0, invalid("inner entry at byte %d: %w", pos, errNested)
	case h.Offset < 0 || h.Offset > math.MaxInt64-1:
		return m, 0, invalid("inner entry at byte %d: offset %d", pos, h.Offset)
	}
	size = int(h.Size())
	m, err = decodeEntry(it.block[pos : pos+size])
	return m, size, err
}

// Header returns the header of the entry.
func (it *EntryIterator) Header() EntryHeader { return it.header }

// Span returns the first and the last id of the entry, the number of its messages and their largest timestamp
// (NoTimestamp in format 0). It means something only after a Reset without error.
func (it *EntryIterator) Span() (first, last int64, count int, latest int64) {
	return it.first, it.last, it.count, it.latest
}

// Err returns what Reset returned. After a Reset without error every message is well formed.
func (it *EntryIterator) Err() error { return it.err }

// Next sets r to the next message and reports whether there was one. Key and value point into the entry or the
// iterator's own buffer, are valid until the following Reset and must not be written to.
func (it *EntryIterator) Next(r *Record) bool {
	if it.pos >= len(it.block) {
		return false
	}
	if !it.inner {
		m, err := decodeEntry(it.block)
		if err != nil {
			it.err = err
			return false
		}
		it.pos = len(it.block)
		*r = Record{Offset: it.header.Offset, Timestamp: m.timestamp, Key: m.key, Value: m.value}
		return true
	}
	m, size, err := it.decodeInner(it.pos)
	if err != nil {
		it.err, it.pos = err, len(it.block)
		return false
	}
	it.pos += size
	*r = Record{Offset: m.offset + it.shift, Timestamp: m.timestamp, Key: m.key, Value: m.value}
	if it.header.Magic == 1 && it.header.Attributes.LogAppendTime() {
		r.Timestamp = it.timestamp
	}
	return true
}

// entry is a decoded entry. Key and value are slices of it.
type entry struct {
	offset     int64
	timestamp  int64
	key, value []byte
}

// decodeEntry decodes exactly one whole entry, whose header has been parsed.
func decodeEntry(b []byte) (m entry, err error) {
	m.offset, m.timestamp = int64(binary.BigEndian.Uint64(b)), NoTimestamp
	pos := entryTimestampAt
	if b[magicAt] == 1 {
		m.timestamp = int64(binary.BigEndian.Uint64(b[entryTimestampAt:]))
		pos += 8
	}
	var ok bool
	if m.key, pos, ok = bytes32(b, pos); !ok {
		return m, invalid("key of the message with offset %d", m.offset)
	}
	if m.value, pos, ok = bytes32(b, pos); !ok || pos != len(b) {
		return m, invalid("value of the message with offset %d", m.offset)
	}
	return m, nil
}

// bytes32 decodes bytes that follow their length as an int32, nil for -1.
func bytes32(b []byte, pos int) (p []byte, next int, ok bool) {
	if len(b)-pos < 4 {
		return nil, pos, false
	}
	n := int32(binary.BigEndian.Uint32(b[pos:]))
	pos += 4
	switch {
	case n == -1:
		return nil, pos, true
	case n < 0 || int64(n) > int64(len(b)-pos):
		return nil, pos, false
	}
	return b[pos : pos+int(n) : pos+int(n)], pos + int(n), true
}
