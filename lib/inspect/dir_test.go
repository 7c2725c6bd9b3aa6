package inspect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logkit/lib/index"
	"logkit/lib/record"
	"logkit/lib/vfs"
)

// logName is the name of a segment's log.
func logName(base int64) string { return fmt.Sprintf("%020d.log", base) }

// indexed are the files of a segment with both indexes.
func indexed(t testing.TB, base int64, log []byte) map[string][]byte {
	t.Helper()
	offsets, times, err := buildIndexes(bytes.NewReader(log), int64(len(log)), base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stem := strings.TrimSuffix(logName(base), ".log")
	return map[string][]byte{stem + ".log": log, stem + ".index": offsets, stem + ".timeindex": times}
}

// nextBase is the id that follows a log of logd.
func nextBase(t testing.TB, log []byte, starts []int64) int64 {
	t.Helper()
	h, err := record.ParseHeader(log[starts[len(starts)-1]:])
	if err != nil {
		t.Fatal(err)
	}
	return h.NextBase()
}

func kindsOf(verdicts []*Verdict) (kinds []Kind) {
	for _, v := range verdicts {
		kinds = append(kinds, v.Kind)
	}
	return kinds
}

func TestIndexes(t *testing.T) {
	const stem = "00000000000000001000"
	prealloc := func(b []byte) []byte { return append(b, make([]byte, 10<<20-len(b))...) }
	set := func(b []byte, at int, value uint32) []byte {
		binary.BigEndian.PutUint32(b[at:], value)
		return b
	}
	get := func(b []byte, at int) uint32 { return binary.BigEndian.Uint32(b[at:]) }
	for _, row := range []struct {
		name   string
		kafka  bool
		change func(offsets, times []byte) ([]byte, []byte)
		want   []Kind
		file   string
	}{
		{name: "right"},
		{name: "right, Kafka", kafka: true},
		{name: "empty", change: func(_, _ []byte) ([]byte, []byte) { return nil, nil }},
		{name: "behind", change: func(o, t []byte) ([]byte, []byte) { return o[:len(o)-8], t[:len(t)-12] }},
		{name: "preallocated", change: func(o, t []byte) ([]byte, []byte) { return prealloc(o), prealloc(t) }},
		{name: "preallocated and empty", change: func(_, _ []byte) ([]byte, []byte) { return prealloc(nil), prealloc(nil) }},
		{name: "something in the preallocated part", want: []Kind{IndexOrder}, file: ".index",
			change: func(o, t []byte) ([]byte, []byte) { o = prealloc(o); o[5<<20] = 1; return o, t }},
		{name: "position", want: []Kind{IndexEntry}, file: ".index", change: func(o, t []byte) ([]byte, []byte) { return set(o, 4, get(o, 4)+1), t }},
		{name: "id", want: []Kind{IndexEntry}, file: ".index", change: func(o, t []byte) ([]byte, []byte) { return set(o, 0, get(o, 0)-1), t }},
		{name: "id, a little more", want: []Kind{IndexEntry}, file: ".index", change: func(o, t []byte) ([]byte, []byte) { return set(o, 0, get(o, 0)+1), t }},
		{name: "an id that no batch ends with, Kafka", kafka: true, want: []Kind{IndexEntry}, file: ".index",
			change: func(o, t []byte) ([]byte, []byte) {
				for i := uint32(1); ; i++ { // batches of three have ids in the middle
					if n := get(o, 0) + i; n%6 == 4 {
						return set(o, 0, n), t
					}
				}
			}},
		{name: "several batches at once, Kafka", kafka: true, change: func(o, t []byte) ([]byte, []byte) { return set(o, 0, get(o, 0)+6), t }},
		{name: "behind the log", want: []Kind{IndexEntry}, file: ".index",
			change: func(o, t []byte) ([]byte, []byte) { return append(o, 0, 1, 0, 0, 0, 1, 0, 0), t }},
		{name: "going back", want: []Kind{IndexOrder}, file: ".index", change: func(o, t []byte) ([]byte, []byte) { return append(o, o[:8]...), t }},
		{name: "partial", want: []Kind{IndexSize}, file: ".index", change: func(o, t []byte) ([]byte, []byte) { return append(o, 1, 2, 3), t }},
		{name: "time", want: []Kind{IndexEntry}, file: ".timeindex", change: func(o, t []byte) ([]byte, []byte) { return o, set(t, 4, get(t, 4)+1) }},
		{name: "time too small", want: []Kind{IndexEntry}, file: ".timeindex", change: func(o, t []byte) ([]byte, []byte) { return o, set(t, 4, get(t, 4)-1) }},
		{name: "id of a time", want: []Kind{IndexEntry}, file: ".timeindex", change: func(o, t []byte) ([]byte, []byte) { return o, set(t, 8, get(t, 8)-90) }},
		{name: "id of a time behind the log", want: []Kind{IndexEntry}, file: ".timeindex",
			change: func(o, t []byte) ([]byte, []byte) { return o, set(t, len(t)-4, 1<<30) }},
		{name: "times going back", want: []Kind{IndexOrder}, file: ".timeindex", change: func(o, t []byte) ([]byte, []byte) { return o, append(t, t[:12]...) }},
		{name: "partial time", want: []Kind{IndexSize}, file: ".timeindex", change: func(o, t []byte) ([]byte, []byte) { return o, append(t, 1) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, _ := ours(t, 1000, 300)
			if row.kafka {
				log, _ = kafkas(t, 1000, 300)
			}
			files := indexed(t, 1000, log)
			if row.change != nil {
				files[stem+".index"], files[stem+".timeindex"] = row.change(files[stem+".index"], files[stem+".timeindex"])
			}
			dir := t.TempDir()
			write(t, dir, files)
			for _, path := range []string{dir, filepath.Join(dir, stem+".log")} {
				damage, _, batches := look(t, path, Options{})
				if !slices.Equal(kindsOf(damage), row.want) || batches != 300 {
					t.Fatalf("%s: %v, want %v; %d batches", path, damage, row.want, batches)
				}
				if len(damage) > 0 && !strings.HasSuffix(damage[0].File, row.file) {
					t.Errorf("%v, want it on %s", damage[0], row.file)
				}
			}
			if row.file != "" { // the index alone is held against its log too
				if damage, _, _ := look(t, filepath.Join(dir, stem+row.file), Options{}); !slices.Equal(kindsOf(damage), row.want) {
					t.Errorf("alone: %v", damage)
				}
			}
		})
	}
}

// TestEveryFlippedBitOfAnIndex: in a log of logd each of them shows.
func TestEveryFlippedBitOfAnIndex(t *testing.T) {
	log, _ := ours(t, 1000, 150)
	files := indexed(t, 1000, log)
	dir := t.TempDir()
	write(t, dir, files)
	for name, data := range files {
		if strings.HasSuffix(name, ".log") {
			continue
		}
		if len(data) < 24 {
			t.Fatalf("%s: %d bytes", name, len(data))
		}
		for i := range data {
			data[i] ^= 1 << (i % 8)
			write(t, dir, map[string][]byte{name: data})
			data[i] ^= 1 << (i % 8)
			if damage, _, _ := look(t, dir, Options{}); len(damage) == 0 {
				t.Errorf("%s: byte %d: nothing found", name, i)
			}
		}
		write(t, dir, map[string][]byte{name: data})
	}
}

// TestGarbageIndexIsNamedBriefly: a few entries are named, the rest counted.
func TestGarbageIndexIsNamedBriefly(t *testing.T) {
	log, _ := ours(t, 0, 3)
	dir := t.TempDir()
	write(t, dir, map[string][]byte{logName(0): log, "00000000000000000000.index": bytes.Repeat([]byte{0x7f, 1, 2, 3, 0x7f, 5, 6, 7}, 10000)})
	damage, _, _ := look(t, dir, Options{})
	if len(damage) == 0 || len(damage) > 2*maxComplaints {
		t.Errorf("%d verdicts", len(damage))
	}
}

func TestJoins(t *testing.T) {
	first, starts := ours(t, 0, 10)
	second, starts2 := ours(t, nextBase(t, first, starts), 10)
	base2 := nextBase(t, first, starts)
	third, _ := ours(t, nextBase(t, second, starts2), 10)
	base3 := nextBase(t, second, starts2)
	kFirst, _ := kafkas(t, 0, 9)
	for _, row := range []struct {
		name  string
		files map[string][]byte
		want  []Kind
	}{
		{"whole", map[string][]byte{logName(0): first, logName(base2): second, logName(base3): third}, nil},
		{"the last is empty", map[string][]byte{logName(0): first, logName(base2): nil}, nil},
		{"one missing", map[string][]byte{logName(0): first, logName(base3): third}, []Kind{Join}},
		{"the first missing", map[string][]byte{logName(base2): second, logName(base3): third}, nil},
		{"name too small", map[string][]byte{logName(0): first, logName(base2 - 5): second}, []Kind{Join, MissingBatch}},
		{"the end of one torn", map[string][]byte{logName(0): first[:len(first)-1], logName(base2): second}, []Kind{TornTail}},
		{"the last batch of one missing", map[string][]byte{logName(0): first[:starts[9]], logName(base2): second}, []Kind{Join}},
		{"the first batch of one missing", map[string][]byte{logName(0): first, logName(base2): second[starts2[1]:]}, []Kind{MissingBatch}},
		{"an empty one behind", map[string][]byte{logName(0): first, logName(base2): nil}, nil},
		{"an empty one behind a batch that is missing", map[string][]byte{logName(0): first[:starts[9]], logName(base2): nil}, []Kind{Join}},
		{"an empty one that was begun and given up", map[string][]byte{logName(0): first, logName(base2 - 200): nil}, nil},
		{"an empty one alone", map[string][]byte{logName(700): nil}, nil},
		{"the first emptied", map[string][]byte{logName(0): nil, logName(base2): second}, []Kind{Join}},
		{"the middle emptied", map[string][]byte{logName(0): first, logName(base2): nil, logName(base3): third}, []Kind{Join}},
		{"the middle emptied and named too small", map[string][]byte{logName(0): first, logName(base2 - 200): nil, logName(base2): second}, []Kind{Join}},
		{"Kafka, empty ones", map[string][]byte{logName(0): kFirst, logName(18): nil, logName(30): mustKafkas(t, 30), logName(50): nil}, nil},
		{"Kafka, the first emptied", map[string][]byte{logName(0): nil, logName(18): mustKafkas(t, 18)}, nil},
		{"Kafka", map[string][]byte{logName(0): kFirst, logName(18): mustKafkas(t, 18)}, nil},
		{"Kafka, with a gap", map[string][]byte{logName(0): kFirst, logName(30): mustKafkas(t, 30)}, nil},
		{"Kafka, overlapping", map[string][]byte{logName(0): kFirst, logName(17): mustKafkas(t, 17)}, []Kind{Join}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "t-0")
			write(t, dir, row.files)
			if damage, _, _ := look(t, dir, Options{}); !slices.Equal(kindsOf(damage), row.want) {
				t.Errorf("%v, want %v", damage, row.want)
			}
			// The same through the directory around it.
			if damage, _, _ := look(t, filepath.Dir(dir), Options{}); !slices.Equal(kindsOf(damage), row.want) {
				t.Errorf("data directory: %v, want %v", damage, row.want)
			}
		})
	}
}

func mustKafkas(t *testing.T, base int64) []byte {
	log, _ := kafkas(t, base, 3)
	return log
}

// TestLeftovers: files of a compaction and of a deletion stand beside the log, and are no part of it.
func TestLeftovers(t *testing.T) {
	log, _ := kafkas(t, 0, 9)
	swapped, starts := kafkas(t, 0, 9)
	swapped = slices.Delete(swapped, int(starts[3]), int(starts[6])) // compacted
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		logName(0): log, logName(0) + ".swap": swapped, logName(0) + ".deleted": log, logName(0) + ".cleaned": swapped[:len(swapped)-5],
		"00000000000000000000.index.swap": nil, "00000000000000000000-0000000001.checkpoint": mustKafkas(t, 0), "unknown": []byte("?"),
	})
	damage, notices, _ := look(t, dir, Options{})
	if len(damage) != 0 || len(notices) != 4 {
		t.Errorf("%v and %v", damage, notices)
	}
}

func TestNotASegment(t *testing.T) {
	log, _ := ours(t, 0, 3)
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"text": []byte("hello, this is no segment at all, but long enough to be looked at by all that look\n"), "nothing": nil,
		"shaped": log, "torn": log[:200], "headless": log[5:], "empty/x": nil, "shaped07": mustLog07(), logName(5): []byte("garbage"),
	})
	for name, want := range map[string]struct {
		not    bool
		damage int
	}{
		"text": {not: true}, "nothing": {not: true}, "empty": {not: true}, "shaped": {}, "torn": {damage: 1}, "headless": {damage: 1}, "shaped07": {},
		logName(5): {damage: 1},
	} {
		in := Inspector{FS: vfs.OS}
		n := 0
		in.Verdict = func(_ *File, v *Verdict) error { n++; return nil }
		err := in.Path(filepath.Join(dir, name))
		if errors.Is(err, ErrNotSegment) != want.not || n != want.damage || !want.not && err != nil {
			t.Errorf("%s: %v, %d verdicts, want %+v", name, err, n, want)
		}
	}
}

func mustLog07() []byte {
	log, _ := log07(5)
	return log
}

// TestGrowingLog: a log that gets longer while it is read may end within a batch, and its index may know more.
func TestGrowingLog(t *testing.T) {
	log, starts := ours(t, 0, 300)
	dir := t.TempDir()
	files := indexed(t, 0, log)
	files[logName(0)] = log[:starts[200]+20]
	write(t, dir, files)
	grown := false
	in := Inspector{FS: vfs.OS, Visitor: Visitor{
		Batch: func(*File, *Batch) error {
			if !grown {
				grown = true
				return os.WriteFile(filepath.Join(dir, logName(0)), log, 0o644)
			}
			return nil
		},
		Verdict: func(_ *File, v *Verdict) error {
			if v.Kind != Growing {
				t.Errorf("%v", v)
			}
			return nil
		},
	}}
	if err := in.Path(dir); err != nil {
		t.Fatal(err)
	}
}

func TestBuiltIndexesAreThoseOfSegment(t *testing.T) {
	log, _ := ours(t, 1000, 300)
	offsets, times, err := buildIndexes(bytes.NewReader(log), int64(len(log)), 1000, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := index.CheckOffsets(1000, offsets, int64(len(log))); err != nil || len(offsets) == 0 {
		t.Error(err)
	}
	if err := index.CheckTimes(1000, times, 1<<40); err != nil || len(times) == 0 {
		t.Error(err)
	}
}

// Who has seen enough of a segment has not seen where it ends: the next one is not said to be apart from it. One that
// begins too early still is.
func TestSkippedSegmentsJoin(t *testing.T) {
	first, starts := ours(t, 0, 5)
	base := nextBase(t, first, starts)
	for _, row := range []struct {
		name string
		base int64
		want []Kind
	}{{"right", base, nil}, {"too early", 10, []Kind{Join}}} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			second, _ := ours(t, row.base, 5)
			write(t, dir, map[string][]byte{logName(0): first, logName(row.base): second})
			var damage []*Verdict
			in := Inspector{FS: vfs.OS, Visitor: Visitor{
				Batch: func(f *File, b *Batch) error {
					if f.Base == 0 && b.Position == starts[2] {
						return ErrSkip
					}
					return nil
				},
				Verdict: func(_ *File, v *Verdict) error { damage = append(damage, v); return nil },
			}}
			if err := in.Path(dir); err != nil {
				t.Fatal(err)
			}
			if got := kindsOf(damage); !slices.Equal(got, row.want) {
				t.Errorf("verdicts %v, want %v", damage, row.want)
			}
		})
	}
}
