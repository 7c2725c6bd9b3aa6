package zkserver

import (
	"errors"
	"fmt"
	"net"
)

// errRefused is wrapped by the errors of clients that the server does not let in.
var errRefused = errors.New("client refused")

// maxIdentities bounds what a connection may prove by auth requests.
const maxIdentities = 64

// connect answers the first frame: a session, or why not.
func (c *conn) connect() error {
	r, err := decodeConnect(c.frame)
	if err != nil {
		return err
	}
	c.countReceived()
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.lastZxid > s.zxid {
		return fmt.Errorf("%w: it has seen zxid %s, the last here is %s", errRefused, inHex(r.lastZxid), inHex(s.zxid))
	}
	timeout := s.grant(r.timeout)
	sess := (*session)(nil)
	switch {
	case r.session != 0:
		sess = s.resumeSession(c, r.session, r.password, timeout)
	case s.refusal() != nil:
		return s.refusal()
	case c.tcp && len(s.sessions) >= s.opts.MaxSessions:
		return fmt.Errorf("%w: session %d, at most %d allowed", errRefused, len(s.sessions)+1, s.opts.MaxSessions)
	default:
		sess = s.openSession(c, timeout)
	}
	if s.failed != nil && (sess == nil || sess.id > s.durable.Load()) {
		return s.failed // what the answer would show never will be durable
	}
	born := s.sinceStart()
	if sess == nil {
		c.out.add(s.zxid, born, func(b []byte) []byte {
			return appendConnectReply(b, 0, 0, make([]byte, 16), r.sentReadOnly)
		})
		return errDone
	}
	c.session = sess
	c.out.add(sess.id, born, func(b []byte) []byte {
		return appendConnectReply(b, int32(timeout.Milliseconds()), sess.id, sess.password[:], r.sentReadOnly)
	})
	return nil
}

// call is one request under way.
type call struct {
	xid, op int32
	born    int64
}

// execute answers the request in c.frame. An error ends the connection.
func (c *conn) execute() error {
	c.countReceived()
	d := &decoder{b: c.frame}
	k := call{xid: d.int32(), op: d.int32(), born: c.s.sinceStart()}
	c.session.deadline.Store(k.born + int64(c.timeout))
	c.stats.lastOp.Store(k.op)
	c.stats.lastXid.Store(k.xid)
	switch k.op {
	case opPing:
		c.out.pong(func(b []byte) []byte { return appendReplyHeader(b, k.xid, 0, codeOK) })
		return nil
	case opAuth:
		return c.auth(k, d)
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opSetACL, opCheck:
		return c.executeWrite(k, d)
	case opMulti:
		return c.executeMulti(k, d)
	case opCloseSession:
		return c.executeClose(k)
	case opSetWatches, opSetWatches2, opAddWatch, opCheckWatches, opRemoveWatches:
		return c.executeWatch(k, d)
	}
	return c.executeRead(k, d)
}

// attached reports whether the session is still this connection's. The caller holds the server's lock.
func (c *conn) attached() bool { return c.session.conn == c }

// alone calls f with the server's lock held, unless the session has gone to another connection.
func (c *conn) alone(f func(s *Server) error) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if !c.attached() {
		return net.ErrClosed
	}
	return f(c.s)
}

// reply queues the answer. need is the zxid that it shows; body may be nil. The caller holds the server's lock, shared
// or not. The zxid in the header is one that will be durable when the client reads it, at least as high as any it has
// seen, and not above what it has been told about: it comes back after a reconnection as the point to go on from.
func (c *conn) reply(k call, need int64, e code, body func(b []byte) []byte) error {
	c.lastZxid = max(c.lastZxid, need, c.s.durable.Load())
	c.stats.lastZxid.Store(c.lastZxid)
	c.out.add(need, k.born, func(b []byte) []byte {
		b = appendReplyHeader(b, k.xid, c.lastZxid, e)
		if e == codeOK && body != nil {
			b = body(b)
		}
		return b
	})
	return nil
}

// replyMalformed answers a request whose body is not what its op demands; the connection stays.
func (c *conn) replyMalformed(k call) error {
	c.s.mu.RLock()
	defer c.s.mu.RUnlock()
	return c.reply(k, 0, codeMarshalling, nil)
}

func (c *conn) auth(k call, d *decoder) error {
	d.int32() // type, always 0
	scheme, secret := d.string(), d.buffer()
	if d.err != nil {
		return d.err
	}
	who, ok := authenticate(scheme, secret, c.who[0].id)
	known := false
	for _, w := range c.who {
		known = known || w == who
	}
	if ok && !known {
		if len(c.who) >= maxIdentities {
			return fmt.Errorf("%w: identity %d of a connection, at most %d allowed", errRefused, len(c.who)+1, maxIdentities)
		}
		c.who = append(c.who, who)
	}
	e := codeOK
	if !ok {
		e = codeAuthFailed
	}
	c.out.add(0, k.born, func(b []byte) []byte { return appendReplyHeader(b, k.xid, 0, e) })
	if !ok {
		return errDone
	}
	return nil
}

func (c *conn) executeWrite(k call, d *decoder) error {
	r := decodeRequest(k.op, d)
	if d.err != nil {
		return c.replyMalformed(k)
	}
	return c.alone(func(s *Server) error {
		if s.refusal() != nil {
			return c.reply(k, 0, codeSystemError, nil)
		}
		x := s.begin(c.session.id, c.who)
		res := x.do(r)
		if res.code != codeOK {
			return c.reply(k, s.zxid, res.code, nil)
		}
		s.publish(x)
		return c.reply(k, x.zxid, codeOK, func(b []byte) []byte { return appendResult(b, res) })
	})
}

func (c *conn) executeMulti(k call, d *decoder) error {
	list := decodeMulti(d, writesInMulti)
	if d.err != nil {
		return c.replyMalformed(k)
	}
	return c.alone(func(s *Server) error {
		if s.refusal() != nil {
			return c.reply(k, 0, codeSystemError, nil)
		}
		x := s.begin(c.session.id, c.who)
		results, done := x.multi(list)
		need := s.zxid
		if done && len(list) > 0 {
			s.publish(x)
			need = x.zxid
		}
		return c.reply(k, need, codeOK, func(b []byte) []byte { return appendMulti(b, results) })
	})
}

func (c *conn) executeClose(k call) error {
	return c.alone(func(s *Server) error {
		if s.refusal() != nil {
			c.reply(k, 0, codeSystemError, nil)
		} else {
			c.reply(k, s.endSession(c.session), codeOK, nil)
		}
		return errDone
	})
}

func (c *conn) countReceived() {
	c.stats.received.Add(1)
	c.stats.lastTime.Store(c.s.sinceStart())
	c.s.stats.received.Add(1)
}
