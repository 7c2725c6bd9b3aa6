package commitlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// The list of first ids in the paper's figure: a segment that ends with the message at 14516809, the next one begins at
// 14517018, and every id between the two belongs to the first.
func TestFirstIDsOfThePaper(t *testing.T) {
	bases := []int64{0, 14516600, 14517018, 30706778}
	at := func(i int) int64 { return bases[i] }
	for id, want := range map[int64]int64{
		0: 0, 215: 0, 14516599: 0, 14516600: 14516600, 14516809: 14516600, 14517017: 14516600,
		14517018: 14517018, 14517019: 14517018, 30706777: 14517018, 30706778: 30706778, 1 << 62: 30706778,
	} {
		if got := bases[floor(len(bases), at, id)]; got != want {
			t.Errorf("id %d: segment %d, want %d", id, got, want)
		}
	}
	if i := floor(1, func(int) int64 { return 100 }, 5); i != 0 {
		t.Errorf("below the only segment: %d, want 0", i)
	}
}

func TestIDsAreBytePositions(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{}, Checkpoint{})
	next := int64(0)
	for range 5 {
		h := mustAppend(t, l, true, strings.Repeat("x", 200))
		if h.BaseOffset != next {
			t.Fatalf("base id %d, want %d: the one before plus its bytes", h.BaseOffset, next)
		}
		if p := l.Positions(); p.HighWatermark != h.BaseOffset+1 || p.End != h.BaseOffset+h.Size() {
			t.Fatalf("positions %+v after the batch of %d bytes at %d", p, h.Size(), h.BaseOffset)
		}
		next = h.BaseOffset + h.Size()
	}
	h := mustAppend(t, l, true, "a", "b", "c")
	if h.BaseOffset != next || h.LastOffset() != next+2 || l.Positions().HighWatermark != next+3 {
		t.Errorf("batch of three at %d..%d, high watermark %d; want %d..%d, %d",
			h.BaseOffset, h.LastOffset(), l.Positions().HighWatermark, next, next+2, next+3)
	}
}

// A compressed batch may hold more records than bytes; its ids may not overlap with those of the next.
func TestMoreRecordsThanBytes(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{}, Checkpoint{})
	values := slices.Repeat([]string{"x"}, 10000)
	data, h := batch(t, record.Zstd, values...)
	if h.Size() >= int64(len(values)) {
		t.Fatalf("batch of %d bytes does not show the case", h.Size())
	}
	if _, err := l.Append(data, h, true); err != nil {
		t.Fatal(err)
	}
	after := mustAppend(t, l, true, "behind")
	if after.BaseOffset != 10000 {
		t.Errorf("next base %d, want 10000", after.BaseOffset)
	}
	equal(t, valuesOf(t, readAll(t, l)), append(values, "behind"))
	equal(t, valuesOf(t, split(t, read(t, l, 9999, 1)))[9999:], []string{"x"})
}

func TestReadPositions(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{FlushInterval: time.Hour}, Checkpoint{})
	first := mustAppend(t, l, true, "a", "b", "c")
	second := mustAppend(t, l, true, "d")
	hidden := mustAppend(t, l, false, "e")
	tests := []struct {
		name string
		id   int64
		want string // values from there on, or why not
	}{
		{"the start", 0, "abcd"},
		{"inside the first batch", 2, "abcd"},
		{"in the gap behind it", first.LastOffset() + 1, "d"},
		{"just before the second", second.BaseOffset - 1, "d"},
		{"the second", second.BaseOffset, "d"},
		{"the high watermark", second.LastOffset() + 1, ""},
		{"in the gap above the high watermark", hidden.BaseOffset - 1, ""},
		{"appended and not flushed", hidden.BaseOffset, ""},
		{"the end", l.Positions().End, ""},
		{"beyond the end", l.Positions().End + 1, "out of range"},
		{"negative", -1, "out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := l.Read(tt.id, 1000)
			s.Release()
			if tt.want == "out of range" {
				var out *OutOfRangeError
				if !errors.As(err, &out) || out.Start != 0 || out.End != second.LastOffset()+1 {
					t.Fatalf("error %v, want one that names [0, %d]", err, second.LastOffset()+1)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(valuesOf(t, split(t, read(t, l, tt.id, 1000))), ""); got != tt.want {
				t.Errorf("read %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRollAndFindEveryID(t *testing.T) {
	dir := t.TempDir()
	l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 700}, Checkpoint{})
	var headers []record.Header
	var want []string
	for i := range 60 {
		n := 1 + i%4
		var values []string
		for j := range n {
			values = append(values, fmt.Sprintf("%d.%d", i, j))
		}
		want = append(want, values...)
		headers = append(headers, mustAppend(t, l, i%3 == 0, values...))
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	equal(t, valuesOf(t, readAll(t, l)), want)
	if n := len(l.view.Load().segments); n < 8 {
		t.Fatalf("%d segments: did not roll", n)
	}
	for i, h := range headers {
		for id := h.BaseOffset; id < h.NextBase(); id++ {
			expect := h.BaseOffset
			if id > h.LastOffset() {
				if i+1 == len(headers) {
					break
				}
				expect = headers[i+1].BaseOffset
			}
			got, err := record.ParseHeader(read(t, l, id, 1))
			if err != nil || got.BaseOffset != expect {
				t.Fatalf("id %d: batch %d, %v; want batch %d", id, got.BaseOffset, err, expect)
			}
		}
	}
}

func TestReadReturnsWholeBatches(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{}, Checkpoint{})
	size := int64(0)
	for i := range 100 {
		size = mustAppend(t, l, i == 99, strings.Repeat("v", 30)).Size()
	}
	for _, max := range []int64{0, 1, size - 1, size, size + 1, 3 * size, 10*size + 5, 1000 * size} {
		got := read(t, l, 0, max)
		n := int64(len(split(t, got)))
		if n < 1 || n > 1 && n*size > max {
			t.Errorf("at most %d bytes: %d batches of %d", max, n, size)
		}
		if fit := min(100, max/size); n < fit-7 { // an index entry each 200 bytes: less than two batches are given away
			t.Errorf("at most %d bytes: %d batches of %d, %d fit", max, n, size, fit)
		}
	}
}

// TestReadTellsOfMore: a slice that ends with its segment says whether something follows that is visible.
func TestReadTellsOfMore(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{SegmentBytes: 300, FlushInterval: time.Hour}, Checkpoint{})
	var size int64
	for range 12 {
		size = mustAppend(t, l, true, strings.Repeat("v", 30)).Size()
	}
	more := func(id, maxBytes int64) bool {
		t.Helper()
		s, err := l.Read(id, maxBytes)
		if err != nil || s.Len == 0 {
			t.Fatalf("id %d: %d bytes, %v", id, s.Len, err)
		}
		s.Release()
		return s.More
	}
	last := l.view.Load().segments
	begins := last[len(last)-1].Base()
	for id := int64(0); id < l.Positions().HighWatermark; id += size {
		if got, want := more(id, 1<<20), id < begins; got != want {
			t.Errorf("from id %d on: more %v, the last segment begins at %d", id, got, begins)
		}
	}
	if more(0, size) {
		t.Error("what is cut by its length does not end with its segment")
	}
	for len(l.view.Load().segments) == len(last) { // begin a segment of which nothing is visible
		mustAppend(t, l, false, strings.Repeat("v", 30))
	}
	if more(begins, 1<<20) {
		t.Error("what follows is not visible yet")
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if !more(begins, 1<<20) {
		t.Error("nothing follows, although it is visible")
	}
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(newEnv(t, vfs.OS), dir, Options{SegmentBytes: 500}, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for round := range 6 {
		for i := range 7 {
			want = append(want, fmt.Sprint(round, i))
			mustAppend(t, l, true, fmt.Sprint(round, i))
		}
		before := l.Positions()
		clean, err := l.Close()
		if err != nil {
			t.Fatal(err)
		}
		from := Checkpoint{Clean: clean}
		if round%2 == 1 {
			from = Checkpoint{} // as after a crash
		}
		if l, err = Open(newEnv(t, vfs.OS), dir, Options{SegmentBytes: 500}, from); err != nil {
			t.Fatal(err)
		}
		if p := l.Positions(); p != before {
			t.Fatalf("round %d: positions %+v after reopening, %+v before", round, p, before)
		}
		equal(t, valuesOf(t, readAll(t, l)), want)
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	verify(t, vfs.OS, dir)
	if _, err := l.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("second Close: %v, want ErrClosed", err)
	}
	if data, h := batch(t, record.None, "x"); true {
		if _, err := l.Append(data, h, false); !errors.Is(err, ErrClosed) {
			t.Errorf("Append after Close: %v, want ErrClosed", err)
		}
	}
}

// Each row damages the end of a log in some way and says what must survive.
func TestRecovery(t *testing.T) {
	tests := []struct {
		name   string
		damage func(data []byte) []byte
		want   int // of ten batches
	}{
		{"nothing", func(d []byte) []byte { return d }, 10},
		{"one byte more", func(d []byte) []byte { return append(d, 0) }, 10},
		{"zeros behind", func(d []byte) []byte { return append(d, make([]byte, 5000)...) }, 10},
		{"garbage behind", func(d []byte) []byte { return append(d, []byte(strings.Repeat("garbage", 50))...) }, 10},
		{"last byte missing", func(d []byte) []byte { return d[:len(d)-1] }, 9},
		{"only a header of the last", func(d []byte) []byte { return d[:len(d)-len(d)/10+61] }, 9},
		{"last byte wrong", func(d []byte) []byte { d[len(d)-1] ^= 1; return d }, 9},
		{"fifth batch wrong", func(d []byte) []byte { d[len(d)/10*4+70] ^= 1; return d }, 4},
		{"length of the fifth huge", func(d []byte) []byte { d[len(d)/10*4+8] = 0x7f; return d }, 4},
		{"length of the fifth negative", func(d []byte) []byte { d[len(d)/10*4+8] = 0x80; return d }, 4},
		{"first batch wrong", func(d []byte) []byte { d[16] = 9; return d }, 0},
		{"empty", func([]byte) []byte { return nil }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := Open(newEnv(t, vfs.OS), dir, Options{}, Checkpoint{})
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for i := range 10 {
				values = append(values, number(i))
				mustAppend(t, l, true, number(i))
			}
			l.Close()
			path := segment.Path(dir, 0) + segment.LogSuffix
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tt.damage(data), 0o644); err != nil {
				t.Fatal(err)
			}
			l = openTest(t, vfs.OS, dir, Options{}, Checkpoint{})
			equal(t, valuesOf(t, readAll(t, l)), values[:tt.want])
			mustAppend(t, l, true, "after")
			equal(t, valuesOf(t, readAll(t, l)), append(slices.Clone(values[:tt.want]), "after"))
		})
	}
}

// Below the recovery point nothing is cut: what is damaged there is reported, and the rest is served.
func TestDamageBelowRecoveryPointIsKept(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(newEnv(t, vfs.OS), dir, Options{}, Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		mustAppend(t, l, true, number(i))
	}
	point := l.Positions().HighWatermark
	l.Close()
	path := segment.Path(dir, 0) + segment.LogSuffix
	data, _ := os.ReadFile(path)
	size := len(data)
	data[size/10*4+16] = 77 // the magic byte of the fifth batch
	os.WriteFile(path, append(data, "torn"...), 0o644)
	os.Remove(segment.Path(dir, 0) + segment.IndexSuffix)

	l, err = Open(newEnv(t, vfs.OS), dir, Options{}, Checkpoint{RecoveryPoint: point})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Size() != int64(size) {
		t.Fatalf("%d bytes left, want %d: the torn tail cut and nothing else", info.Size(), size)
	}
	s, err := l.Read(int64(size/10*5), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if s.Pos != int64(size/10*5) {
		t.Errorf("the sixth batch found at %d, want %d", s.Pos, size/10*5)
	}
}

// Many readers follow one writer over many segments; each sees every record once and in order.
func TestReadersBesideWriter(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{SegmentBytes: 2000, FlushMessages: 3}, Checkpoint{})
	const total = 600
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			hint := make(chan struct{}, 1)
			l.Watch(hint)
			defer l.Unwatch(hint)
			next := 0
			for id := int64(0); next < total; {
				data := read(t, l, id, rand.Int64N(900))
				if data == nil {
					<-hint
					continue
				}
				batches := split(t, data)
				for _, v := range valuesOf(t, batches) {
					if v != number(next) {
						t.Errorf("value %q, want %q", v, number(next))
						return
					}
					next++
				}
				h, _ := record.ParseHeader(batches[len(batches)-1])
				id = h.LastOffset() + 1
			}
		})
	}
	for i := range total {
		mustAppend(t, l, i%50 == 49, number(i))
	}
	if err := l.Flush(); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// TestSize counts bytes and segments as they are appended, flushed or not.
func TestSize(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{SegmentBytes: 200, FlushInterval: time.Hour}, Checkpoint{})
	want := int64(0)
	for range 5 {
		data, h := batch(t, record.None, strings.Repeat("x", 40))
		if _, err := l.Append(data, h, false); err != nil {
			t.Fatal(err)
		}
		want += h.Size()
	}
	bytes, segments, err := l.Size()
	if v := l.view.Load(); err != nil || bytes != want || segments != len(v.segments) || segments < 2 {
		t.Errorf("%d bytes in %d segments, %v; want %d in %d, more than one", bytes, segments, err, want, len(v.segments))
	}
}
