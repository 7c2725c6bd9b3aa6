package zkserver

// request is the body of one operation. Which fields are set follows from op; they are copies, not parts of the frame,
// where they outlive it.
type request struct {
	op      int32
	path    string
	data    []byte
	acl     []acl
	flags   int32
	version int32
	watch   bool
}

// decodeRequest reads the body of an operation that is about one path. It leaves alone what follows the body.
func decodeRequest(op int32, d *decoder) request {
	r := request{op: op, path: d.string()}
	switch op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		r.data, r.acl, r.flags = clone(d.buffer()), d.acl(), d.int32()
		if op == opCreateTTL {
			d.int64() // time to live, which is not served, as in ZooKeeper by default
		}
	case opDelete, opCheck:
		r.version = d.int32()
	case opSetData:
		r.data, r.version = clone(d.buffer()), d.int32()
	case opSetACL:
		r.acl, r.version = d.acl(), d.int32()
	case opExists, opGetData, opGetChildren, opGetChildren2:
		r.watch = d.bool()
	case opAddWatch, opCheckWatches, opRemoveWatches:
		r.flags = d.int32()
	}
	return r
}

// clone copies b into memory of its own, keeping the difference between null and empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// decodeMulti reads the operations of a multi up to its end marker:
//
//	| op int32 | done bool = 0 | error int32 = -1 | body of the op | ... | -1 | done = 1 | -1 |
//
// allowed says which operations may be in it; any other makes the whole request malformed.
func decodeMulti(d *decoder, allowed func(op int32) bool) []request {
	var list []request
	for d.err == nil {
		op, done := d.int32(), d.bool()
		d.int32()
		if d.err != nil || done {
			break
		}
		if !allowed(op) {
			d.fail("operation %d in a multi", op)
			break
		}
		list = append(list, decodeRequest(op, d))
	}
	if d.err != nil {
		return nil
	}
	return list
}

func writesInMulti(op int32) bool {
	switch op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opCheck:
		return true
	}
	return false
}

func readsInMulti(op int32) bool { return op == opGetData || op == opGetChildren }

// watchList is the body of setWatches and setWatches2: what a client that was away for a while had watched.
type watchList struct {
	since                 int64 // last zxid that the client has seen
	data, exist, children []string
	persistent, recursive []string // setWatches2 only
}

// units is what the watches of the list count, see Options.MaxWatches.
func (w watchList) units() (n int) {
	for _, paths := range [][]string{w.data, w.exist, w.children, w.persistent, w.recursive} {
		for _, path := range paths {
			n += unitsOf(path)
		}
	}
	return n
}

func decodeWatchList(op int32, d *decoder) watchList {
	w := watchList{since: d.int64(), data: d.strings(), exist: d.strings(), children: d.strings()}
	if op == opSetWatches2 {
		w.persistent, w.recursive = d.strings(), d.strings()
	}
	return w
}
