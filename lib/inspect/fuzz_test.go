package inspect

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"logkit/lib/record"
	"logkit/lib/vfs/crashfs"
)

// seedLogs are logs of every format, whole and damaged in every way there is a test for.
func seedLogs(t testing.TB) (logs [][]byte) {
	for _, d := range damages {
		whole, starts := ours(t, 0, 10)
		if d.kafka {
			whole, starts = kafkas(t, 0, 10)
		}
		if log := d.change(whole, starts); len(log) < 1<<16 {
			logs = append(logs, log)
		}
	}
	for _, codec := range []record.Codec{record.Gzip, record.Snappy, record.LZ4, record.Zstd} {
		logs = append(logs, append(batchOf(t, codec, 0, 50), batchOf(t, codec, 50, 50)...))
	}
	return append(logs, mustLog07(), first(oldLog(0)), first(oldLog(1)), nil, make([]byte, 100), bytes.Repeat([]byte{0xff}, 100))
}

// FuzzScan reads arbitrary bytes as a log of either kind, with every option.
//
//   - it never panics and always comes to the end
//   - batches and verdicts on what is none follow each other without a hole and without an overlap
//   - every batch has the checksum that it says; salvaging them makes a log in which the same batches are found
func FuzzScan(f *testing.F) {
	for i, log := range seedLogs(f) {
		f.Add(log, uint8(i))
	}
	f.Fuzz(func(t *testing.T, log []byte, options uint8) {
		o := ScanOptions{Base: -1, Size: -1, MaxDecompressed: 1 << 16, Deep: options&1 != 0}
		if options&2 != 0 {
			o.Format = Format07
		}
		if options&4 != 0 {
			o.Base = 0
		}
		if options&8 != 0 {
			o.MaxBatch = 300
		}
		if options&16 != 0 {
			o.Size = int64(len(log))
		}
		got := scanOnce(t, bytes.NewReader(log), o)
		var intact []byte
		for _, at := range got.starts {
			h, err := parseHead(log[at:], o.Format.orAny())
			if err != nil {
				t.Fatal(err)
			}
			if b := log[at : at+h.size]; h.sum(b) != h.crc {
				t.Fatalf("batch at %d: checksum", at)
			}
			intact = append(intact, log[at:at+h.size]...)
		}
		if again := scanOnce(t, bytes.NewReader(intact), o); len(again.starts) != len(got.starts) {
			t.Fatalf("%d batches, of what was salvaged %d: %v", len(got.starts), len(again.starts), again.verdicts)
		}
	})
}

func (f Format) orAny() Format {
	if f != Format07 {
		return anyLog
	}
	return f
}

// FuzzFiles inspects a directory whose files have arbitrary contents, then repairs and salvages it.
//
//   - it never panics, and no verdict is without file, kind or what was found
//   - a dry run says what a repair does; after that nothing that can be repaired is left
//   - what is salvaged has no damage but gaps and what its records hide
func FuzzFiles(f *testing.F) {
	log, _ := ours(f, 0, 100)
	files := indexed(f, 0, log)
	f.Add(log, files["00000000000000000000.index"], files["00000000000000000000.timeindex"], snapshotOf(1, 2), txnOf(0, 4, 6, 11, 12), "0\n1\n0 0\n")
	f.Add(log, []byte{}, []byte{}, []byte{}, []byte{}, `{"t": {"retention.ms": "5"}}`)
	f.Add(log, []byte{}, []byte{}, []byte{}, []byte{}, "version=0\ncluster.id=x\nincarnation=y\n")
	f.Add(log[:len(log)-9], make([]byte, 4096), make([]byte, 12), []byte{}, make([]byte, 33), "0\n")
	for _, log := range seedLogs(f) {
		f.Add(log, []byte{0, 0, 0, 9, 0, 0, 0, 9}, bytes.Repeat([]byte{0xff}, 30), bytes.Repeat([]byte{1}, 90), bytes.Repeat([]byte{0}, 68), "1\n\n")
	}
	f.Fuzz(func(t *testing.T, log, offsets, times, snapshot, txn []byte, text string) {
		fs := crashfs.New(1)
		const dir = "/d/t-0"
		put := func(name string, data []byte) {
			if err := fs.MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
			file, err := fs.Create(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt(data, 0); err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
		const stem = "00000000000000000000"
		for name, data := range map[string][]byte{
			".log": log, ".index": offsets, ".timeindex": times, ".snapshot": snapshot, ".txnindex": txn, ".log.swap": log, ".kafka.deleted": log,
		} {
			put(stem+name, data)
		}
		put("leader-epoch-checkpoint", []byte(text))
		put("recovery-point-offset-checkpoint", []byte(text))
		for _, name := range []string{"partition.metadata", "meta.properties", "producer-id-block", "topic-settings.json", "quorum-state", "clean-shutdown"} {
			put(name, []byte(text))
		}
		put(stem+".log.cut-70", log)
		put("00000000000000000007.index", offsets)
		o := Options{MaxDecompressed: 1 << 16, Deep: true}
		in := Inspector{FS: fs, Options: o, Visitor: Visitor{
			Entry: func(*File, *Entry) error { return nil },
			Verdict: func(_ *File, v *Verdict) error {
				if v.File == "" || v.Kind == "" || v.Found == "" || v.Position < 0 {
					t.Fatalf("%#v", v)
				}
				return nil
			},
		}}
		if err := in.Path(dir); err != nil {
			t.Fatal(err)
		}
		planned, left := fuzzRepair(t, fs, dir, true)
		done, leftNow := fuzzRepair(t, fs, dir, false)
		again, leftThen := fuzzRepair(t, fs, dir, false)
		if planned != done || left != leftNow || again != 0 || leftThen > left {
			t.Fatalf("planned %d, done %d, again %d; left %d, %d, %d", planned, done, again, left, leftNow, leftThen)
		}
		salvageFuzzed(t, fs, dir)
	})
}

func fuzzRepair(t *testing.T, fs *crashfs.FS, dir string, dry bool) (actions, left int) {
	r := &Repair{Inspector: Inspector{FS: fs, Options: Options{MaxDecompressed: 1 << 16}}, DryRun: dry}
	r.Action = func(*Action) error { actions++; return nil }
	if err := r.Path(dir); err != nil {
		t.Fatal(err)
	}
	return actions, r.Left
}

func salvageFuzzed(t *testing.T, fs *crashfs.FS, dir string) {
	if err := fs.MkdirAll("/saved"); err != nil {
		t.Fatal(err)
	}
	s := &Salvage{FS: fs, Target: "/saved"}
	in := Inspector{FS: fs, Options: Options{MaxDecompressed: 1 << 16}, Visitor: Visitor{Batch: func(f *File, b *Batch) error {
		if f.Aside() {
			return ErrSkip
		}
		return s.Add(b)
	}}}
	if err := in.Path(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Files {
		file, err := fs.OpenRead(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		size, err := file.Size()
		if err != nil {
			t.Fatal(err)
		}
		found := scanOnce(t, io.NewSectionReader(file, 0, size), ScanOptions{Base: Classify(name).Base, Size: size, MaxDecompressed: 1 << 16})
		for _, v := range found.verdicts {
			switch v.Kind {
			case MissingBatch, Bomb, CodecMismatch, EpochBack, IDRange:
			default:
				t.Fatalf("salvaged: %v", &v)
			}
		}
	}
}
