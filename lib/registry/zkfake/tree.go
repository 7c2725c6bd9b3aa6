package zkfake

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

type node struct {
	data                []byte
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version             int32
	creates             int32 // children ever created
	owner               int64
	children            map[string]struct{}
}

func (n *node) stat() *zk.Stat {
	children := int32(len(n.children))
	return &zk.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime, Version: n.version,
		Cversion: 2*n.creates - children, EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: children,
	}
}

// tree is the name space. A change is made of operations that are carried out or undone together.
type tree struct {
	nodes      map[string]*node
	ephemerals map[string]int64 // paths, and their sessions
	zxid       int64
	undo       []func()
	fired      []zk.Event // of the change under way, in their order
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{"/": {}}, ephemerals: map[string]int64{}}
}

func (t *tree) begin() { t.zxid++; t.undo, t.fired = nil, nil }

func (t *tree) rollback() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		t.undo[i]()
	}
	t.undo, t.fired = nil, nil
}

func (t *tree) fire(kind zk.EventType, path string) {
	t.fired = append(t.fired, zk.Event{Type: kind, State: zk.StateSyncConnected, Path: path})
}

func (t *tree) create(path string, data []byte, flags int32, session int64) (string, error) {
	parent := t.nodes[parentOf(path)]
	if parent == nil {
		return "", zk.ErrNoNode
	}
	if parent.owner != 0 {
		return "", zk.ErrNoChildrenForEphemerals
	}
	if flags&zk.FlagSequence != 0 {
		path += fmt.Sprintf("%010d", parent.creates)
	}
	if t.nodes[path] != nil {
		return "", zk.ErrNodeExists
	}
	now := time.Now().UnixMilli()
	n := &node{data: append([]byte{}, data...), czxid: t.zxid, mzxid: t.zxid, pzxid: t.zxid, ctime: now, mtime: now}
	if flags&zk.FlagEphemeral != 0 {
		n.owner = session
		t.ephemerals[path] = session
	}
	name, pzxid := path[strings.LastIndexByte(path, '/')+1:], parent.pzxid
	if parent.children == nil {
		parent.children = map[string]struct{}{}
	}
	parent.children[name] = struct{}{}
	parent.creates++
	parent.pzxid = t.zxid
	t.nodes[path] = n
	t.undo = append(t.undo, func() {
		delete(t.nodes, path)
		delete(t.ephemerals, path)
		delete(parent.children, name)
		parent.creates--
		parent.pzxid = pzxid
	})
	t.fire(zk.EventNodeCreated, path)
	t.fire(zk.EventNodeChildrenChanged, parentOf(path))
	return path, nil
}

func (t *tree) set(path string, data []byte, version int32) (*zk.Stat, error) {
	n, err := t.check(path, version)
	if err != nil {
		return nil, err
	}
	old := *n
	n.data, n.mzxid, n.mtime = append([]byte{}, data...), t.zxid, time.Now().UnixMilli()
	n.version++
	t.undo = append(t.undo, func() { n.data, n.mzxid, n.mtime, n.version = old.data, old.mzxid, old.mtime, old.version })
	t.fire(zk.EventNodeDataChanged, path)
	return n.stat(), nil
}

func (t *tree) remove(path string, version int32) error {
	n, err := t.check(path, version)
	if err != nil {
		return err
	}
	if len(n.children) > 0 {
		return zk.ErrNotEmpty
	}
	parent := t.nodes[parentOf(path)]
	name, pzxid := path[strings.LastIndexByte(path, '/')+1:], parent.pzxid
	delete(parent.children, name)
	delete(t.nodes, path)
	delete(t.ephemerals, path)
	parent.pzxid = t.zxid
	t.undo = append(t.undo, func() {
		parent.children[name] = struct{}{}
		t.nodes[path] = n
		if n.owner != 0 {
			t.ephemerals[path] = n.owner
		}
		parent.pzxid = pzxid
	})
	t.fire(zk.EventNodeDeleted, path)
	t.fire(zk.EventNodeChildrenChanged, parentOf(path))
	return nil
}

func (t *tree) check(path string, version int32) (*node, error) {
	n := t.nodes[path]
	if n == nil {
		return nil, zk.ErrNoNode
	}
	if version != -1 && version != n.version {
		return nil, zk.ErrBadVersion
	}
	return n, nil
}

// multi carries out all operations or none.
func (t *tree) multi(ops []any, session int64) ([]zk.MultiResponse, error) {
	responses := make([]zk.MultiResponse, len(ops))
	t.begin()
	for i, op := range ops {
		err := t.one(op, session, &responses[i])
		if err == nil {
			continue
		}
		t.rollback()
		for j := range responses {
			responses[j] = zk.MultiResponse{}
			if j > i {
				responses[j].Error = errAfter
			}
		}
		responses[i].Error = err
		return responses, err
	}
	return responses, nil
}

// errAfter is what go-zookeeper makes of -2, the code of operations behind the one that failed.
var errAfter = errors.New("unknown error: -2")

func (t *tree) one(op any, session int64, r *zk.MultiResponse) (err error) {
	switch op := op.(type) {
	case *zk.CreateRequest:
		if !validPath(op.Path, op.Flags&zk.FlagSequence != 0) {
			return zk.ErrBadArguments
		}
		r.String, err = t.create(op.Path, op.Data, op.Flags, session)
	case *zk.SetDataRequest:
		r.Stat, err = t.set(op.Path, op.Data, op.Version)
	case *zk.DeleteRequest:
		err = t.remove(op.Path, op.Version)
	case *zk.CheckVersionRequest:
		_, err = t.check(op.Path, op.Version)
	default:
		return fmt.Errorf("unknown operation type %T", op)
	}
	return err
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func validPath(path string, sequence bool) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' {
		return false
	}
	if sequence && path[len(path)-1] == '/' {
		path += "0"
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
		for _, r := range name {
			if r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r < 0xffff {
				return false
			}
		}
	}
	return true
}
