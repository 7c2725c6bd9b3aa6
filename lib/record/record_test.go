package record

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var codecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// awkward are records that each tread on something. Offsets are as a batch with base offset 0 has them.
func awkward() []Record {
	records := []Record{
		{Timestamp: 1_700_000_000_000, Key: nil, Value: nil},
		{Timestamp: 1_700_000_000_001, Key: []byte{}, Value: []byte{}},
		{Timestamp: 1_600_000_000_000, Key: []byte("key"), Value: []byte("before the first record")},
		{Timestamp: -1, Value: []byte{0, 0xff, '\n'}},
		{Timestamp: math.MaxInt64, Key: []byte("k")},
		{Timestamp: math.MinInt64, Value: []byte("v")},
		{Headers: []Field{{"a", []byte("1")}, {"a", []byte("1")}, {"a", nil}, {"", []byte{}}, {"\xff", []byte("x")}}},
		{Headers: []Field{{"b", nil}, {"a", []byte("2")}}},
		{Value: []byte(strings.Repeat("a line of some length ", 2_000))},
		{Key: []byte(strings.Repeat("k", 63)), Value: []byte(strings.Repeat("v", 64))},
	}
	for i := range records {
		records[i].Offset = int64(i)
	}
	return records
}

func build(t testing.TB, codec Codec, records []Record) []byte {
	t.Helper()
	b := NewBuilder(codec)
	for i, r := range records {
		before, want := b.Size(), b.SizeWith(r)
		b.Append(r)
		if b.Size() != want {
			t.Fatalf("record %d: SizeWith said %d, it is %d", i, want, b.Size())
		}
		if most := RecordSize(r, i); b.Size()-before > most {
			t.Fatalf("record %d: RecordSize said at most %d, it is %d", i, most, b.Size()-before)
		}
	}
	batch, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func read(t testing.TB, it *Iterator, batch []byte) []Record {
	t.Helper()
	if err := it.Reset(batch); err != nil {
		t.Fatal(err)
	}
	var records []Record
	for r := (Record{}); it.Next(&r); {
		records = append(records, r)
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	return records
}

func TestRoundTrip(t *testing.T) {
	var it Iterator
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			batch := build(t, codec, awkward())
			h, err := Validate(batch, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want := Header{
				Length: int32(len(batch) - 12), LeaderEpoch: -1, Magic: 2, CRC: h.CRC, Attributes: Attributes(codec),
				LastOffsetDelta: 9, BaseTimestamp: 1_700_000_000_000, MaxTimestamp: math.MaxInt64,
				ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, Count: 10,
			}
			if diff := cmp.Diff(want, h); diff != "" {
				t.Error("header (-want +got):", diff)
			}
			if diff := cmp.Diff(awkward(), read(t, &it, batch)); diff != "" {
				t.Error("records (-want +got):", diff)
			}
		})
	}
}

func TestBaseOffset(t *testing.T) {
	batch := build(t, Zstd, awkward())
	SetBaseOffset(batch, 1<<40)
	SetLeaderEpoch(batch, 7)
	var it Iterator
	records := read(t, &it, batch)
	if first, last := records[0].Offset, records[9].Offset; first != 1<<40 || last != 1<<40+9 {
		t.Errorf("ids %d to %d, want 1<<40 and nine more", first, last)
	}
	if h := it.Header(); h.LeaderEpoch != 7 || h.LastOffset() != 1<<40+9 {
		t.Errorf("leader epoch %d, last id %d", h.LeaderEpoch, h.LastOffset())
	}
}

// A compressed batch may hold more records than it has bytes: ids would overlap if they went on by bytes alone.
func TestNextBase(t *testing.T) {
	records := make([]Record, 10_000)
	for i := range records {
		records[i] = Record{Offset: int64(i), Timestamp: 1, Value: []byte("x")}
	}
	batch := build(t, Zstd, records)
	if len(batch) >= len(records) {
		t.Fatalf("%d bytes for %d records: this tests nothing", len(batch), len(records))
	}
	h, err := Validate(batch, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if h.NextBase() != 10_000 {
		t.Errorf("next base %d behind %d records in %d bytes", h.NextBase(), len(records), len(batch))
	}
	var it Iterator
	if got := read(t, &it, batch); len(got) != len(records) {
		t.Errorf("%d records, want %d", len(got), len(records))
	}
	tests := []struct {
		name       string
		h          Header
		last, next int64
	}{
		{"bytes", Header{BaseOffset: 100, Length: 88, LastOffsetDelta: 98}, 198, 200},
		{"as many records", Header{BaseOffset: 100, Length: 88, LastOffsetDelta: 99}, 199, 200},
		{"records", Header{BaseOffset: 100, Length: 88, LastOffsetDelta: 100}, 200, 201},
		{"end of all ids", Header{BaseOffset: math.MaxInt64 - 50, Length: 88, LastOffsetDelta: 51}, math.MaxInt64, math.MaxInt64},
		{"largest", Header{Length: math.MaxInt32, LastOffsetDelta: math.MaxInt32}, math.MaxInt32, math.MaxInt32 + 12},
		{"damaged", Header{BaseOffset: math.MinInt64, Length: 88, LastOffsetDelta: -1}, math.MinInt64, math.MinInt64 + 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if last, next := tt.h.LastOffset(), tt.h.NextBase(); last != tt.last || next != tt.next {
				t.Errorf("last id %d, next base %d; want %d, %d", last, next, tt.last, tt.next)
			}
		})
	}
}

func ExampleBuilder() {
	b := NewBuilder(None)
	b.Append(Record{Timestamp: 1, Key: []byte("k"), Value: []byte("v")})
	batch, err := b.Finish(nil)
	fmt.Println(len(batch), err)
	// Output: 70 <nil>
}
