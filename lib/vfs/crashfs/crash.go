package crashfs

import (
	"maps"
	"slices"
)

// Mode is a way to crash.
type Mode int

// The ways to crash; see the package comment.
const (
	ProcessCrash Mode = iota
	PowerLoss
)

func (m Mode) String() string { return [...]string{"process crash", "power loss"}[m] }

// Crash ends f, so that all who use it get ErrCrashed, and returns the file system that the next process finds, with the
// same capacity and without the faults. What chance decides follows from seed. It may be called again, to see what else
// could have been left.
func (f *FS) Crash(m Mode, seed uint64) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.die()
	g := f.clone(seed)
	if m == PowerLoss {
		g.losePower()
	}
	return g
}

// DropCaches makes the system forget what it need not keep: of what a failed Sync has given up, the disk's bytes are
// seen from here on.
func (f *FS) DropCaches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.inodes() {
		n.data = n.cached()
	}
}

// losePower settles everything that is pending by chance.
func (f *FS) losePower() {
	luck := chance(f.rand)
	lost := map[place]bool{}
	f.keepNames(func(i int) bool {
		links := f.journal[i].links
		keep := f.rand.Float64() < luck && !slices.ContainsFunc(links, func(l link) bool { return lost[l.place] })
		for _, l := range links {
			lost[l.place] = lost[l.place] || !keep
		}
		return keep
	})
	f.journal = nil
	f.settle(f.root)
}

// settle makes what is on the disk, below a directory, what is seen.
func (f *FS) settle(dir *inode) {
	dir.entries = maps.Clone(dir.durable)
	for _, name := range sortedNames(dir.entries) {
		n := dir.entries[name]
		if n.isDir() {
			f.settle(n)
			continue
		}
		n.data = n.survivor(f.rand)
		n.disk, n.pending, n.settled = slices.Clone(n.data), nil, n.changes()
	}
}

// clone copies the files and directories, with all that is pending. The lock is held.
func (f *FS) clone(seed uint64) *FS {
	c := cloner{}
	g := New(seed)
	g.capacity = f.capacity
	g.renamings = f.renamings
	g.root = c.inode(f.root)
	for _, change := range f.journal {
		links := slices.Clone(change.links)
		for i, l := range links {
			links[i] = link{place{c.inode(l.dir), l.name}, c.inode(l.to)}
		}
		g.journal = append(g.journal, renaming{change.number, links})
	}
	return g
}

// cloner knows the copy of each inode.
type cloner map[*inode]*inode

func (c cloner) inode(n *inode) *inode {
	if n == nil || c[n] != nil {
		return c[n]
	}
	copied := &inode{born: n.born, modTime: n.modTime, contents: contents{
		data: slices.Clone(n.data), disk: slices.Clone(n.disk), pending: slices.Clone(n.pending), settled: n.settled,
	}}
	c[n] = copied
	copied.entries, copied.durable = c.names(n.entries), c.names(n.durable)
	return copied
}

func (c cloner) names(names map[string]*inode) map[string]*inode {
	if names == nil {
		return nil
	}
	copied := make(map[string]*inode, len(names))
	for name, n := range names {
		copied[name] = c.inode(n)
	}
	return copied
}
