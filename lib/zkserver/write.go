package zkserver

import (
	"fmt"
	"slices"
)

// event is a change that watches may wait for.
type event struct {
	kind int32
	path string
}

// txn is one change of the tree: one zxid, everything or nothing.
type txn struct {
	tree      *tree
	zxid, now int64 // now in ms since 1970
	session   int64
	who       []identity
	limit     int64 // of tree.bytes
	events    []event
}

// result is what one operation of a txn answers. op is opError when it, or another of the same multi, failed.
type result struct {
	op   int32
	path string
	stat stat
	code code
}

// do applies one operation, or returns why not and changes nothing. The order of the checks is that of
// PrepRequestProcessor of ZooKeeper, so that of two errors the same one is reported.
func (x *txn) do(r request) result {
	var c code
	res := result{op: r.op}
	switch r.op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		res.path, res.stat, c = x.create(r)
	case opDelete:
		c = x.delete(r)
	case opSetData:
		res.stat, c = x.setData(r)
	case opSetACL:
		res.stat, c = x.setACL(r)
	case opCheck:
		c = x.check(r)
	default:
		c = codeUnimplemented
	}
	if c != codeOK {
		return result{op: opError, code: c}
	}
	return res
}

func (x *txn) create(r request) (string, stat, code) {
	if r.flags < 0 || r.flags > modeSequentTTL {
		return "", stat{}, codeBadArguments
	}
	if r.flags == modeTTL || r.flags == modeSequentTTL {
		return "", stat{}, codeUnimplemented
	}
	if r.op == opCreateTTL || r.path == "" || r.path[0] != '/' {
		return "", stat{}, codeBadArguments
	}
	list, ok := fixACL(r.acl, x.who)
	if !ok {
		return "", stat{}, codeInvalidACL
	}
	parent := x.tree.find(parentOf(r.path))
	if parent == nil {
		return "", stat{}, codeNoNode
	}
	if !allowed(parent, permCreate, x.who) {
		return "", stat{}, codeNoAuth
	}
	path, owner := r.path, int64(0)
	switch {
	case r.flags == modeContainer:
		owner = ownerContainer
	case r.flags&flagEphemeral != 0:
		owner = x.session
	}
	if r.flags != modeContainer && r.flags&flagSequence != 0 {
		path = fmt.Sprintf("%s%010d", path, parent.creates)
	}
	switch {
	case !validPath(path):
		return "", stat{}, codeBadArguments
	case x.tree.find(path) != nil:
		return "", stat{}, codeNodeExists
	case parent.ephemeral():
		return "", stat{}, codeNoChildrenForEphem
	}
	n := &node{
		czxid: x.zxid, mzxid: x.zxid, pzxid: x.zxid, ctime: x.now, mtime: x.now,
		owner: owner, data: r.data, dataCRC: checksum(r.data), acl: list,
	}
	if !x.room(n.bytes(path)) {
		return "", stat{}, codeQuotaExceeded
	}
	x.tree.create(path, n)
	x.events = append(x.events, event{eventCreated, path}, event{eventChildrenChanged, parentOf(path)})
	return path, n.stat(), codeOK
}

func (x *txn) delete(r request) code {
	if r.path == "" || r.path[0] != '/' || slices.Contains(builtIns, r.path) {
		return codeBadArguments
	}
	parent := x.tree.find(parentOf(r.path))
	if parent == nil {
		return codeNoNode
	}
	if !allowed(parent, permDelete, x.who) {
		return codeNoAuth
	}
	n := x.tree.find(r.path)
	switch {
	case n == nil:
		return codeNoNode
	case !matches(r.version, n.version):
		return codeBadVersion
	case len(n.children) > 0:
		return codeNotEmpty
	}
	x.remove(r.path)
	return codeOK
}

// remove takes away a node that is there and has no children.
func (x *txn) remove(path string) {
	x.tree.remove(path, x.zxid)
	x.events = append(x.events, event{eventDeleted, path}, event{eventChildrenChanged, parentOf(path)})
}

func (x *txn) setData(r request) (stat, code) {
	n, c := x.existing(r.path, permWrite)
	if c != codeOK {
		return stat{}, c
	}
	if !matches(r.version, n.version) {
		return stat{}, codeBadVersion
	}
	if !x.room(int64(len(r.data) - len(n.data))) {
		return stat{}, codeQuotaExceeded
	}
	x.tree.setData(r.path, n, r.data, x.zxid, x.now)
	x.events = append(x.events, event{eventDataChanged, r.path})
	return n.stat(), codeOK
}

func (x *txn) setACL(r request) (stat, code) {
	if !validPath(r.path) {
		return stat{}, codeBadArguments
	}
	list, ok := fixACL(r.acl, x.who)
	if !ok {
		return stat{}, codeInvalidACL
	}
	n, c := x.existing(r.path, permAdmin)
	if c != codeOK {
		return stat{}, c
	}
	if !matches(r.version, n.aversion) {
		return stat{}, codeBadVersion
	}
	if !x.room(aclBytes(list) - aclBytes(n.acl)) {
		return stat{}, codeQuotaExceeded
	}
	x.tree.setACL(r.path, n, list, x.zxid)
	return n.stat(), codeOK
}

func (x *txn) check(r request) code {
	n, c := x.existing(r.path, permRead)
	if c == codeOK && !matches(r.version, n.version) {
		return codeBadVersion
	}
	return c
}

func (x *txn) existing(path string, perm int32) (*node, code) {
	if !validPath(path) {
		return nil, codeBadArguments
	}
	n := x.tree.find(path)
	switch {
	case n == nil:
		return nil, codeNoNode
	case !allowed(n, perm, x.who):
		return nil, codeNoAuth
	}
	return n, codeOK
}

// room reports whether the tree may grow by so many bytes.
func (x *txn) room(grown int64) bool { return grown <= 0 || x.tree.bytes+grown <= x.limit }

func matches(wanted, found int32) bool { return wanted == -1 || wanted == found }

// multi applies all operations or none. In the results of one that failed, the operations before the culprit have code
// 0, those after it codeRuntimeInconsistency.
func (x *txn) multi(list []request) (results []result, done bool) {
	results = make([]result, len(list))
	x.tree.begin()
	for i, r := range list {
		results[i] = x.do(r)
		if results[i].code == codeOK {
			continue
		}
		x.tree.rollback()
		x.events = nil
		for j := range results {
			switch {
			case j < i:
				results[j] = result{op: opError}
			case j > i:
				results[j] = result{op: opError, code: codeRuntimeInconsistency}
			}
		}
		return results, false
	}
	x.tree.keep()
	return results, true
}

// appendResult encodes what an operation of its own answers.
func appendResult(b []byte, r result) []byte {
	switch r.op {
	case opCreate:
		return appendString(b, r.path)
	case opCreate2, opCreateContainer, opCreateTTL:
		return appendStat(appendString(b, r.path), r.stat)
	case opSetData, opSetACL:
		return appendStat(b, r.stat)
	}
	return b
}

// appendMulti encodes the answer to a multi; see decodeMulti for the markers between the results. A create with a stat
// is answered as create2, whichever it was.
func appendMulti(b []byte, results []result) []byte {
	for _, r := range results {
		if r.op == opCreateContainer {
			r.op = opCreate2
		}
		b = appendMarker(b, r.op, false, int32(r.code))
		if r.op == opError {
			b = appendInt32(b, int32(r.code))
			continue
		}
		b = appendResult(b, r)
	}
	return appendMarker(b, -1, true, -1)
}

func appendMarker(b []byte, op int32, done bool, c int32) []byte {
	return appendInt32(appendBool(appendInt32(b, op), done), c)
}
