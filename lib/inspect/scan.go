package inspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"logkit/lib/record"
)

// DefaultMaxBatch is the largest batch in bytes that is believed in, unless told otherwise. A broker of Kafka's takes no
// request of more than 100 MiB by default.
const DefaultMaxBatch = 128 << 20

// ScanOptions say what is known of a log before it is read.
type ScanOptions struct {
	Name string // for verdicts
	Base int64  // the id that the file is named after; negative: not known
	Size int64  // bytes there are; negative: not known
	// Format is Format07, or any other for the rest, which the batches themselves tell apart.
	Format Format
	// MaxBatch is the largest batch in bytes; 0: DefaultMaxBatch. Memory in use is a small multiple of the largest
	// batch that is there, or claims to be.
	MaxBatch int64
	// MaxDecompressed limits what a batch may decompress to, in bytes; 0: record.MaxDecompressed.
	MaxDecompressed int64
	// Deep has every record decoded, not only every batch summed up.
	Deep bool
	// Order is what batches before this log have established; nil: nothing.
	Order *Order
}

// Item is what a Scanner finds: a batch, or a verdict. Verdicts on a batch come before it.
type Item struct {
	Batch   *Batch
	Verdict *Verdict
}

// Scanner reads a log from its beginning to its end, whatever is in it: batches that check, and between them verdicts
// on what does not. It reads forward only. A Scanner is for one goroutine at a time.
type Scanner struct {
	o       ScanOptions
	w       *window
	order   *Order
	advance int // bytes of the batch returned last
	batch   Batch
	queue   []Item  // what is to be returned
	items   [8]Item // where it usually is
	began   bool
	lost    int64 // EndID of the damage before the front, 0 when there is none, or it is not known

	castagnoli, ieee *rangeCRC
	entries          record.EntryIterator
	old              record.Iterator07
	records          Records
}

// NewScanner begins to read a log.
func NewScanner(r io.Reader, o ScanOptions) *Scanner {
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	if o.Format != Format07 {
		o.Format = anyLog
	}
	s := &Scanner{o: o, w: newWindow(r), order: o.Order, castagnoli: newCastagnoli(), ieee: newIEEE()}
	if s.order == nil {
		s.order = new(Order)
	}
	s.records.MaxDecompressed = o.MaxDecompressed
	return s
}

// Next returns what comes next. The batch and its bytes are valid until the following Next. io.EOF: that was all; any
// other error is the reader's.
func (s *Scanner) Next() (Item, error) {
	for len(s.queue) == 0 {
		if err := s.step(); err != nil {
			return Item{}, err
		}
	}
	item := s.queue[0]
	s.queue = s.queue[1:]
	return item, nil
}

// Position is how many bytes have been read and looked at.
func (s *Scanner) Position() int64 { return s.w.pos }

// step reads one batch, or passes over one stretch of damage, and puts what is to be said into the queue.
func (s *Scanner) step() error {
	s.queue = s.items[:0]
	s.w.skip(s.advance)
	s.advance = 0
	b := s.w.peek(maxHead)
	if err := s.w.failed(); err != nil {
		return err
	}
	if len(b) == 0 {
		return io.EOF
	}
	if !s.began {
		s.began = true
		s.begin()
	}
	h, err := parseHead(b, s.o.Format)
	if err != nil {
		return s.damage(nil, err)
	}
	whole, err := s.whole(&h)
	if err != nil {
		return s.damage(&h, err)
	}
	if found := h.sum(whole); found != h.crc {
		return s.damage(&h, &record.CRCError{Expected: h.crc, Found: found})
	}
	s.found(&h, whole)
	return nil
}

// begin is what is done once, when the first bytes are there.
func (s *Scanner) begin() {
	s.began = true
	if s.o.Format == Format07 {
		return
	}
	s.order.prescan(s.w.buffered())
	if v := s.order.begin(s.o.Base); v != nil {
		s.say(v)
	}
}

// errBeyond: a batch goes on behind the end of the log.
var errBeyond = errors.New("batch goes on behind the end")

// whole returns the bytes of the batch at the front, whose head is h.
func (s *Scanner) whole(h *head) ([]byte, error) {
	switch {
	case h.size > s.o.MaxBatch:
		return nil, record.ErrTooLarge
	case s.o.Size >= 0 && h.size > s.o.Size-s.w.pos:
		// Not even the beginning is read, unless the log has grown meanwhile.
		return nil, errBeyond
	}
	b := s.w.peek(int(h.size))
	if int64(len(b)) < h.size {
		return nil, errBeyond
	}
	return b, nil
}

// found puts a batch whose checksum is right into the queue, behind the verdicts on it.
func (s *Scanner) found(h *head, whole []byte) {
	b := &s.batch
	err := s.describe(b, h, whole)
	if err == nil && s.o.Deep {
		err = s.records.Check(b)
	}
	if v := s.contents(b, err); v != nil {
		s.say(v)
		b.Verdict = v.Kind
	}
	for _, v := range s.order.add(b) {
		s.say(v)
		if v.Position == b.Position {
			b.Verdict = v.Kind
		}
	}
	s.advance, s.lost = len(whole), 0
	s.queue = append(s.queue, Item{Batch: b})
}

// contents judges what is under a right checksum. err is what describing it has met with.
func (s *Scanner) contents(b *Batch, err error) *Verdict {
	if b.Format == Format2 && b.Codec() == record.None {
		if codec := frameCodec(b.Bytes[record.HeaderSize:]); codec != record.None && s.records.Check(b) != nil {
			return on(b, CodecMismatch, "codec "+codec.String()+", as the block begins", "codec none")
		}
	}
	if err == nil {
		return nil
	}
	return undecodable(b, err)
}

// Undecodable is the verdict on a batch whose checksum is right and whose records can not be decoded, for the reason
// that Records gives.
func Undecodable(f *File, b *Batch, err error) *Verdict {
	v := undecodable(b, err)
	v.File = f.Path
	return v
}

func undecodable(b *Batch, err error) *Verdict {
	if errors.Is(err, record.ErrTooLarge) {
		return on(b, Bomb, "", err.Error())
	}
	return on(b, Malformed, "", err.Error())
}

// frameCodec tells which codec begins its blocks like that. Raw snappy has no mark.
func frameCodec(b []byte) record.Codec {
	switch {
	case len(b) < 4:
	case b[0] == 0x1f && b[1] == 0x8b && b[2] == 8:
		return record.Gzip
	case bytes.HasPrefix(b, xerialMark):
		return record.Snappy
	case b[0] == 0x04 && b[1] == 0x22 && b[2] == 0x4d && b[3] == 0x18:
		return record.LZ4
	case b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd:
		return record.Zstd
	}
	return record.None
}

var xerialMark = []byte("\x82SNAPPY\x00")

func (s *Scanner) say(v *Verdict) {
	v.File = s.o.Name
	s.queue = append(s.queue, Item{Verdict: v})
}

// damage passes over what is no intact batch, up to the next one that is, and puts a verdict on it into the queue. cause
// is what is wrong at the front, h the head that could be read all the same.
func (s *Scanner) damage(h *head, cause error) error {
	v := &Verdict{Position: s.w.pos, ID: s.order.expected()}
	if s.lost > 0 {
		v.ID = max(v.ID, s.lost)
	}
	sized := false // the length in h is right
	if s.o.Format == Format07 {
		v.ID = s.w.pos + max(0, s.o.Base)
	}
	b := s.w.peek(maxHead)
	switch {
	case leadingZeros(b) == len(b):
		s.zeros(v)
	default:
		v.Kind, v.Expected, v.Found = s.classify(h, b, cause)
		var crc *record.CRCError
		if errors.As(cause, &crc) && s.behind(h) && !s.isShorter(h) {
			s.w.skip(int(h.size)) // its length is right, so what is inside need not be searched
			sized = true
			break
		}
		region := s.resync(h)
		switch {
		case h != nil && h.format != Format07 && region == h.crc && s.w.pos-v.Position != h.size && s.w.pos-v.Position > maxHead/4:
			v.Kind = BadLength
			v.Expected, v.Found = fmt.Sprint(s.w.pos-v.Position-record.LogOverhead), fmt.Sprint(h.size-record.LogOverhead)
		case errors.Is(cause, errBeyond) && !s.ended():
			v.Kind, v.Expected = BadLength, fmt.Sprintf("at most %d", s.w.pos-v.Position-record.LogOverhead)
			v.Found = fmt.Sprint(h.size - record.LogOverhead)
		}
	}
	v.End = s.w.pos
	s.losses(v, h, sized)
	s.order.damaged = true
	s.say(v)
	return s.w.failed()
}

// losses notes in a verdict on bytes that are no batch, which have been passed over, which ids they may have had: up to those
// of the batch behind them, or as far as a batch of so many bytes reaches in a log whose ids are positions.
func (s *Scanner) losses(v *Verdict, h *head, sized bool) {
	if h != nil && h.records > 0 {
		v.Records = h.records
	}
	s.lost = 0
	if v.ID < 0 {
		return
	}
	if s.o.Format == Format07 {
		v.EndID = v.ID + v.End - v.Position
		return
	}
	next, err := parseHead(s.w.peek(maxHead), s.o.Format)
	behind := err == nil && next.format == Format2 && next.id > v.ID
	switch {
	case behind && s.intact(0):
		v.EndID = next.id
	case sized && s.order.Layout == Positions:
		v.EndID = advance(v.ID, h.size)
		if more := advance(v.ID, h.records); behind && more == next.id {
			v.EndID = more
		}
	}
	s.lost = v.EndID
}

// ended reports whether everything has been passed over.
func (s *Scanner) ended() bool { return len(s.w.peek(1)) == 0 }

// zeros passes over zeros and, when something else comes behind them, up to the next batch.
func (s *Scanner) zeros(v *Verdict) {
	if s.w.zeros(zerosKept) {
		v.Kind, v.Expected, v.Found = ZeroTail, "a batch or the end", count(s.w.pos-v.Position, "zero byte")
		if s.preallocated() {
			v.Kind = Preallocated
		}
		return
	}
	s.resync(nil)
	v.Kind, v.Expected, v.Found = Zeros, "a batch", "zeros, and more behind them"
}

// zerosKept is how many zeros a batch may begin with: the base offset and the high bytes of a length.
const zerosKept = 16

// preallocated tells whether a zero tail is the work of log.preallocate, which makes files of a size that somebody has
// chosen: a round one. logd does no such thing.
func (s *Scanner) preallocated() bool {
	return s.order.Layout != Positions && s.w.pos >= 1000 && (s.w.pos%1000 == 0 || s.w.pos%1024 == 0)
}

// classify says what is wrong at the front, where b is.
func (s *Scanner) classify(h *head, b []byte, cause error) (kind Kind, expected, found string) {
	var crc *record.CRCError
	switch {
	case errors.As(cause, &crc):
		return BadCRC, hex8(crc.Expected), hex8(crc.Found)
	case errors.Is(cause, errBeyond):
		left := "fewer"
		if s.o.Size >= 0 {
			left = fmt.Sprint(s.o.Size - s.w.pos)
		} else if n := len(s.w.buffered()); int64(n) < h.size && s.w.err != nil {
			left = fmt.Sprint(n)
		}
		return TornTail, count(h.size, "byte"), left
	case errors.Is(cause, record.ErrTooLarge):
		return TooLarge, "at most " + count(s.o.MaxBatch, "byte"), count(h.size, "byte")
	case errors.Is(cause, record.ErrShort):
		return TornTail, fmt.Sprintf("a header of %d bytes", s.o.Format.headSize(b)), count(int64(len(b)), "byte")
	case s.o.Format == Format07 && errors.Is(cause, record.ErrLength):
		return BadLength, "a length of at least 5", fmt.Sprint(int32(binary.BigEndian.Uint32(b)))
	case errors.Is(cause, record.ErrLength):
		least := map[byte]string{0: "at least 14", 1: "at least 22"}[b[magicAt]]
		if least == "" {
			least = "at least 49"
		}
		return BadLength, least, fmt.Sprint(int32(binary.BigEndian.Uint32(b[8:])))
	}
	at, allowed := magicAt, "0, 1 or 2"
	if s.o.Format == Format07 {
		at, allowed = 4, "0 or 1"
	}
	return BadMagic, allowed, fmt.Sprint(int8(b[at]))
}
