package zkfake

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// maxRequest is what a server accepts; it closes the connection of whoever sends more.
const maxRequest = 1<<20 - 1

// Conn is a connection. It may be used by several goroutines.
type Conn struct {
	server  *Server
	events  func(zk.Event)
	telling sync.Mutex // one event at a time
	session atomic.Int64

	// The lock of the server guards these.
	faults    Faults
	calls     int
	watches   map[watch][]chan zk.Event
	connected bool
	closed    bool
	expired   bool // unknown yet to the connection
	pending   []pendingEvent
	stats     Stats
}

// Stats counts what went over a connection, in bytes as they are on the wire.
type Stats struct {
	Requests       int
	Events         int
	BytesOut       int // requests
	BytesIn        int // replies and events
	LargestRequest int
	LargestReply   int
}

// Stats returns the counts, and begins at zero again.
func (c *Conn) Stats() Stats {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	s := c.stats
	c.stats = Stats{}
	return s
}

// SetFaults says what happens to the calls from here on.
func (c *Conn) SetFaults(f Faults) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.faults = f
}

// SessionID is that of the session the connection has, 0 for none.
func (c *Conn) SessionID() int64 { return c.session.Load() }

func (c *Conn) tell(state zk.State) {
	if c.events != nil {
		c.telling.Lock()
		defer c.telling.Unlock()
		c.events(zk.Event{Type: zk.EventSession, State: state})
	}
}

// Disconnect cuts the connection. Calls fail until Reconnect.
func (c *Conn) Disconnect() {
	c.server.mu.Lock()
	c.connected = false
	c.server.mu.Unlock()
	c.tell(zk.StateDisconnected)
}

// Reconnect takes the session up again, or, when it was expired, a new one.
func (c *Conn) Reconnect() {
	c.server.mu.Lock()
	expired := c.expired
	c.expired = false
	c.server.mu.Unlock()
	if expired {
		c.session.Store(0)
		c.tell(zk.StateExpired)
		c.dropWatches(zk.ErrSessionExpired)
		c.server.begin(c)
	}
	c.server.mu.Lock()
	c.connected = true
	for _, p := range c.pending {
		c.fire(p.watch, p.event)
	}
	c.pending = nil
	c.server.mu.Unlock()
	c.tell(zk.StateHasSession)
}

// Expire ends the session. A connection that is cut learns it when it is back; another one at once, and has the next one.
func (c *Conn) Expire() {
	c.server.mu.Lock()
	connected := c.connected
	c.server.end(c.session.Load())
	c.expired, c.connected = true, false // nothing is carried out in a session that has ended
	c.server.mu.Unlock()
	if connected {
		c.Disconnect()
		c.Reconnect()
	}
}

// dropWatches tells those who wait that nobody is watching any longer.
func (c *Conn) dropWatches(err error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for w := range c.watches {
		c.fire(w, zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path, Err: err})
	}
	c.pending = nil
}

// Close ends the session.
func (c *Conn) Close() {
	c.server.mu.Lock()
	if c.closed {
		c.server.mu.Unlock()
		return
	}
	c.closed = true
	c.server.end(c.session.Load()) // its own watches hear of it, too
	c.connected = false
	delete(c.server.conns, c)
	c.server.mu.Unlock()
	c.tell(zk.StateDisconnected)
	c.dropWatches(zk.ErrClosing)
}

// call runs f, unless a fault comes in between. out is the size of the request, and f returns that of the reply; both
// without headers.
func (c *Conn) call(op, path string, out int, f func() (in int, err error)) error {
	c.server.mu.Lock()
	c.calls++
	call, faults := Call{Number: c.calls, Op: op, Path: path}, c.faults
	c.server.mu.Unlock()
	fault := None
	if faults != nil {
		fault = faults(call)
	}
	switch fault {
	case Lose:
		c.Disconnect()
		c.Reconnect()
		return zk.ErrConnectionClosed
	case ExpireBefore: // carried out in the next session, as go-zookeeper does with what it has not sent yet
		c.Expire()
	case ExpireAndLose:
		c.Expire()
		return zk.ErrConnectionClosed
	}
	err := c.run(out, f)
	switch fault {
	case LoseReply:
		c.Disconnect()
		c.Reconnect()
		return zk.ErrConnectionClosed
	case ExpireAfter:
		c.Expire()
		return zk.ErrConnectionClosed
	}
	return err
}

func (c *Conn) run(out int, f func() (in int, err error)) error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if !c.connected {
		return zk.ErrConnectionClosed
	}
	out += 4 + 8
	c.stats.Requests++
	c.stats.BytesOut += out
	c.stats.LargestRequest = max(c.stats.LargestRequest, out)
	if out > 4+maxRequest {
		return zk.ErrConnectionClosed
	}
	in, err := f()
	in += 4 + 16
	c.stats.BytesIn += in
	c.stats.LargestReply = max(c.stats.LargestReply, in)
	c.server.deliver()
	return err
}

// change is call for what changes the tree, or fails and leaves it as it was.
func (c *Conn) change(op, path string, out int, f func(t *tree) (in int, err error)) error {
	return c.call(op, path, out, func() (int, error) {
		t := c.server.tree
		t.begin()
		in, err := f(t)
		if err != nil {
			t.rollback()
		}
		return in, err
	})
}

const statSize = 68

// Create is that of zk.Conn, without the access list.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (made string, err error) {
	if !validPath(path, flags&zk.FlagSequence != 0) {
		return "", zk.ErrInvalidPath
	}
	err = c.change("create", path, 39+len(path)+len(data), func(t *tree) (int, error) {
		made, err = t.create(path, data, flags, c.session.Load())
		return 4 + len(made), err
	})
	return made, err
}

// Set is that of zk.Conn.
func (c *Conn) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	if !validPath(path, false) {
		return nil, zk.ErrInvalidPath
	}
	err = c.change("set", path, 12+len(path)+len(data), func(t *tree) (int, error) {
		stat, err = t.set(path, data, version)
		return statSize, err
	})
	return stat, err
}

// Delete is that of zk.Conn.
func (c *Conn) Delete(path string, version int32) error {
	if !validPath(path, false) {
		return zk.ErrInvalidPath
	}
	return c.change("delete", path, 8+len(path), func(t *tree) (int, error) { return 0, t.remove(path, version) })
}

// Multi is that of zk.Conn.
func (c *Conn) Multi(ops ...interface{}) (responses []zk.MultiResponse, err error) {
	out, in := 9, 9
	for _, op := range ops {
		switch op := op.(type) {
		case *zk.CreateRequest:
			out += 48 + len(op.Path) + len(op.Data)
			in += 13 + len(op.Path)
		case *zk.SetDataRequest:
			out += 21 + len(op.Path) + len(op.Data)
			in += 9 + statSize
		case *zk.DeleteRequest:
			out, in = out+17+len(op.Path), in+9
		case *zk.CheckVersionRequest:
			out, in = out+17+len(op.Path), in+9
		}
	}
	err = c.call("multi", "", out, func() (int, error) {
		responses, err = c.server.tree.multi(ops, c.session.Load())
		return in, err
	})
	if errors.Is(err, zk.ErrConnectionClosed) {
		return nil, err
	}
	return responses, err
}

// Get is that of zk.Conn.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, _, err := c.get(path, false)
	return data, stat, err
}

// GetW is that of zk.Conn.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) { return c.get(path, true) }

func (c *Conn) get(path string, set bool) (data []byte, stat *zk.Stat, fires <-chan zk.Event, err error) {
	if !validPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	err = c.call("get", path, 5+len(path), func() (int, error) {
		n := c.server.tree.nodes[path]
		if n == nil {
			return 0, zk.ErrNoNode
		}
		data, stat = slices.Clone(n.data), n.stat()
		if set {
			fires = c.server.add(c, watch{path, watchData})
		}
		return 4 + len(data) + statSize, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return data, stat, fires, nil
}

// Exists is that of zk.Conn.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) {
	found, stat, _, err := c.exists(path, false)
	return found, stat, err
}

// ExistsW is that of zk.Conn.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return c.exists(path, true)
}

func (c *Conn) exists(path string, set bool) (found bool, stat *zk.Stat, fires <-chan zk.Event, err error) {
	if !validPath(path, false) {
		return false, nil, nil, zk.ErrInvalidPath
	}
	err = c.call("exists", path, 5+len(path), func() (int, error) {
		n := c.server.tree.nodes[path]
		w := watch{path, watchExist}
		size := 0
		if n != nil {
			found, stat, w.kind, size = true, n.stat(), watchData, statSize
		}
		if set {
			fires = c.server.add(c, w)
		}
		return size, nil
	})
	if err != nil {
		return false, nil, nil, err
	}
	if stat == nil {
		stat = &zk.Stat{}
	}
	return found, stat, fires, nil
}

// Children is that of zk.Conn; the names are sorted, as they need not be there.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, _, err := c.children(path, false)
	return names, stat, err
}

// ChildrenW is that of zk.Conn.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return c.children(path, true)
}

func (c *Conn) children(path string, set bool) (names []string, stat *zk.Stat, fires <-chan zk.Event, err error) {
	if !validPath(path, false) {
		return nil, nil, nil, zk.ErrInvalidPath
	}
	err = c.call("children", path, 5+len(path), func() (int, error) {
		n := c.server.tree.nodes[path]
		if n == nil {
			return 0, zk.ErrNoNode
		}
		size := 4 + statSize
		names = make([]string, 0, len(n.children))
		for name := range n.children {
			names = append(names, name)
			size += 4 + len(name)
		}
		stat = n.stat()
		if set {
			fires = c.server.add(c, watch{path, watchChild})
		}
		return size, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	slices.Sort(names)
	return names, stat, fires, nil
}

// Sync is that of zk.Conn.
func (c *Conn) Sync(path string) (string, error) {
	return path, c.call("sync", path, 4+len(path), func() (int, error) { return 4 + len(path), nil })
}
