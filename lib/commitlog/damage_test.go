package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// threeSegments is a small log on a file system in memory.
type threeSegments struct {
	fsys    *crashfs.FS
	names   []string
	files   map[string][]byte
	batches [][]byte // as they are in the log
	high    int64
	said    bytes.Buffer // by the logs
}

const damagedDir = "/data/log"

func newThreeSegments(t *testing.T) *threeSegments {
	s := &threeSegments{fsys: crashfs.New(1), files: make(map[string][]byte)}
	if err := s.fsys.MkdirAll(damagedDir); err != nil {
		t.Fatal(err)
	}
	l := s.open(t, Checkpoint{})
	for i := range 15 {
		mustAppend(t, l, true, number(i), number(-i))
	}
	s.batches = readAll(t, l)
	s.high = l.Positions().HighWatermark
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := s.fsys.ReadDir(damagedDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := vfs.ReadFile(s.fsys, filepath.Join(damagedDir, e.Name()), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		s.names = append(s.names, e.Name())
		s.files[e.Name()] = data
	}
	if logs := len(s.logs()); logs != 3 {
		t.Fatalf("%d segments, want 3", logs)
	}
	return s
}

func (s *threeSegments) open(t *testing.T, from Checkpoint) *Log {
	t.Helper()
	files := segment.NewFiles(s.fsys, 8)
	t.Cleanup(func() { files.Close() })
	env := &segment.Env{FS: s.fsys, Files: files, Logger: slog.New(slog.NewTextHandler(&s.said, nil)), IndexInterval: 150}
	l, err := Open(env, damagedDir, Options{SegmentBytes: 550}, from)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *threeSegments) logs() (names []string) {
	for _, name := range s.names {
		if filepath.Ext(name) == segment.LogSuffix {
			names = append(names, name)
		}
	}
	return names
}

// put makes a file system with all files, but for the one given, which gets other contents.
func (s *threeSegments) put(t *testing.T, name string, data []byte) {
	t.Helper()
	s.fsys = crashfs.New(1)
	if err := s.fsys.MkdirAll(damagedDir); err != nil {
		t.Fatal(err)
	}
	for _, n := range s.names {
		contents := s.files[n]
		if n == name {
			contents = data
		}
		f, err := s.fsys.Create(filepath.Join(damagedDir, n))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(contents, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// consume reads a log as a careful client does: a batch that is damaged is stepped over by the ids it claims when it
// agrees with itself, else by one id; what cannot be taken apart is asked for again from where it stopped.
func consume(t *testing.T, l *Log) (intact [][]byte) {
	t.Helper()
	for id, rounds := l.Positions().Start, 0; id < l.Positions().HighWatermark; rounds++ {
		if rounds > 10_000 {
			t.Fatal("a reader makes no progress")
		}
		data := read(t, l, id, 400)
		before := id
		for len(data) >= record.HeaderSize {
			h, err := record.ParseHeader(data)
			if err != nil || h.Size() > int64(len(data)) {
				break
			}
			batch := data[:h.Size()]
			switch {
			case record.CheckCRC(batch) == nil:
				if h.LastOffset() >= id {
					intact = append(intact, batch)
					id = h.LastOffset() + 1
				}
			case h.LastOffsetDelta == h.Count-1 && int64(h.Count) <= h.Size() && h.BaseOffset >= id && h.BaseOffset < id+1000:
				id = h.LastOffset() + 1
			default:
				id++
			}
			data = data[h.Size():]
		}
		if id == before {
			id++
		}
	}
	return intact
}

// at returns the batch of which position pos of the named file is a part, and the position in the batch.
func (s *threeSegments) at(t *testing.T, name string, pos int) (batch []byte, in int) {
	t.Helper()
	base, _ := segment.ParseName(name, segment.LogSuffix)
	offset := 0
	for _, b := range s.batches {
		if h, _ := record.ParseHeader(b); h.BaseOffset < base {
			continue
		}
		if pos < offset+len(b) {
			return b, pos - offset
		}
		offset += len(b)
	}
	t.Fatalf("%s has no position %d", name, pos)
	return nil, 0
}

// Every byte of a log is flipped in turn. Below the recovery point nothing is cut, and every batch but the one that was
// hit is served as it was; above it the log is cut before that batch, and what stood behind is in a file of its own, but
// for the batch that was hit itself. No index can do any harm.
func TestEveryByteFlipped(t *testing.T) {
	s := newThreeSegments(t)
	for _, name := range s.names {
		for pos := range s.files[name] {
			data := bytes.Clone(s.files[name])
			data[pos] ^= 0x55
			for _, point := range []int64{s.high, 0} {
				s.put(t, name, data)
				l := s.open(t, Checkpoint{RecoveryPoint: point})
				s.check(t, l, name, pos, point)
				if _, err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func (s *threeSegments) check(t *testing.T, l *Log, name string, pos int, point int64) {
	t.Helper()
	got := consume(t, l)
	if filepath.Ext(name) != segment.LogSuffix {
		if !same(got, s.batches) {
			t.Fatalf("%s: byte %d: an index changes what is read: %d batches of %d", name, pos, len(got), len(s.batches))
		}
		return
	}
	logs := s.logs()
	cut := point == 0 && name == logs[len(logs)-1] // above the recovery point: the last segment is cut
	hit, in := s.at(t, name, pos)
	if in < 8 || in >= 12 && in < 16 {
		// Base id and leader epoch, which no checksum covers: nothing is promised but an orderly answer, and all records.
		if cut {
			s.checkRecords(t, got)
		}
		return
	}
	want := without(s.batches, hit)
	if cut {
		want = before(s.batches, hit)
	}
	if !same(got, want) {
		t.Fatalf("%s: byte %d (%d of its batch), recovery point %d: %d batches read, want %d", name, pos, in, point, len(got), len(want))
	}
	kept, lost := s.kept(t), without(s.batches, hit)[len(want):]
	if len(lost) == 0 {
		if len(kept) > 0 {
			t.Fatalf("%s: byte %d: %d files are kept, nothing intact was cut off", name, pos, len(kept))
		}
		return
	}
	data := bytes.Clone(s.files[name][pos-in:])
	data[in] ^= 0x55
	if file := fmt.Sprintf("%s%s%d", name, segment.CutSuffix, pos-in); len(kept) != 1 || !bytes.Equal(kept[file], data) {
		t.Fatalf("%s: byte %d: %d files are kept, %d bytes in %s, want %d", name, pos, len(kept), len(kept[file]), file, len(data))
	}
}

// checkRecords: what is read and what is kept beside the log is all there was, ids aside.
func (s *threeSegments) checkRecords(t *testing.T, got [][]byte) {
	t.Helper()
	all := bytes.Join(got, nil)
	for _, data := range s.kept(t) {
		all = append(all, data...)
	}
	for i, b := range s.batches {
		if !bytes.Contains(all, b[16:]) { // behind ids, length and epoch
			t.Fatalf("batch %d of %d is neither read nor kept", i, len(s.batches))
		}
	}
}

// Every file is cut short at every length. An index does no harm; of the last segment the longest run of whole batches is
// served; what a sealed segment has lost is lost, and nothing else.
func TestEveryTruncation(t *testing.T) {
	s := newThreeSegments(t)
	for _, name := range s.names {
		for size := range s.files[name] {
			s.put(t, name, s.files[name][:size])
			l := s.open(t, Checkpoint{})
			got := consume(t, l)
			want := s.batches
			if filepath.Ext(name) == segment.LogSuffix {
				want = s.batchesWithout(t, name, size)
			}
			if !same(got, want) {
				t.Fatalf("%s cut to %d bytes: %d batches read, want %d", name, size, len(got), len(want))
			}
			if _, err := l.Close(); err != nil && !errors.Is(err, ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}

// A log that is shorter than its recovery point has lost what was durable, and that is said; one that is not has not. It
// ends for readers where its last record does, so that whoever reads to the end comes to one. The ids that were lost are
// never given again, however often it is opened.
func TestMissingBelowRecoveryPoint(t *testing.T) {
	s := newThreeSegments(t)
	logs := s.logs()
	last := logs[len(logs)-1]
	for _, row := range []struct {
		size int
		want bool
	}{
		{len(s.files[last]), false}, {0, true}, {len(s.files[last]) - 20, true},
		{len(s.files[last]) - 1, true}, // its last byte is a zero, and so is the first of the next batch
	} {
		s.put(t, last, s.files[last][:row.size])
		left := s.batchesWithout(t, last, row.size)
		h, err := record.ParseHeader(left[len(left)-1])
		if err != nil {
			t.Fatal(err)
		}
		s.said.Reset()
		point := s.high
		for range 3 {
			l := s.open(t, Checkpoint{RecoveryPoint: point})
			if got := strings.Contains(s.said.String(), "level=ERROR"); got != row.want {
				t.Errorf("%d bytes: error logged %v, want %v: %s", row.size, got, row.want, &s.said)
			}
			s.endsAt(t, l, h.LastOffset()+1, s.high)
			if got := consume(t, l); !same(got, left) {
				t.Errorf("%d bytes: %d batches are read, want %d", row.size, len(got), len(left))
			}
			if point, err = l.Checkpoint(); err != nil || point != s.high {
				t.Errorf("%d bytes: recovery point %d, %v; want %d", row.size, point, err, s.high)
			}
			clean, err := l.Close()
			if err != nil {
				t.Fatal(err)
			}
			l = s.open(t, Checkpoint{RecoveryPoint: l.RecoveryPoint(), Clean: clean})
			s.endsAt(t, l, h.LastOffset()+1, s.high)
			if point = l.RecoveryPoint(); point != s.high {
				t.Errorf("%d bytes: recovery point %d after a clean start, want %d", row.size, point, s.high)
			}
			if _, err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l := s.open(t, Checkpoint{RecoveryPoint: point})
		if h := mustAppend(t, l, true, "afterwards"); h.BaseOffset < s.high || l.RecoveryPoint() != h.BaseOffset+1 {
			t.Errorf("%d bytes: id %d is given, recovery point %d; it was %d", row.size, h.BaseOffset, l.RecoveryPoint(), s.high)
		}
		if got := consume(t, l); len(got) != len(left)+1 {
			t.Errorf("%d bytes: %d batches are read, want %d", row.size, len(got), len(left)+1)
		}
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// endsAt: the log ends at high for readers; from there to the id that the next batch gets, which is not below next, there
// is nothing to read, and behind it is out of range.
func (s *threeSegments) endsAt(t *testing.T, l *Log, high, next int64) {
	t.Helper()
	p := l.Positions()
	if p.HighWatermark != high || p.End < next {
		t.Errorf("positions %+v; want the high watermark %d and an end from %d on", p, high, next)
	}
	for id := p.HighWatermark; id <= p.End; id++ {
		if data := read(t, l, id, 1000); len(data) > 0 {
			t.Errorf("%d bytes at %d, behind the last record", len(data), id)
		}
	}
	if _, err := l.Read(p.End+1, 1000); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("read behind the end: %v, want ErrOutOfRange", err)
	}
}

// TestNoSegmentLeft: where all files of a log have gone, its ids go on all the same.
func TestNoSegmentLeft(t *testing.T) {
	s := newThreeSegments(t)
	s.names = nil
	s.put(t, "", nil)
	l := s.open(t, Checkpoint{RecoveryPoint: s.high})
	if h := mustAppend(t, l, true, "afterwards"); h.BaseOffset < s.high || !strings.Contains(s.said.String(), "missing") {
		t.Errorf("id %d is given, %d was the recovery point; said: %s", h.BaseOffset, s.high, &s.said)
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A damaged last batch below the recovery point is shown to readers, who say so, when its header tells its ids; and when
// it does not, the log ends before it, wherever an index would have had the reading begin.
func TestDamagedLastBatch(t *testing.T) {
	s := newThreeSegments(t)
	logs := s.logs()
	name := logs[len(logs)-1]
	last, _ := s.at(t, name, len(s.files[name])-1)
	h, _ := record.ParseHeader(last)
	begins := len(s.files[name]) - len(last)
	for _, row := range []struct {
		what string
		at   int
		want int64
	}{{"contents", 70, s.high}, {"last offset delta", 23, h.BaseOffset}, {"magic", 16, h.BaseOffset}, {"length", 8, h.BaseOffset}} {
		data := bytes.Clone(s.files[name])
		data[begins+row.at] ^= 0x11
		s.put(t, name, data)
		l := s.open(t, Checkpoint{RecoveryPoint: s.high})
		p := l.Positions()
		if got := p.HighWatermark; got != row.want && (row.want == s.high || got > row.want || got < row.want-int64(h.Size())) {
			t.Errorf("%s: high watermark %d, want %d or, at most, the gap before it", row.what, got, row.want)
		}
		if got := consume(t, l); !same(got, s.batches[:len(s.batches)-1]) {
			t.Errorf("%s: %d batches are read, want %d", row.what, len(got), len(s.batches)-1)
		}
		if p.End < s.high {
			t.Errorf("%s: end %d, below the recovery point %d", row.what, p.End, s.high)
		}
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// batchesWithout are those left when the named segment has only size bytes.
func (s *threeSegments) batchesWithout(t *testing.T, name string, size int) (left [][]byte) {
	base, _ := segment.ParseName(name, segment.LogSuffix)
	end := base
	for pos := 0; pos < len(s.files[name]); {
		b, _ := s.at(t, name, pos)
		pos += len(b)
		h, _ := record.ParseHeader(b)
		if pos > size {
			end = max(end, h.BaseOffset)
			for _, b := range s.batches {
				other, _ := record.ParseHeader(b)
				inside := other.BaseOffset >= base && other.BaseOffset < base+int64(len(s.files[name]))
				if !inside || other.BaseOffset < end {
					left = append(left, b)
				}
			}
			return left
		}
	}
	return s.batches
}

func same(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, nil), bytes.Join(b, nil)) && len(a) == len(b)
}

func without(batches [][]byte, one []byte) (rest [][]byte) {
	for _, b := range batches {
		if &b[0] != &one[0] {
			rest = append(rest, b)
		}
	}
	return rest
}

func before(batches [][]byte, one []byte) (first [][]byte) {
	for _, b := range batches {
		if &b[0] == &one[0] {
			break
		}
		first = append(first, b)
	}
	return first
}
