package client

import (
	"bytes"
	"slices"
	"testing"

	"logkit/lib/record"
)

// FuzzScan gives scan arbitrary bytes for the records of a fetch:
//
//   - no panic, and nothing is allocated but the list of batches
//   - each batch is part of the data, checks, and does not end below the position
//   - the position never goes back, and goes on when a batch was taken or left out
//   - nothing found means a reason: nothing was there, more bytes are needed, there is no batch, or only what ends below
func FuzzScan(f *testing.F) {
	b := record.NewBuilder(record.None)
	b.Append(record.Record{Value: []byte("one")})
	b.Append(record.Record{Value: []byte("two")})
	batch, err := b.Finish(nil)
	if err != nil {
		f.Fatal(err)
	}
	next := bytes.Clone(batch)
	record.SetBaseOffset(next, int64(len(batch)))
	both := slices.Concat(batch, next)
	flipped := bytes.Clone(both)
	flipped[70] ^= 1
	huge := bytes.Clone(both)
	copy(huge[8:], "\x7f\xff\xff\xff")
	for _, seed := range [][]byte{nil, batch, both, both[:len(both)-1], flipped, huge, make([]byte, 200), bytes.Repeat([]byte{0xff}, 200)} {
		f.Add(seed, int64(0), int64(-1))
		f.Add(seed, int64(1), int64(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, pos, reported int64) {
		pos = max(0, pos) & (1<<62 - 1)
		s := scan(data, pos, reported)
		for _, batch := range s.batches {
			h, err := record.ParseHeader(batch)
			if err != nil || record.CheckCRC(batch) != nil || h.LastOffset() < pos || !bytes.Contains(data, batch) {
				t.Fatalf("batch %x", batch)
			}
		}
		taken := len(s.batches) + len(s.damage)
		if s.next < pos || taken > 0 && s.next == pos {
			t.Fatalf("from %d to %d with %d batches", pos, s.next, taken)
		}
		if taken > 0 && (s.size > 0 || s.lost != nil) {
			t.Fatalf("%+v", s)
		}
	})
}
