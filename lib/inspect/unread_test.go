package inspect

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"logkit/lib/vfs"
)

// failing is a file system on which some files can not be opened, and some can not be read to their end.
type failing struct {
	vfs.FS
	open, read string // suffixes of their names
}

func (fsys failing) OpenRead(name string) (vfs.File, error) {
	if fsys.open != "" && strings.HasSuffix(name, fsys.open) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	file, err := fsys.FS.OpenRead(name)
	if err == nil && fsys.read != "" && strings.HasSuffix(name, fsys.read) {
		return failingFile{file}, nil
	}
	return file, err
}

type failingFile struct{ vfs.File }

func (f failingFile) ReadAt(b []byte, at int64) (int, error) {
	if at > 0 {
		return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: syscall.EIO}
	}
	n, _ := f.File.ReadAt(b[:min(len(b), 20)], at)
	return n, &fs.PathError{Op: "read", Path: f.Name(), Err: syscall.EIO}
}

// TestUnreadableFiles: one file that can not be read does not keep the others from being inspected, and is named.
func TestUnreadableFiles(t *testing.T) {
	first, starts := ours(t, 0, 100)
	base := nextBase(t, first, starts)
	second, starts2 := ours(t, base, 100)
	second[starts2[50]+70] ^= 1
	data := t.TempDir()
	dir := filepath.Join(data, "t-0")
	files := indexed(t, 0, first)
	maps.Copy(files, indexed(t, base, second))
	files["leader-epoch-checkpoint"] = []byte("9\n")
	write(t, dir, files)
	write(t, filepath.Join(data, "u-0"), map[string][]byte{logName(0): first[:len(first)-1]})
	for _, row := range []struct {
		name string
		fsys failing
		want []Kind // the last is of the other partition
	}{
		{"all can be read", failing{}, []Kind{BadCRC, BadFile, TornTail}},
		{"log not opened", failing{open: "t-0/" + logName(0)}, []Kind{BadCRC, BadFile, TornTail}},
		{"log not read", failing{read: logName(base)}, []Kind{BadFile, TornTail}},
		{"index not opened", failing{open: "00.index"}, []Kind{BadCRC, BadFile, TornTail}},
		{"time index not read", failing{read: "00.timeindex"}, []Kind{BadCRC, BadFile, TornTail}},
		{"other file not opened", failing{open: "epoch-checkpoint"}, []Kind{BadCRC, TornTail}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.fsys.FS = vfs.OS
			var damage []*Verdict
			in := Inspector{FS: row.fsys, Visitor: Visitor{Verdict: func(_ *File, v *Verdict) error { damage = append(damage, v); return nil }}}
			err := in.Path(data)
			if !slices.Equal(kindsOf(damage), row.want) {
				t.Errorf("%v, want %v", damage, row.want)
			}
			name := row.fsys.open + row.fsys.read
			if (name == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("error %v, want one that names %q", err, name)
			}
			r := &Repair{Inspector: Inspector{FS: row.fsys}, DryRun: true}
			r.Action = func(*Action) error { t.Helper(); t.Log("repaired"); return nil }
			if rerr := r.Path(data); (err == nil) != (rerr == nil) {
				t.Errorf("repair: %v", rerr)
			}
		})
	}
}

// TestOddEntriesOfADirectory: links are followed, and what is neither a file nor a directory is not read.
func TestOddEntriesOfADirectory(t *testing.T) {
	log, _ := ours(t, 0, 10)
	elsewhere, data := t.TempDir(), t.TempDir()
	write(t, elsewhere, map[string][]byte{"t-0/" + logName(0): log[:len(log)-1], "one.log": log[:len(log)-1]})
	for _, link := range [][2]string{
		{filepath.Join(data, "t-0"), filepath.Join(elsewhere, "t-0")},
		{filepath.Join(elsewhere, "t-0", "t-0"), "."}, // a loop
		{filepath.Join(data, "u-0", logName(0)), filepath.Join(elsewhere, "one.log")},
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(link[0]), 0o755), os.Symlink(link[1], link[0])); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(data, "u-0", logName(5)), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, data, map[string][]byte{"v-0/" + logName(0) + "/x": nil})
	if damage, _, _ := look(t, data, Options{}); !slices.Equal(kindsOf(damage), []Kind{TornTail, TornTail}) {
		t.Errorf("%v", damage)
	}
	if err := os.Symlink("nowhere", filepath.Join(data, "w-0")); err != nil {
		t.Fatal(err)
	}
	in := Inspector{FS: vfs.OS}
	if err := in.Path(data); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "w-0") {
		t.Errorf("a link to nowhere: %v", err)
	}
}

// unlisting is a file system whose directories do not show some files.
type unlisting struct {
	vfs.FS
	hidden []string
}

func (u unlisting) ReadDir(dir string) ([]fs.DirEntry, error) {
	names, err := u.FS.ReadDir(dir)
	return slices.DeleteFunc(names, func(e fs.DirEntry) bool { return slices.Contains(u.hidden, e.Name()) }), err
}

// TestDirectoryThatChanges: segments come and go while a directory is read. That is no damage, and those that are there
// are read.
func TestDirectoryThatChanges(t *testing.T) {
	for _, kafka := range []bool{false, true} {
		const segments = 8
		dir := filepath.Join(t.TempDir(), "t-0")
		var names []string
		base := int64(0)
		for range segments {
			log, starts := ours(t, base, 5)
			next := nextBase(t, log, starts)
			if kafka {
				log, _ = kafkas(t, base, 6)
				next = base + 12
			}
			names = append(names, logName(base))
			write(t, dir, map[string][]byte{logName(base): log})
			base = next
		}
		in := Inspector{Visitor: Visitor{Verdict: func(_ *File, v *Verdict) error {
			t.Errorf("kafka %v: %v", kafka, v)
			return nil
		}}}
		for _, hidden := range [][]string{{names[3]}, {names[3], names[4], names[6]}, {names[0], names[1]}, {names[7]}} {
			read := map[string]bool{}
			in.FS = unlisting{vfs.OS, hidden}
			in.End = func(f *File) error { read[filepath.Base(f.Path)] = true; return nil }
			if err := in.Path(dir); err != nil {
				t.Fatal(err)
			}
			first := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(hidden, name) })
			for i, name := range names[first:7] {
				if !read[name] {
					t.Errorf("kafka %v: segment %d was not read, unlisted %v", kafka, i, hidden)
				}
			}
		}
		in.FS, in.End = vfs.OS, nil
		in.Batch = func(f *File, b *Batch) error {
			if b.Position == 0 && f.Base == 0 { // while the first is read, it is deleted with three others
				for _, name := range names[:4] {
					os.Remove(filepath.Join(dir, name))
				}
			}
			return nil
		}
		if err := in.Path(dir); err != nil {
			t.Fatal(err)
		}
	}
}
