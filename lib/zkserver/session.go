package zkserver

import (
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"sync/atomic"
	"time"
)

// session is what outlives connections: ephemeral nodes belong to it. The caller of its methods holds the server's
// lock; deadline alone may be moved without it.
type session struct {
	id       int64 // zxid of its creation
	password [16]byte
	timeout  time.Duration
	deadline atomic.Int64 // when it ends unless it is heard of, in ns since the server's start
	conn     *conn        // nil while the client is away
}

// touch starts the timeout afresh. It is for those who hold the server's lock; connections, which do not, know the
// timeout that was granted to them.
func (sess *session) touch(now int64) { sess.deadline.Store(now + int64(sess.timeout)) }

// openSession makes a session for c.
func (s *Server) openSession(c *conn, timeout time.Duration) *session {
	c.timeout = timeout
	s.zxid++
	sess := &session{id: s.zxid, timeout: timeout, conn: c}
	rand.Read(sess.password[:]) // never fails
	sess.touch(s.sinceStart())
	s.sessions[sess.id] = sess
	s.dirtySessions[sess.id] = struct{}{}
	s.wakeCommitter()
	return sess
}

// resumeSession gives the session to c and takes it from its earlier connection, or returns nil when there is no such
// session or the password is wrong.
func (s *Server) resumeSession(c *conn, id int64, password []byte, timeout time.Duration) *session {
	sess := s.sessions[id]
	if sess == nil || subtle.ConstantTimeCompare(sess.password[:], password) != 1 {
		return nil
	}
	if old := sess.conn; old != nil {
		s.detach(old)
		old.kill()
	}
	c.timeout = timeout
	sess.conn = c
	sess.timeout = timeout
	sess.touch(s.sinceStart())
	return sess
}

// endSession takes away the session and all its ephemeral nodes in one transaction, and returns its zxid. The
// connection, if there is one, hears of its own nodes and is left for the caller to close.
func (s *Server) endSession(sess *session) int64 {
	x := s.begin(sess.id, nil)
	paths := make([]string, 0, len(s.tree.ephemerals[sess.id]))
	for path := range s.tree.ephemerals[sess.id] {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		x.remove(path)
	}
	delete(s.sessions, sess.id)
	s.dirtySessions[sess.id] = struct{}{}
	s.publish(x)
	if sess.conn != nil {
		s.detach(sess.conn)
	}
	return x.zxid
}

// detach separates a connection from its session: no more events, no more requests.
func (s *Server) detach(c *conn) {
	s.watches.drop(c)
	if sess := c.session; sess != nil && sess.conn == c {
		sess.conn = nil
	}
}

// grant bounds the timeout that a client asks for.
func (s *Server) grant(ms int32) time.Duration {
	asked := time.Duration(ms) * time.Millisecond
	return min(max(asked, s.opts.MinSessionTimeout), s.opts.MaxSessionTimeout)
}
