package commitlog

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// appendStamped appends a batch whose records have the given timestamps, and returns their stamps.
func appendStamped(t testing.TB, l *Log, flush bool, timestamps ...int64) (stamps []Stamp) {
	t.Helper()
	b := record.NewBuilder(record.None)
	for _, ts := range timestamps {
		b.Append(record.Record{Timestamp: ts, Value: []byte("value")})
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	base, err := l.Append(data, h, flush)
	if err == nil && flush {
		err = l.WaitVisible(t.Context(), base)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, ts := range timestamps {
		stamps = append(stamps, Stamp{base + int64(i), ts})
	}
	return stamps
}

// latestOf is the stamp that LatestTime must find.
func latestOf(stamps []Stamp, start int64) (latest Stamp, ok bool) {
	for _, s := range stamps {
		if s.ID >= start && (!ok || s.Timestamp > latest.Timestamp) {
			latest, ok = s, true
		}
	}
	return latest, ok
}

func checkLatest(t *testing.T, l *Log, visible []Stamp) {
	t.Helper()
	want, found := latestOf(visible, l.Positions().Start)
	if got, ok, err := l.LatestTime(); got != want || ok != found || err != nil {
		t.Errorf("start %d: latest is %v, %v, %v; want %v, %v", l.Positions().Start, got, ok, err, want, found)
	}
}

// What is not flushed has index entries already. They may not lead past the latest of what is visible.
func TestLatestTimeOfVisibleRecords(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{FlushInterval: time.Hour}, Checkpoint{})
	var visible []Stamp
	for i := range int64(40) {
		visible = append(visible, appendStamped(t, l, false, 1000-i, 900-i)...)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	checkLatest(t, l, visible)
	for i := range int64(40) {
		appendStamped(t, l, false, 2000+i)
		checkLatest(t, l, visible)
	}
}

// Records below the start count no more, also when they are in a segment, or in a batch, that is there still.
func TestLatestTimeBehindTheStart(t *testing.T) {
	for _, segmentBytes := range []int64{1 << 20, 400} {
		t.Run(fmt.Sprint(segmentBytes), func(t *testing.T) {
			l := openTest(t, vfs.OS, t.TempDir(), Options{SegmentBytes: segmentBytes}, Checkpoint{})
			var stamps []Stamp
			for i := range int64(20) {
				stamps = append(stamps, appendStamped(t, l, true, 1000-3*i, 999-3*i, 998-3*i)...)
			}
			stamps = append(stamps, appendStamped(t, l, true, 500, 970, 600)...)
			for _, s := range stamps {
				if _, err := l.DeleteBefore(s.ID); err != nil {
					t.Fatal(err)
				}
				checkLatest(t, l, stamps)
			}
			if _, err := l.DeleteBefore(l.Positions().HighWatermark); err != nil {
				t.Fatal(err)
			}
			checkLatest(t, l, stamps)
		})
	}
}

// A client that says a larger timestamp in the header than its records have keeps nobody from finding the latest one.
func TestLatestTimeOfALyingHeader(t *testing.T) {
	l := openTest(t, vfs.OS, t.TempDir(), Options{}, Checkpoint{})
	data, h := batch(t, record.None, "a", "b")
	h.MaxTimestamp += 500
	binary.BigEndian.PutUint64(data[35:], uint64(h.MaxTimestamp))
	record.SetProducer(data, -1, -1, -1) // the checksum too
	base, err := l.Append(data, h, true)
	if err == nil {
		err = l.WaitVisible(t.Context(), base)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkLatest(t, l, []Stamp{{base, 1000}, {base + 1, 1000}})
}

// A byte of a time index may be wrong. What it says is held against the log, so every answer is right all the same.
func TestTimeIndexIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	l := openTest(t, vfs.OS, dir, Options{SegmentBytes: 4000}, Checkpoint{})
	var stamps []Stamp
	for i := range int64(100) {
		stamps = append(stamps, appendStamped(t, l, true, 1000+10*(i-i%3*4), 1005+10*i)...)
	}
	path := segment.Path(dir, 0) + segment.TimeIndexSuffix
	good, err := os.ReadFile(path)
	if err != nil || len(good) < 5*12 {
		t.Fatalf("%d bytes of time index, %v", len(good), err)
	}
	for at := range good {
		for _, bit := range []byte{0x01, 0x40} {
			bad := append([]byte(nil), good...)
			bad[at] ^= bit
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			l.env.Files.Forget(path)
			for ts := int64(950); ts < 2010; ts += 35 {
				if check(t, l, stamps, ts); t.Failed() {
					t.Fatalf("byte %d of entry %d xor %#x", at%12, at/12, bit)
				}
			}
			checkLatest(t, l, stamps)
		}
	}
}

// Retention may delete a segment while somebody looks for a time in it. That is no error.
func TestLookupTimeBesideRetention(t *testing.T) {
	for _, op := range []crashfs.Op{crashfs.OpStat, crashfs.OpRead} {
		for n := 1; n <= 6; n++ {
			t.Run(fmt.Sprint(op, n), func(t *testing.T) {
				fsys := crashfs.New(1)
				if err := fsys.MkdirAll("/log"); err != nil {
					t.Fatal(err)
				}
				l := openTest(t, fsys, "/log", Options{SegmentBytes: 1}, Checkpoint{})
				var stamps []Stamp
				for i := range int64(4) {
					stamps = append(stamps, appendStamped(t, l, true, 1000-i)...)
				}
				done, calls := false, 0
				fsys.Before(func(c crashfs.Call) error {
					if c.Op != op || done {
						return nil
					}
					if calls++; calls == n {
						done = true
						_, err := l.DeleteBefore(stamps[3].ID)
						return err
					}
					return nil
				})
				got, ok, err := l.LookupTime(0)
				if want := stamps[3]; err != nil || !ok || got != want && got != stamps[0] {
					t.Errorf("lookup: %v, %v, %v; want %v", got, ok, err, want)
				}
				if got, ok, err = l.LatestTime(); err != nil || !ok {
					t.Errorf("latest: %v, %v, %v", got, ok, err)
				}
			})
		}
	}
}

// Clients are known that leave the largest timestamp of a batch unset, or take the last one for it (IBM/sarama#3108,
// redpanda-data/redpanda#1702). Their records are found all the same, and whoever reads them finds the right one.
func TestMaxTimestampIsThatOfTheRecords(t *testing.T) {
	for _, codec := range []record.Codec{record.None, record.Zstd} {
		for _, said := range []int64{-1, -62135596800000, 0, 1000, 1001, 5000} {
			l := openTest(t, vfs.OS, t.TempDir(), Options{}, Checkpoint{})
			b := record.NewBuilder(codec)
			for _, ts := range []int64{999, 1001, 1000} {
				b.Append(record.Record{Timestamp: ts, Value: []byte("valuevaluevaluevaluevaluevaluevalue")})
			}
			data, err := b.Finish(nil)
			if err != nil {
				t.Fatal(err)
			}
			binary.BigEndian.PutUint64(data[35:], uint64(said))
			record.SetProducer(data, -1, -1, -1) // the checksum too
			h, err := record.Validate(data, record.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			base, err := l.Append(data, h, true)
			if err == nil {
				err = l.WaitVisible(t.Context(), base)
			}
			if err != nil {
				t.Fatal(err)
			}
			stored, err := record.ParseHeader(read(t, l, 0, 1))
			if err == nil {
				err = record.CheckCRC(read(t, l, 0, 1))
			}
			if err != nil || stored.MaxTimestamp != 1001 {
				t.Errorf("%v, said %d: stored %d, %v; want 1001", codec, said, stored.MaxTimestamp, err)
			}
			if got, ok, err := l.LookupTime(1001); got != (Stamp{base + 1, 1001}) || !ok || err != nil {
				t.Errorf("%v, said %d: time 1001 is %v, %v, %v", codec, said, got, ok, err)
			}
		}
	}
}
