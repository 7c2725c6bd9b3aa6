package zkserver

import (
	"sort"
	"strings"
)

// node is one entry of the tree. Its data is never changed in place, so that a slice of it may be kept without a lock.
type node struct {
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	creates             int32 // children ever created: the next sequence number
	dataCRC             uint32
	owner               int64
	aclZxid             int64 // the setACL of this run that came last; neither kept nor told
	data                []byte
	acl                 []acl // nil for everybody, everything: nearly every node
	children            map[string]struct{}
}

// nodeOverhead is what a node takes in memory besides its path, data and access list, about.
const nodeOverhead = 256

// bytes is what the node takes in memory, about.
func (n *node) bytes(path string) int64 {
	return nodeOverhead + int64(len(path)+len(n.data)) + aclBytes(n.acl)
}

// stat is the node's record as clients see it. What is called cversion there counts creations and deletions of
// children, which follows from the creations and the children that are left (DataNode.copyStat of ZooKeeper).
func (n *node) stat() stat {
	children := int32(len(n.children))
	s := stat{
		czxid: n.czxid, mzxid: n.mzxid, pzxid: n.pzxid, ctime: n.ctime, mtime: n.mtime,
		version: n.version, cversion: 2*n.creates - children, aversion: n.aversion,
		dataLength: int32(len(n.data)), children: children,
	}
	if n.ephemeral() {
		s.owner = n.owner
	}
	return s
}

// changed is the zxid that has to be durable before anything about the node may be told.
func (n *node) changed() int64 { return max(n.mzxid, n.pzxid, n.aclZxid) }

// ephemeral reports whether the node goes with a session.
func (n *node) ephemeral() bool { return n.owner != 0 && n.owner != ownerContainer }

// What of a node has to be written by the next commit.
const (
	dirtyStat = 1 << iota
	dirtyData
)

// tree is the whole name space, by path. It knows neither permissions nor watches. The caller holds the server's lock.
type tree struct {
	nodes      map[string]*node
	ephemerals map[int64]map[string]struct{} // paths by session
	containers map[string]struct{}
	bytes      int64 // estimate of the memory in use, see Options.MaxTreeBytes
	dirty      map[string]uint8
	undo       []func() // how to take back the changes since begin, in their order
	recording  bool
}

func newTree() *tree {
	return &tree{
		nodes:      map[string]*node{},
		ephemerals: map[int64]map[string]struct{}{},
		containers: map[string]struct{}{},
		dirty:      map[string]uint8{},
	}
}

// plant puts in what every ZooKeeper has from its birth, with zxids and times of zero.
func (t *tree) plant() {
	t.insert("/", &node{data: []byte{}})
	t.insert("/zookeeper", &node{data: []byte{}})
	t.insert("/zookeeper/quota", &node{data: []byte{}})
	t.insert("/zookeeper/config", &node{data: []byte{}, acl: []acl{{permRead, "world", "anyone"}}, aversion: -1})
}

// find returns nil when there is no such node. The empty path is the root, as in ZooKeeper.
func (t *tree) find(path string) *node {
	if path == "" {
		path = "/"
	}
	return t.nodes[path]
}

// absent is the zxid that has to be durable before anybody may be told that there is no node at path: the deletion that
// took it away, or an ancestor of it, has left its mark on the nearest ancestor that is left.
//
// The path may be a whole frame of slashes, each an ancestor to look for. So they are not tried one by one: below an
// ancestor that is missing all others are missing too, and none is longer than MaxPath.
func (t *tree) absent(path string) int64 {
	path = path[:min(len(path), MaxPath+1)]
	missing := sort.Search(len(path), func(i int) bool { return t.find(parentOf(path[:i+1])) == nil })
	return t.find(parentOf(path[:missing])).pzxid
}

// begin makes the changes that follow revocable, until keep or rollback.
func (t *tree) begin() { t.recording = true }

func (t *tree) keep() { t.recording, t.undo = false, nil }

func (t *tree) rollback() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
	t.keep()
}

func (t *tree) revert(f func()) {
	if t.recording {
		t.undo = append(t.undo, f)
	}
}

// create adds n, whose parent exists, and marks the parent.
func (t *tree) create(path string, n *node) {
	parent := t.find(parentOf(path))
	creates, pzxid := parent.creates, parent.pzxid
	t.insert(path, n)
	parent.creates++
	parent.pzxid = n.czxid
	t.mark(path, dirtyStat|dirtyData)
	t.mark(parentOf(path), dirtyStat)
	t.revert(func() {
		t.take(path)
		parent.creates, parent.pzxid = creates, pzxid
	})
}

// remove takes away a node without children and marks its parent.
func (t *tree) remove(path string, zxid int64) {
	parent := t.find(parentOf(path))
	pzxid := parent.pzxid
	n := t.take(path)
	parent.pzxid = zxid
	t.mark(path, dirtyStat|dirtyData)
	t.mark(parentOf(path), dirtyStat)
	t.revert(func() {
		t.insert(path, n)
		parent.pzxid = pzxid
	})
}

func (t *tree) setData(path string, n *node, data []byte, zxid, now int64) {
	old := *n
	t.bytes += int64(len(data) - len(n.data))
	n.data, n.dataCRC, n.mzxid, n.mtime = data, checksum(data), zxid, now
	n.version = nextVersion(n.version)
	t.mark(path, dirtyStat|dirtyData)
	t.revert(func() {
		t.bytes += int64(len(old.data) - len(n.data))
		n.data, n.dataCRC, n.mzxid, n.mtime, n.version = old.data, old.dataCRC, old.mzxid, old.mtime, old.version
	})
}

func (t *tree) setACL(path string, n *node, list []acl, zxid int64) {
	t.bytes += aclBytes(list) - aclBytes(n.acl)
	n.acl, n.aclZxid = list, zxid
	n.aversion = nextVersion(n.aversion)
	t.mark(path, dirtyStat)
}

// nextVersion skips -1, which means any version in a request.
func nextVersion(v int32) int32 {
	if v == -2 {
		return 0
	}
	return v + 1
}

// insert enters n into all indexes, without any mark of it on its parent.
func (t *tree) insert(path string, n *node) {
	t.nodes[path] = n
	t.bytes += n.bytes(path)
	if path != "/" {
		parent := t.find(parentOf(path))
		if parent.children == nil {
			parent.children = map[string]struct{}{}
		}
		parent.children[nameOf(path)] = struct{}{}
	}
	switch {
	case n.owner == ownerContainer:
		t.containers[path] = struct{}{}
	case n.ephemeral():
		paths := t.ephemerals[n.owner]
		if paths == nil {
			paths = map[string]struct{}{}
			t.ephemerals[n.owner] = paths
		}
		paths[path] = struct{}{}
	}
}

// take is the reverse of insert.
func (t *tree) take(path string) *node {
	n := t.nodes[path]
	delete(t.nodes, path)
	t.bytes -= n.bytes(path)
	parent := t.find(parentOf(path))
	delete(parent.children, nameOf(path))
	if len(parent.children) == 0 {
		parent.children = nil
	}
	switch {
	case n.owner == ownerContainer:
		delete(t.containers, path)
	case n.ephemeral():
		delete(t.ephemerals[n.owner], path)
		if len(t.ephemerals[n.owner]) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
	return n
}

func (t *tree) mark(path string, what uint8) {
	before := t.dirty[path]
	if before|what == before {
		return
	}
	t.dirty[path] = before | what
	t.revert(func() { // marks of what was taken back would be gathered until something is committed
		if t.dirty[path] = before; before == 0 {
			delete(t.dirty, path)
		}
	})
}

// descendants counts all nodes below path and returns the last change among their parents.
func (t *tree) descendants(path string) (count int, changed int64) {
	n := t.find(path)
	changed = n.pzxid
	for name := range n.children {
		below, zxid := t.descendants(join(path, name))
		count += 1 + below
		changed = max(changed, zxid)
	}
	return count, changed
}

func join(path, name string) string {
	if path == "/" || path == "" {
		return "/" + name
	}
	return path + "/" + name
}

// parentOf is the path up to the last slash; that of "/a" and of "/" is "/".
func parentOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}

func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
