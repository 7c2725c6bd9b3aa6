package index

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func offsets(t *testing.T, base int64, entries ...OffsetEntry) []byte {
	t.Helper()
	var data []byte
	for _, e := range entries {
		var err error
		if data, err = AppendOffset(data, base, e); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func TestOffsetFloor(t *testing.T) {
	data := offsets(t, 1000, OffsetEntry{1009, 0}, OffsetEntry{5100, 4100}, OffsetEntry{9300, 8250})
	x := NewOffsets(1000, bytes.NewReader(data), int64(len(data))+3)
	if x.Len() != 3 {
		t.Fatalf("%d entries, want 3: a partial one does not count", x.Len())
	}
	tests := []struct {
		name string
		id   int64
		want OffsetEntry
		ok   bool
	}{
		{"before the first entry", 1008, OffsetEntry{}, false},
		{"exactly the first", 1009, OffsetEntry{1009, 0}, true},
		{"between two", 5099, OffsetEntry{1009, 0}, true},
		{"exactly a later one", 5100, OffsetEntry{5100, 4100}, true},
		{"the last", 9300, OffsetEntry{9300, 8250}, true},
		{"past the last", math.MaxInt64, OffsetEntry{9300, 8250}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := x.Floor(tt.id)
			if got != tt.want || ok != tt.ok || err != nil {
				t.Errorf("Floor(%d) = %v, %v, %v; want %v, %v", tt.id, got, ok, err, tt.want, tt.ok)
			}
		})
	}
	if e, ok, err := x.FloorPosition(8249); e.Position != 4100 || !ok || err != nil {
		t.Errorf("FloorPosition(8249) = %v, %v, %v; want position 4100", e, ok, err)
	}
}

func TestTimeBelow(t *testing.T) {
	var data []byte
	for _, e := range []TimeEntry{{100, 7}, {200, 19}, {300, 40}} {
		data, _ = AppendTime(data, 0, e)
	}
	x := NewTimes(0, bytes.NewReader(data), int64(len(data)))
	for timestamp, want := range map[int64]int64{50: -1, 100: -1, 101: 7, 200: 7, 201: 19, 1000: 40} {
		e, ok, err := x.Below(timestamp, math.MaxInt64)
		if err != nil || ok != (want >= 0) || ok && e.Last != want {
			t.Errorf("Below(%d) = %v, %v, %v; want id %d", timestamp, e, ok, err, want)
		}
	}
}

func TestAppendOutOfRange(t *testing.T) {
	for _, e := range []OffsetEntry{{9, 0}, {10 + math.MaxInt32 + 1, 0}, {10, -1}, {10, math.MaxInt32 + 1}} {
		if _, err := AppendOffset(nil, 10, e); !errors.Is(err, ErrRange) {
			t.Errorf("AppendOffset(%v): error %v, want ErrRange", e, err)
		}
	}
	if _, err := AppendTime(nil, 10, TimeEntry{Last: 9}); !errors.Is(err, ErrRange) {
		t.Errorf("AppendTime below the base: error %v, want ErrRange", err)
	}
}

func TestCheckOffsets(t *testing.T) {
	good := offsets(t, 0, OffsetEntry{9, 0}, OffsetEntry{99, 500})
	tests := []struct {
		name    string
		data    []byte
		logSize int64
		want    error
	}{
		{"good", good, 600, nil},
		{"empty", nil, 0, nil},
		{"partial entry", good[:13], 600, ErrSize},
		{"points past the log", good, 500, ErrOrder},
		{"twice the same", append(bytes.Clone(good), good[8:]...), 600, ErrOrder},
		{"zeros behind", append(bytes.Clone(good), make([]byte, 16)...), 600, ErrOrder},
		{"negative id", offsetBytes(0xffffffff, 0), 600, ErrOrder},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := CheckOffsets(0, tt.data, tt.logSize); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func offsetBytes(relative, position uint32) []byte {
	return []byte{byte(relative >> 24), byte(relative >> 16), byte(relative >> 8), byte(relative),
		byte(position >> 24), byte(position >> 16), byte(position >> 8), byte(position)}
}

// FuzzCheck feeds arbitrary bytes to both indexes. Invariants:
//   - no panic;
//   - an index that checks re-encodes to the same bytes;
//   - in an index that checks, Floor finds every entry by its own id, and finds the one before it for the id before.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{}, int64(0), int64(100))
	f.Add(offsetBytes(5, 0), int64(10), int64(100))
	f.Add(append(offsetBytes(5, 0), offsetBytes(9, 50)...), int64(10), int64(100))
	f.Add(append(offsetBytes(5, 0), offsetBytes(9, 50)...)[:11], int64(10), int64(100))
	f.Add(make([]byte, 48), int64(0), int64(1<<31))
	f.Add(offsetBytes(0x7fffffff, 0x7fffffff), int64(math.MaxInt64-10), int64(1<<32))
	f.Add(bytes.Repeat([]byte{0xff}, 24), int64(0), int64(1<<31))
	f.Fuzz(func(t *testing.T, data []byte, base, end int64) {
		if base < 0 || base > math.MaxInt64-math.MaxInt32 {
			return // no segment has such a base
		}
		if CheckOffsets(base, data, end) == nil {
			x := NewOffsets(base, bytes.NewReader(data), int64(len(data)))
			var again []byte
			previous := OffsetEntry{}
			for i := range x.Len() {
				e, err := x.At(i)
				if err != nil {
					t.Fatal(err)
				}
				if again, err = AppendOffset(again, base, e); err != nil {
					t.Fatal(err)
				}
				if got, ok, err := x.Floor(e.Last); got != e || !ok || err != nil {
					t.Fatalf("Floor(%d) = %v, %v, %v; want %v", e.Last, got, ok, err, e)
				}
				if got, ok, _ := x.Floor(e.Last - 1); ok != (i > 0) || got != previous {
					t.Fatalf("Floor(%d) = %v, %v; want %v", e.Last-1, got, ok, previous)
				}
				previous = e
			}
			if !bytes.Equal(again, data) {
				t.Fatalf("%x encodes to %x", data, again)
			}
		}
		if CheckTimes(base, data, end) == nil {
			x := NewTimes(base, bytes.NewReader(data), int64(len(data)))
			var again []byte
			for i := range x.Len() {
				e, err := x.At(i)
				if err != nil {
					t.Fatal(err)
				}
				if again, err = AppendTime(again, base, e); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(again, data) {
				t.Fatalf("%x encodes to %x", data, again)
			}
		}
	})
}

// The search comes to the same entry whatever part of the index it reads at once.
func TestFloorOfManyEntries(t *testing.T) {
	for _, n := range []int{0, 1, 2, 511, 512, 513, 1023, 1025, 5000} {
		entries := make([]OffsetEntry, n)
		var times []byte
		for i := range entries {
			entries[i] = OffsetEntry{Last: int64(10 + 3*i), Position: int64(100 * i)}
			times, _ = AppendTime(times, 10, TimeEntry{Timestamp: int64(7 * i), Last: entries[i].Last})
		}
		data := offsets(t, 10, entries...)
		x, y := NewOffsets(10, bytes.NewReader(data), int64(len(data))), NewTimes(10, bytes.NewReader(times), int64(len(times)))
		for i := -1; i < n; i++ {
			id := int64(10 + 3*i + 2)
			if e, ok, err := x.Floor(id); ok != (i >= 0) || ok && e != entries[i] || err != nil {
				t.Fatalf("%d entries: Floor(%d) = %v, %v, %v; want entry %d", n, id, e, ok, err, i)
			}
			if e, ok, err := x.FloorPosition(int64(100*i + 99)); ok != (i >= 0) || ok && e != entries[i] || err != nil {
				t.Fatalf("%d entries: FloorPosition = %v, %v, %v; want entry %d", n, e, ok, err, i)
			}
			if e, ok, err := y.Below(int64(7*i+1), math.MaxInt64); ok != (i >= 0) || ok && e.Last != entries[i].Last || err != nil {
				t.Fatalf("%d entries: Below = %v, %v, %v; want entry %d", n, e, ok, err, i)
			}
			if e, ok, err := y.Below(math.MaxInt64, id); ok != (i >= 0) || ok && e.Last != entries[i].Last || err != nil {
				t.Fatalf("%d entries: Below up to %d = %v, %v, %v; want entry %d", n, id, e, ok, err, i)
			}
		}
	}
}
