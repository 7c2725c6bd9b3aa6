package zkfake

import (
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Server is the tree, and who is connected to it. The zero value is not ready; see New.
type Server struct {
	mu      sync.Mutex
	tree    *tree
	session int64 // given out last
	conns   map[*Conn]struct{}
	byWatch map[watch]map[*Conn]struct{}
}

// New returns a server with an empty tree.
func New() *Server {
	return &Server{tree: newTree(), session: 0x100000000, conns: map[*Conn]struct{}{}, byWatch: map[watch]map[*Conn]struct{}{}}
}

// Connect returns a connection with a session. events, unless it is nil, is called with the events of the session, never
// for two at a time; the first one comes from another goroutine.
func (s *Server) Connect(events func(zk.Event)) *Conn {
	c := &Conn{server: s, events: events, watches: map[watch][]chan zk.Event{}, connected: true}
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	s.begin(c)
	go c.tell(zk.StateHasSession)
	return c
}

// begin gives the connection a session.
func (s *Server) begin(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session++
	c.session.Store(s.session)
}

// Nodes counts the nodes of the tree, and the bytes of their data.
func (s *Server) Nodes() (nodes, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.tree.nodes {
		bytes += len(n.data)
	}
	return len(s.tree.nodes), bytes
}

// Watches counts the watches that are set.
func (s *Server) Watches() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conns := range s.byWatch {
		n += len(conns)
	}
	return n
}

// Dump returns the tree: the data of every node by its path.
func (s *Server) Dump() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	dump := make(map[string]string, len(s.tree.nodes))
	for path, n := range s.tree.nodes {
		dump[path] = string(n.data)
	}
	return dump
}

type watchKind int8

const (
	watchData watchKind = iota
	watchExist
	watchChild
)

type watch struct {
	path string
	kind watchKind
}

// add registers a watch. mu is held.
func (s *Server) add(c *Conn, w watch) <-chan zk.Event {
	ch := make(chan zk.Event, 1)
	c.watches[w] = append(c.watches[w], ch)
	conns := s.byWatch[w]
	if conns == nil {
		conns = map[*Conn]struct{}{}
		s.byWatch[w] = conns
	}
	conns[c] = struct{}{}
	return ch
}

func (s *Server) forget(c *Conn, w watch) {
	delete(s.byWatch[w], c)
	if len(s.byWatch[w]) == 0 {
		delete(s.byWatch, w)
	}
}

// wakes are the watches that each event fires.
var wakes = map[zk.EventType][]watchKind{
	zk.EventNodeCreated:         {watchExist},
	zk.EventNodeDataChanged:     {watchData},
	zk.EventNodeChildrenChanged: {watchChild},
	zk.EventNodeDeleted:         {watchData, watchChild},
}

// deliver fires the watches of the change that was made. mu is held.
func (s *Server) deliver() {
	for _, e := range s.tree.fired {
		told := map[*Conn]bool{}
		for _, kind := range wakes[e.Type] {
			w := watch{e.Path, kind}
			for c := range s.byWatch[w] {
				if !told[c] {
					told[c] = true
					c.stats.Events++
					c.stats.BytesIn += 4 + 16 + 8 + 4 + len(e.Path)
				}
				if c.connected {
					c.fire(w, e)
				} else {
					c.pending = append(c.pending, pendingEvent{w, e})
				}
			}
		}
	}
	s.tree.fired = nil
}

type pendingEvent struct {
	watch watch
	event zk.Event
}

// fire wakes those who wait for a watch of the connection. mu is held.
func (c *Conn) fire(w watch, e zk.Event) {
	for _, ch := range c.watches[w] {
		ch <- e // it has room for one, and gets only one
		close(ch)
	}
	delete(c.watches, w)
	c.server.forget(c, w)
}

// end removes the ephemeral nodes of a session, in one change. mu is held.
func (s *Server) end(session int64) {
	var paths []string
	for path, owner := range s.tree.ephemerals {
		if owner == session {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	s.tree.begin()
	for _, path := range paths {
		s.tree.remove(path, -1)
	}
	s.deliver()
}
