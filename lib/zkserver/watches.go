package zkserver

// Kinds of watches that one connection may have on one path, as a set. Data and children watches fire once; persistent
// ones stay, and recursive ones also hear of everything below the path, but not of changed lists of children.
const (
	watchData = 1 << iota
	watchChildren
	watchPersistent
	watchRecursive
)

// watches knows who watches what. The caller holds the server's lock.
type watches struct {
	byPath    map[string]map[*conn]uint8
	recursive int // recursive watches of all connections: without any, nobody looks at the ancestors of a path
	count     int // pairs of path and connection
	units     int // the same, with long paths counted several times: what Options.MaxWatches bounds
}

// watchUnit is how long a path may be to count once, in bytes.
const watchUnit = 256

func unitsOf(path string) int { return 1 + len(path)/watchUnit }

func newWatches() *watches { return &watches{byPath: map[string]map[*conn]uint8{}} }

func (w *watches) add(path string, c *conn, kind uint8) {
	conns := w.byPath[path]
	if conns == nil {
		conns = map[*conn]uint8{}
		w.byPath[path] = conns
	}
	w.set(path, conns, c, conns[c]|kind)
}

// set makes kinds the watches of c on path, and keeps the counts and the index of the connection in step.
func (w *watches) set(path string, conns map[*conn]uint8, c *conn, kinds uint8) {
	before := conns[c]
	w.recursive += int(kinds&watchRecursive)/watchRecursive - int(before&watchRecursive)/watchRecursive
	switch {
	case kinds != 0 && before == 0:
		w.count++
		w.units += unitsOf(path)
		if c.watched == nil {
			c.watched = map[string]struct{}{}
		}
		c.watched[path] = struct{}{}
	case kinds == 0 && before != 0:
		w.count--
		w.units -= unitsOf(path)
		delete(c.watched, path)
	}
	if kinds != 0 {
		conns[c] = kinds
		return
	}
	delete(conns, c)
	if len(conns) == 0 {
		delete(w.byPath, path)
	}
}

// kinds returns the watches that c has on path.
func (w *watches) kinds(path string, c *conn) uint8 { return w.byPath[path][c] }

// remove takes away the given kinds, and reports whether c had one of them.
func (w *watches) remove(path string, c *conn, kinds uint8) bool {
	had := w.kinds(path, c)
	if had&kinds == 0 {
		return false
	}
	w.set(path, w.byPath[path], c, had&^kinds)
	return true
}

// drop forgets a connection.
func (w *watches) drop(c *conn) {
	for path := range c.watched {
		w.set(path, w.byPath[path], c, 0)
	}
}

// fire calls notify for each connection that waits for ev, once, and takes away the watches which that used up.
func (w *watches) fire(ev event, notify func(*conn)) {
	if w.count == 0 {
		return
	}
	if w.recursive > 0 {
		notify = once(notify)
	}
	var single, lasting uint8
	switch ev.kind {
	case eventCreated, eventDataChanged:
		single, lasting = watchData, watchPersistent|watchRecursive
	case eventDeleted:
		single, lasting = watchData|watchChildren, watchPersistent|watchRecursive
	case eventChildrenChanged:
		single, lasting = watchChildren, watchPersistent
	}
	conns := w.byPath[ev.path]
	for c, kinds := range conns {
		if kinds&(single|lasting) != 0 {
			notify(c)
			w.set(ev.path, conns, c, kinds&^single)
		}
	}
	if w.recursive == 0 || ev.kind == eventChildrenChanged {
		return
	}
	for path := ev.path; path != "/"; {
		path = parentOf(path)
		for c, kinds := range w.byPath[path] {
			if kinds&watchRecursive != 0 {
				notify(c)
			}
		}
	}
}

func once(notify func(*conn)) func(*conn) {
	seen := map[*conn]bool{}
	return func(c *conn) {
		if !seen[c] {
			seen[c] = true
			notify(c)
		}
	}
}
