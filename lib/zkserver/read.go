package zkserver

import (
	"net"
	"strings"
)

// answer is what a read finds: the zxid that it shows, an error, or a body.
type answer struct {
	need int64
	code code
	body func(b []byte) []byte
}

// executeRead answers a request that changes nothing but watches. Only one that sets a watch keeps other readers out.
func (c *conn) executeRead(k call, d *decoder) error {
	look, watching := c.decodeRead(k.op, d)
	if d.err != nil {
		return c.replyMalformed(k)
	}
	s := c.s
	if watching {
		s.mu.Lock()
		defer s.mu.Unlock()
	} else {
		s.mu.RLock()
		defer s.mu.RUnlock()
	}
	if !c.attached() {
		return net.ErrClosed
	}
	if look == nil {
		c.reply(k, 0, codeUnimplemented, nil)
		return errDone // as ZooKeeper does
	}
	a := look()
	if s.failed != nil && a.need > s.durable.Load() {
		a = answer{code: codeSystemError} // it never will be durable
	}
	return c.reply(k, a.need, a.code, a.body)
}

// decodeRead decodes the body of a read. It returns what will look up the answer, with the server's lock held: shared,
// unless it sets a watch. For an unknown operation that is nil.
func (c *conn) decodeRead(op int32, d *decoder) (look func() answer, watching bool) {
	switch op {
	case opExists, opGetData, opGetChildren, opGetChildren2, opGetACL, opSync, opCountChildren:
		r := decodeRequest(op, d)
		return func() answer { return c.look(r) }, r.watch
	case opGetEphemerals:
		prefix := string(d.buffer()) // null is all of them
		return func() answer { return c.ephemerals(prefix) }, false
	case opMultiRead:
		list := decodeMulti(d, readsInMulti)
		for _, r := range list {
			watching = watching || r.watch
		}
		return func() answer { return c.lookAll(list) }, watching
	case opWhoAmI:
		return c.whoAmI, false
	case opReconfig:
		return func() answer { return answer{code: codeReconfigDisabled} }, false
	}
	return nil, false
}

// look answers a request about one path.
func (c *conn) look(r request) answer {
	s := c.s
	if r.op == opSync {
		return answer{need: s.zxid, body: func(b []byte) []byte { return appendString(b, r.path) }}
	}
	if r.watch && s.watches.units >= s.opts.MaxWatches {
		return answer{code: codeSystemError}
	}
	n := s.tree.find(r.path)
	if r.op == opExists {
		return c.exists(r, n)
	}
	if n == nil {
		return answer{need: s.tree.absent(r.path), code: codeNoNode}
	}
	perms := int32(permRead)
	if r.op == opGetACL {
		perms |= permAdmin
	}
	if !allowed(n, perms, c.who) {
		return answer{need: n.changed(), code: codeNoAuth}
	}
	if r.watch {
		kind := uint8(watchData)
		if r.op != opGetData {
			kind = watchChildren
		}
		s.watches.add(r.path, c, kind)
	}
	if r.op == opCountChildren {
		count, changed := s.tree.descendants(r.path)
		return answer{need: changed, body: func(b []byte) []byte { return appendInt32(b, int32(count)) }}
	}
	return answer{need: n.changed(), body: func(b []byte) []byte { return c.appendNode(b, r.op, n) }}
}

// exists sets its watch whether or not there is a node, and asks for no permission.
func (c *conn) exists(r request, n *node) answer {
	if strings.IndexByte(r.path, 0) >= 0 {
		return answer{code: codeBadArguments}
	}
	if r.watch {
		c.s.watches.add(r.path, c, watchData)
	}
	if n == nil {
		return answer{need: c.s.tree.absent(r.path), code: codeNoNode}
	}
	return answer{need: n.changed(), body: func(b []byte) []byte { return appendStat(b, n.stat()) }}
}

// appendNode encodes what op wants of a node.
func (c *conn) appendNode(b []byte, op int32, n *node) []byte {
	switch op {
	case opGetData:
		return appendStat(appendBuffer(b, n.data), n.stat())
	case opGetChildren:
		return appendChildren(b, n)
	case opGetChildren2:
		return appendStat(appendChildren(b, n), n.stat())
	}
	list := aclOf(n)
	if !allowed(n, permAdmin, c.who) {
		list = redacted(list)
	}
	return appendStat(appendACL(b, list), n.stat())
}

// appendChildren encodes the names of the children in no order, as ZooKeeper does: clients sort by what they like.
func appendChildren(b []byte, n *node) []byte {
	b = appendInt32(b, int32(len(n.children)))
	for name := range n.children {
		b = appendString(b, name)
	}
	return b
}

// ephemerals lists the session's own nodes.
func (c *conn) ephemerals(prefix string) answer {
	if strings.TrimSpace(prefix) == "" || strings.TrimSpace(prefix) == "/" {
		prefix = ""
	}
	var paths []string
	for path := range c.s.tree.ephemerals[c.session.id] {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return answer{need: c.s.zxid, body: func(b []byte) []byte { return appendStrings(b, paths) }}
}

// whoAmI lists schemes and users.
func (c *conn) whoAmI() answer {
	return answer{body: func(b []byte) []byte {
		b = appendInt32(b, int32(len(c.who)))
		for _, who := range c.who {
			b = appendString(appendString(b, who.scheme), userOf(who))
		}
		return b
	}}
}

// lookAll answers several reads, each with a result or an error of its own. A frame has room for tens of thousands of
// them, each of which may ask for the largest node there is: what comes after the first outboxSoft bytes is refused.
func (c *conn) lookAll(list []request) answer {
	var results []byte
	var need int64
	for _, r := range list {
		a := answer{code: codeSystemError}
		if len(results) < outboxSoft {
			a = c.look(r)
			need = max(need, a.need)
		}
		if a.code != codeOK {
			results = appendInt32(appendMarker(results, opError, false, int32(a.code)), int32(a.code))
			continue
		}
		results = a.body(appendMarker(results, r.op, false, 0))
	}
	return answer{need: need, body: func(b []byte) []byte {
		return appendMarker(append(b, results...), -1, true, -1)
	}}
}
