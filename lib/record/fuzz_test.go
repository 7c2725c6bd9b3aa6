package record

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Small limits, so that what a target allocates stays far below what the fuzzer may use.
var fuzzLimits = Limits{MaxBytes: 1 << 20, MaxDecompressed: 1 << 20}

// seedBatches are valid batches, cut and flipped ones, zeros and the largest numbers, each sealed again so that damage
// gets past the CRC.
func seedBatches(f *testing.F) {
	f.Helper()
	batches := [][]byte{golden(f, "testdata/batch.hex"), make([]byte, HeaderSize), bytes.Repeat([]byte{0xff}, 100)}
	for _, codec := range codecs {
		batches = append(batches, build(f, codec, awkward()[:8]), build(f, codec, benchRecords(20)))
	}
	for _, b := range batches {
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(b[:len(b)/2])
		for _, at := range []int{10, magicAt, attributesAt + 1, countAt + 3, HeaderSize - 1, len(b) - 1} {
			flipped := bytes.Clone(b)
			flipped[at] ^= 0x10
			f.Add(flipped)
		}
	}
}

// reseal makes most inputs worth looking at: one batch of the right magic, length and CRC. It returns what is too short
// as it is.
func reseal(b []byte) []byte {
	if len(b) < HeaderSize {
		return b
	}
	b = bytes.Clone(b)
	b[magicAt] = magic2
	return sealed(b)
}

// FuzzHeader: no panic; what is accepted has magic 2 and a size of at least HeaderSize; encoding it again gives the
// same bytes; next base is above base and last id unless ids have come to their end or the batch counts backwards.
func FuzzHeader(f *testing.F) {
	seedBatches(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if h.Magic != 2 || h.Size() < HeaderSize {
			t.Errorf("accepted: %+v", h)
		}
		if again := h.appendTo(nil); !bytes.Equal(again, b[:HeaderSize]) {
			t.Errorf("%x encodes as %x", b[:HeaderSize], again)
		}
		if next := h.NextBase(); next != math.MaxInt64 && (next <= h.BaseOffset || next <= h.LastOffset()) {
			t.Errorf("next base %d behind %d to %d", next, h.BaseOffset, h.LastOffset())
		}
	})
}

// FuzzBatch: no panic; ids rise and stay within the batch; slices lie within the block; at most Count records, all of
// them unless there is an error; records that were read and built again, uncompressed, read the same.
func FuzzBatch(f *testing.F) {
	seedBatches(f)
	it := Iterator{MaxDecompressed: fuzzLimits.MaxDecompressed}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > int(fuzzLimits.MaxBytes) {
			return
		}
		batch := reseal(b)
		before := bytes.Clone(batch)
		if it.Reset(batch) != nil {
			return
		}
		builder := NewBuilder(None)
		var records []Record
		last := it.Header().BaseOffset - 1
		for r := (Record{}); it.Next(&r); {
			if r.Offset <= last || r.Offset > it.Header().LastOffset() {
				t.Fatalf("id %d behind %d, last of the batch %d", r.Offset, last, it.Header().LastOffset())
			}
			last = r.Offset
			builder.Append(r)
			r.Offset = int64(len(records))
			records = append(records, r)
		}
		count := int(it.Header().Count)
		if len(records) > count || it.Err() == nil && len(records) != count {
			t.Fatalf("%d records of %d, %v", len(records), count, it.Err())
		}
		if !bytes.Equal(before, batch) {
			t.Fatal("the batch was written to")
		}
		if len(records) == 0 {
			return
		}
		rebuilt, err := builder.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Validate(rebuilt, Limits{}); err != nil {
			t.Fatal(err)
		}
		var again Iterator
		if diff := cmp.Diff(records, read(t, &again, rebuilt)); diff != "" {
			t.Fatal("(-first +again):", diff)
		}
	})
}

// FuzzValidate: no panic; the batch is only read; what is accepted the iterator reads without error, ids from the base
// on without a gap; building an uncompressed one again gives the same records byte by byte.
func FuzzValidate(f *testing.F) {
	seedBatches(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		batch := reseal(b)
		before := bytes.Clone(batch)
		h, err := Validate(batch, fuzzLimits)
		if !bytes.Equal(before, batch) {
			t.Fatal("the batch was written to")
		}
		if err != nil || h.LastOffset() == math.MaxInt64 {
			return
		}
		builder := NewBuilder(None)
		it := Iterator{MaxDecompressed: fuzzLimits.MaxDecompressed}
		if err := it.Reset(batch); err != nil {
			t.Fatal(err)
		}
		next := h.BaseOffset
		for r := (Record{}); it.Next(&r); next++ {
			if r.Offset != next {
				t.Fatalf("id %d, want %d", r.Offset, next)
			}
			builder.Append(r)
		}
		if it.Err() != nil || next != h.LastOffset()+1 {
			t.Fatalf("ended at id %d, last %d: %v", next, h.LastOffset(), it.Err())
		}
		rebuilt, err := builder.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		// Nothing but the records' attribute bytes is lost by building again, unless a number took more bytes than it
		// needs or the first record is not at the base timestamp.
		if h.Attributes.Codec() == None && len(rebuilt) == len(batch) && builder.base == h.BaseTimestamp {
			for pos, d := HeaderSize, (decoded{}); d.decode(batch, pos); pos = d.end {
				_, at := varint32(batch, pos)
				batch[at] = 0
			}
			if !bytes.Equal(rebuilt[HeaderSize:], batch[HeaderSize:]) {
				t.Fatalf("%x\nbuilt again: %x", batch, rebuilt)
			}
		}
	})
}

// FuzzVarint: no panic; agrees with encoding/binary wherever that accepts the bytes, for 32 bits where the value and
// its bytes are not too many; what is encoded decodes as it was, in varintSize bytes.
func FuzzVarint(f *testing.F) {
	for _, v := range []int64{0, -1, 1, 63, -64, 64, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64} {
		f.Add(appendVarint(nil, v), v, 0)
		f.Add(appendVarint([]byte("xx"), v), v, 2)
		f.Add(appendVarint(nil, v)[:varintSize(v)-1], v, 0)
	}
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, int64(0), 0)
	f.Add([]byte{}, int64(0), bad)
	f.Fuzz(func(t *testing.T, b []byte, v int64, i int) {
		enc := appendVarint(slices.Clone(b), v)
		if got, next := varint64(enc, len(b)); got != v || next != len(enc) || next-len(b) != varintSize(v) {
			t.Errorf("%d: encoded as %x, decoded as %d, %d bytes of %d", v, enc[len(b):], got, next-len(b), varintSize(v))
		}
		got64, next64 := varint64(b, i)
		got32, next32 := varint32(b, i)
		if i < 0 || i > len(b) {
			if next64 != bad || next32 != bad {
				t.Errorf("decoded at %d of %d bytes", i, len(b))
			}
			return
		}
		want, n := binary.Varint(b[i:])
		if (n > 0) != (next64 != bad) || n > 0 && (got64 != want || next64 != i+n) {
			t.Errorf("%x: %d up to %d, want %d up to %d", b[i:], got64, next64, want, i+n)
		}
		fits := n > 0 && n <= maxVarint32 && want == int64(int32(want))
		if fits != (next32 != bad) || fits && (int64(got32) != want || next32 != i+n) {
			t.Errorf("%x as 32 bits: %d up to %d, want %d up to %d", b[i:], got32, next32, want, i+n)
		}
	})
}

// FuzzDecompress: no panic; no more than the limit comes out; what was before it stays; a larger limit gives the same
// bytes; compressed again it comes back the same.
func FuzzDecompress(f *testing.F) {
	blocks := [][]byte{{}, []byte("x"), build(f, None, benchRecords(20))[HeaderSize:], make([]byte, 100_000)}
	for _, codec := range codecs[1:] {
		for _, block := range blocks {
			c, err := compress(nil, codec, block)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(int8(codec), c, uint32(len(block)))
			f.Add(int8(codec), c[:len(c)-1], uint32(1<<20))
			f.Add(int8(codec), c[:len(c)/2], uint32(1))
		}
	}
	f.Add(int8(Snappy), xerial([]byte("first"), []byte("second")), uint32(11))
	f.Fuzz(func(t *testing.T, codec int8, src []byte, limit uint32) {
		limit = limit%(1<<20) + 1
		got, err := decompress([]byte("before"), Codec(codec), src, int64(limit))
		if err != nil {
			return
		}
		got, found := bytes.CutPrefix(got, []byte("before"))
		if !found || len(got) > int(limit) {
			t.Fatalf("%d bytes, at most %d, behind %v", len(got), limit, found)
		}
		more, err := decompress(nil, Codec(codec), src, 1<<21)
		if err != nil || !bytes.Equal(more, got) {
			t.Fatalf("%d bytes with a limit, %d with a larger one, %v", len(got), len(more), err)
		}
		c, err := compress(nil, Codec(codec), got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decompress(nil, Codec(codec), c, 1<<21)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("compressed again %d bytes become %d, %v", len(got), len(again), err)
		}
	})
}
