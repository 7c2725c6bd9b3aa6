package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// oneBatchEach opens a log in which every batch has a segment of its own, with n of them.
func oneBatchEach(t *testing.T, dir string, n int, options Options) (*Log, []record.Header) {
	t.Helper()
	options.SegmentBytes = 1
	l := openTest(t, vfs.OS, dir, options, Checkpoint{})
	var headers []record.Header
	for i := range n {
		headers = append(headers, mustAppend(t, l, true, number(10+i), number(-10-i)))
	}
	return l, headers
}

func segments(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+segment.LogSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// A segment rolls by age, counted from its first append; one that has none does not (Kafka 0.7, LogTest).
func TestRollByAge(t *testing.T) {
	dir := t.TempDir()
	l := openTest(t, vfs.OS, dir, Options{SegmentAge: time.Nanosecond}, Checkpoint{})
	for i := 1; i <= 3; i++ {
		mustAppend(t, l, true, "x")
		if n := segments(t, dir); n != i {
			t.Errorf("%d segments after %d appends, want %d", n, i, i)
		}
	}
	l.SetOptions(Options{SegmentAge: time.Hour})
	mustAppend(t, l, true, "x")
	if n := segments(t, dir); n != 3 {
		t.Errorf("%d segments, want 3: the last is not an hour old", n)
	}
}

// A restart makes a segment no younger: else one of a topic with few records would never end, and never expire, on a machine
// that is restarted now and then.
func TestRollByAgeAfterRestart(t *testing.T) {
	memory := crashfs.New(1)
	if err := memory.MkdirAll("/log"); err != nil {
		t.Fatal(err)
	}
	for _, fsys := range []vfs.FS{vfs.OS, memory} {
		for _, orderly := range []bool{true, false} {
			dir := t.TempDir()
			if fsys == memory {
				dir = fmt.Sprintf("/log%v", orderly)
				if err := memory.MkdirAll(dir); err != nil {
					t.Fatal(err)
				}
			}
			l := openTest(t, fsys, dir, Options{}, Checkpoint{})
			mustAppend(t, l, true, "x")
			clean, err := l.Close()
			if err != nil {
				t.Fatal(err)
			}
			if !orderly {
				clean = nil
			}
			l = openTest(t, fsys, dir, Options{SegmentAge: time.Nanosecond}, Checkpoint{Clean: clean})
			for want := 2; want <= 3; want++ {
				mustAppend(t, l, true, "y")
				if _, n, err := l.Size(); n != want || err != nil {
					t.Errorf("%T, orderly %v: %d segments, %v; want %d", fsys, orderly, n, err, want)
				}
			}
		}
	}
}

func TestRetainByBytes(t *testing.T) {
	dir := t.TempDir()
	l, headers := oneBatchEach(t, dir, 10, Options{})
	size := headers[0].Size()
	for _, keep := range []int64{10*size + 1, 10 * size, 9*size + 1, 6 * size, 1} {
		n, bytes, err := l.Retain(Retention{Bytes: keep}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		left := segments(t, dir)
		if got := int64(left) * size; got < min(keep, 10*size) && left > 1 || got >= keep+size && left > 1 {
			t.Errorf("keep %d bytes: %d are left (%d segments, %d bytes went)", keep, got, n, bytes)
		}
		first := headers[10-left]
		if p := l.Positions(); left < 10 && p.Start != headers[9-left].LastOffset()+1 {
			t.Errorf("keep %d bytes: start %d, want %d: the last deleted id + 1", keep, p.Start, headers[9-left].LastOffset()+1)
		}
		if got, _ := record.ParseHeader(read(t, l, l.Positions().Start, 1)); got.BaseOffset != first.BaseOffset {
			t.Errorf("keep %d bytes: the first batch is %d, want %d", keep, got.BaseOffset, first.BaseOffset)
		}
	}
	if n := segments(t, dir); n != 1 {
		t.Errorf("%d segments, want the last one", n)
	}
}

// Age is that of the last append to a segment, not of its records: theirs are of 1970 here.
func TestRetainByAge(t *testing.T) {
	dir := t.TempDir()
	l, headers := oneBatchEach(t, dir, 5, Options{})
	now := time.Now()
	for i, h := range headers {
		age := now.Add(-time.Duration(10-i) * time.Hour)
		if err := os.Chtimes(segment.Path(dir, h.BaseOffset)+segment.LogSuffix, age, age); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := l.Retain(Retention{Age: 9*time.Hour - time.Minute}, now); n != 2 || err != nil {
		t.Errorf("%d segments went, %v; want the 2 of 9 and 10 hours", n, err)
	}
	end := l.Positions()
	for range 2 { // everything expires: the last one rolls first, and ids go on
		if _, _, err := l.Retain(Retention{Age: time.Minute}, now); err != nil {
			t.Fatal(err)
		}
		if p := l.Positions(); p.Start != end.HighWatermark || p.HighWatermark != end.HighWatermark || p.End != end.End {
			t.Errorf("positions %+v after everything expired, before %+v", p, end)
		}
		if n := segments(t, dir); n != 1 {
			t.Errorf("%d segments, want an empty one", n)
		}
	}
	if h := mustAppend(t, l, true, "after"); h.BaseOffset != end.End {
		t.Errorf("base id %d, want %d", h.BaseOffset, end.End)
	}
}

func TestDeleteBefore(t *testing.T) {
	dir := t.TempDir()
	var saved []int64
	l, headers := oneBatchEach(t, dir, 5, Options{SaveStart: func(start int64) error {
		saved = append(saved, start)
		if len(saved) == 2 {
			return errors.New("no")
		}
		return nil
	}})
	middle := headers[2].BaseOffset + 1 // the second record of its batch
	if start, err := l.DeleteBefore(middle); start != middle || err != nil {
		t.Fatalf("start %d, %v; want %d", start, err, middle)
	}
	if n := segments(t, dir); n != 3 {
		t.Errorf("%d segments, want 3: the one with the start in it stays", n)
	}
	if _, err := l.Read(middle-1, 1); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("read below the start: %v, want ErrOutOfRange", err)
	}
	if h, _ := record.ParseHeader(read(t, l, middle, 1)); h.BaseOffset != headers[2].BaseOffset {
		t.Errorf("read at the start: batch %d, want %d", h.BaseOffset, headers[2].BaseOffset)
	}
	if start, err := l.DeleteBefore(0); start != middle || err != nil {
		t.Errorf("below the start: %d, %v; want no change", start, err)
	}
	if _, err := l.DeleteBefore(headers[4].LastOffset() + 1); err == nil || segments(t, dir) != 3 {
		t.Errorf("error %v, %d segments: nothing may go that is not remembered", err, segments(t, dir))
	}
	high := l.Positions().HighWatermark
	if _, err := l.DeleteBefore(high + 1); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("above the high watermark: %v, want ErrOutOfRange", err)
	}
	if start, err := l.DeleteBefore(high); start != high || err != nil {
		t.Errorf("all: %d, %v; want %d", start, err, high)
	}
	if got := fmt.Sprint(saved); got != fmt.Sprint([]int64{middle, high, high}) {
		t.Errorf("remembered %s", got)
	}
}

// Whoever reads a segment that is deleted may finish; whoever comes later is out of range.
func TestReaderOfDeletedSegment(t *testing.T) {
	l, headers := oneBatchEach(t, t.TempDir(), 3, Options{})
	s, err := l.Read(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := l.DeleteBefore(headers[2].BaseOffset); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, s.Len)
	if _, err := s.Handle.ReadAt(data, s.Pos); err != nil || record.CheckCRC(data) != nil {
		t.Errorf("the reader could not finish: %v", err)
	}
	if _, err := l.Read(0, 1); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("a later reader: %v, want ErrOutOfRange", err)
	}
}

func TestLookupTime(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{SegmentBytes: 300}, Checkpoint{})
	if _, ok, err := l.LatestTime(); ok || err != nil {
		t.Errorf("the latest of an empty log: %v, %v", ok, err)
	}
	var all []Stamp
	for _, stamps := range [][]int64{{10, 20}, {15, 5, 40}, {30}, {40, 40}, {99999, 1}, {50}, {60, 55}} {
		b := record.NewBuilder(record.Zstd)
		for _, ts := range stamps {
			b.Append(record.Record{Timestamp: ts, Value: []byte("v")})
		}
		data, err := b.Finish(nil)
		if err != nil {
			t.Fatal(err)
		}
		h, err := record.ParseHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		base, err := l.Append(data, h, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.WaitVisible(t.Context(), base); err != nil {
			t.Fatal(err)
		}
		for i, ts := range stamps {
			all = append(all, Stamp{base + int64(i), ts})
		}
	}
	for range 2 {
		for ts := int64(0); ts < 70; ts++ {
			check(t, l, all, ts)
		}
		check(t, l, all, 99999)
		check(t, l, all, 100000)
		if _, err := l.DeleteBefore(all[4].ID); err != nil { // in the middle of the second batch
			t.Fatal(err)
		}
	}
	if got, ok, err := l.LatestTime(); got.Timestamp != 99999 || !ok || err != nil {
		t.Errorf("latest %v, %v, %v", got, ok, err)
	}
}

func check(t *testing.T, l *Log, all []Stamp, timestamp int64) {
	t.Helper()
	want, found := Stamp{}, false
	for _, s := range all {
		if s.ID >= l.Positions().Start && s.Timestamp >= timestamp {
			want, found = s, true
			break
		}
	}
	got, ok, err := l.LookupTime(timestamp)
	if got != want || ok != found || err != nil {
		t.Errorf("time %d from id %d: %v, %v, %v; want %v, %v", timestamp, l.Positions().Start, got, ok, err, want, found)
	}
}
