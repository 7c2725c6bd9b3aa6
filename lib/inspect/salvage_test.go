package inspect

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logkit/lib/commitlog"
	"logkit/lib/record"
	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// salvage writes what is intact at path to target.
func salvage(t testing.TB, path, target string) *Salvage {
	t.Helper()
	s := &Salvage{FS: vfs.OS, Target: target}
	in := Inspector{FS: vfs.OS, Visitor: Visitor{Batch: func(f *File, b *Batch) error { return s.Add(b) }}}
	if err := in.Path(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// opens opens the log in dir as logd does and returns how many batches can be read of it.
func opens(t testing.TB, dir string) (batches int) {
	t.Helper()
	env := &segment.Env{FS: vfs.OS, Files: segment.NewFiles(vfs.OS, 0), Logger: slog.New(slog.DiscardHandler), IndexInterval: 4096}
	l, err := commitlog.Open(env, dir, commitlog.Options{}, commitlog.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for at := l.Positions().Start; at < l.Positions().HighWatermark; {
		slice, err := l.Read(at, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, slice.Len)
		if _, err := slice.Handle.ReadAt(b, slice.Pos); err != nil {
			t.Fatal(err)
		}
		slice.Release()
		for len(b) > 0 {
			h, err := record.ParseHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			if err := record.CheckCRC(b[:h.Size()]); err != nil {
				t.Fatal(err)
			}
			at, b = h.LastOffset()+1, b[h.Size():]
			batches++
		}
	}
	return batches
}

// TestSalvageReturnsExactlyTheIntactBatches damages random batches of a log of two segments, anywhere under their
// checksum or in what frames them.
func TestSalvageReturnsExactlyTheIntactBatches(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 40 {
		first, starts := ours(t, 500, 20)
		base2 := nextBase(t, first, starts)
		second, starts2 := ours(t, base2, 20)
		var want []byte
		damage := func(log []byte, starts []int64) []byte {
			for i, from := range starts {
				to := int64(len(log))
				if i+1 < len(starts) {
					to = starts[i+1]
				}
				if random.Intn(3) > 0 {
					want = append(want, log[from:to]...)
					continue
				}
				switch random.Intn(3) {
				case 0:
					log[from+16+random.Int63n(to-from-16)] ^= 1 << random.Intn(8)
				case 1:
					clear(log[from:to])
				default:
					random.Read(log[from+8 : to])
				}
			}
			return log
		}
		dir := filepath.Join(t.TempDir(), "t-0")
		write(t, dir, map[string][]byte{logName(500): damage(first, starts), logName(base2): damage(second, starts2)})
		target := t.TempDir()
		s := salvage(t, dir, target)
		if s.Batches == 0 {
			continue
		}
		got, err := os.ReadFile(s.Files[0])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes salvaged, want %d", len(got), len(want))
		}
		if n := opens(t, target); int64(n) != s.Batches {
			t.Fatalf("the log that was opened has %d batches, want %d", n, s.Batches)
		}
	}
}

func TestSalvageLeavesOut(t *testing.T) {
	for _, row := range []struct {
		name  string
		log   func(log []byte, starts []int64) []byte
		want  int64
		left  int64
		kafka bool
	}{
		{"nothing", func(log []byte, _ []int64) []byte { return log }, 10, 0, false},
		{"what was there before", func(log []byte, s []int64) []byte { return slices.Insert(log, int(s[5]), log[s[3]:s[5]]...) }, 10, 2, false},
		{"an id too small", func(log []byte, s []int64) []byte { return moved(log, s, 4, 1) }, 9, 1, false},
		{"an id too large", func(log []byte, s []int64) []byte { return moved(log, s, 4, 1<<30) }, 9, 1, false},
		{"the first id too large", func(log []byte, s []int64) []byte { return moved(log, s, 0, 1<<40) }, 9, 1, false},
		{"the first id too large, Kafka", func(log []byte, s []int64) []byte { return moved(log, s, 0, 1<<40) }, 9, 1, true},
		{"an id far too large, Kafka", func(log []byte, s []int64) []byte { return moved(log, s, 4, 1<<40) }, 9, 1, true},
		{"an id too large, Kafka", func(log []byte, s []int64) []byte { return moved(log, s, 4, 1<<30) }, 9, 1, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, starts := ours(t, 500, 10)
			if row.kafka {
				log, starts = kafkas(t, 500, 10)
			}
			dir, target := t.TempDir(), t.TempDir()
			write(t, dir, map[string][]byte{logName(500): row.log(log, starts)})
			if s := salvage(t, dir, target); s.Batches != row.want || s.Left() != row.left {
				t.Errorf("%d batches and %d left out, want %d and %d", s.Batches, s.Left(), row.want, row.left)
			}
			damage, _, _ := look(t, target, Options{})
			damage = slices.DeleteFunc(damage, func(v *Verdict) bool { return v.Kind == MissingBatch })
			if len(damage) != 0 {
				t.Errorf("salvaged: %v", damage)
			}
		})
	}
}

func TestSalvageOfOldFormats(t *testing.T) {
	for name, log := range map[string][]byte{"a.kafka": mustLog07(), "a.log": first(oldLog(0)), "b.log": first(oldLog(1))} {
		dir, target := t.TempDir(), filepath.Join(t.TempDir(), name)
		write(t, dir, map[string][]byte{name: log})
		salvage(t, filepath.Join(dir, name), target)
		if got, err := os.ReadFile(target); err != nil || !bytes.Equal(got, log) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(log), err)
		}
	}
}

func first(log []byte, _ []int64) []byte { return log }

func TestSalvageOverwritesNothing(t *testing.T) {
	log, _ := ours(t, 500, 3)
	dir := t.TempDir()
	write(t, dir, map[string][]byte{logName(500): log, "target": []byte("precious")})
	s := &Salvage{FS: vfs.OS, Target: filepath.Join(dir, "target")}
	in := Inspector{FS: vfs.OS, Visitor: Visitor{Batch: func(f *File, b *Batch) error { return s.Add(b) }}}
	err := in.Path(filepath.Join(dir, logName(500)))
	if !errors.Is(err, ErrExists) {
		t.Errorf("%v, want %v", err, ErrExists)
	}
	s.Abort()
	if b, _ := os.ReadFile(filepath.Join(dir, "target")); string(b) != "precious" {
		t.Errorf("%q", b)
	}
	if names, _ := os.ReadDir(dir); len(names) != 2 {
		t.Errorf("left behind: %v", names)
	}
}
