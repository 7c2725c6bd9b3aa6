package crashfs_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// TestCrash holds all that a crash can leave against all that it may leave, in some hundred crashes of each scenario.
// A state is the list of paths: NAME/ of a directory, NAME=BYTES of a file, with 0 for a zero and ? for garbage.
func TestCrash(t *testing.T) {
	for _, c := range []struct {
		name string
		mode crashfs.Mode
		run  func(s script)
		want []string
	}{
		{
			"a process crash takes nothing", crashfs.ProcessCrash,
			func(s script) { s.mkdir("d/e"); s.write("d/f", 0, "aa"); s.write("g", 0, "b"); s.rename("g", "h") },
			[]string{"d/ d/e/ d/f=aa h=b"},
		}, {
			"synced bytes and names stay", crashfs.PowerLoss,
			func(s script) { s.mkdir("d"); s.write("d/f", 0, "aa"); s.sync("d/f"); s.syncDir("/"); s.syncDir("d") },
			[]string{"d/ d/f=aa"},
		}, {
			"a synced file has no durable name", crashfs.PowerLoss,
			func(s script) { s.write("f", 0, "aa"); s.sync("f") },
			[]string{"", "f=aa"},
		}, {
			"a durable name has no synced bytes, and any length", crashfs.PowerLoss,
			func(s script) { s.write("f", 0, "aa"); s.syncDir("/") },
			[]string{"f=", "f=0", "f=00", "f=?", "f=??", "f=a", "f=aa"},
		}, {
			"what is appended does no harm to what was there", crashfs.PowerLoss,
			func(s script) { s.durable("f", "aa"); s.write("f", 2, "b") },
			[]string{"f=aa", "f=aa0", "f=aa?", "f=aab"},
		}, {
			"what is overwritten can be lost in any form", crashfs.PowerLoss,
			func(s script) { s.durable("f", "aaa"); s.write("f", 1, "b") },
			[]string{"f=a0a", "f=a?a", "f=aaa", "f=aba"},
		}, {
			"what is truncated may be there", crashfs.PowerLoss,
			func(s script) { s.durable("f", "aa"); s.truncate("f", 1) },
			[]string{"f=a", "f=a0", "f=a?", "f=aa"},
		}, {
			"emptied by creating it again", crashfs.PowerLoss,
			func(s script) { s.durable("f", "a"); s.create("f") },
			[]string{"f=", "f=0", "f=?", "f=a"},
		}, {
			"a hole is pending too", crashfs.PowerLoss,
			func(s script) { s.durable("f", ""); s.write("f", 1, "a"); s.sync("f"); s.truncate("f", 3); s.sync("f") },
			[]string{"f=0a0"},
		}, {
			"names are kept or lost one by one", crashfs.PowerLoss,
			func(s script) { s.create("f"); s.create("g") },
			[]string{"", "f=", "f= g=", "g="},
		}, {
			"a rename is kept or lost as a whole", crashfs.PowerLoss,
			func(s script) { s.durable("f", "aa"); s.rename("f", "g") },
			[]string{"f=aa", "g=aa"},
		}, {
			"so is one that replaces", crashfs.PowerLoss,
			func(s script) { s.durable("f", "aa"); s.durable("g", "bb"); s.rename("f", "g") },
			[]string{"f=aa g=bb", "g=aa"},
		}, {
			"what happens to a name happens in order", crashfs.PowerLoss,
			func(s script) { s.write("t", 0, "a"); s.sync("t"); s.rename("t", "f"); s.remove("f") },
			[]string{"", "f=a", "t=a"},
		}, {
			"a removed file can come back, and not with the bytes of its successor", crashfs.PowerLoss,
			func(s script) { s.durable("f", "a"); s.remove("f"); s.write("f", 0, "b"); s.sync("f") },
			[]string{"", "f=a", "f=b"},
		}, {
			"between two directories a rename is whole as well, whichever is synced", crashfs.PowerLoss,
			func(s script) {
				s.mkdir("c")
				s.mkdir("d")
				s.syncDir("/")
				s.durable("c/f", "a")
				s.rename("c/f", "d/f")
				s.syncDir("d")
			},
			[]string{"c/ d/ d/f=a"},
		}, {
			"a directory is a name like others", crashfs.PowerLoss,
			func(s script) { s.mkdir("d/e") },
			[]string{"", "d/", "d/ d/e/"},
		}, {
			"a durable name in a lost directory is lost", crashfs.PowerLoss,
			func(s script) { s.mkdir("d"); s.durable("d/f", "a") },
			[]string{"", "d/ d/f=a"},
		}, {
			"a tree is removed in any order", crashfs.PowerLoss,
			func(s script) {
				s.mkdir("d")
				s.syncDir("/")
				s.durable("d/f", "a")
				s.durable("d/g", "b")
				s.removeAll("d")
			},
			[]string{"", "d/", "d/ d/f=a", "d/ d/f=a d/g=b", "d/ d/g=b"},
		}, {
			"what a process crash has left can be lost still", crashfs.PowerLoss,
			func(s script) { s.durable("f", "a"); s.write("f", 1, "b"); s.create("g"); s.restart() },
			[]string{"f=a", "f=a g=", "f=a0", "f=a0 g=", "f=a?", "f=a? g=", "f=ab", "f=ab g="},
		}, {
			"the next process can sync what it was left", crashfs.PowerLoss,
			func(s script) { s.write("f", 0, "ab"); s.restart(); s.sync("f"); s.syncDir("/") },
			[]string{"f=ab"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := crashfs.New(1)
			c.run(script{t, &fsys})
			seen := map[string]bool{}
			for seed := range uint64(400) {
				seen[state(t, fsys.Crash(c.mode, seed))] = true
			}
			var got []string
			for s := range seen {
				got = append(got, s)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("states after a %v (-want +got):\n%s", c.mode, diff)
			}
		})
	}
}

// TestSectors: of a long write each sector has a fate of its own.
func TestSectors(t *testing.T) {
	fsys := crashfs.New(1)
	s := script{t, &fsys}
	s.durable("f", "")
	s.write("f", 100, strings.Repeat("a", 2000))
	boundaries := map[int]bool{}
	for seed := range uint64(200) {
		data, err := vfs.ReadFile(fsys.Crash(crashfs.PowerLoss, seed), "f", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := 101; i < len(data); i++ {
			if (data[i] == 'a') != (data[i-1] == 'a') {
				boundaries[i%512] = true
			}
		}
	}
	if diff := cmp.Diff(map[int]bool{0: true}, boundaries); diff != "" {
		t.Errorf("places in a sector where kept bytes border on lost ones (-want +got):\n%s", diff)
	}
}

// TestSameSeed: a crash can be had again.
func TestSameSeed(t *testing.T) {
	run := func() string {
		fsys := crashfs.New(7)
		s := script{t, &fsys}
		for i := range 20 {
			name := fmt.Sprintf("d%d/f", i%3)
			s.mkdir(path.Dir(name))
			s.write(name, i*300, strings.Repeat("a", 700))
		}
		return state(t, fsys.Crash(crashfs.PowerLoss, 3))
	}
	if first, second := run(), run(); first != second {
		t.Error("two runs with the same seeds differ")
	}
}

// TestStopAt crashes the replacing of a file in each of its calls.
func TestStopAt(t *testing.T) {
	start := func() *crashfs.FS {
		fsys := crashfs.New(1)
		script{t, &fsys}.durable("f", "old")
		return fsys
	}
	replace := func(fsys *crashfs.FS) error { return vfs.WriteFileAtomic(fsys, "f", []byte("young")) }

	whole := start()
	before := whole.Changes()
	if err := replace(whole); err != nil {
		t.Fatal(err)
	}
	calls := whole.Changes() - before
	if calls != 5 { // create, write, sync, rename, syncdir
		t.Errorf("%d calls, want 5", calls)
	}
	seen := map[string]int{}
	for n := range calls {
		for seed := range uint64(50) {
			for _, mode := range []crashfs.Mode{crashfs.ProcessCrash, crashfs.PowerLoss} {
				fsys := start()
				fsys.StopAt(n + 1)
				if err := replace(fsys); err == nil {
					t.Fatalf("stopped at call %d: no error", n+1)
				}
				data, err := vfs.ReadFile(fsys.Crash(mode, seed), "f", 100)
				if err != nil {
					t.Fatal(err)
				}
				seen[string(data)]++
			}
		}
	}
	if len(seen) != 2 || seen["old"] == 0 || seen["young"] == 0 {
		t.Errorf("contents seen after crashes: %v; want old and young", seen)
	}
	for seed := range uint64(50) {
		if got := state(t, whole.Crash(crashfs.PowerLoss, seed)); got != "f=young" {
			t.Fatalf("replaced, and after a power loss %q", got)
		}
	}
}

// script makes changes to a file system, which must succeed.
type script struct {
	t    testing.TB
	fsys **crashfs.FS
}

func (s script) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s script) with(name string, do func(vfs.File) error) {
	s.t.Helper()
	f, err := (*s.fsys).OpenWrite(name)
	if err != nil {
		f, err = (*s.fsys).Create(name)
	}
	s.must(err)
	s.must(do(f))
	s.must(f.Close())
}

func (s script) create(name string) {
	f, err := (*s.fsys).Create(name)
	s.must(err)
	s.must(f.Close())
}

func (s script) write(name string, at int, text string) {
	s.with(name, func(f vfs.File) error { _, err := f.WriteAt([]byte(text), int64(at)); return err })
}

func (s script) truncate(name string, size int64) {
	s.with(name, func(f vfs.File) error { return f.Truncate(size) })
}

func (s script) sync(name string) { s.with(name, vfs.File.Sync) }

// durable makes a file of which everything is synced.
func (s script) durable(name, text string) {
	s.write(name, 0, text)
	s.sync(name)
	s.syncDir(path.Dir(name))
}

func (s script) mkdir(dir string)       { s.must((*s.fsys).MkdirAll(dir)) }
func (s script) syncDir(dir string)     { s.must((*s.fsys).SyncDir(dir)) }
func (s script) rename(from, to string) { s.must((*s.fsys).Rename(from, to)) }
func (s script) remove(name string)     { s.must((*s.fsys).Remove(name)) }
func (s script) removeAll(dir string)   { s.must((*s.fsys).RemoveAll(dir)) }
func (s script) restart()               { *s.fsys = (*s.fsys).Crash(crashfs.ProcessCrash, 1) }

// state is a file system in one line.
func state(t testing.TB, fsys vfs.FS) string {
	var paths []string
	var list func(dir string)
	list = func(dir string) {
		entries, err := fsys.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				paths = append(paths, name[1:]+"/")
				list(name)
				continue
			}
			data, err := vfs.ReadFile(fsys, name, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, name[1:]+"="+printable(data))
		}
	}
	list("/")
	return strings.Join(paths, " ")
}

func printable(data []byte) string {
	text := make([]byte, len(data))
	for i, b := range data {
		switch {
		case b == 0:
			text[i] = '0'
		case b >= 0x80:
			text[i] = '?'
		default:
			text[i] = b
		}
	}
	return string(text)
}
