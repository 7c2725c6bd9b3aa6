package inspect

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logkit/lib/index"
	"logkit/lib/record"
)

// TestCutOff: what a recovery of logd has cut off stands beside the log and is no part of it. It is a log by itself.
func TestCutOff(t *testing.T) {
	log, starts := ours(t, 0, 20)
	rest := bytes.Clone(log[starts[10]:])
	rest[70] ^= 1
	name := fmt.Sprintf("%s.cut-%d", logName(0), starts[10])
	for _, name := range []string{name, name + "-2"} {
		dir := filepath.Join(t.TempDir(), "t-0")
		write(t, dir, map[string][]byte{logName(0): log[:starts[10]], name: rest, name + ".tmp": rest[:100]})
		damage, notices, batches := look(t, dir, Options{})
		if len(damage) != 0 || len(notices) != 2 || batches != 10 {
			t.Errorf("%v, %v, %d batches", damage, notices, batches)
		}
		want := fmt.Sprintf("what a recovery has cut off the log at position %d, %d bytes", starts[10], len(rest))
		if notices[0].Found != want {
			t.Errorf("%v, want %s", notices[0], want)
		}
		if damage, _, batches = look(t, filepath.Join(dir, name), Options{}); !slices.Equal(kindsOf(damage), []Kind{BadCRC}) || batches != 9 {
			t.Errorf("by itself: %v and %d batches", damage, batches)
		}
		if actions, left := mend(t, dir, false); len(actions) != 1 || len(left) != 0 { // there was no index
			t.Errorf("repaired: %q %v", actions, left)
		}
		if s := salvage(t, filepath.Join(dir, name), t.TempDir()); s.Batches != 9 || s.Name() != logName(baseOf(t, log, starts, 11)) {
			t.Errorf("salvaged: %d batches as %s", s.Batches, s.Name())
		}
	}
	// What does not stand where it must is whole from its first byte.
	dir := t.TempDir()
	write(t, dir, map[string][]byte{name: log[starts[12]:]})
	if damage, _, batches := look(t, filepath.Join(dir, name), Options{}); len(damage) != 0 || batches != 8 {
		t.Errorf("whole: %v and %d batches", damage, batches)
	}
}

// baseOf is the first id of batch i.
func baseOf(t testing.TB, log []byte, starts []int64, i int) int64 {
	t.Helper()
	h, err := record.ParseHeader(log[starts[i]:])
	if err != nil {
		t.Fatal(err)
	}
	return h.BaseOffset
}

// TestEntriesBehindTheLog: the log ends too early, or is empty, which is one trouble and not one for each entry.
func TestEntriesBehindTheLog(t *testing.T) {
	const stem = "00000000000000001000"
	log, starts := ours(t, 1000, 900)
	whole, base := indexed(t, 1000, log), nextBase(t, log, starts)
	entries := len(whole[stem+".index"]) / index.OffsetEntrySize
	if entries < 20 {
		t.Fatalf("%d entries are too few", entries)
	}
	for _, row := range []struct {
		name  string
		keep  int64
		drop  string
		file  string
		found string
	}{
		{"empty", 0, "", stem + ".index", fmt.Sprintf("%d entries, the last with ", entries)},
		{"empty, without an index", 0, stem + ".index", stem + ".timeindex", "entries, the last with time "},
		{"empty, without a time index", 0, stem + ".timeindex", stem + ".index", fmt.Sprintf("%d entries, the last with id ", entries)},
		{"half", starts[450], "", stem + ".index", " entries, the last with id "},
		{"one batch less than indexed", starts[899], stem + ".index", stem + ".timeindex", "time "},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "t-0")
			files := maps.Clone(whole)
			files[stem+".log"] = log[:row.keep]
			delete(files, row.drop)
			write(t, dir, files)
			for _, name := range []string{"", stem + ".log", row.file} {
				path := filepath.Join(dir, name)
				damage, _, _ := look(t, path, Options{})
				if len(damage) != 1 || damage[0].Kind != IndexEntry || filepath.Base(damage[0].File) != row.file || !strings.Contains(damage[0].Found, row.found) {
					t.Errorf("%s: %v", filepath.Base(path), damage)
				}
			}
			if row.drop == "" {
				if damage, _, _ := look(t, filepath.Join(dir, stem+".timeindex"), Options{}); len(damage) != 1 {
					t.Errorf("time index by itself: %v", damage)
				}
			}
			// Another segment behind it does not add that it does not join.
			behind, _ := ours(t, base, 5)
			write(t, dir, map[string][]byte{logName(base): behind})
			if damage, _, _ := look(t, dir, Options{}); len(damage) != 1 {
				t.Errorf("with another behind it: %v", damage)
			}
			os.Remove(filepath.Join(dir, logName(base)))
			if actions, left := mend(t, dir, false); len(actions) != 1 || len(left) != 0 {
				t.Errorf("repaired: %q %v", actions, left)
			}
			if damage, _, _ := look(t, dir, Options{}); len(damage) != 0 {
				t.Errorf("then: %v", damage)
			}
		})
	}
}

// TestMissingLogs: indexes without a log, and a partition without any.
func TestMissingLogs(t *testing.T) {
	first, _ := kafkas(t, 100, 900)
	const base = 100 + 900*2
	second, _ := kafkas(t, base, 900)
	const stem, stem2 = "00000000000000000100", "00000000000000001900"
	all := func(drop ...string) map[string][]byte {
		files := indexed(t, 100, first)
		maps.Copy(files, indexed(t, base, second))
		for _, name := range drop {
			delete(files, name)
		}
		return files
	}
	with := func(files map[string][]byte, name string, data []byte) map[string][]byte {
		files[name] = data
		return files
	}
	for _, row := range []struct {
		name  string
		files map[string][]byte
		want  []Kind
		dir   string
	}{
		{"none", all(), nil, "t-0"},
		{"all", all(stem+".log", stem2+".log"), []Kind{MissingLog, MissingLog}, "t-0"},
		{"all, empty indexes", map[string][]byte{stem + ".index": nil, stem + ".timeindex": nil}, []Kind{MissingLog}, "t-0"},
		{"all, transactions", map[string][]byte{stem + ".txnindex": nil}, []Kind{MissingLog}, "t-0"},
		{"the second", all(stem2 + ".log"), []Kind{MissingLog}, "t-0"},
		{"the second, nothing in its index", with(all(stem2+".log", stem2+".index", stem2+".timeindex"), stem2+".index", nil), nil, "t-0"},
		{"the first, whose deletion goes on", all(stem + ".log"), nil, "t-0"},
		{"what a deletion has renamed", with(all(stem2+".log"), stem2+".log.deleted", second), nil, "t-0"},
		{"what a cleaner puts in its place", with(all(stem2+".log"), stem2+".log.swap", second), nil, "t-0"},
		{"what was cut off is no log", with(all(stem+".log", stem2+".log"), stem+".log.cut-0", first[:5]), []Kind{MissingLog, MissingLog}, "t-0"},
		{"metadata alone", map[string][]byte{"partition.metadata": []byte("version: 0\n")}, []Kind{MissingLog}, "t-0"},
		{"a partition that is being deleted", map[string][]byte{"partition.metadata": []byte("version: 0\n")}, nil, "t-0.0123456789abcdef0123456789abcdef-delete"},
		{"a data directory", map[string][]byte{"meta.properties": []byte("version=0\nbroker.id=1\n")}, nil, "backup-2026"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), row.dir)
			write(t, dir, row.files)
			if damage, _, _ := look(t, dir, Options{}); !slices.Equal(kindsOf(damage), row.want) {
				t.Errorf("%v, want %v", damage, row.want)
			}
			write(t, filepath.Dir(dir), map[string][]byte{"meta.properties": []byte("version=0\nbroker.id=1\n")})
			if damage, _, _ := look(t, filepath.Dir(dir), Options{}); !slices.Equal(kindsOf(damage), row.want) {
				t.Errorf("data directory: %v, want %v", damage, row.want)
			}
		})
	}
}
