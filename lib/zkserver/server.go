package zkserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned by the methods of a server that has been closed.
var ErrClosed = errors.New("zookeeper server closed")

// Server is a running ZooKeeper. Its methods may be called by several goroutines.
type Server struct {
	opts     Options
	log      *slog.Logger
	store    *store
	commit   func(changes []change) error // store.commit; tests put failures in its place
	listener net.Listener                 // nil without TCP
	start    time.Time
	large    chan struct{} // slots for the frames that are larger than most

	// mu covers the fields below. Readers of the tree may share it; whoever changes anything, watches too, may not.
	// The durable zxid rises, and outboxes are filled, with mu held, either way: that keeps events in order.
	mu            sync.RWMutex
	tree          *tree
	watches       *watches
	sessions      map[int64]*session
	dirtySessions map[int64]struct{} // to be written by the next commit
	zxid          int64              // the last one given
	conns         map[*conn]struct{}
	tcpConns      int
	nextConn      int64
	full          bool      // the disk is: writes are refused until a commit goes through
	failed        error     // why there will be no more writes
	settled       sync.Cond // a commit has ended, or failed or closed have changed; its lock is mu's

	durable    atomic.Int64
	unread     atomic.Int64  // bytes in the outboxes
	committing atomic.Int64  // when the commit under way began, ns since start; 0 when there is none
	kick       chan struct{} // there is something to commit
	waitMu     sync.Mutex
	waiting    []*outbox // to be woken by the next commit

	stats   stats
	done    chan struct{} // closed by Close
	broken  chan struct{} // closed by fail
	closing sync.Once
	closed  error          // what Close returned, for its later calls
	serving sync.WaitGroup // acceptor, connections, ticker
	commits sync.WaitGroup // committer, which outlives them
}

// Open opens the database in opts.Dir, or makes it, and serves it at once: at opts.Listen, and to Dial. Sessions of
// earlier runs start their timeout afresh. It fails with ErrLocked, with ErrDamaged, or with what the operating system
// says about the directory or the address.
func Open(opts Options) (*Server, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	st, err := openStore(opts.Dir)
	if err != nil {
		return nil, err
	}
	s, err := newServer(opts, st)
	if err == nil && opts.Listen != "" {
		if s.listener, err = net.Listen("tcp", opts.Listen); err != nil {
			err = fmt.Errorf("zookeeper: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	s.commits.Go(s.runCommitter)
	s.serving.Go(s.runTicker)
	if s.listener != nil {
		s.serving.Go(s.accept)
	}
	return s, nil
}

func newServer(opts Options, st *store) (*Server, error) {
	l, err := st.load()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: opts, log: opts.Logger, store: st, commit: st.commit,
		start:         time.Now().Add(-time.Nanosecond), // so that sinceStart is never 0
		large:         make(chan struct{}, largeFrames),
		tree:          l.tree,
		watches:       newWatches(),
		sessions:      map[int64]*session{},
		dirtySessions: map[int64]struct{}{},
		zxid:          l.zxid,
		conns:         map[*conn]struct{}{},
		kick:          make(chan struct{}, 1),
		done:          make(chan struct{}),
		broken:        make(chan struct{}),
	}
	s.settled.L = &s.mu
	for _, sess := range l.sessions {
		sess.touch(s.sinceStart())
		s.sessions[sess.id] = sess
	}
	if s.zxid == 0 {
		if err := s.found(); err != nil {
			return nil, err
		}
	}
	s.durable.Store(s.zxid)
	return s, nil
}

// found fills an empty database.
func (s *Server) found() error {
	s.zxid = max(s.start.UnixMilli()<<16, 1)
	s.tree.plant()
	for path := range s.tree.nodes {
		s.tree.mark(path, dirtyStat|dirtyData)
	}
	return s.commit(s.collect())
}

// sinceStart is the monotonic clock in ns, never 0.
func (s *Server) sinceStart() int64 { return int64(time.Since(s.start)) }

// Addr is where TCP clients are served, nil when they are not.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Dial connects to the server inside the process. Such connections are not held to Options.MaxConns and MaxSessions, so
// that the process itself gets in however many clients there are.
func (s *Server) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	if err := s.serve(server, false); err != nil {
		return nil, errors.Join(err, client.Close(), server.Close())
	}
	return client, nil
}

// Owner returns the session that the ephemeral node at path belongs to, false when there is no such node.
func (s *Server) Owner(path string) (session int64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.tree.find(path)
	if n == nil || !n.ephemeral() {
		return 0, false
	}
	return n.owner, true
}

// ExpireSession ends a session at once, as its timeout would. When it returns nil this is durable; a session that
// there is not is no error. It is meant for the sessions of an earlier run of the same process:
//
//	if id, ok := server.Owner("/brokers/ids/0"); ok { err = server.ExpireSession(id) }
func (s *Server) ExpireSession(id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusal(); err != nil {
		return err
	}
	sess := s.sessions[id]
	if sess == nil {
		return nil
	}
	c := sess.conn
	zxid := s.endSession(sess)
	if c != nil {
		c.kill()
	}
	for s.durable.Load() < zxid {
		if err := s.refusal(); err != nil {
			return err
		}
		s.settled.Wait()
	}
	return nil
}

// Failed is closed when the disk has failed for good. Err then says how.
func (s *Server) Failed() <-chan struct{} { return s.broken }

// Err is why the server refuses writes for good, nil when it does not. It does not return from such a state.
func (s *Server) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// Close closes all connections, leaves the sessions to the next Open, and makes durable what has been applied. The
// second call returns what the first did.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		close(s.done)
		for c := range s.conns {
			c.kill()
		}
		s.settled.Broadcast()
		s.mu.Unlock()
		if s.listener != nil {
			s.listener.Close()
		}
		s.serving.Wait()
		close(s.kick)
		s.commits.Wait()
		s.closed = errors.Join(s.Err(), s.store.close())
	})
	return s.closed
}

func (s *Server) isClosed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// accept serves TCP connections until the listener is closed.
func (s *Server) accept() {
	var told time.Time
	warn := func(msg string, args ...any) { // a flood of them is one line a second
		if time.Since(told) > time.Second {
			told = time.Now()
			s.log.Warn(msg, args...)
		}
	}
	for {
		nc, err := s.listener.Accept()
		switch {
		case err == nil:
			if err := s.serve(nc, true); err != nil {
				nc.Close()
				warn("zookeeper connection refused", "client", nc.RemoteAddr(), "err", err)
			}
		case s.isClosed():
			return
		default: // out of descriptors, most likely: some will be given back
			warn("zookeeper connection not accepted", "err", err)
			s.pause(100 * time.Millisecond)
		}
	}
}

// pause waits for d or for the server to be closed.
func (s *Server) pause(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.done:
	}
}

// serve starts the goroutines of a connection, which close it in the end.
func (s *Server) serve(nc net.Conn, tcp bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed() {
		return ErrClosed
	}
	if tcp && s.tcpConns >= s.opts.MaxConns {
		return fmt.Errorf("%d connections, at most %d allowed", s.tcpConns+1, s.opts.MaxConns)
	}
	c := s.newConn(nc, tcp)
	s.conns[c] = struct{}{}
	if tcp {
		s.tcpConns++
	}
	s.serving.Go(c.run)
	return nil
}
