package inspect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"logkit/lib/record"
)

// damage is one way to damage a log whose batches begin at starts.
type damage struct {
	name   string
	change func(log []byte, starts []int64) []byte
	want   []Kind
	at     int  // the batch that the first verdict is on
	lost   int  // batches that are no longer found
	more   int  // that are found besides
	kafka  bool // in a log of Kafka; else of logd
}

func flip(at int64, mask byte) func([]byte, []int64) []byte {
	return func(log []byte, starts []int64) []byte {
		log[starts[4]+at] ^= mask
		return log
	}
}

// moved is batch i with another base id.
func moved(log []byte, starts []int64, i int, base int64) []byte {
	binary.BigEndian.PutUint64(log[starts[i]:], uint64(base))
	return log
}

var damages = []damage{
	{name: "whole", change: func(log []byte, _ []int64) []byte { return log }},
	{name: "torn in a record", change: func(log []byte, _ []int64) []byte { return log[:len(log)-3] }, want: []Kind{TornTail}, at: 9, lost: 1},
	{name: "torn in a header", change: func(log []byte, s []int64) []byte { return log[:s[9]+30] }, want: []Kind{TornTail}, at: 9, lost: 1},
	{name: "torn, one byte", change: func(log []byte, s []int64) []byte { return append(log[:s[9]], 'x') }, want: []Kind{TornTail}, at: 9, lost: 1},
	{name: "4 KiB of zeros", change: func(log []byte, _ []int64) []byte { return append(log, make([]byte, 4<<10)...) }, want: []Kind{ZeroTail}, at: 10},
	{name: "10 MiB of zeros", change: func(log []byte, _ []int64) []byte { return append(log, make([]byte, 10<<20)...) }, want: []Kind{ZeroTail}, at: 10},
	{name: "one zero", change: func(log []byte, _ []int64) []byte { return append(log, 0) }, want: []Kind{ZeroTail}, at: 10},
	{name: "a batch of zeros", change: func(log []byte, s []int64) []byte { clear(log[s[4]:s[5]]); return log }, want: []Kind{Zeros}, at: 4, lost: 1},
	{name: "garbage at the end", change: func(log []byte, _ []int64) []byte { return append(log, bytes.Repeat([]byte{0xa5}, 300)...) }, want: []Kind{BadMagic}, at: 10},
	{name: "garbage between", change: func(log []byte, s []int64) []byte {
		return slices.Insert(log, int(s[4]), bytes.Repeat([]byte{0xa5}, 300)...)
	},
		want: []Kind{BadMagic}, at: 4},
	{name: "value", change: flip(80, 1), want: []Kind{BadCRC}, at: 4, lost: 1},
	{name: "attributes", change: flip(22, 1), want: []Kind{BadCRC}, at: 4, lost: 1},
	{name: "checksum", change: flip(17, 0x80), want: []Kind{BadCRC}, at: 4, lost: 1},
	{name: "magic", change: flip(16, 0x40), want: []Kind{BadMagic}, at: 4, lost: 1},
	{name: "length, a little more", change: flip(11, 0x01), want: []Kind{BadLength}, at: 4, lost: 1},
	{name: "length, far too much", change: flip(8, 0x20), want: []Kind{BadLength}, at: 4, lost: 1},
	{name: "length, below zero", change: flip(8, 0x80), want: []Kind{BadLength}, at: 4, lost: 1},
	{name: "length, nothing", change: func(log []byte, s []int64) []byte { clear(log[s[4]+8 : s[4]+12]); return log }, want: []Kind{BadLength}, at: 4, lost: 1},
	{name: "twice", change: func(log []byte, s []int64) []byte { return slices.Insert(log, int(s[5]), log[s[4]:s[5]]...) }, want: []Kind{Duplicate}, at: 5, more: 1},
	{name: "three of them twice", change: func(log []byte, s []int64) []byte { return slices.Insert(log, int(s[7]), log[s[4]:s[7]]...) },
		want: []Kind{Duplicate, Duplicate, Duplicate}, at: 7, more: 3},
	{name: "one missing", change: func(log []byte, s []int64) []byte { return slices.Delete(log, int(s[4]), int(s[5])) }, want: []Kind{MissingBatch}, at: 4, lost: 1},
	{name: "one missing, which compaction may do", kafka: true,
		change: func(log []byte, s []int64) []byte { return slices.Delete(log, int(s[4]), int(s[5])) }, lost: 1},
	{name: "id too small", change: func(log []byte, s []int64) []byte { return moved(log, s, 4, 1) }, want: []Kind{IDsBack}, at: 4},
	{name: "id too small, Kafka", kafka: true, change: func(log []byte, s []int64) []byte { return moved(log, s, 4, 1) }, want: []Kind{IDsBack}, at: 4},
	{name: "id below zero", change: func(log []byte, s []int64) []byte { return moved(log, s, 4, -5) }, want: []Kind{IDsBack}, at: 4},
	{name: "id too large", change: func(log []byte, s []int64) []byte { return moved(log, s, 4, 1<<30) }, want: []Kind{MissingBatch, IDsBack}, at: 4},
	{name: "id too large, Kafka", kafka: true, change: func(log []byte, s []int64) []byte { return moved(log, s, 4, 1<<30) }, want: []Kind{IDsBack}, at: 4},
	{name: "id out of an index's reach", kafka: true, change: func(log []byte, s []int64) []byte { return moved(log, s, 9, 1<<33) }, want: []Kind{IDRange}, at: 9},
	{name: "leader epoch", change: func(log []byte, s []int64) []byte { log[s[3]+15] = 9; return log }, want: []Kind{EpochBack}, at: 4},
	{name: "two in a row", change: func(log []byte, s []int64) []byte { log[s[4]+70] ^= 1; log[s[5]+70] ^= 1; return log },
		want: []Kind{BadCRC, BadCRC}, at: 4, lost: 2},
	{name: "the first", change: func(log []byte, s []int64) []byte { log[s[0]+70] ^= 1; return log }, want: []Kind{BadCRC}, lost: 1},
	{name: "the last", change: func(log []byte, s []int64) []byte { log[s[9]+70] ^= 1; return log }, want: []Kind{BadCRC}, at: 9, lost: 1},
}

func TestVerdicts(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			whole, starts := ours(t, 4000, 10)
			if d.kafka {
				whole, starts = kafkas(t, 4000, 10)
			}
			log := d.change(bytes.Clone(whole), starts)
			got := scan(t, log, ScanOptions{Base: 4000})
			if !slices.Equal(got.kinds(), d.want) {
				t.Fatalf("%v, want %v", got.verdicts, d.want)
			}
			if n := 10 - d.lost + d.more; len(got.starts) != n {
				t.Errorf("%d batches, want %d", len(got.starts), n)
			}
			if len(d.want) > 0 {
				v := got.verdicts[0]
				at := int64(len(whole))
				if d.at < len(starts) {
					at = starts[d.at]
				}
				if v.Position != at {
					t.Errorf("%v, want it at %d", &v, at)
				}
				if v.Found == "" || v.Expected == "" {
					t.Errorf("%v: expected %q, found %q", &v, v.Expected, v.Found)
				}
			}
		})
	}
}

// TestLengthIsNamed: the checksum tells what the length should be.
func TestLengthIsNamed(t *testing.T) {
	log, starts := ours(t, 0, 10)
	log[starts[4]+10] ^= 1
	got := scan(t, log, ScanOptions{Base: 0})
	want := fmt.Sprint(starts[5] - starts[4] - 12)
	if len(got.verdicts) != 1 || got.verdicts[0].Kind != BadLength || got.verdicts[0].Expected != want {
		t.Errorf("%v, want a length of %s", got.verdicts, want)
	}
}

// TestEveryFlippedBit: each bit of a log, one after the other. In a log of logd only the leader epoch may change
// unnoticed: nothing covers it.
func TestEveryFlippedBit(t *testing.T) {
	for _, kafka := range []bool{false, true} {
		log, starts := ours(t, 100, 5)
		if kafka {
			log, starts = kafkas(t, 100, 5)
		}
		for i := range log {
			batch := 0
			for batch+1 < len(starts) && starts[batch+1] <= int64(i) {
				batch++
			}
			at := int64(i) - starts[batch]
			mask := byte(1 << (i % 8))
			log[i] ^= mask
			got := scanOnce(t, bytes.NewReader(log), ScanOptions{Base: 100, Size: int64(len(log))})
			log[i] ^= mask
			if len(got.verdicts) > 0 {
				continue
			}
			switch epoch, id := at >= 12 && at < 16, at < 8; {
			case epoch:
			case id && batch == len(starts)-1 && kafka: // no neighbour behind it
			case id && kafka && at == 7: // a gap
			default:
				t.Errorf("kafka %v: byte %d of batch %d, mask %02x: nothing found", kafka, at, batch, mask)
			}
		}
	}
}

// TestEveryTruncation: a log cut at a batch is whole, and cut anywhere else it is torn, at the right place.
func TestEveryTruncation(t *testing.T) {
	log, starts := ours(t, 0, 5)
	for n := range len(log) {
		got := scan(t, log[:n], ScanOptions{Base: 0})
		batches := 0
		for batches < len(starts) && (batches+1 < len(starts) && starts[batches+1] <= int64(n) || int64(len(log)) <= int64(n)) {
			batches++
		}
		if len(got.starts) != batches {
			t.Fatalf("%d bytes: %d batches, want %d", n, len(got.starts), batches)
		}
		torn := int64(n) != starts[batches]
		switch {
		case !torn && len(got.verdicts) != 0:
			t.Fatalf("%d bytes: %v", n, got.verdicts)
		case torn && (len(got.verdicts) != 1 || got.verdicts[0].Position != starts[batches]):
			t.Fatalf("%d bytes: %v, want one at %d", n, got.verdicts, starts[batches])
		case torn && got.verdicts[0].Kind != TornTail && got.verdicts[0].Kind != ZeroTail:
			t.Fatalf("%d bytes: %v", n, got.verdicts)
		}
	}
}

func TestOldFormats(t *testing.T) {
	for name, make := range map[string]func() ([]byte, []int64){
		"0": func() ([]byte, []int64) { return oldLog(0) }, "1": func() ([]byte, []int64) { return oldLog(1) }, "0.7": func() ([]byte, []int64) { return log07(10) },
	} {
		t.Run(name, func(t *testing.T) {
			log, starts := make()
			o := ScanOptions{Base: 0, Deep: true}
			if name == "0.7" {
				o.Format = Format07
			}
			got := scan(t, log, o)
			if !slices.Equal(got.starts, starts) || len(got.verdicts) != 0 {
				t.Fatalf("%v %v, want %v", got.starts, got.verdicts, starts)
			}
			log[starts[2]+int64(len("0123456789"))+8] ^= 1
			got = scan(t, log, o)
			if len(got.verdicts) != 1 || got.verdicts[0].Kind != BadCRC || got.verdicts[0].Position != starts[2] || len(got.starts) != len(starts)-1 {
				t.Errorf("%v %v", got.starts, got.verdicts)
			}
			log = log[:len(log)-2]
			got = scan(t, log, o)
			if len(got.verdicts) != 2 || got.verdicts[1].Kind != TornTail {
				t.Errorf("%v %v", got.starts, got.verdicts)
			}
			log = append(log[:starts[5]], bytes.Repeat([]byte{0}, 5000)...)
			got = scan(t, log, o)
			if len(got.verdicts) != 2 || got.verdicts[1].Kind != ZeroTail {
				t.Errorf("%v %v", got.starts, got.verdicts)
			}
		})
	}
}

// TestFormatsMixed: a log that was begun by an old broker and upgraded has all three, with ids that go on.
func TestFormatsMixed(t *testing.T) {
	log := entryOf(0, 0, 5, nil, []byte("a"))
	log = append(log, entryOf(1, 0, 6, nil, []byte("b"))...)
	log = append(log, batchOf(t, record.Gzip, 7, 3)...)
	log = append(log, batchOf(t, record.Zstd, 10, 3)...)
	if got := scan(t, log, ScanOptions{Base: 5, Deep: true}); len(got.starts) != 4 || len(got.verdicts) != 0 {
		t.Errorf("%v %v", got.starts, got.verdicts)
	}
}

// TestEmbeddedBatches: values that hold whole batches are passed over with the batch that holds them, damaged or not.
func TestEmbeddedBatches(t *testing.T) {
	inner, _ := kafkas(t, 0, 3)
	b := record.NewBuilder(record.None)
	b.Append(record.Record{Value: inner})
	outer, err := b.Finish(nil)
	if err != nil {
		t.Fatal(err)
	}
	log := append(bytes.Clone(outer), batchOf(t, record.None, 1, 1)...)
	if got := scan(t, log, ScanOptions{Base: 0}); len(got.starts) != 2 || len(got.verdicts) != 0 {
		t.Errorf("%v %v", got.starts, got.verdicts)
	}
	log[65] ^= 1
	if got := scan(t, log, ScanOptions{Base: 0}); len(got.starts) != 1 || !slices.Equal(got.kinds(), []Kind{BadCRC}) {
		t.Errorf("damaged: %v %v", got.starts, got.verdicts)
	}
}

// TestCompactedLog: what a cleaner leaves is normal: an id above the base, gaps, spans with fewer records.
func TestCompactedLog(t *testing.T) {
	batch := batchOf(t, record.None, 105, 3)
	binary.BigEndian.PutUint32(batch[23:], 10) // last offset delta
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
	log := append(batch, batchOf(t, record.None, 116, 1)...)
	log = append(log, batchOf(t, record.None, 400, 2)...)
	if got := scan(t, log, ScanOptions{Base: 100, Deep: true}); len(got.verdicts) != 0 || len(got.starts) != 3 {
		t.Errorf("%v %v", got.starts, got.verdicts)
	}
}

func TestContents(t *testing.T) {
	plain := batchOf(t, record.None, 0, 2)
	zstd := batchOf(t, record.Zstd, 0, 200)
	seal := func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
		return b
	}
	set := func(b []byte, at int, value byte) []byte {
		b = bytes.Clone(b)
		b[at] = value
		return seal(b)
	}
	for _, row := range []struct {
		name string
		log  []byte
		o    ScanOptions
		want []Kind
	}{
		{"zstd that says none", set(zstd, 22, 0), ScanOptions{}, []Kind{CodecMismatch}},
		{"more records than bytes", set(plain, 58, 0xff), ScanOptions{}, []Kind{Malformed}},
		{"more records than ids", set(plain, 60, 3), ScanOptions{}, []Kind{Malformed}},
		{"record count too small, not looked at", set(plain, 60, 1), ScanOptions{}, nil},
		{"record count too small", set(plain, 60, 1), ScanOptions{Deep: true}, []Kind{Malformed}},
		{"codec that does not exist", set(plain, 22, 6), ScanOptions{Deep: true}, []Kind{Malformed}},
		{"bomb", zstd, ScanOptions{Deep: true, MaxDecompressed: 1000}, []Kind{Bomb}},
		{"bomb, not looked at", zstd, ScanOptions{MaxDecompressed: 1000}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.o.Base = 0
			if got := scan(t, row.log, row.o); !slices.Equal(got.kinds(), row.want) || len(got.starts) != 1 {
				t.Errorf("%v, want %v", got.verdicts, row.want)
			}
		})
	}
}

func TestBatchOverTheLimit(t *testing.T) {
	log, _ := ours(t, 0, 4)
	got := scanOnce(t, bytes.NewReader(log), ScanOptions{Base: 0, Size: int64(len(log)), MaxBatch: 70})
	if len(got.verdicts) == 0 || got.verdicts[0].Kind != TooLarge {
		t.Errorf("%v", got.verdicts)
	}
}

// TestPreallocatedTail: a zero tail up to a round size is Kafka's doing, and never logd's.
func TestPreallocatedTail(t *testing.T) {
	for _, row := range []struct {
		size  int
		kafka bool
		want  Kind
	}{{1 << 20, true, Preallocated}, {1000000, true, Preallocated}, {1<<20 + 1, true, ZeroTail}, {1 << 20, false, ZeroTail}} {
		log, _ := ours(t, 0, 4)
		if row.kafka {
			log, _ = kafkas(t, 0, 4)
		}
		log = append(log, make([]byte, row.size-len(log))...)
		if got := scan(t, log, ScanOptions{Base: 0}); !slices.Equal(got.kinds(), []Kind{row.want}) {
			t.Errorf("%+v: %v", row, got.verdicts)
		}
	}
}

// TestManyFalseHeads: bytes that look like a long batch at every step cost no more than other garbage. If each claim were
// summed up by itself, this would be some 10 TB.
func TestManyFalseHeads(t *testing.T) {
	const size, claim = 8 << 20, 4 << 20
	log := make([]byte, 0, size)
	for len(log) < size {
		head := make([]byte, record.HeaderSize)
		binary.BigEndian.PutUint64(head, uint64(len(log)))
		binary.BigEndian.PutUint32(head[8:], claim)
		head[16] = 2
		log = append(log, head[:20]...)
	}
	good, _ := kafkas(t, 1<<20, 3)
	log = append(log, good...)
	got := scanOnce(t, bytes.NewReader(log), ScanOptions{Base: 0, Size: int64(len(log))})
	if len(got.starts) != 3 || len(got.verdicts) != 1 {
		t.Errorf("%v %v", got.starts, got.verdicts)
	}
}
