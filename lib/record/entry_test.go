package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// entryOf encodes an entry of magic 0 or 1.
func entryOf(magic byte, attributes Attributes, offset, timestamp int64, key, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, magic, byte(attributes))
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(timestamp))
	}
	for _, p := range [][]byte{key, value} {
		if p == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return sealEntry(b)
}

// sealEntry sets length and CRC.
func sealEntry(b []byte) []byte {
	binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint32(b[entryCRCAt:], crc32.ChecksumIEEE(b[magicAt:]))
	return b
}

// wrapperOf encodes entries as a wrapper.
func wrapperOf(t testing.TB, magic byte, attributes Attributes, offset, timestamp int64, entries ...[]byte) []byte {
	t.Helper()
	block, err := compress(nil, attributes.Codec(), bytes.Join(entries, nil))
	if err != nil {
		t.Fatal(err)
	}
	return entryOf(magic, attributes, offset, timestamp, nil, block)
}

func readEntry(entry []byte) (records []Record, err error) {
	var it EntryIterator
	if err := it.Reset(entry); err != nil {
		return nil, err
	}
	var r Record
	for it.Next(&r) {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		records = append(records, r)
	}
	return records, it.Err()
}

func TestEntriesOfOldFormats(t *testing.T) {
	v := func(s string) []byte { return []byte(s) }
	relative := func(codec Attributes, wrapper int64) []byte {
		return wrapperOf(t, 1, codec, wrapper, 9, entryOf(1, 0, 0, 5, nil, v("a")), entryOf(1, 0, 1, 6, v("k"), nil), entryOf(1, 0, 3, 4, v(""), v("")))
	}
	three := func(a, b, c int64) []Record {
		return []Record{{Offset: a, Timestamp: 5, Value: v("a")}, {Offset: b, Timestamp: 6, Key: v("k")}, {Offset: c, Timestamp: 4, Key: v(""), Value: v("")}}
	}
	stamped := three(97, 98, 100)
	for i := range stamped {
		stamped[i].Timestamp = 9
	}
	for _, row := range []struct {
		name  string
		entry []byte
		want  []Record
	}{
		{"magic 0", entryOf(0, 0, 7, 0, v("k"), v("v")), []Record{{Offset: 7, Timestamp: -1, Key: v("k"), Value: v("v")}}},
		{"magic 0, nulls", entryOf(0, 0, 7, 0, nil, nil), []Record{{Offset: 7, Timestamp: -1}}},
		{"magic 1", entryOf(1, 0, 7, 123, v("k"), v("")), []Record{{Offset: 7, Timestamp: 123, Key: v("k"), Value: v("")}}},
		{"magic 0 wrapper has ids inside", wrapperOf(t, 0, Attributes(Gzip), 42, 0, entryOf(0, 0, 40, 0, nil, v("x")), entryOf(0, 0, 42, 0, nil, v("y"))),
			[]Record{{Offset: 40, Timestamp: -1, Value: v("x")}, {Offset: 42, Timestamp: -1, Value: v("y")}}},
		{"magic 0 snappy", wrapperOf(t, 0, Attributes(Snappy), 1, 0, entryOf(0, 0, 1, 0, nil, v("x"))), []Record{{Offset: 1, Timestamp: -1, Value: v("x")}}},
		{"magic 1 wrapper counts", relative(Attributes(Gzip), 100), three(97, 98, 100)},
		{"magic 1 snappy", relative(Attributes(Snappy), 100), three(97, 98, 100)},
		{"magic 1 lz4", relative(Attributes(LZ4), 100), three(97, 98, 100)},
		{"magic 1 wrapper with id 0 has ids inside", relative(Attributes(Gzip), 0), three(0, 1, 3)},
		{"magic 1 append time", relative(Attributes(Gzip)|logAppendTimeBit, 100), stamped},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := readEntry(row.entry)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error("(-want +got):", diff)
			}
			var it EntryIterator
			it.Reset(row.entry)
			first, last, count, latest := it.Span()
			if first != got[0].Offset || last != got[len(got)-1].Offset || count != len(got) {
				t.Errorf("span %d to %d of %d, records %v", first, last, count, got)
			}
			for _, r := range got {
				if latest < r.Timestamp {
					t.Errorf("largest timestamp %d, a record has %d", latest, r.Timestamp)
				}
			}
		})
	}
}

// TestBrokenLZ4Frame: clients of magic 0 took the frame header's checksum over the magic number too (KAFKA-3160).
func TestBrokenLZ4Frame(t *testing.T) {
	good := wrapperOf(t, 0, Attributes(LZ4), 3, 0, entryOf(0, 0, 3, 0, nil, []byte("x")))
	block := bytes.Index(good, []byte("\x04\x22\x4d\x18"))
	broken := bytes.Clone(good)
	broken[block+6] ^= 0x55
	sealEntry(broken)
	for _, entry := range [][]byte{good, broken} {
		if got, err := readEntry(entry); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	}
	broken[magicAt] = 1 // magic 1 has it right, so there it is damage (the fields behind do not fit either)
	if _, err := readEntry(sealEntry(broken)); !errors.Is(err, ErrInvalid) {
		t.Errorf("magic 1: %v", err)
	}
}

func TestBrokenEntries(t *testing.T) {
	good := entryOf(1, 0, 7, 123, []byte("key"), []byte("value"))
	inner := entryOf(1, 0, 5, 1, nil, []byte("x"))
	change := func(at int, b byte) []byte {
		e := bytes.Clone(good)
		e[at] = b
		return sealEntry(e)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for _, row := range []struct {
		name  string
		entry []byte
		want  error
	}{
		{"nothing", nil, ErrShort},
		{"header alone", good[:EntryHeaderSize], ErrShort},
		{"cut short", good[:len(good)-1], ErrShort},
		{"too long", append(bytes.Clone(good), 0), ErrLength},
		{"magic 2", change(magicAt, 2), ErrMagic},
		{"flipped", flipped, ErrCRC},
		{"key too long", change(29, 200), ErrInvalid},
		{"codec 7", change(17, 7), ErrInvalid},
		{"zstd", wrapperOf(t, 1, Attributes(Zstd), 5, 1, inner), ErrCodec},
		{"id below the inner ones", wrapperOf(t, 1, Attributes(Gzip), 4, 1, inner), ErrInvalid},
		{"inner ids go back", wrapperOf(t, 1, Attributes(Gzip), 9, 1, inner, inner), ErrInvalid},
		{"no messages", wrapperOf(t, 1, Attributes(Gzip), 9, 1), ErrInvalid},
		{"half a message", wrapperOf(t, 1, Attributes(Gzip), 9, 1, inner, inner[:20]), ErrInvalid},
		{"another magic inside", wrapperOf(t, 1, Attributes(Gzip), 9, 1, entryOf(0, 0, 5, 1, nil, nil)), ErrInvalid},
		{"a wrapper inside", wrapperOf(t, 1, Attributes(Gzip), 9, 1, wrapperOf(t, 1, Attributes(Gzip), 5, 1, inner)), ErrInvalid},
		{"null value", entryOf(1, Attributes(Gzip), 9, 1, nil, nil), ErrInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := readEntry(row.entry)
			if row.name == "codec 7" && errors.Is(err, ErrCodec) {
				return
			}
			if !errors.Is(err, row.want) {
				t.Errorf("%v, want %v", err, row.want)
			}
		})
	}
}

func TestEntryBombIsNotExpanded(t *testing.T) {
	bomb := wrapperOf(t, 1, Attributes(Gzip), 9, 1, entryOf(1, 0, 0, 1, nil, make([]byte, 1<<20)))
	it := EntryIterator{MaxDecompressed: 1 << 10}
	if err := it.Reset(bomb); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want %v", err, ErrTooLarge)
	}
	if cap(it.scratch) > 1<<16 {
		t.Errorf("%d bytes were taken", cap(it.scratch))
	}
}

// FuzzEntry feeds arbitrary bytes to the reader of magic 0 and 1.
//
//   - it never panics, and takes memory only up to the limit
//   - what passes has as many records as Span says, with ids that rise from the first to the last, and slices of it
//   - what fails the CRC has none
func FuzzEntry(f *testing.F) {
	inner := [][]byte{entryOf(1, 0, 0, 5, nil, []byte("a")), entryOf(1, 0, 1, 6, []byte("k"), nil)}
	valid := entryOf(0, 0, 7, 0, []byte("k"), []byte("v"))
	f.Add(valid)
	f.Add(valid[:20])
	f.Add(make([]byte, 64))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	for _, codec := range []Codec{Gzip, Snappy, LZ4} {
		f.Add(wrapperOf(f, 1, Attributes(codec), 100, 5, inner...))
	}
	flipped := wrapperOf(f, 1, Attributes(Gzip), 100, 5, inner...)
	flipped[40] ^= 1
	f.Add(flipped)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, entry := range [][]byte{b, sealFuzzed(b)} {
			it := EntryIterator{MaxDecompressed: 1 << 16}
			if err := it.Reset(entry); err != nil {
				var r Record
				if it.Next(&r) {
					t.Fatal("a record of what is refused")
				}
				continue
			}
			first, last, count, _ := it.Span()
			n, previous := 0, first-1
			var r Record
			for it.Next(&r) {
				if r.Offset <= previous || r.Offset > last {
					t.Fatalf("id %d behind %d, last %d", r.Offset, previous, last)
				}
				previous = r.Offset
				n++
			}
			if it.Err() != nil || n != count || previous != last {
				t.Fatalf("%d records of %d up to %d of %d: %v", n, count, previous, last, it.Err())
			}
		}
	})
}

// sealFuzzed gives bytes the length and the CRC of an entry, so that what is behind them is reached.
func sealFuzzed(b []byte) []byte {
	if len(b) < EntryHeaderSize {
		return b
	}
	return sealEntry(bytes.Clone(b))
}
