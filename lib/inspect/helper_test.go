package inspect

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"logkit/lib/record"
	"logkit/lib/vfs"
)

// batchOf encodes a batch of n records with that base id.
func batchOf(t testing.TB, codec record.Codec, base int64, n int) []byte {
	t.Helper()
	b := record.NewBuilder(codec)
	for i := range n {
		b.Append(record.Record{Timestamp: 1700000000000 + base + int64(i), Key: []byte("key"), Value: fmt.Appendf(nil, "value %d of %d", i, base)})
	}
	batch, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	record.SetBaseOffset(batch, base)
	record.SetLeaderEpoch(batch, 0)
	return batch
}

// ours is a log as logd writes it, and where its batches begin: batch i has i%3+1 records.
func ours(t testing.TB, base int64, batches int) (log []byte, starts []int64) {
	t.Helper()
	for i := range batches {
		batch := batchOf(t, record.None, base, i%3+1)
		h, err := record.ParseHeader(batch)
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, int64(len(log)))
		log = append(log, batch...)
		base = h.NextBase()
	}
	return log, starts
}

// kafkas is a log as Kafka writes it, with ids that count records.
func kafkas(t testing.TB, base int64, batches int) (log []byte, starts []int64) {
	t.Helper()
	for i := range batches {
		starts = append(starts, int64(len(log)))
		log = append(log, batchOf(t, record.None, base, i%3+1)...)
		base += int64(i%3 + 1)
	}
	return log, starts
}

// entryOf encodes an entry of magic 0 or 1.
func entryOf(magic, attributes byte, offset int64, key, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, magic, attributes)
	if magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(1500000000000+offset))
	}
	for _, p := range [][]byte{key, value} {
		if p == nil {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

// oldLog is a log of magic 0 or 1, with a wrapper in the middle.
func oldLog(magic byte) (log []byte, starts []int64) {
	add := func(b []byte) {
		starts = append(starts, int64(len(log)))
		log = append(log, b...)
	}
	for i := range int64(4) {
		add(entryOf(magic, 0, i, []byte("k"), fmt.Appendf(nil, "value %d", i)))
	}
	inner := func(i int64) []byte {
		if magic == 1 {
			i -= 4
		}
		return entryOf(magic, 0, i, nil, []byte("inner"))
	}
	add(entryOf(magic, 1, 6, nil, gzipped(bytes.Join([][]byte{inner(4), inner(5), inner(6)}, nil))))
	for i := range int64(3) {
		add(entryOf(magic, 0, 7+i, nil, []byte("behind")))
	}
	return log, starts
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// log07 is a log of Kafka 0.7.
func log07(messages int) (log []byte, starts []int64) {
	for i := range messages {
		payload := fmt.Appendf(nil, "message %d", i)
		attributes := byte(0)
		if i%4 == 3 {
			payload, attributes = gzipped(append([]byte{0, 0, 0, 7, 1, 0, 0xe8, 0xb7, 0xbe, 0x43}, 'a')), 1
		}
		starts = append(starts, int64(len(log)))
		log = binary.BigEndian.AppendUint32(log, uint32(6+len(payload)))
		log = append(log, 1, attributes)
		log = binary.BigEndian.AppendUint32(log, crc32.ChecksumIEEE(payload))
		log = append(log, payload...)
	}
	return log, starts
}

// found is what a scan has come upon.
type found struct {
	starts   []int64 // of the batches
	verdicts []Verdict
}

func (f *found) kinds() (kinds []Kind) {
	for _, v := range f.verdicts {
		kinds = append(kinds, v.Kind)
	}
	return kinds
}

// scan reads a log twice, once as a file and once as a stream, and wants the same both times: batches and verdicts that
// follow each other without a hole and without an overlap.
func scan(t testing.TB, log []byte, o ScanOptions) found {
	t.Helper()
	o.Size = int64(len(log))
	file := scanOnce(t, bytes.NewReader(log), o)
	o.Size = -1
	stream := scanOnce(t, io.MultiReader(bytes.NewReader(log)), o)
	if fmt.Sprint(file.starts, file.kinds()) != fmt.Sprint(stream.starts, stream.kinds()) {
		t.Fatalf("as a file %v %v,\nas a stream %v %v", file.starts, file.kinds(), stream.starts, stream.kinds())
	}
	return file
}

func scanOnce(t testing.TB, r io.Reader, o ScanOptions) (f found) {
	t.Helper()
	s := NewScanner(r, o)
	for at := int64(0); ; {
		item, err := s.Next()
		if err == io.EOF {
			if at != s.Position() {
				t.Fatalf("ended at %d of %d", at, s.Position())
			}
			return f
		}
		if err != nil {
			t.Fatal(err)
		}
		if b := item.Batch; b != nil {
			if b.Position != at || int64(len(b.Bytes)) != b.Size {
				t.Fatalf("batch at %d of %d bytes, expected at %d", b.Position, b.Size, at)
			}
			f.starts = append(f.starts, at)
			at += b.Size
			continue
		}
		f.verdicts = append(f.verdicts, *item.Verdict)
		if v := item.Verdict; v.Kind.IsRange() {
			if v.Position != at || v.End <= at {
				t.Fatalf("%v, expected at %d", v, at)
			}
			at = v.End
		}
	}
}

// write puts files into a directory.
func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// look inspects a path and returns the verdicts that are damage, or those that are not.
func look(t testing.TB, path string, o Options) (damage, notices []*Verdict, batches int) {
	t.Helper()
	in := Inspector{FS: vfs.OS, Options: o, Visitor: Visitor{
		Batch: func(*File, *Batch) error { batches++; return nil },
		Verdict: func(_ *File, v *Verdict) error {
			if v.Kind.Damage() {
				damage = append(damage, v)
			} else {
				notices = append(notices, v)
			}
			return nil
		},
	}}
	if err := in.Path(path); err != nil {
		t.Fatal(err)
	}
	return damage, notices, batches
}
