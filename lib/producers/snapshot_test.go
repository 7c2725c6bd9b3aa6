package producers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRestore: what is restored knows the same as what was saved.
func TestRestore(t *testing.T) {
	s := New(Limits{})
	for i := range int64(8) {
		s.Add(Batch{Producer: i % 3, Epoch: int16(i % 3), Sequence: math.MaxInt32 - 20 + int32(i/3)*10, Delta: 9, FirstID: 100 * i, Time: i})
	}
	s.Add(Batch{Producer: 9, FirstID: 900, Time: math.MaxInt64})
	entries, err := Decode(Append(nil, s.Entries()))
	if err != nil {
		t.Fatal(err)
	}
	restored := New(Limits{})
	restored.Restore(entries, 1000)
	entries[len(entries)-1].Time = 1000
	if diff := cmp.Diff(entries, restored.Entries()); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	for _, e := range entries {
		b := Batch{Producer: e.Producer, Epoch: e.Epoch, Sequence: after(e.LastSequence, -int64(e.Delta)), Delta: e.Delta}
		if id, stored, err := restored.Check(b); id != e.LastID-int64(e.Delta) || !stored || err != nil {
			t.Errorf("%+v: id %d, stored %v, %v", b, id, stored, err)
		}
	}
}

// TestRestoreEpochAlone: Kafka keeps a producer without batches after the marker of a transaction.
func TestRestoreEpochAlone(t *testing.T) {
	s := New(Limits{})
	s.Restore([]Entry{{Producer: 1, Epoch: 3, LastSequence: -1, LastID: -1, Time: 5, CoordinatorEpoch: -1, TransactionFirst: -1}}, 10)
	for _, test := range []struct {
		b   Batch
		err error
	}{{one(0, 1, 0), nil}, {one(1, 1, 0), ErrOutOfOrder}, {inEpoch(2, one(0, 1, 0)), ErrEpoch}} {
		if _, stored, err := s.Check(test.b); stored || !errors.Is(err, test.err) {
			t.Errorf("%+v: stored %v, %v; want %v", test.b, stored, err, test.err)
		}
	}
	if got := s.Entries(); len(got) != 1 || got[0].LastSequence != -1 || got[0].Time != 5 {
		t.Errorf("entries %+v", got)
	}
}

// TestKafkaReadsTheLastBatch: a reader that keeps one entry for each producer, the last one it meets, has the last batch.
func TestKafkaReadsTheLastBatch(t *testing.T) {
	s := New(Limits{})
	for i := range int64(7) {
		s.Add(Batch{Producer: i % 2, Sequence: int32(i / 2), FirstID: i})
	}
	last := make(map[int64]int64)
	for _, e := range s.Entries() {
		last[e.Producer] = e.LastID
	}
	if diff := cmp.Diff(map[int64]int64{0: 6, 1: 5}, last); diff != "" {
		t.Errorf("last ids (-want +got):\n%s", diff)
	}
}

func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[2:], crc32.Checksum(b[6:], castagnoli))
	return b
}

func TestDecodeRefuses(t *testing.T) {
	whole := Append(nil, []Entry{{Producer: 1, LastSequence: 4, LastID: 50, Delta: 4}})
	changed := func(change func(b []byte)) []byte {
		b := bytes.Clone(whole)
		change(b)
		return seal(b)
	}
	for name, data := range map[string][]byte{
		"empty":             nil,
		"cut header":        whole[:9],
		"cut entry":         seal(bytes.Clone(whole[:len(whole)-1])),
		"trailing byte":     seal(append(bytes.Clone(whole), 0)),
		"version":           changed(func(b []byte) { b[1] = 2 }),
		"checksum":          append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1),
		"negative count":    changed(func(b []byte) { b[6] = 0x80 }),
		"huge count":        changed(func(b []byte) { b[6] = 0x7f }),
		"negative producer": changed(func(b []byte) { b[10] = 0x80 }),
		"negative epoch":    changed(func(b []byte) { b[18] = 0x80 }),
		"negative sequence": changed(func(b []byte) { b[20] = 0x80 }),
		"negative delta":    changed(func(b []byte) { b[32] = 0x80 }),
		"delta above id":    changed(func(b []byte) { b[35] = 51 }),
	} {
		if got, err := Decode(data); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: %v, %v; want ErrSnapshot", name, got, err)
		}
	}
	if _, err := Decode(whole); err != nil {
		t.Errorf("the whole: %v", err)
	}
}

// TestKafkaSnapshots reads the files that real brokers have written and writes them again.
func TestKafkaSnapshots(t *testing.T) {
	dir := os.Getenv("LOGKIT_SEGMENTS")
	if dir == "" {
		t.Skip("LOGKIT_SEGMENTS is not set: no snapshots of real brokers were read")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.snapshot"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots below %s: %v", dir, err)
	}
	producers := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := Decode(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		s := New(Limits{})
		s.Restore(entries, math.MaxInt64)
		if got := Append(nil, s.Entries()); !bytes.Equal(got, data) {
			t.Errorf("%s: written again\n%x, was\n%x", file, got, data)
		}
		producers += s.Len()
	}
	if producers == 0 {
		t.Errorf("no producer in %d snapshots", len(files))
	}
}

// FuzzDecode gives arbitrary bytes to Decode.
//
//   - It does not panic, and allocates no more than the input accounts for.
//   - What it accepts is encoded to the same bytes.
//   - A State takes it, and what that remembers is decoded to the same, and known to Check.
func FuzzDecode(f *testing.F) {
	s := New(Limits{})
	for i := range int64(9) {
		s.Add(Batch{Producer: i % 2, Sequence: int32(i / 2), FirstID: i, Time: i})
	}
	whole := Append(nil, s.Entries())
	flipped := bytes.Clone(whole)
	flipped[30] ^= 0x40
	most := bytes.Clone(whole)
	copy(most[10:], bytes.Repeat([]byte{0x7f}, snapshotEntry))
	for _, seed := range [][]byte{whole, whole[:len(whole)-3], flipped, seal(flipped), seal(most), make([]byte, 10), make([]byte, 56), Append(nil, nil)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 6 {
			data = seal(bytes.Clone(data)) // else the checksum keeps everything out
		}
		entries, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) || entries != nil {
				t.Fatalf("%v with %v", err, entries)
			}
			return
		}
		if got := Append(nil, entries); !bytes.Equal(got, data) {
			t.Fatalf("%x encoded again as %x", data, got)
		}
		s := New(Limits{Producers: 100})
		s.Restore(entries, math.MaxInt64)
		kept := s.Entries()
		again, err := Decode(Append(nil, kept))
		if err != nil {
			t.Fatalf("what is remembered: %v", err)
		}
		if !reflect.DeepEqual(kept, again) {
			t.Fatalf("remembered %v, decoded %v", kept, again)
		}
		for _, e := range kept {
			if e.LastSequence < 0 {
				continue
			}
			b := Batch{Producer: e.Producer, Epoch: e.Epoch, Sequence: after(e.LastSequence, -int64(e.Delta)), Delta: e.Delta}
			if _, stored, err := s.Check(b); !stored || err != nil {
				t.Fatalf("%+v is remembered: stored %v, %v", b, stored, err)
			}
		}
	})
}
