package inspect

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"logkit/lib/record"
)

// Format is the form of a batch on disk.
type Format int8

const (
	Format0  Format = 0  // Kafka 0.8 and 0.9: message sets of magic 0
	Format1  Format = 1  // Kafka 0.10: message sets of magic 1
	Format2  Format = 2  // Kafka 0.11 and later, and logd: record batches
	Format07 Format = 7  // Kafka 0.7 and earlier
	anyLog   Format = -1 // whichever of 0, 1 and 2 the magic byte says
)

// String is the format's magic number, or "0.7".
func (f Format) String() string {
	if f == Format07 {
		return "0.7"
	}
	return string('0' + rune(f))
}

// Batch is one batch of a log whose checksum is right. In formats before 2 that is a single message, or a wrapper around
// a compressed set of them.
type Batch struct {
	Format   Format
	Position int64 // in the file
	Size     int64 // bytes
	Base     int64 // first id
	Last     int64 // last id, or the last one that compaction has removed behind it
	Next     int64 // the id that follows in such a log
	Count    int64 // records; NoCount: not looked at
	CRC      uint32

	Attributes    record.Attributes
	LeaderEpoch   int32 // -1: none
	Timestamp     int64 // ms, of the first record; -1: none
	MaxTimestamp  int64 // ms, the largest; -1: none
	ProducerID    int64 // -1: none
	ProducerEpoch int16
	BaseSequence  int32
	Verdict       Kind   // what is wrong with it all the same: its place, or its contents; "" when nothing is
	Bytes         []byte // the whole batch; valid until the scanner goes on
}

// NoCount is the count of a compressed set that has not been decompressed, for that could not be done.
const NoCount = -1

// Codec is how the records are compressed.
func (b *Batch) Codec() record.Codec {
	if b.Format == Format07 {
		return record.Codec(b.Attributes & 3)
	}
	return b.Attributes.Codec()
}

// head is what the first bytes of a batch say, of whatever format.
type head struct {
	format Format
	size   int64
	id     int64 // base offset; of formats 0 and 1 the last id; of 0.7 nothing
	crc    uint32
	from   int // where the CRC's range begins

	records int64 // 0 in formats that do not say
}

// headSize is how many bytes parseHead looks at, and the least that a batch has.
func (f Format) headSize(b []byte) int {
	switch {
	case f == Format07:
		return record.HeaderSize07
	case len(b) >= record.EntryHeaderSize && b[magicAt] < 2:
		return record.EntryHeaderSize
	}
	return record.HeaderSize
}

const magicAt = 16

// maxHead is the longest head.
const maxHead = record.HeaderSize

// parseHead reads the head of a batch of format f, or anyLog. Errors are record's.
func parseHead(b []byte, f Format) (h head, err error) {
	if f == Format07 {
		m, err := record.Parse07(b)
		if err != nil {
			return h, err
		}
		from := record.HeaderSize07
		if m.Magic == 0 {
			from--
		}
		return head{format: Format07, size: m.Size(), crc: m.CRC, from: from}, nil
	}
	if len(b) > magicAt && b[magicAt] < 2 {
		e, err := record.ParseEntry(b)
		if err != nil {
			return h, err
		}
		return head{format: Format(e.Magic), size: e.Size(), id: e.Offset, crc: e.CRC, from: magicAt}, nil
	}
	r, err := record.ParseHeader(b)
	if err != nil {
		return h, err
	}
	return head{format: Format2, size: r.Size(), id: r.BaseOffset, crc: r.CRC, from: attributesAt, records: int64(r.Count)}, nil
}

const attributesAt = 21

// sum is the checksum of the whole batch b, whose head is h.
func (h *head) sum(b []byte) uint32 {
	if h.format == Format2 {
		return crc32.Checksum(b[h.from:], castagnoli)
	}
	return crc32.ChecksumIEEE(b[h.from:])
}

// describe sets b to the batch with head h, whose bytes are given and whose checksum is right. The error tells what
// contradicts itself in it; b is filled as far as it makes sense all the same.
func (s *Scanner) describe(b *Batch, h *head, bytes []byte) error {
	*b = Batch{
		Format: h.format, Position: s.w.pos, Size: h.size, Base: h.id, Last: h.id, Count: 1, CRC: h.crc, Bytes: bytes,
		LeaderEpoch: -1, Timestamp: record.NoTimestamp, MaxTimestamp: record.NoTimestamp, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
	switch h.format {
	case Format07:
		return s.describe07(b)
	case Format2:
		return s.describe2(b)
	}
	b.Attributes = record.Attributes(bytes[record.EntryHeaderSize-1])
	if b.Codec() == record.None {
		if h.format == Format1 {
			b.Timestamp = int64(binary.BigEndian.Uint64(bytes[record.EntryHeaderSize:]))
			b.MaxTimestamp = b.Timestamp
		}
		return nil
	}
	s.entries.MaxDecompressed = s.o.MaxDecompressed
	if err := s.entries.Reset(bytes); err != nil {
		b.Count = NoCount
		return err
	}
	var n int
	b.Base, b.Last, n, b.MaxTimestamp = s.entries.Span()
	b.Count, b.Timestamp = int64(n), b.MaxTimestamp
	var first record.Record
	if s.entries.Next(&first) {
		b.Timestamp = first.Timestamp
	}
	return nil
}

func (s *Scanner) describe07(b *Batch) error {
	b.Base = b.Position + max(0, s.o.Base)
	b.Last = b.Base
	if b.Bytes[4] == 1 {
		b.Attributes = record.Attributes(b.Bytes[5])
	}
	if b.Codec() == record.None {
		return nil
	}
	s.old.MaxDecompressed = s.o.MaxDecompressed
	err := s.old.Reset(b.Bytes, b.Base)
	if b.Count = int64(s.old.Count()); err != nil {
		b.Count = NoCount
	}
	return err
}

var errContradiction = errors.New("header contradicts itself")

func (s *Scanner) describe2(b *Batch) error {
	h, err := record.ParseHeader(b.Bytes)
	if err != nil {
		return err
	}
	b.Last, b.Count, b.Attributes = h.LastOffset(), int64(h.Count), h.Attributes
	b.LeaderEpoch, b.Timestamp, b.MaxTimestamp = h.LeaderEpoch, h.BaseTimestamp, h.MaxTimestamp
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = h.ProducerID, h.ProducerEpoch, h.BaseSequence
	if h.Attributes.HasDeleteHorizon() {
		b.Timestamp = h.MaxTimestamp // the field holds a deadline
	}
	switch {
	case h.LastOffsetDelta < 0, h.Count < 0, int64(h.Count) > int64(h.LastOffsetDelta)+1:
		return errContradiction
	case h.Attributes.Codec() == record.None && int64(h.Count)*7 > b.Size-record.HeaderSize:
		return errContradiction
	}
	return nil
}
