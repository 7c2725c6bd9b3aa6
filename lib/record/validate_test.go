package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

// sealed sets the length and the CRC of a batch, in place.
func sealed(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[lengthAt:], uint32(len(batch)-LogOverhead))
	binary.BigEndian.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], castagnoli))
	return batch
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// hexRecord puts a length before the body of a record.
func hexRecord(body ...byte) []byte { return append(appendVarint(nil, int64(len(body))), body...) }

// put16 and put32 return an edit of a header field.
func put16(at int, v uint16) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint16(b[at:], v); return sealed(b) }
}

func put32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return sealed(b) }
}

func TestValidate(t *testing.T) {
	// Each row damages a batch of one record (key "k", value "v") in one way. Where Validate is stricter than the
	// iterator, which reads what brokers may have stored, the row says so.
	block := func(records ...byte) func([]byte) []byte {
		return func(b []byte) []byte { return sealed(append(b[:HeaderSize], records...)) }
	}
	record := func(body ...byte) func([]byte) []byte { return block(hexRecord(body...)...) }
	tests := []struct {
		name          string
		damage        func(b []byte) []byte
		validate, all error // what Validate and what Iterator say
	}{
		{"whole", func(b []byte) []byte { return b }, nil, nil},
		{"empty", func([]byte) []byte { return nil }, ErrShort, ErrShort},
		{"no whole header", func(b []byte) []byte { return b[:60] }, ErrShort, ErrShort},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, ErrShort, ErrShort},
		{"two batches", func(b []byte) []byte { return append(b, b...) }, ErrLength, ErrLength},
		{"length below a header", func(b []byte) []byte { b[11] = 48; return b }, ErrLength, ErrLength},
		{"length negative", func(b []byte) []byte { b[8] = 0xff; return b }, ErrLength, ErrLength},
		{"magic 1", func(b []byte) []byte { b[16] = 1; return b }, ErrMagic, ErrMagic},
		{"magic -1", func(b []byte) []byte { b[16] = 0xff; return b }, ErrMagic, ErrMagic},
		{"bit of the CRC", func(b []byte) []byte { b[17] ^= 1; return b }, ErrCRC, ErrCRC},
		{"bit of the value", func(b []byte) []byte { b[len(b)-2] ^= 1; return b }, ErrCRC, ErrCRC},
		{"base offset and leader epoch", func(b []byte) []byte { SetBaseOffset(b, 7); SetLeaderEpoch(b, 9); return b }, nil, nil},

		{"codec 5", put16(attributesAt, 5), ErrCodec, ErrCodec},
		{"codec without its block", put16(attributesAt, uint16(Zstd)), ErrInvalid, ErrInvalid},
		{"codec and empty block", func(b []byte) []byte { return put16(attributesAt, uint16(Gzip))(b[:HeaderSize]) }, ErrInvalid, ErrInvalid},
		{"log append time", put16(attributesAt, 8), ErrInvalid, nil},
		{"transactional", put16(attributesAt, 16), ErrInvalid, nil},
		{"control", put16(attributesAt, 32), ErrInvalid, nil},
		{"delete horizon", put16(attributesAt, 64), ErrInvalid, nil},
		{"an attribute nobody knows", put16(attributesAt, 128), nil, nil},
		{"producer without sequence", func(b []byte) []byte { binary.BigEndian.PutUint64(b[producerIDAt:], 1); return sealed(b) }, ErrInvalid, nil},

		{"no records", func(b []byte) []byte { return put32(countAt, 0)(b[:HeaderSize]) }, ErrInvalid, nil},
		{"count 0, one record", put32(countAt, 0), ErrInvalid, ErrInvalid},
		{"count -1", put32(countAt, 0xffffffff), ErrInvalid, ErrInvalid},
		{"count 2", put32(countAt, 2), ErrInvalid, ErrInvalid},
		{"count 2 that agrees", func(b []byte) []byte { return put32(lastOffsetDeltaAt, 1)(put32(countAt, 2)(b)) }, ErrInvalid, ErrInvalid},
		{"count of 2^31-1", func(b []byte) []byte { return put32(lastOffsetDeltaAt, 1<<31-2)(put32(countAt, 1<<31-1)(b)) }, ErrInvalid, ErrInvalid},
		{"last offset delta 1", put32(lastOffsetDeltaAt, 1), ErrInvalid, nil},
		{"last offset delta -1", put32(lastOffsetDeltaAt, 0xffffffff), ErrInvalid, ErrInvalid},
		{"ids beyond the last", func(b []byte) []byte { SetBaseOffset(b, 1<<63-1); return put32(lastOffsetDeltaAt, 1)(b) }, ErrInvalid, ErrInvalid},

		{"gap before the record", func(b []byte) []byte { b[HeaderSize+3] = 2; return put32(lastOffsetDeltaAt, 1)(b) }, ErrInvalid, nil},
		{"negative offset delta", record(0, 0, 1, 1, 1, 0), ErrInvalid, ErrInvalid},
		{"offset delta above the last", record(0, 0, 2, 1, 1, 0), ErrInvalid, ErrInvalid},
		{"bytes behind the record", func(b []byte) []byte { return sealed(append(b, 0)) }, ErrInvalid, ErrInvalid},
		{"record longer than the batch", func(b []byte) []byte { b[HeaderSize] += 2; return sealed(b) }, ErrInvalid, ErrInvalid},
		{"record shorter than its fields", func(b []byte) []byte { b[HeaderSize] -= 2; return sealed(b) }, ErrInvalid, ErrInvalid},
		{"record length negative", func(b []byte) []byte { b[HeaderSize] = 3; return sealed(b) }, ErrInvalid, ErrInvalid},
		{"record length of 2^31-1", block(0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0), ErrInvalid, ErrInvalid},
		{"record length of 2^32", block(0x80, 0x80, 0x80, 0x80, 0x20, 0, 0, 0), ErrInvalid, ErrInvalid},
		{"record of nothing", block(0, 0, 0, 0, 0, 0, 0), ErrInvalid, ErrInvalid},
		{"attributes that nobody knows", record(0xff, 0, 0, 1, 1, 0), nil, nil},
		{"timestamp delta of 10 bytes", record(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 1, 0), nil, nil},
		{"timestamp delta of 65 bits", record(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 1, 1, 0), ErrInvalid, ErrInvalid},
		{"timestamp delta of 11 bytes", record(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0), ErrInvalid, ErrInvalid},
		{"offset delta of 6 bytes", record(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0), ErrInvalid, ErrInvalid},
		{"key length -2", record(0, 0, 0, 3, 1, 0), ErrInvalid, ErrInvalid},
		{"key longer than the record", record(0, 0, 0, 8, 1, 0), ErrInvalid, ErrInvalid},
		{"key takes all", record(0, 0, 0, 4, 1, 0), ErrInvalid, ErrInvalid},
		{"key length of -2^31", record(0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0), ErrInvalid, ErrInvalid},
		{"value length -2", record(0, 0, 0, 1, 3, 0), ErrInvalid, ErrInvalid},
		{"value longer than the record", record(0, 0, 0, 1, 4, 0), ErrInvalid, ErrInvalid},
		{"no header count", record(0, 0, 0, 1, 1), ErrInvalid, ErrInvalid},
		{"header count -1", record(0, 0, 0, 1, 1, 1), ErrInvalid, ErrInvalid},
		{"header count over what is left", record(0, 0, 0, 1, 1, 4, 0, 1, 0), ErrInvalid, ErrInvalid},
		{"header count of 2^31-1", record(0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f), ErrInvalid, ErrInvalid},
		{"header", record(0, 0, 0, 1, 1, 2, 2, 'h', 1), nil, nil},
		{"header without a name", record(0, 0, 0, 1, 1, 2, 1, 1), ErrInvalid, ErrInvalid},
		{"header value length -2", record(0, 0, 0, 1, 1, 2, 0, 3), ErrInvalid, ErrInvalid},
		{"bytes behind the headers", record(0, 0, 0, 1, 1, 2, 0, 1, 0), ErrInvalid, ErrInvalid},
		{"bytes behind no headers", record(0, 0, 0, 1, 1, 0, 0), ErrInvalid, ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			batch := tt.damage(build(t, None, []Record{{Timestamp: 5, Key: []byte("k"), Value: []byte("v")}}))
			before := bytes.Clone(batch)
			_, err := Validate(batch, Limits{})
			wantError(t, "Validate", err, tt.validate)
			if (errors.Is(err, ErrShort) || errors.Is(err, ErrLength)) && !errors.Is(err, ErrInvalid) {
				t.Error("Validate does not call it malformed:", err)
			}
			var it Iterator
			wantError(t, "Iterator", drain(&it, batch), tt.all)
			if !bytes.Equal(before, batch) {
				t.Error("the batch was written to")
			}
			if good := build(t, Zstd, awkward()); drain(&it, good) != nil {
				t.Error("the iterator is of no use any more:", it.Err())
			}
		})
	}
}

// drain reads a batch to its end.
func drain(it *Iterator, batch []byte) error {
	if err := it.Reset(batch); err != nil {
		return err
	}
	for r := (Record{}); it.Next(&r); {
	}
	return it.Err()
}

func TestCRCError(t *testing.T) {
	batch := build(t, None, []Record{{Value: []byte("v")}})
	right := binary.BigEndian.Uint32(batch[crcAt:])
	binary.BigEndian.PutUint32(batch[crcAt:], 7)
	var e *CRCError
	if err := CheckCRC(batch); !errors.As(err, &e) || e.Expected != 7 || e.Found != right {
		t.Errorf("%v, want 00000007 expected and %08x found", err, right)
	}
}

func TestLimits(t *testing.T) {
	records := benchRecords(100)
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			batch := build(t, codec, records)
			size := int64(len(build(t, None, records)) - HeaderSize)
			tests := []struct {
				name string
				lim  Limits
				want error
			}{
				{"batch fits", Limits{MaxBytes: int32(len(batch))}, nil},
				{"batch does not fit", Limits{MaxBytes: int32(len(batch) - 1)}, ErrTooLarge},
				{"records fit", Limits{MaxRecords: 100}, nil},
				{"records do not fit", Limits{MaxRecords: 99}, ErrTooLarge},
				{"decompressed fits", Limits{MaxDecompressed: size}, nil},
				{"decompressed does not fit", Limits{MaxDecompressed: size - 1}, ErrTooLarge},
			}
			for _, tt := range tests {
				if codec == None && tt.lim.MaxDecompressed > 0 {
					continue
				}
				_, err := Validate(batch, tt.lim)
				wantError(t, tt.name, err, tt.want)
				if tt.lim.MaxDecompressed > 0 {
					it := Iterator{MaxDecompressed: tt.lim.MaxDecompressed}
					wantError(t, tt.name, drain(&it, batch), tt.want)
				}
			}
		})
	}
}
