package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// DefaultSessionTimeout is that of Kafka 0.8.
const DefaultSessionTimeout = 6 * time.Second

// Options says how to speak to ZooKeeper. The zero value of a field is its default.
type Options struct {
	Servers []string // HOST:PORT each; see ParseConnect

	// Dial connects to the server, instead of TCP to one of Servers, which must be one address all the same.
	Dial func() (net.Conn, error)

	Chroot         string        // path that all others are below, such as "/logkit"; "" for none
	SessionTimeout time.Duration // 6 s; the server may grant another, within its own bounds: see Session.Timeout
	Backoff        time.Duration // first pause before a call is made again, 50 ms; doubles up to 20 times itself
	Parallel       int           // reads at a time where many are needed, 16
	Logger         *slog.Logger  // discards by default
}

func (o Options) withDefaults() Options {
	if o.SessionTimeout == 0 {
		o.SessionTimeout = DefaultSessionTimeout
	}
	if o.Backoff == 0 {
		o.Backoff = 50 * time.Millisecond
	}
	if o.Parallel == 0 {
		o.Parallel = 16
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Session is the way to ZooKeeper for one process. Beneath it sessions of ZooKeeper come and go: a Lease stands for one
// of them. All methods may be called from several goroutines; none holds a lock while it waits for the server.
//
// A call blocks while there is no connection; Close ends it. Reads are made again until their context ends. A write
// whose reply was lost is looked up before it is made again.
type Session struct {
	options Options
	root    string // chroot, "" or "/a/b"
	conn    Conn
	bound   chan struct{} // closed when conn is set
	closed  chan struct{}
	closing sync.Once
	granted atomic.Int64 // session timeout in ns, 0 before the first session

	mu      sync.Mutex
	lease   *Lease        // of the session that the client has; nil when there is none
	changed chan struct{} // closed, and replaced, with every change of lease
	fence   *time.Timer   // runs while disconnected
}

// Connect starts a client of ZooKeeper. It does not wait for a connection; Lease does.
func Connect(options Options) (*Session, error) {
	return newSession(options, func(s *Session) (Conn, error) {
		options := s.options
		dial := net.DialTimeout
		if options.Dial != nil {
			dial = func(string, string, time.Duration) (net.Conn, error) { return options.Dial() }
		}
		wired := func(network, address string, timeout time.Duration) (net.Conn, error) {
			conn, err := dial(network, address, timeout)
			if err != nil {
				return nil, err
			}
			return &wire{Conn: conn, asked: options.SessionTimeout, granted: &s.granted}, nil
		}
		conn, _, err := zk.Connect(options.Servers, options.SessionTimeout, zk.WithDialer(wired), zk.WithHostProvider(newHosts(options.Logger)),
			zk.WithEventCallback(s.event), zk.WithLogInfo(false), zk.WithLogger(clientLog{options.Logger}))
		return conn, err
	})
}

// NewSession is Connect over a connection of the caller's choice. dial hands it every event of the session through the
// callback, as zk.WithEventCallback does: the channel of events drops what it has no room for.
func NewSession(options Options, dial func(events func(zk.Event)) (Conn, error)) (*Session, error) {
	return newSession(options, func(s *Session) (Conn, error) { return dial(s.event) })
}

func newSession(options Options, dial func(*Session) (Conn, error)) (*Session, error) {
	if err := checkChroot(options.Chroot); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	s := &Session{
		options: options, root: options.Chroot,
		bound: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{}),
	}
	conn, err := dial(s)
	if err != nil {
		return nil, err
	}
	s.conn = outcomeConn{conn}
	close(s.bound)
	return s, nil
}

// clientLog passes the client's lines on: they repeat while a server is away.
type clientLog struct{ *slog.Logger }

func (l clientLog) Printf(format string, args ...any) {
	l.Debug("zookeeper client", "line", fmt.Sprintf(format, args...))
}

// Close ends the session: its ephemeral nodes go at once.
func (s *Session) Close() {
	s.closing.Do(func() {
		close(s.closed)
		s.conn.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endLease(ErrClosed)
		if s.fence != nil {
			s.fence.Stop()
			s.fence = nil
		}
	})
}

// Timeout is the session timeout that the server has granted last, within bounds of its own: the one that was asked for
// until then. After so much silence the session may have ended.
func (s *Session) Timeout() time.Duration {
	if granted := s.granted.Load(); granted > 0 {
		return time.Duration(granted)
	}
	return s.options.SessionTimeout
}

// Lease is the right to act for one session of ZooKeeper: to hold its ephemeral nodes, and to deliver and commit what
// they stand for. It ends when the session does, and already a quarter of the session timeout after the connection was
// found broken: the client notices only after two thirds of silence, so that by then the session may be about to end.
type Lease struct {
	session int64
	done    chan struct{}
	err     error // set before done is closed
}

// ID is the session's.
func (l *Lease) ID() int64 { return l.session }

// Done is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err says why the lease has ended: ErrFenced, ErrExpired or ErrClosed. It is nil before.
func (l *Lease) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Lease waits for a connection with a session and returns the right to act for it. After ErrFenced the session may be
// the same as before, with its nodes.
func (s *Session) Lease(ctx context.Context) (*Lease, error) {
	for {
		s.mu.Lock()
		lease, changed := s.lease, s.changed
		s.mu.Unlock()
		if lease != nil && lease.Err() == nil {
			return lease, nil
		}
		select {
		case <-changed:
		case <-s.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// event is called by the client, in its own goroutine, with everything it sees.
func (s *Session) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	<-s.bound // the client starts before it is handed out
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		s.connected(s.conn.SessionID())
	case zk.StateDisconnected:
		s.disconnected()
	case zk.StateExpired:
		s.endLease(ErrExpired)
		s.lease = nil
	}
}

func (s *Session) connected(session int64) {
	if s.fence != nil {
		s.fence.Stop()
		s.fence = nil
	}
	select {
	case <-s.closed:
		return
	default:
	}
	if l := s.lease; l != nil && l.session == session && l.Err() == nil {
		return
	}
	s.endLease(ErrExpired)
	s.lease = &Lease{session: session, done: make(chan struct{})}
	s.signal()
}

// disconnected may be called again before the next connection: the first one counts.
func (s *Session) disconnected() {
	lease := s.lease
	if lease == nil || lease.Err() != nil || s.fence != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(s.Timeout()/4, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fence == timer { // not stopped meanwhile
			s.fence = nil
			s.endLease(ErrFenced)
		}
	})
	s.fence = timer
}

// endLease ends the lease that there is. mu is held.
func (s *Session) endLease(err error) {
	if l := s.lease; l != nil && l.Err() == nil {
		l.err = err
		close(l.done)
		s.signal()
	}
}

func (s *Session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// holds runs a call that must happen in the session of the lease: go-zookeeper may carry out, in a later session, what
// was asked for in an earlier one. The answer counts only if the session was the same before and after.
func (s *Session) holds(lease *Lease, call func() error) error {
	if err := s.held(lease); err != nil {
		return err
	}
	err := call()
	if changed := s.held(lease); changed != nil && !errors.Is(changed, ErrFenced) {
		return changed
	}
	return err
}

// held returns nil while the lease is good, and else why not.
func (s *Session) held(lease *Lease) error {
	if err := lease.Err(); err != nil {
		return err
	}
	if s.conn.SessionID() != lease.session {
		return ErrExpired
	}
	return nil
}
