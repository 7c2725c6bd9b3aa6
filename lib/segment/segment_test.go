package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

func newEnv(t testing.TB) *Env {
	files := NewFiles(vfs.OS, 3)
	t.Cleanup(func() { files.Close() })
	return &Env{FS: vfs.OS, Files: files, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), IndexInterval: 300}
}

// encode makes a batch of records with the given timestamps, at base.
func encode(t testing.TB, base int64, timestamps ...int64) ([]byte, record.Header) {
	t.Helper()
	b := record.NewBuilder(record.None)
	for i, ts := range timestamps {
		b.Append(record.Record{Timestamp: ts, Value: fmt.Appendf(nil, "value %d", i)})
	}
	data, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	record.SetBaseOffset(data, base)
	h, err := record.ParseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	return data, h
}

// fill appends n batches of two records each, with timestamps from stamp, and returns their headers.
func fill(t testing.TB, w *Writer, n int, stamp func(i int) int64) (headers []record.Header) {
	t.Helper()
	next := w.Base()
	for i := range n {
		data, h := encode(t, next, stamp(2*i), stamp(2*i+1))
		if err := w.Append(data, h); err != nil {
			t.Fatal(err)
		}
		headers = append(headers, h)
		next = h.NextBase()
	}
	return headers
}

func rising(i int) int64 { return 1000 + int64(i) }

// states are the ways in which a segment can be looked at: while it is written, sealed, and with indexes that are
// missing or lie.
var states = []struct {
	name    string
	prepare func(t *testing.T, w *Writer)
}{
	{"being written", func(*testing.T, *Writer) {}},
	{"sealed", func(t *testing.T, w *Writer) { seal(t, w) }},
	{"without indexes", func(t *testing.T, w *Writer) {
		seal(t, w)
		change(t, w, IndexSuffix, func([]byte) []byte { return nil })
		change(t, w, TimeIndexSuffix, func([]byte) []byte { return nil })
	}},
	{"with an index that points elsewhere", func(t *testing.T, w *Writer) {
		seal(t, w)
		change(t, w, IndexSuffix, func(data []byte) []byte {
			for i := 7; i < len(data); i += 8 {
				data[i]++
			}
			return data
		})
	}},
	{"with an index past the log", func(t *testing.T, w *Writer) {
		seal(t, w)
		change(t, w, IndexSuffix, func(data []byte) []byte {
			for i := 4; i < len(data); i += 8 {
				data[i] = 0x70
			}
			return data
		})
	}},
}

func seal(t *testing.T, w *Writer) {
	if err := w.Conclude(); err != nil {
		t.Fatal(err)
	}
	w.Seal()
}

// change rewrites an index file, or removes it when to returns nil.
func change(t *testing.T, w *Writer, suffix string, to func([]byte) []byte) {
	path := w.path + suffix
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 {
		t.Fatalf("%s is empty: the test would show nothing", path)
	}
	if data = to(data); data == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.env.Files.Forget(path)
}

func TestLocate(t *testing.T) {
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			w, err := Create(newEnv(t), t.TempDir(), 5000)
			if err != nil {
				t.Fatal(err)
			}
			headers := fill(t, w, 60, rising)
			size := w.Size()
			state.prepare(t, w)
			pos := int64(0)
			for i, h := range headers {
				for id := h.BaseOffset; id < h.NextBase(); id++ {
					b, err := w.Locate(id, size)
					switch {
					case id <= h.LastOffset():
						if err != nil || b.Header != h || b.Pos != pos {
							t.Fatalf("id %d: batch %d at %d, %v; want %d at %d", id, b.Header.BaseOffset, b.Pos, err, h.BaseOffset, pos)
						}
					case i+1 < len(headers):
						if err != nil || b.Header != headers[i+1] {
							t.Fatalf("id %d in a gap: batch %d, %v; want %d", id, b.Header.BaseOffset, err, headers[i+1].BaseOffset)
						}
					default:
						if err != io.EOF {
							t.Fatalf("id %d behind the last: %v, want io.EOF", id, err)
						}
					}
				}
				if i > 0 {
					if _, err := w.Locate(h.BaseOffset, pos); err != io.EOF {
						t.Fatalf("id %d with its batch behind the limit: %v, want io.EOF", h.BaseOffset, err)
					}
					last, err := w.LastBatch(pos)
					if err != nil || last.Header != headers[i-1] {
						t.Fatalf("last batch in %d bytes: %d, %v; want %d", pos, last.Header.BaseOffset, err, headers[i-1].BaseOffset)
					}
				}
				pos += h.Size()
			}
			if b, err := w.Locate(0, size); err != nil || b.Pos != 0 {
				t.Errorf("id below the base: position %d, %v; want 0", b.Pos, err)
			}
		})
	}
}

func TestLocateTime(t *testing.T) {
	stamps := map[string]func(i int) int64{
		"rising":       rising,
		"equal":        func(int) int64 { return 1000 },
		"out of order": func(i int) int64 { return 1000 + int64(i*7919%120) },
		"one late":     func(i int) int64 { return map[bool]int64{true: 99999, false: 1000 + int64(i)}[i == 31] },
	}
	for _, state := range states {
		for order, stamp := range stamps {
			t.Run(state.name+"/"+order, func(t *testing.T) {
				w, err := Create(newEnv(t), t.TempDir(), 0)
				if err != nil {
					t.Fatal(err)
				}
				headers := fill(t, w, 60, stamp)
				size := w.Size()
				if order != "equal" || state.name != "without indexes" {
					state.prepare(t, w)
				}
				latest := headers[0]
				for _, h := range headers {
					if h.MaxTimestamp > latest.MaxTimestamp {
						latest = h
					}
				}
				if b, err := w.LocateLatest(0, size); err != nil || b.Header != latest {
					t.Errorf("latest: batch %d, %v; want %d", b.Header.BaseOffset, err, latest.BaseOffset)
				}
				for ts := int64(995); ts < 1130; ts++ {
					for _, from := range []int64{0, headers[20].BaseOffset, headers[20].NextBase() - 1} {
						want := int64(-1)
						for _, h := range headers {
							if h.MaxTimestamp >= ts && h.LastOffset() >= from {
								want = h.BaseOffset
								break
							}
						}
						b, err := w.LocateTime(ts, from, size)
						if want < 0 && err != io.EOF || want >= 0 && (err != nil || b.Header.BaseOffset != want) {
							t.Fatalf("time %d from id %d: batch %d, %v; want %d", ts, from, b.Header.BaseOffset, err, want)
						}
					}
				}
			})
		}
	}
}

func TestCreateRefusesData(t *testing.T) {
	env, dir := newEnv(t), t.TempDir()
	w, err := Create(env, dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, 1, rising)
	seal(t, w)
	if _, err := Create(env, dir, 7); err == nil || !strings.Contains(err.Error(), w.LogPath()) {
		t.Errorf("error %v, want one that names the file", err)
	}
}

func TestFits(t *testing.T) {
	w, err := Create(newEnv(t), t.TempDir(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abandon()
	if !w.Fits(1<<40, 200, 1000) {
		t.Error("an empty segment takes any batch")
	}
	fill(t, w, 1, rising)
	tests := []struct {
		size, last, limit int64
		want              bool
	}{
		{100, 300, w.Size() + 100, true},
		{101, 300, w.Size() + 100, false},
		{100, 100 + MaxBytes, 1 << 40, true},
		{100, 101 + MaxBytes, 1 << 40, false}, // its id could not be in the index
		{MaxBytes, 300, 1 << 40, false},       // nor its position
	}
	for _, tt := range tests {
		if got := w.Fits(tt.size, tt.last, tt.limit); got != tt.want {
			t.Errorf("Fits(%d, %d, %d) = %v, want %v", tt.size, tt.last, tt.limit, got, tt.want)
		}
	}
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]int64{
		"00000000000014517018.log": 14517018, "09223372036854775807.log": 1<<63 - 1,
		"99999999999999999999.log": -1, "14517018.log": -1, "00000000000014517018.index": -1,
		"+0000000000014517018.log": -1, "00000000000014517018.log.deleted": -1, "": -1,
	} {
		if base, ok := ParseName(name, LogSuffix); ok != (want >= 0) || ok && base != want {
			t.Errorf("%q: %d, %v; want %d", name, base, ok, want)
		}
	}
	if base, ok := ParseName(filepath.Base(Path("x", 42))+LogSuffix, LogSuffix); base != 42 || !ok {
		t.Errorf("Path(42) parses to %d, %v", base, ok)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	files := NewFiles(vfs.OS, 2)
	path := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	for i := range 5 {
		if err := os.WriteFile(path(i), []byte{byte(i)}, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := files.Open(path(0))
	b, _ := files.Open(path(0))
	if a != b {
		t.Error("two readers of a file do not share it")
	}
	if err := os.Remove(path(0)); err != nil {
		t.Fatal(err)
	}
	files.Forget(path(0))
	a.Release()
	var got [1]byte
	if _, err := b.ReadAt(got[:], 0); err != nil {
		t.Errorf("a reader of a deleted file could not finish: %v", err)
	}
	b.Release()
	if _, err := b.ReadAt(got[:], 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a forgotten file is open after its last reader: %v", err)
	}
	if _, err := files.Open(path(0)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a forgotten file is still there: %v", err)
	}
	var handles []*Handle
	for i := 1; i < 5; i++ {
		h, err := files.Open(path(i))
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, h)
	}
	for _, h := range handles {
		h.Release()
	}
	if n := len(files.open); n != 2 {
		t.Errorf("%d idle files are open, want 2", n)
	}
	files.Close()
	if len(files.open) != 0 {
		t.Error("files are open after Close")
	}
}

// A header that lies about its length leads past intact batches; they are found all the same.
func TestDamagedLengthHidesNothing(t *testing.T) {
	for _, longer := range []int{1, 61, 131, 300} {
		env, dir := newEnv(t), t.TempDir()
		w, err := Create(env, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		headers := fill(t, w, 20, rising)
		seal(t, w)
		data, err := os.ReadFile(w.LogPath())
		if err != nil {
			t.Fatal(err)
		}
		at := int(headers[4].BaseOffset) // positions and ids are the same here
		binary.BigEndian.PutUint32(data[at+8:], uint32(int(headers[4].Length)+longer))
		if err := os.WriteFile(w.LogPath(), data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, h := range headers {
			if h == headers[4] {
				continue
			}
			b, err := w.Locate(h.BaseOffset, w.size)
			if err == nil && b.Pos == int64(at) {
				b, err = w.Locate(b.Header.LastOffset()+1, w.size) // whoever reads finds it damaged, and goes on behind it
			}
			if err != nil || b.Header != h {
				t.Errorf("length %d too large: id %d: batch %d, %v", longer, h.BaseOffset, b.Header.BaseOffset, err)
			}
		}
	}
}

// A log of Kafka before 0.11 is refused, not cut off.
func TestOldFormatIsLeftAlone(t *testing.T) {
	message := make([]byte, 12, 40)
	message = append(message, 0, 0, 0, 0, 0, 0) // CRC, magic 0, attributes
	message = append(message, "\xff\xff\xff\xff\x00\x00\x00\x05hello"...)
	binary.BigEndian.PutUint32(message[8:], uint32(len(message)-12))
	binary.BigEndian.PutUint32(message[12:], crc32.ChecksumIEEE(message[16:]))
	env, dir := newEnv(t), t.TempDir()
	path := Path(dir, 0) + LogSuffix
	if err := os.WriteFile(path, message, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Recover(env, dir, 0, 0); !errors.Is(err, ErrOldFormat) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want ErrOldFormat that names the file", err)
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != string(message) {
		t.Errorf("the file was changed: %v", err)
	}
}
