package inspect

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

// sifted are the positions of the batches at path that a sieve lets through, and their bytes.
func sifted(t testing.TB, path string) (data []byte, left int64) {
	t.Helper()
	s := Sieve{Keep: func(_ *File, b *Batch) error {
		data = append(data, b.Bytes...)
		return nil
	}}
	in := Inspector{FS: vfs.OS, Visitor: Visitor{Batch: s.Add}}
	if err := in.Path(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return data, s.Left
}

// TestSieveKeepsBackWhatWasThereBefore: also when more lies in between than is remembered of a log.
func TestSieveKeepsBackWhatWasThereBefore(t *testing.T) {
	for _, kafka := range []bool{false, true} {
		for _, apart := range []int{1, 64, 65, 200} {
			t.Run(fmt.Sprintf("kafka %v, %d apart", kafka, apart), func(t *testing.T) {
				whole, starts := ours(t, 500, 300)
				if kafka {
					whole, starts = kafkas(t, 500, 300)
				}
				again := whole[starts[10]:starts[100]]
				log := slices.Insert(bytes.Clone(whole), int(starts[99+apart]), again...)
				path := filepath.Join(t.TempDir(), logName(500))
				write(t, filepath.Dir(path), map[string][]byte{logName(500): log})
				if got, left := sifted(t, path); !bytes.Equal(got, whole) || left != 90 {
					t.Errorf("%d bytes and %d left out, want %d and 90", len(got), left, len(whole))
				}
			})
		}
	}
}

// TestSieveHoldsNoMoreThanItMust: a batch that goes on where the one before ends is let through at once, so that a stream
// shows what has come.
func TestSieveHoldsNoMoreThanItMust(t *testing.T) {
	for _, kafka := range []bool{false, true} {
		log, _ := ours(t, 500, 9)
		if kafka {
			log, _ = kafkas(t, 500, 9)
		}
		given, kept := 0, 0
		s := Sieve{Keep: func(*File, *Batch) error { kept++; return nil }}
		in := Inspector{Visitor: Visitor{Batch: func(f *File, b *Batch) error {
			err := s.Add(f, b)
			if given++; given > 1 && kept != given {
				t.Errorf("kafka %v: %d of %d let through", kafka, kept, given)
			}
			return err
		}}}
		if err := in.Stream("-", bytes.NewReader(log)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSieveLetsIDsRise: whatever batches follow each other in whatever order, in one segment or two, those let through
// have ids that rise, and are those that are salvaged.
func TestSieveLetsIDsRise(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	for range 100 {
		whole, starts := kafkas(t, 500, 12)
		if random.Intn(2) == 0 {
			whole, starts = ours(t, 500, 12)
		}
		batches := make([][]byte, len(starts))
		for i, from := range starts {
			to := int64(len(whole))
			if i+1 < len(starts) {
				to = starts[i+1]
			}
			batches[i] = whole[from:to]
		}
		for range random.Intn(4) {
			i, j := random.Intn(len(batches)), random.Intn(len(batches))
			switch random.Intn(3) {
			case 0:
				batches[i] = batches[j]
			case 1:
				batches[i], batches[j] = batches[j], batches[i]
			default:
				batches[i] = moved(bytes.Clone(batches[i]), []int64{0}, 0, 500+random.Int63n(1<<uint(1+random.Intn(20))))
			}
		}
		cut := random.Intn(len(batches))
		dir := filepath.Join(t.TempDir(), "t-0")
		write(t, dir, map[string][]byte{logName(500): bytes.Join(batches[:cut], nil), logName(500 + int64(cut)): bytes.Join(batches[cut:], nil)})
		got, left := sifted(t, dir)
		target := t.TempDir()
		s := salvage(t, dir, target)
		if s.Left() != left {
			t.Fatalf("%d left out, of what is salvaged %d", left, s.Left())
		}
		saved, err := os.ReadFile(s.Files[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Files) != 1 || !bytes.Equal(saved, got) {
			t.Fatalf("%d bytes salvaged, %d let through", len(saved), len(got))
		}
		last := int64(-1)
		for rest := got; len(rest) > 0; {
			h, err := record.ParseHeader(rest)
			if err != nil {
				t.Fatal(err)
			}
			if h.BaseOffset <= last {
				t.Fatalf("id %d behind %d", h.BaseOffset, last)
			}
			last, rest = h.LastOffset(), rest[h.Size():]
		}
	}
}
