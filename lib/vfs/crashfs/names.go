package crashfs

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// inode is a file or a directory.
type inode struct {
	contents // of a file

	// Of a directory, nil in a file: the names in it as they are seen, and as they are on the disk.
	entries, durable map[string]*inode

	born, modTime time.Time
	locked        bool
}

func newFile() *inode {
	now := time.Now()
	return &inode{born: now, modTime: now}
}

func newDir() *inode {
	n := newFile()
	n.entries, n.durable = map[string]*inode{}, map[string]*inode{}
	return n
}

func (n *inode) isDir() bool { return n.entries != nil }

// renaming is a change of names that is pending, and kept or lost as a whole.
type renaming struct {
	number int // of this change, from 1 on
	links  []link
}

// link gives a name in dir to an inode, or to none.
type link struct {
	place
	to *inode
}

type place struct {
	dir  *inode
	name string
}

func (l link) in(names map[string]*inode) {
	if l.to == nil {
		delete(names, l.name)
	} else {
		names[l.name] = l.to
	}
}

// relink changes names together. The lock is held.
func (f *FS) relink(links ...link) {
	f.renamings++
	f.journal = append(f.journal, renaming{f.renamings, links})
	for _, l := range links {
		l.in(l.dir.entries)
		l.dir.modTime = time.Now()
	}
}

// commitNames makes durable the changes in dir up to the given one, and those which they follow from. The lock is held.
func (f *FS) commitNames(dir *inode, last int) {
	needed := map[place]bool{}
	wanted := make([]bool, len(f.journal))
	for i := len(f.journal) - 1; i >= 0; i-- {
		for _, l := range f.journal[i].links {
			wanted[i] = wanted[i] || l.dir == dir && f.journal[i].number <= last || needed[l.place]
		}
		if wanted[i] {
			for _, l := range f.journal[i].links {
				needed[l.place] = true
			}
		}
	}
	f.keepNames(func(i int) bool { return wanted[i] })
}

// keepNames makes durable those pending changes that keep says, and leaves the others pending. The lock is held.
func (f *FS) keepNames(keep func(i int) bool) {
	var rest []renaming
	for i, change := range f.journal {
		if !keep(i) {
			rest = append(rest, change)
			continue
		}
		for _, l := range change.links {
			l.in(l.dir.durable)
		}
	}
	f.journal = rest
}

// parts splits a path; relative ones begin at the root.
func parts(name string) []string {
	return strings.FieldsFunc(filepath.Clean("/"+name), func(r rune) bool { return r == '/' })
}

// lookup finds what a path names. The lock is held.
func (f *FS) lookup(name string) (*inode, error) {
	n := f.root
	for _, part := range parts(name) {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		next := n.entries[part]
		if next == nil {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

// parent finds the directory that a path lies in, which must exist, and what it names there, which may be nil. The lock
// is held.
func (f *FS) parent(name string) (at place, n *inode, err error) {
	p := parts(name)
	if len(p) == 0 {
		return at, nil, syscall.EBUSY // the root itself
	}
	dir, err := f.lookup(strings.Join(p[:len(p)-1], "/"))
	if err != nil {
		return at, nil, err
	}
	if !dir.isDir() {
		return at, nil, syscall.ENOTDIR
	}
	base := p[len(p)-1]
	return place{dir, base}, dir.entries[base], nil
}

// walk calls visit for each inode that has a name, as it is seen, each once.
func walk(n *inode, visit func(*inode)) {
	visit(n)
	for _, name := range sortedNames(n.entries) {
		walk(n.entries[name], visit)
	}
}

// info is what Stat and ReadDir tell.
type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
}

func (n *inode) info(name string) info {
	if n.isDir() {
		return info{name, 0, fs.ModeDir | 0o755, n.modTime}
	}
	return info{name, int64(len(n.data)), 0o644, n.modTime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modTime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

func sortedNames(names map[string]*inode) []string { return slices.Sorted(maps.Keys(names)) }
