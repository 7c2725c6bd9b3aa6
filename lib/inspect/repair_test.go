package inspect

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"logkit/lib/vfs"
)

// mend repairs a path and returns what was done, and the kinds of the verdicts that stay.
func mend(t testing.TB, path string, dry bool) (actions []string, left []Kind) {
	t.Helper()
	r := &Repair{Inspector: Inspector{FS: vfs.OS}, DryRun: dry}
	r.Verdict = func(_ *File, v *Verdict) error { left = append(left, v.Kind); return nil }
	r.Action = func(a *Action) error { actions = append(actions, strings.TrimPrefix(a.String(), path+"/")); return nil }
	if err := r.Path(path); err != nil {
		t.Fatal(err)
	}
	return actions, left
}

// contents reads all files of a directory.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[name.Name()] = string(data)
	}
	return files
}

func same(a, b map[string]string) bool {
	for name := range a {
		if a[name] != b[name] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestRepair(t *testing.T) {
	const stem = "00000000000000001000"
	for _, row := range []struct {
		name    string
		change  func(files map[string][]byte, starts []int64)
		actions []string
		left    []Kind
		kept    int // batches
	}{
		{"nothing to do", func(map[string][]byte, []int64) {}, nil, nil, 200},
		{"torn tail", func(f map[string][]byte, s []int64) { f[stem+".log"] = f[stem+".log"][:s[199]+9] },
			[]string{stem + ".log: cut at 22298: 9 bytes off", stem + ".log: indexes built again from the log"}, nil, 199},
		{"zeros", func(f map[string][]byte, s []int64) { f[stem+".log"] = append(f[stem+".log"], make([]byte, 4096)...) },
			[]string{stem + ".log: cut at 22411: 4096 bytes off", stem + ".log: indexes built again from the log"}, nil, 200},
		{"index", func(f map[string][]byte, s []int64) { f[stem+".index"][3] ^= 1 }, []string{stem + ".log: indexes built again from the log"}, nil, 200},
		{"no index", func(f map[string][]byte, s []int64) { delete(f, stem+".index") }, []string{stem + ".log: indexes built again from the log"}, nil, 200},
		{"time index", func(f map[string][]byte, s []int64) { f[stem+".timeindex"] = []byte("x") }, []string{stem + ".log: indexes built again from the log"}, nil, 200},
		{"in the middle, which stays", func(f map[string][]byte, s []int64) { f[stem+".log"][s[50]+70] ^= 1 }, nil, []Kind{BadCRC}, 199},
		{"the last two batches", func(f map[string][]byte, s []int64) { f[stem+".log"][s[198]+70] ^= 1; f[stem+".log"][s[199]+70] ^= 1 },
			[]string{stem + ".log: cut at 22211: 200 bytes off", stem + ".log: indexes built again from the log"}, nil, 198},
		{"the last batch and a torn one", func(f map[string][]byte, s []int64) {
			f[stem+".log"] = append(f[stem+".log"], f[stem+".log"][:30]...)
			f[stem+".log"][s[199]+70] ^= 1
		}, []string{stem + ".log: cut at 22298: 143 bytes off", stem + ".log: indexes built again from the log"}, nil, 199},
		{"in the middle and at the end", func(f map[string][]byte, s []int64) {
			f[stem+".log"][s[50]+70] ^= 1
			f[stem+".log"] = f[stem+".log"][:s[199]+9]
		}, []string{stem + ".log: cut at 22298: 9 bytes off", stem + ".log: indexes built again from the log"}, []Kind{BadCRC}, 198},
	} {
		t.Run(row.name, func(t *testing.T) {
			log, starts := ours(t, 1000, 200)
			files := indexed(t, 1000, log)
			row.change(files, starts)
			dir := filepath.Join(t.TempDir(), "t-0")
			write(t, dir, files)
			before := contents(t, dir)

			actions, left := mend(t, dir, true)
			if !slices.Equal(actions, row.actions) || !slices.Equal(left, row.left) {
				t.Fatalf("dry run: %q %v, want %q %v", actions, left, row.actions, row.left)
			}
			if !same(before, contents(t, dir)) {
				t.Fatal("the dry run has changed something")
			}
			if actions, left = mend(t, dir, false); !slices.Equal(actions, row.actions) || !slices.Equal(left, row.left) {
				t.Fatalf("%q %v, want %q %v", actions, left, row.actions, row.left)
			}
			damage, _, batches := look(t, dir, Options{})
			if !slices.Equal(kindsOf(damage), row.left) || batches != row.kept {
				t.Errorf("then: %v and %d batches, want %v and %d", damage, batches, row.left, row.kept)
			}
			after := contents(t, dir)
			if actions, left = mend(t, dir, false); len(actions) != 0 || !slices.Equal(left, row.left) || !same(after, contents(t, dir)) {
				t.Errorf("again: %q %v", actions, left)
			}
			if len(row.left) == 0 {
				if n := opens(t, dir); n != row.kept {
					t.Errorf("opened: %d batches, want %d", n, row.kept)
				}
			}
		})
	}
}

// TestOnlyTheLastSegmentIsCut: what is torn before that has been whole once.
func TestOnlyTheLastSegmentIsCut(t *testing.T) {
	first, starts := ours(t, 0, 10)
	base := nextBase(t, first, starts)
	second, _ := ours(t, base, 10)
	dir := filepath.Join(t.TempDir(), "t-0")
	files := indexed(t, 0, first)
	files[logName(0)] = first[:len(first)-1]
	for name, data := range indexed(t, base, second) {
		files[name] = data
	}
	write(t, dir, files)
	if actions, left := mend(t, dir, false); len(actions) != 0 || !slices.Equal(left, []Kind{TornTail}) {
		t.Errorf("%q %v", actions, left)
	}
}

func TestRepairIsRefusedWhileSomebodyWorksThere(t *testing.T) {
	log, _ := ours(t, 0, 3)
	data := t.TempDir()
	dir := filepath.Join(data, "t-0")
	write(t, dir, map[string][]byte{logName(0): log[:len(log)-1]})
	write(t, data, map[string][]byte{".lock": nil})
	refused := func(who string) {
		t.Helper()
		for _, path := range []string{data, dir, filepath.Join(dir, logName(0))} {
			for _, dry := range []bool{false, true} {
				r := &Repair{Inspector: Inspector{FS: vfs.OS}, DryRun: dry}
				if err := r.Path(path); !errors.Is(err, vfs.ErrLocked) {
					t.Errorf("%s: %s: %v, want %v", who, path, err, vfs.ErrLocked)
				}
			}
		}
		if got, _ := os.ReadFile(filepath.Join(dir, logName(0))); !bytes.Equal(got, log[:len(log)-1]) {
			t.Errorf("%s: the log has changed", who)
		}
	}
	lock, err := vfs.OS.Lock(filepath.Join(data, ".lock"))
	if err != nil {
		t.Fatal(err)
	}
	refused("logd")
	lock.Close()
	t.Run("Kafka", func(t *testing.T) {
		holder := exec.Command(os.Args[0], "-test.run=^TestHoldLock$")
		holder.Env = append(os.Environ(), "HOLD_LOCK="+filepath.Join(data, ".lock"))
		stdin, err := holder.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := holder.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		defer holder.Wait()
		defer stdin.Close()
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		refused("Kafka")
	})
	if actions, _ := mend(t, dir, false); len(actions) == 0 {
		t.Error("nothing was done without a lock")
	}
	if _, err := os.Stat(filepath.Join(dir, ".lock")); err == nil {
		t.Error("a lock file was made")
	}
}

// TestHoldLock is a process that holds a lock as Kafka does, by fcntl, until its input ends.
func TestHoldLock(t *testing.T) {
	name := os.Getenv("HOLD_LOCK")
	if name == "" {
		t.Skip("run by another test")
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("x")
	os.Stdin.Read(make([]byte, 1))
	f.Close()
}
