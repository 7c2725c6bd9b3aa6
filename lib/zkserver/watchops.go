package zkserver

// Modes of addWatch, and the kinds that checkWatches and removeWatches ask for.
const (
	modePersistent = 0
	modeRecursive  = 1

	kindChildren   = 1
	kindData       = 2
	kindAny        = 3
	kindPersistent = 4 // this and the next only from clients younger than 3.8
	kindRecursive  = 5
)

// executeWatch answers the requests that are about watches alone.
func (c *conn) executeWatch(k call, d *decoder) error {
	if k.op == opSetWatches || k.op == opSetWatches2 {
		w := decodeWatchList(k.op, d)
		if d.err != nil {
			return c.replyMalformed(k)
		}
		return c.alone(func(s *Server) error {
			if s.watches.units+w.units() > s.opts.MaxWatches || s.failed != nil {
				return c.reply(k, 0, codeSystemError, nil)
			}
			c.restoreWatches(w)
			return c.reply(k, 0, codeOK, nil)
		})
	}
	r := decodeRequest(k.op, d)
	kinds, ok := kindsOf(r)
	if d.err != nil || !ok {
		return c.replyMalformed(k)
	}
	return c.alone(func(s *Server) error {
		switch {
		case r.op == opAddWatch && s.watches.units >= s.opts.MaxWatches:
			return c.reply(k, 0, codeSystemError, nil)
		case r.op == opAddWatch:
			s.watches.add(r.path, c, kinds)
			return c.reply(k, 0, codeOK, func(b []byte) []byte { return appendInt32(b, 0) })
		case r.op == opCheckWatches && s.watches.kinds(r.path, c)&kinds != 0,
			r.op == opRemoveWatches && s.watches.remove(r.path, c, kinds):
			return c.reply(k, 0, codeOK, nil)
		}
		return c.reply(k, 0, codeNoWatcher, nil)
	})
}

// kindsOf translates the mode, or the kind of watcher, in a request. An unknown one counts as malformed, as in ZooKeeper.
func kindsOf(r request) (uint8, bool) {
	if r.op == opAddWatch {
		switch r.flags {
		case modePersistent:
			return watchPersistent, true
		case modeRecursive:
			return watchRecursive, true
		}
		return 0, false
	}
	switch r.flags {
	case kindChildren:
		return watchChildren, true
	case kindData:
		return watchData, true
	case kindPersistent:
		return watchPersistent, true
	case kindRecursive:
		return watchRecursive, true
	case kindAny:
		return watchData | watchChildren | watchPersistent | watchRecursive, true
	}
	return 0, false
}

// restoreWatches sets the watches that a client had on its earlier connection. What has changed since it last heard of
// it is told at once, before the reply, in place of the watch. The caller holds the server's lock.
func (c *conn) restoreWatches(w watchList) {
	s := c.s
	restore := func(path string, n *node, changed bool, changeKind int32, kind uint8) {
		switch {
		case n == nil:
			c.notify(event{eventDeleted, path}, s.zxid)
		case changed:
			c.notify(event{changeKind, path}, s.zxid)
		default:
			s.watches.add(path, c, kind)
		}
	}
	for _, path := range w.data {
		n := s.tree.find(path)
		restore(path, n, n != nil && n.mzxid > w.since, eventDataChanged, watchData)
	}
	for _, path := range w.exist {
		if n := s.tree.find(path); n != nil {
			c.notify(event{eventCreated, path}, s.zxid)
		} else {
			s.watches.add(path, c, watchData)
		}
	}
	for _, path := range w.children {
		n := s.tree.find(path)
		restore(path, n, n != nil && n.pzxid > w.since, eventChildrenChanged, watchChildren)
	}
	for _, path := range w.persistent {
		s.watches.add(path, c, watchPersistent)
	}
	for _, path := range w.recursive {
		s.watches.add(path, c, watchRecursive)
	}
}
