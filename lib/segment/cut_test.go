package segment

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"logkit/lib/record"
)

// tenBatches is a segment of ten batches of two records, in a directory of its own, and where they begin.
func tenBatches(t *testing.T) (env *Env, dir string, data []byte, at []int, headers []record.Header) {
	t.Helper()
	env, dir = newEnv(t), t.TempDir()
	w, err := Create(env, dir, 5000)
	if err != nil {
		t.Fatal(err)
	}
	headers = fill(t, w, 10, rising)
	if err := w.Abandon(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(w.LogPath()); err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		at = append(at, int(h.BaseOffset-5000)) // positions and ids have the same steps here
	}
	return env, dir, data, at, headers
}

func cutFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "00000000000000005000.log" {
			names = append(names, name)
		}
	}
	return names
}

// TestRecoverKeepsWhatIsIntact: what is cut off stays in a file of its own if, and only if, intact batches are in it.
func TestRecoverKeepsWhatIsIntact(t *testing.T) {
	_, _, whole, at, headers := tenBatches(t)
	flip := func(pos int) []byte {
		data := bytes.Clone(whole)
		data[pos] ^= 0x40
		return data
	}
	last := headers[9].LastOffset()
	for _, test := range []struct {
		name        string
		data        []byte
		cut         int   // where the log ends
		kept        int64 // intact batches behind it
		first, last int64 // their ids
	}{
		{"whole", whole, len(whole), 0, 0, 0},
		{"torn", whole[:len(whole)-1], at[9], 0, 0, 0},
		{"torn in the header", whole[:at[9]+20], at[9], 0, 0, 0},
		{"zeros behind it", append(bytes.Clone(whole), make([]byte, 5000)...), len(whole), 0, 0, 0},
		{"half a batch and zeros", append(bytes.Clone(whole[:at[9]+70]), make([]byte, 5000)...), at[9], 0, 0, 0},
		{"contents of the last", flip(at[9] + 70), at[9], 0, 0, 0},
		{"contents of the first", flip(70), 0, 9, headers[1].BaseOffset, last},
		{"contents of another", flip(at[4] + 70), at[4], 5, headers[5].BaseOffset, last},
		{"length", flip(at[4] + 11), at[4], 5, headers[5].BaseOffset, last},
		{"length, above all there is", flip(at[4] + 8), at[4], 5, headers[5].BaseOffset, last},
		{"magic", flip(at[4] + 16), at[4], 5, headers[5].BaseOffset, last},
		// No checksum covers the id: the batch itself is intact.
		{"id too low", slices.Concat(whole[:at[4]], make([]byte, 8), whole[at[4]+8:]), at[4], 6, 0, last},
		{"id out of reach, and the rest", slices.Concat(whole[:at[4]], []byte{0x40}, whole[at[4]+1:]), at[4], 6, headers[5].BaseOffset, headers[4].LastOffset() + 0x40<<56},
		{"a batch that comes again", slices.Concat(whole, whole[:at[2]]), len(whole), 2, 5000, headers[1].LastOffset()},
		{"two damaged, torn", slices.Concat(whole[:at[2]], []byte{1, 2, 3}, whole[at[3]:at[5]], []byte{4}, whole[at[6]:len(whole)-1]), at[2], 5, headers[3].BaseOffset, headers[8].LastOffset()},
	} {
		t.Run(test.name, func(t *testing.T) {
			env, dir := newEnv(t), t.TempDir()
			path := Path(dir, 5000) + LogSuffix
			if err := os.WriteFile(path, test.data, 0o644); err != nil {
				t.Fatal(err)
			}
			w, r, err := Recover(env, dir, 5000, 5000)
			if err != nil || r.Uncut != nil {
				t.Fatal(err, r.Uncut)
			}
			defer w.Abandon()
			if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, test.data[:test.cut]) || r.Cut != int64(len(test.data)-test.cut) {
				t.Errorf("%d bytes are left, %d are said to be cut; want %d of %d left: %v", len(left), r.Cut, test.cut, len(test.data), err)
			}
			if test.kept == 0 {
				if names := cutFiles(t, dir); r.Kept != nil || len(names) > 0 {
					t.Errorf("kept %+v in %q, nothing was intact", r.Kept, names)
				}
				return
			}
			want := CutOff{Path: path + CutSuffix + strconv.Itoa(test.cut), Batches: test.kept, First: test.first, Last: test.last}
			if r.Kept == nil || *r.Kept != want {
				t.Fatalf("kept %+v, want %+v", r.Kept, want)
			}
			if kept, err := os.ReadFile(want.Path); err != nil || !bytes.Equal(kept, test.data[test.cut:]) {
				t.Errorf("%d bytes are kept, not the %d that were cut: %v", len(kept), r.Cut, err)
			}
			if names := cutFiles(t, dir); len(names) != 1 {
				t.Errorf("files %q, want one", names)
			}
		})
	}
}

// TestKeptFilesAreNeverOverwritten: each cut has a file of its own, except that one which has been kept already, by a
// recovery that died before it could cut, is not kept twice.
func TestKeptFilesAreNeverOverwritten(t *testing.T) {
	env, dir, whole, at, _ := tenBatches(t)
	path := Path(dir, 5000) + LogSuffix
	cut := path + CutSuffix + strconv.Itoa(at[4])
	for i, test := range []struct {
		flip int
		want string
	}{{at[4] + 66, cut}, {at[4] + 66, cut}, {at[4] + 67, cut + "-2"}, {at[4] + 68, cut + "-3"}, {at[4] + 67, cut + "-2"}} {
		data := bytes.Clone(whole)
		data[test.flip] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		w, r, err := Recover(env, dir, 5000, 5000)
		if err != nil {
			t.Fatal(err)
		}
		w.Abandon()
		if r.Kept == nil || r.Kept.Path != test.want {
			t.Fatalf("cut %d: kept %+v, want in %s", i, r.Kept, test.want)
		}
		if kept, err := os.ReadFile(test.want); err != nil || !bytes.Equal(kept, data[at[4]:]) {
			t.Errorf("cut %d: %s is not what was cut: %v", i, filepath.Base(test.want), err)
		}
	}
	if names := cutFiles(t, dir); len(names) != 3 {
		t.Errorf("files %q, want three", names)
	}
}

// TestSearchBehindACutIsBounded: bytes that look like headers of long batches, each of which would have to be read, end
// the search, and then everything is kept.
func TestSearchBehindACutIsBounded(t *testing.T) {
	env, dir, whole, _, headers := tenBatches(t)
	const n = 20_000
	bait := make([]byte, 0, n*record.HeaderSize)
	for i := range n {
		h := make([]byte, record.HeaderSize)
		binary.BigEndian.PutUint64(h, uint64(headers[9].NextBase()))
		binary.BigEndian.PutUint32(h[8:], uint32((n-i)*record.HeaderSize-12))
		h[16] = 2
		bait = append(bait, h...)
	}
	path := Path(dir, 5000) + LogSuffix
	if err := os.WriteFile(path, append(whole, bait...), 0o644); err != nil {
		t.Fatal(err)
	}
	w, r, err := Recover(env, dir, 5000, 5000)
	if err != nil {
		t.Fatal(err)
	}
	w.Abandon()
	if r.Kept == nil || !r.Kept.Unsure || r.Kept.Batches != 0 {
		t.Fatalf("kept %+v, want everything, for the search was given up", r.Kept)
	}
	if kept, err := os.ReadFile(r.Kept.Path); err != nil || !bytes.Equal(kept, bait) {
		t.Errorf("%d bytes kept, want %d: %v", len(kept), len(bait), err)
	}
}

// intactIn tells whether any intact batch that could be in a segment with base id 0 begins in data.
func intactIn(data []byte) bool {
	for pos := range data {
		h, err := record.ParseHeader(data[pos:])
		if err == nil && h.Size() <= int64(len(data)-pos) && h.BaseOffset >= 0 && h.LastOffsetDelta >= 0 &&
			h.BaseOffset <= math.MaxInt32 && h.LastOffset() <= math.MaxInt32 && record.CheckCRC(data[pos:][:h.Size()]) == nil {
			return true
		}
	}
	return false
}

// BenchmarkSurvey measures the search for intact batches behind a bad place, in zeros and in noise.
func BenchmarkSurvey(b *testing.B) {
	noise := make([]byte, 32<<20)
	rand.NewChaCha8([32]byte{}).Read(noise)
	for name, data := range map[string][]byte{"zeros": make([]byte, 32<<20), "noise": noise} {
		b.Run(name, func(b *testing.B) {
			w, err := Create(newEnv(b), b.TempDir(), 0)
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abandon()
			if _, err := w.file.WriteAt(data, 0); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if found, err := w.survey(0, int64(len(data))); err != nil || found.Batches > 0 || found.Unsure {
					b.Fatal(found, err)
				}
			}
		})
	}
}
