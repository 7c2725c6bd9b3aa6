package record

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFinishAppends(t *testing.T) {
	for _, codec := range codecs {
		b := NewBuilder(codec)
		for _, r := range benchRecords(50) {
			b.Append(r)
		}
		batch, err := b.Finish([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		batch, found := bytes.CutPrefix(batch, []byte("before"))
		if h, err := Validate(batch, Limits{}); err != nil || !found || h.Attributes.Codec() != codec {
			t.Errorf("%v: %v, codec %v, behind what was there: %v", codec, err, h.Attributes.Codec(), found)
		}
		if b.Len() != 50 {
			t.Errorf("%v: %d records left by Finish, want all", codec, b.Len())
		}
		b.Reset()
		if b.Len() != 0 || b.Size() != HeaderSize {
			t.Errorf("%v: %d records, %d bytes after Reset", codec, b.Len(), b.Size())
		}
		b.Append(Record{Timestamp: 3, Value: bytes.Repeat([]byte("again "), 50)})
		batch, err = b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := Validate(batch, Limits{}); err != nil || h.BaseTimestamp != 3 || h.MaxTimestamp != 3 {
			t.Errorf("%v: used again: %v, timestamps %d to %d", codec, err, h.BaseTimestamp, h.MaxTimestamp)
		}
	}
}

func TestFinishRefuses(t *testing.T) {
	dst := []byte("before")
	got, err := NewBuilder(None).Finish(dst)
	wantError(t, "no records", err, ErrInvalid)
	if !bytes.Equal(got, dst) {
		t.Errorf("dst became %q", got)
	}
	b := NewBuilder(Codec(5))
	b.Append(Record{Value: []byte("v")})
	got, err = b.Finish(dst)
	wantError(t, "codec 5", err, ErrCodec)
	if !bytes.Equal(got, dst) {
		t.Errorf("dst became %q", got)
	}
	b.Codec = Codec(-1)
	_, err = b.Finish(nil)
	wantError(t, "codec -1", err, ErrCodec)
}

// librdkafka sends a batch uncompressed when compression would make it larger, and so do we.
func TestFinishDoesNotGrow(t *testing.T) {
	for _, codec := range codecs {
		batch := build(t, codec, []Record{{Value: []byte("v")}})
		h, err := Validate(batch, Limits{})
		if err != nil || h.Attributes.Codec() != None || len(batch) != HeaderSize+8 {
			t.Errorf("%v: %d bytes, codec %v, %v", codec, len(batch), h.Attributes.Codec(), err)
		}
	}
}

// Timestamps that are further apart than an int64 can say wrap around, and come back.
func TestTimestampsWrap(t *testing.T) {
	records := []Record{{Timestamp: math.MinInt64}, {Offset: 1, Timestamp: math.MaxInt64}, {Offset: 2, Timestamp: 0}}
	var it Iterator
	if diff := cmp.Diff(records, read(t, &it, build(t, None, records))); diff != "" {
		t.Error("(-want +got):", diff)
	}
}

// What Next has given stays as it was until the following Reset, whatever is read in between.
func TestRecordsStay(t *testing.T) {
	records := make([]Record, 3*fieldsChunk)
	for i := range records {
		records[i] = Record{Offset: int64(i), Key: fmt.Append(nil, i), Headers: []Field{{"same", fmt.Append(nil, -i)}, {fmt.Sprint(i), nil}}}
	}
	records[5].Headers = make([]Field, 2*fieldsChunk)
	var it Iterator
	for _, codec := range []Codec{Zstd, None} {
		got := read(t, &it, build(t, codec, records))
		if diff := cmp.Diff(records[len(records)-10:], got[len(got)-10:]); diff != "" {
			t.Error("(-want +got):", diff)
		}
		for i := range records {
			if !cmp.Equal(records[i], got[i]) {
				t.Fatalf("record %d: %v, want %v", i, got[i], records[i])
			}
		}
		got[0].Headers = append(got[0].Headers, Field{})
		if got[1].Headers[0].Name != "same" {
			t.Error("appending to the headers of one record reaches those of the next")
		}
	}
}

func TestNoAllocations(t *testing.T) {
	records := benchRecords(100)
	for i := range records {
		records[i].Headers = []Field{{"name", []byte("value")}}
	}
	batch := build(t, None, records)
	b := NewBuilder(None)
	dst := make([]byte, 0, len(batch))
	var it Iterator
	tests := []struct {
		name string
		most float64
		run  func()
	}{
		{"build", 0, func() {
			b.Reset()
			for i := range records {
				b.Append(records[i])
			}
			_, _ = b.Finish(dst)
		}},
		{"iterate", 1, func() { _ = drain(&it, batch) }}, // the name of the header, once a batch
		{"validate", 0, func() { _, _ = Validate(batch, Limits{}) }},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(10, tt.run); got > tt.most {
			t.Errorf("%s: %v allocations, at most %v", tt.name, got, tt.most)
		}
	}
}
