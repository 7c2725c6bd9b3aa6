package record

import (
	"fmt"
	"math"
)

// fieldsChunk is how many headers share one allocation.
const fieldsChunk = 512

// Iterator reads the records of one batch after another. The zero value is ready. It keeps its buffers between
// batches, so that in the long run nothing is allocated for a record, the names of its headers excepted where they are
// not those of the record before. An Iterator is for one goroutine at a time.
type Iterator struct {
	// MaxDecompressed limits the decompressed size of a batch in bytes; 0 is the package's MaxDecompressed.
	MaxDecompressed int64

	header Header
	block  []byte // the records, decompressed
	pos    int    // in block, of the record that is next
	left   int32  // records not read yet
	last   int    // delta of the record before, -1 at the start
	err    error

	scratch []byte  // what batches are decompressed into
	fields  []Field // headers of this batch's records, the latest chunk of them
	known   []Field // headers of the record before
	rec     decoded
}

// Reset begins with exactly one whole batch, which must not change while it is read. It checks header, length and CRC
// and decompresses the records; errors are as from Validate, except that it reads what any broker may have stored:
// control batches, gaps between ids, no records at all.
func (it *Iterator) Reset(batch []byte) error {
	it.block, it.pos, it.left, it.last, it.err = nil, 0, 0, -1, nil
	it.fields, it.known = it.fields[:0], nil
	it.header, it.err = it.open(batch)
	return it.err
}

func (it *Iterator) open(batch []byte) (Header, error) {
	h, err := parseWhole(batch)
	if err != nil {
		return h, err
	}
	if err := CheckCRC(batch); err != nil {
		return h, err
	}
	switch {
	case h.Count < 0:
		return h, invalid("record count %d", h.Count)
	case h.LastOffsetDelta < 0 || h.BaseOffset > math.MaxInt64-int64(h.LastOffsetDelta):
		return h, invalid("last offset delta %d of base offset %d", h.LastOffsetDelta, h.BaseOffset)
	}
	it.block = batch[HeaderSize:]
	if codec := h.Attributes.Codec(); codec != None && len(it.block) > 0 {
		it.scratch, err = decompress(it.scratch[:0], codec, it.block, it.MaxDecompressed)
		if err != nil {
			it.block = nil
			return h, err
		}
		it.block = it.scratch
	}
	if err := checkCount(h.Count, it.block); err != nil {
		return h, err
	}
	it.left = h.Count
	return h, nil
}

// parseWhole is ParseHeader for exactly one whole batch.
func parseWhole(batch []byte) (Header, error) {
	h, err := ParseHeader(batch)
	switch {
	case err != nil:
		return h, err
	case h.Size() > int64(len(batch)):
		return h, fmt.Errorf("%w: %d of %d bytes", ErrShort, len(batch), h.Size())
	case h.Size() < int64(len(batch)):
		return h, fmt.Errorf("%w: %d bytes and %d behind them", ErrLength, h.Size(), int64(len(batch))-h.Size())
	}
	return h, nil
}

// checkCount refuses a number of records that can not fit into the block.
func checkCount(count int32, block []byte) error {
	if int64(count)*minRecordSize > int64(len(block)) {
		return invalid("%d records in %d bytes", count, len(block))
	}
	return nil
}

// Header returns the header of the batch.
func (it *Iterator) Header() Header { return it.header }

// Err returns why Next has ended early, or what Reset returned; nil at the end of a batch that is well formed.
func (it *Iterator) Err() error { return it.err }

// Next sets r to the next record and reports whether there was one. Key, value and headers are valid until the
// following Reset; they point into the batch or the iterator's own buffer and must not be written to. Strings are
// copies.
func (it *Iterator) Next(r *Record) bool {
	if it.left == 0 {
		if it.err == nil && it.pos != len(it.block) {
			it.err = invalid("%d bytes behind the last record", len(it.block)-it.pos)
		}
		return false
	}
	d := &it.rec
	if !d.decode(it.block, it.pos) {
		return it.fail("byte %d: no record", it.pos)
	}
	if d.delta <= it.last || d.delta > int(it.header.LastOffsetDelta) {
		return it.fail("byte %d: offset delta %d behind %d, at most %d", it.pos, d.delta, it.last, it.header.LastOffsetDelta)
	}
	r.Offset = it.header.BaseOffset + int64(d.delta)
	r.Timestamp = it.header.BaseTimestamp + d.timestamp
	if it.header.Attributes.LogAppendTime() {
		r.Timestamp = it.header.MaxTimestamp
	}
	r.Key, r.Value, r.Headers = d.key, d.value, nil
	if d.headers > 0 {
		if !it.headers(r) {
			return it.fail("byte %d: headers of the record", it.pos)
		}
	} else if d.headersAt != d.end {
		return it.fail("byte %d: %d bytes too many in the record", it.pos, d.end-d.headersAt)
	}
	it.pos, it.last = d.end, d.delta
	it.left--
	return true
}

// headers sets the headers of r. They come from a chunk that goes on filling; when it is full the next one is made, and
// the old one lives as long as somebody holds a record with headers in it.
func (it *Iterator) headers(r *Record) bool {
	n := it.rec.headers
	if n > cap(it.fields)-len(it.fields) {
		it.fields = make([]Field, 0, max(n, fieldsChunk))
	}
	start := len(it.fields)
	fields, ok := it.rec.appendHeaders(it.fields, it.block, it.known)
	it.fields = fields
	r.Headers = fields[start:len(fields):len(fields)]
	it.known = r.Headers
	return ok
}

func (it *Iterator) fail(format string, args ...any) bool {
	it.err, it.left, it.pos = invalid(format, args...), 0, len(it.block)
	return false
}
