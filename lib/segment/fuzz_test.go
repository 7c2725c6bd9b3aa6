package segment

import (
	"errors"
	"log/slog"
	"math"
	"testing"

	"logkit/lib/record"
	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// FuzzRecover opens arbitrary bytes as a .log file after a crash, with the recovery point at its start. Invariants:
//   - no panic, and memory bounded by the input;
//   - what is kept is a prefix of the input, made of intact batches with rising ids, and the longest such prefix;
//   - what is cut off is in a file of its own, byte for byte, when an intact batch is in it;
//   - recovering again changes nothing.
func FuzzRecover(f *testing.F) {
	one, h := encode(f, 0, 1, 2, 3)
	two, _ := encode(f, h.NextBase(), 4)
	both := append(append([]byte{}, one...), two...)
	f.Add([]byte{})
	f.Add(one)
	f.Add(both)
	f.Add(both[:len(both)-1])
	f.Add(append(append([]byte{}, both...), make([]byte, 100)...))
	f.Add(append(append([]byte{}, two...), one...)) // ids go back
	flipped := append([]byte{}, both...)
	flipped[len(one)+30] ^= 1
	f.Add(flipped)
	huge := append([]byte{}, both...)
	copy(huge[8:], "\x7f\xff\xff\xff")
	f.Add(huge)
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := crashfs.New(0)
		files := NewFiles(fsys, 3)
		defer files.Close()
		env := &Env{FS: fsys, Files: files, Logger: slog.New(slog.DiscardHandler), IndexInterval: 300}
		const dir = "/log"
		path := Path(dir, 0) + LogSuffix
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(fsys, path, data); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			w, r, err := Recover(env, dir, 0, 0)
			if errors.Is(err, ErrOldFormat) {
				if left, err := vfs.ReadFile(fsys, path, 1<<30); err != nil || string(left) != string(data) {
					t.Fatalf("a foreign log was changed: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Abandon()
			kept, err := vfs.ReadFile(fsys, path, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if int64(len(kept)) != w.Size() || string(kept) != string(data[:len(kept)]) {
				t.Fatalf("kept %d bytes, no prefix of %d", len(kept), len(data))
			}
			next, rest := int64(0), kept
			for len(rest) > 0 {
				h, err := record.ParseHeader(rest)
				if err != nil || h.Size() > int64(len(rest)) || h.BaseOffset < next || record.CheckCRC(rest[:h.Size()]) != nil {
					t.Fatalf("kept what is no intact batch: %+v, %v", h, err)
				}
				next, rest = h.LastOffset()+1, rest[h.Size():]
				if len(rest) == 0 && (r.End != next || r.Next != h.NextBase()) {
					t.Fatalf("ends at %d and goes on at %d, the last batch says %d and %d", r.End, r.Next, next, h.NextBase())
				}
			}
			if round == 1 && r.Cut != 0 {
				t.Fatalf("the second recovery cut %d bytes", r.Cut)
			}
			if round == 0 {
				checkKept(t, fsys, r, data[len(kept):])
			}
			if tail := data[len(kept):]; round == 0 && len(tail) >= record.HeaderSize {
				h, err := record.ParseHeader(tail)
				if err == nil && h.Size() <= int64(len(tail)) && h.BaseOffset >= next && h.LastOffsetDelta >= 0 &&
					h.LastOffset() <= math.MaxInt32 && h.BaseOffset <= math.MaxInt32 && record.CheckCRC(tail[:h.Size()]) == nil {
					t.Fatalf("cut an intact batch: %+v", h)
				}
			}
		}
	})
}

// checkKept holds what a recovery says it has kept of a tail against the file.
func checkKept(t *testing.T, fsys vfs.FS, r Recovery, tail []byte) {
	if r.Uncut != nil {
		t.Fatalf("not cut: %v", r.Uncut)
	}
	if r.Kept == nil {
		if intactIn(tail) {
			t.Fatalf("an intact batch in the %d bytes that were cut off is lost", len(tail))
		}
		return
	}
	if got, err := vfs.ReadFile(fsys, r.Kept.Path, 1<<30); err != nil || string(got) != string(tail) {
		t.Fatalf("%d bytes are kept, not the %d that were cut: %v", len(got), len(tail), err)
	}
	if r.Kept.Batches == 0 && !r.Kept.Unsure {
		t.Fatalf("kept %+v, without an intact batch", *r.Kept)
	}
}
