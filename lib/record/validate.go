package record

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Limits bound what Validate accepts. A zero field takes the default.
type Limits struct {
	MaxBytes        int32 // of the batch as it is; default: no limit
	MaxDecompressed int64 // bytes of its records when decompressed; default MaxDecompressed
	MaxRecords      int32 // default: as many as fit
}

// Validate is what a broker checks of a batch that a producer has sent, so that whatever is appended can be read by
// everyone (Kafka: LogValidator). There must be exactly one batch, of this format, within the limits, with the right
// CRC, a known codec and nothing that only a broker may set, that holds at least one record, numbered 0 to n-1,
// each well formed, and nothing else. The batch is only read; compressed records go through a buffer that is used again.
//
// The header returned is that of the batch, except that MaxTimestamp is the largest of the records: some clients leave it
// unset, or take that of the last record for it. See SetMaxTimestamp.
func Validate(batch []byte, lim Limits) (Header, error) {
	if lim.MaxBytes > 0 && len(batch) > int(lim.MaxBytes) {
		return Header{}, tooLarge("%d bytes, at most %d", len(batch), lim.MaxBytes)
	}
	h, err := parseWhole(batch)
	if errors.Is(err, ErrShort) || errors.Is(err, ErrLength) {
		return h, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return h, err
	}
	if err := CheckCRC(batch); err != nil {
		return h, err
	}
	if err := checkProduced(&h, lim); err != nil {
		return h, err
	}
	block, codec := batch[HeaderSize:], h.Attributes.Codec()
	if codec == None {
		return h, checkRecords(&h, block)
	}
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	block, err = decompress((*scratch)[:0], codec, block, lim.MaxDecompressed)
	if cap(block) <= maxScratch {
		*scratch = block
	}
	if err != nil {
		return h, err
	}
	return h, checkRecords(&h, block)
}

// maxScratch bounds the buffers, in bytes, that are kept for use again.
const maxScratch = 8 << 20

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// checkProduced checks the header of a produced batch.
func checkProduced(h *Header, lim Limits) error {
	switch codec := h.Attributes.Codec(); {
	case codec > Zstd:
		return fmt.Errorf("%w: %d", ErrCodec, codec)
	case h.Attributes&brokersAttributes != 0:
		return invalid("attributes %#x that only a broker may set", uint16(h.Attributes&brokersAttributes))
	case h.Count <= 0:
		return invalid("record count %d", h.Count)
	case h.LastOffsetDelta != h.Count-1:
		return invalid("last offset delta %d of %d records", h.LastOffsetDelta, h.Count)
	case lim.MaxRecords > 0 && h.Count > lim.MaxRecords:
		return tooLarge("%d records, at most %d", h.Count, lim.MaxRecords)
	case h.ProducerID >= 0 && (h.ProducerEpoch < 0 || h.BaseSequence < 0):
		return invalid("producer %d with epoch %d, sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	}
	return nil
}

// checkRecords checks that the block is as many records as the header says, numbered from 0, and nothing else, and sets
// the header's max timestamp to theirs.
func checkRecords(h *Header, block []byte) error {
	if err := checkCount(h.Count, block); err != nil {
		return err
	}
	var d decoded
	pos, latest := 0, int64(math.MinInt64)
	for delta := range int(h.Count) {
		if !d.decode(block, pos) || !d.checkHeaders(block) {
			return invalid("record %d of %d: malformed", delta, h.Count)
		}
		if d.delta != delta {
			return invalid("record %d of %d: offset delta %d", delta, h.Count, d.delta)
		}
		latest = max(latest, h.BaseTimestamp+d.timestamp)
		pos = d.end
	}
	if pos != len(block) {
		return invalid("%d bytes behind the last record", len(block)-pos)
	}
	h.MaxTimestamp = latest
	return nil
}
