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

// A log that is shorter than its recovery point has lost what was durable, and that is said; one that is not has not.
func TestMissingBelowRecoveryPoint(t *testing.T) {
	s := newThreeSegments(t)
	logs := s.logs()
	last := logs[len(logs)-1]
	for _, row := range []struct {
		size int
		want bool
	}{{len(s.files[last]), false}, {len(s.files[last]) - 1, true}, {0, true}} {
		s.put(t, last, s.files[last][:row.size])
		s.said.Reset()
		l := s.open(t, Checkpoint{RecoveryPoint: s.high})
		if got := strings.Contains(s.said.String(), "level=ERROR"); got != row.want {
			t.Errorf("%d bytes: error logged %v, want %v: %s", row.size, got, row.want, &s.said)
		}
		if got := l.Positions().HighWatermark; got != s.high {
			t.Errorf("%d bytes: high watermark %d, want %d", row.size, got, s.high)
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
