package crashfs_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"logkit/lib/vfs"
	"logkit/lib/vfs/crashfs"
)

// TestConformance holds the operating system's files and the crashing ones to the same contract.
func TestConformance(t *testing.T) {
	systems := map[string]func(t *testing.T) (vfs.FS, string){
		"os":      func(t *testing.T) (vfs.FS, string) { return vfs.OS, t.TempDir() },
		"crashfs": func(t *testing.T) (vfs.FS, string) { return crashfs.New(1), "/" },
	}
	for name, system := range systems {
		t.Run(name, func(t *testing.T) {
			for _, c := range conformance {
				t.Run(c.name, func(t *testing.T) {
					fsys, dir := system(t)
					c.check(&fixture{t, fsys, dir})
				})
			}
		})
	}
}

var conformance = []struct {
	name  string
	check func(*fixture)
}{
	{"read what was written", func(x *fixture) {
		f := x.create("f")
		x.write(f, 0, "hello world")
		x.write(f, 6, "there")
		x.contents("f", "hello there")
		if f.Name() != x.path("f") {
			x.t.Errorf("name %q, want %q", f.Name(), x.path("f"))
		}
	}},
	{"born once", func(x *fixture) {
		f := x.create("f")
		born, err := x.fs.Born(x.path("f"))
		x.must(err)
		x.write(f, 0, "hello")
		x.must(x.fs.Rename(x.path("f"), x.path("g")))
		x.create("g") // it is there already
		info, err := x.fs.Stat(x.path("g"))
		x.must(err)
		if again, err := x.fs.Born(x.path("g")); err != nil || !again.Equal(born) || again.After(info.ModTime()) {
			x.t.Errorf("born at %v, before at %v, changed at %v: %v", again, born, info.ModTime(), err)
		}
		_, err = x.fs.Born(x.path("f"))
		x.is("born", err, fs.ErrNotExist)
	}},
	{"reads end with EOF", func(x *fixture) {
		f := x.create("f")
		x.write(f, 0, "abc")
		b := make([]byte, 3)
		for _, c := range []struct {
			at, n int
			err   error
		}{{0, 3, nil}, {1, 2, io.EOF}, {3, 0, io.EOF}, {100, 0, io.EOF}} {
			if n, err := f.ReadAt(b, int64(c.at)); n != c.n || err != c.err {
				x.t.Errorf("read at %d: %d, %v; want %d, %v", c.at, n, err, c.n, c.err)
			}
		}
		if _, err := f.ReadAt(b, -1); err == nil {
			x.t.Error("read at -1: no error")
		}
		if _, err := f.WriteAt(b, -1); err == nil {
			x.t.Error("write at -1: no error")
		}
	}},
	{"a hole reads as zeros", func(x *fixture) {
		f := x.create("f")
		x.write(f, 3, "x")
		x.contents("f", "\x00\x00\x00x")
	}},
	{"truncate cuts and extends with zeros", func(x *fixture) {
		f := x.create("f")
		x.write(f, 0, "abcdef")
		x.must(f.Truncate(2))
		x.must(f.Truncate(4))
		x.contents("f", "ab\x00\x00")
		if err := f.Truncate(-1); err == nil {
			x.t.Error("truncate to -1: no error")
		}
	}},
	{"create empties a file that others have open", func(x *fixture) {
		old := x.create("f")
		x.write(old, 0, "abc")
		x.create("f")
		if size, err := old.Size(); size != 0 || err != nil {
			x.t.Errorf("size %d, %v; want 0", size, err)
		}
	}},
	{"open for writing keeps the contents", func(x *fixture) {
		x.write(x.create("f"), 0, "abc")
		f, err := x.fs.OpenWrite(x.path("f"))
		x.must(err)
		defer f.Close()
		x.write(f, 3, "d")
		x.contents("f", "abcd")
		x.must(f.Sync())
	}},
	{"a file opened for reading takes no writes", func(x *fixture) {
		x.write(x.create("f"), 0, "abc")
		f, err := x.fs.OpenRead(x.path("f"))
		x.must(err)
		defer f.Close()
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			x.t.Error("write: no error")
		}
		if err := f.Truncate(0); err == nil {
			x.t.Error("truncate: no error")
		}
		x.contents("f", "abc")
	}},
	{"a closed file takes nothing", func(x *fixture) {
		f, err := x.fs.Create(x.path("f"))
		x.must(err)
		x.must(f.Close())
		_, werr := f.WriteAt([]byte("x"), 0)
		_, rerr := f.ReadAt(make([]byte, 1), 0)
		_, serr := f.Size()
		for call, err := range map[string]error{
			"write": werr, "read": rerr, "size": serr, "close": f.Close(), "sync": f.Sync(), "truncate": f.Truncate(0),
		} {
			if err == nil {
				x.t.Errorf("%s: no error", call)
			}
		}
	}},
	{"what is missing is fs.ErrNotExist", func(x *fixture) {
		_, open := x.fs.OpenRead(x.path("f"))
		_, write := x.fs.OpenWrite(x.path("f"))
		_, create := x.fs.Create(x.path("no/f"))
		_, stat := x.fs.Stat(x.path("f"))
		_, list := x.fs.ReadDir(x.path("no"))
		_, lock := x.fs.Lock(x.path("no/f"))
		for call, err := range map[string]error{
			"open": open, "open for writing": write, "create": create, "stat": stat, "list": list, "lock": lock,
			"remove": x.fs.Remove(x.path("f")), "rename": x.fs.Rename(x.path("f"), x.path("g")),
			"sync": x.fs.SyncDir(x.path("no")),
		} {
			x.is(call, err, fs.ErrNotExist)
		}
		x.must(x.fs.RemoveAll(x.path("no")))
	}},
	{"a file is no directory", func(x *fixture) {
		x.create("f")
		_, list := x.fs.ReadDir(x.path("f"))
		x.is("list", list, syscall.ENOTDIR)
		_, create := x.fs.Create(x.path("f/g"))
		x.is("create", create, syscall.ENOTDIR)
		x.is("mkdir", x.fs.MkdirAll(x.path("f/g")), syscall.ENOTDIR)
		x.must(x.fs.MkdirAll(x.path("d")))
		_, create = x.fs.Create(x.path("d"))
		x.is("create", create, syscall.EISDIR)
	}},
	{"list sorted, with sizes", func(x *fixture) {
		x.write(x.create("b"), 0, "123")
		x.create("c")
		x.must(x.fs.MkdirAll(x.path("a/x")))
		x.must(x.fs.MkdirAll(x.path("a/x")))
		x.names(".", "a/", "b", "c")
		info, err := x.fs.Stat(x.path("b"))
		x.must(err)
		if info.Name() != "b" || info.Size() != 3 || info.IsDir() || info.ModTime().IsZero() {
			x.t.Errorf("stat tells %v %v %v %v", info.Name(), info.Size(), info.IsDir(), info.ModTime())
		}
		if info, err := x.fs.Stat(x.path("a")); err != nil || !info.IsDir() {
			x.t.Errorf("stat of a directory: %v, %v", info, err)
		}
	}},
	{"rename replaces", func(x *fixture) {
		x.write(x.create("f"), 0, "from")
		x.write(x.create("g"), 0, "to")
		x.must(x.fs.Rename(x.path("f"), x.path("g")))
		x.names(".", "g")
		x.contents("g", "from")
		x.must(x.fs.Rename(x.path("g"), x.path("g")))
		x.contents("g", "from")
	}},
	{"rename moves a directory", func(x *fixture) {
		x.must(x.fs.MkdirAll(x.path("d/e")))
		x.must(x.fs.MkdirAll(x.path("full/x")))
		x.write(x.create("d/e/f"), 0, "abc")
		x.must(x.fs.Rename(x.path("d"), x.path("full/g")))
		x.contents("full/g/e/f", "abc")
		x.is("into itself", x.fs.Rename(x.path("full"), x.path("full/g/h")), syscall.EINVAL)
		x.is("over a directory", x.fs.Rename(x.path("full/g"), x.path("full/x")), fs.ErrExist)
		x.create("f")
		x.is("over a file", x.fs.Rename(x.path("full"), x.path("f")), syscall.ENOTDIR)
		x.is("file over directory", x.fs.Rename(x.path("f"), x.path("full")), fs.ErrExist)
	}},
	{"remove leaves what is open readable", func(x *fixture) {
		f := x.create("f")
		x.write(f, 0, "abc")
		x.must(x.fs.Remove(x.path("f")))
		x.names(".")
		b := make([]byte, 3)
		if _, err := f.ReadAt(b, 0); err != nil || string(b) != "abc" {
			x.t.Errorf("read %q, %v", b, err)
		}
	}},
	{"remove takes no full directory", func(x *fixture) {
		x.must(x.fs.MkdirAll(x.path("d/e")))
		x.create("d/f")
		x.is("remove", x.fs.Remove(x.path("d")), syscall.ENOTEMPTY)
		x.must(x.fs.Remove(x.path("d/e")))
		x.must(x.fs.RemoveAll(x.path("d")))
		x.names(".")
	}},
	{"a lock keeps others out until it is closed", func(x *fixture) {
		lock, err := x.fs.Lock(x.path("l"))
		x.must(err)
		_, err = x.fs.Lock(x.path("l"))
		x.is("second lock", err, vfs.ErrLocked)
		x.names(".", "l")
		x.must(lock.Close())
		lock, err = x.fs.Lock(x.path("l"))
		x.must(err)
		x.must(lock.Close())
	}},
	{"files are written and replaced as a whole", func(x *fixture) {
		for _, text := range []string{"long text", "", "short"} {
			x.must(vfs.WriteFileAtomic(x.fs, x.path("f"), []byte(text)))
			x.contents("f", text)
			x.names(".", "f")
		}
		_, err := vfs.ReadFile(x.fs, x.path("f"), 4)
		var long *vfs.TooLongError
		if !errors.As(err, &long) || long.Size != 5 || long.Limit != 4 {
			x.t.Errorf("reading at most 4 bytes: %v", err)
		}
		x.is("in a missing directory", vfs.WriteFileAtomic(x.fs, x.path("no/f"), nil), fs.ErrNotExist)
	}},
	{"a file may be used by many at once", func(x *fixture) {
		f := x.create("f")
		const workers, each = 4, 50
		done := make(chan error, workers)
		for w := range workers {
			go func() {
				var err error
				for i := 0; err == nil && i < each; i++ {
					_, err = f.WriteAt([]byte{byte(w)}, int64(i*workers+w))
					if err == nil {
						err = f.Sync()
					}
				}
				done <- err
			}()
		}
		for range workers {
			x.must(<-done)
		}
		b := make([]byte, workers*each)
		if _, err := f.ReadAt(b, 0); err != nil {
			x.t.Fatal(err)
		}
		for i := range b {
			if int(b[i]) != i%workers {
				x.t.Fatalf("byte %d is %d", i, b[i])
			}
		}
	}},
}

// fixture is a directory in a file system.
type fixture struct {
	t   *testing.T
	fs  vfs.FS
	dir string
}

func (x *fixture) path(name string) string { return filepath.Join(x.dir, name) }

func (x *fixture) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *fixture) is(call string, err, want error) {
	x.t.Helper()
	if !errors.Is(err, want) {
		x.t.Errorf("%s: %v, want %v", call, err, want)
	}
}

func (x *fixture) create(name string) vfs.File {
	x.t.Helper()
	f, err := x.fs.Create(x.path(name))
	x.must(err)
	x.t.Cleanup(func() { f.Close() })
	return f
}

func (x *fixture) write(f vfs.File, at int64, text string) {
	x.t.Helper()
	if n, err := f.WriteAt([]byte(text), at); n != len(text) || err != nil {
		x.t.Fatalf("wrote %d of %d bytes: %v", n, len(text), err)
	}
}

func (x *fixture) contents(name, want string) {
	x.t.Helper()
	data, err := vfs.ReadFile(x.fs, x.path(name), 1<<20)
	if err != nil || string(data) != want {
		x.t.Errorf("%s has %q, %v; want %q", name, data, err, want)
	}
}

// names compares the names in a directory; those of directories end with a slash.
func (x *fixture) names(dir string, want ...string) {
	x.t.Helper()
	list, err := x.fs.ReadDir(x.path(dir))
	x.must(err)
	var got []string
	for _, entry := range list {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		x.t.Errorf("names in %s (-want +got):\n%s", dir, diff)
	}
}
