package zkserver

import (
	"errors"
	"fmt"
	"time"

	"logkit/lib/vfs"
)

// errFull refuses writes while the disk is full.
var errFull = errors.New("zookeeper database: disk full")

// retryFull is how long a full disk is left alone.
const retryFull = time.Second

// begin starts a transaction with the next zxid, which it uses up only when it is published.
func (s *Server) begin(session int64, who []identity) *txn {
	return &txn{
		tree: s.tree, zxid: s.zxid + 1, now: time.Now().UnixMilli(),
		session: session, who: who, limit: s.opts.MaxTreeBytes,
	}
}

// publish makes a transaction that has been applied part of the history: its events go into the outboxes, to wait for
// the commit that will hold it. The caller queues the replies afterwards, with mu still held.
func (s *Server) publish(x *txn) {
	s.zxid = x.zxid
	for _, ev := range x.events {
		s.watches.fire(ev, func(c *conn) { c.notify(ev, x.zxid) })
	}
	s.wakeCommitter()
}

func (s *Server) wakeCommitter() {
	select {
	case s.kick <- struct{}{}:
	default: // it will come anyway
	}
}

// refusal is why nothing may be written now, nil when it may.
func (s *Server) refusal() error {
	switch {
	case s.failed != nil:
		return s.failed
	case s.full:
		return errFull
	case s.isClosed():
		return ErrClosed
	}
	return nil
}

// runCommitter makes durable what has been applied, as much at a time as there is, until kick is closed.
func (s *Server) runCommitter() {
	for range s.kick {
		s.commitAll()
	}
	s.commitAll()
}

// commitAll commits until the durable zxid is the last one.
func (s *Server) commitAll() {
	for {
		s.mu.Lock()
		if s.failed != nil || s.zxid == s.durable.Load() {
			s.mu.Unlock()
			return
		}
		changes, zxid, commit := s.collect(), s.zxid, s.commit
		s.mu.Unlock()

		s.committing.Store(s.sinceStart())
		err := commit(changes)
		for vfs.IsNoSpace(err) && !s.isClosed() {
			s.setFull(err)
			s.pause(retryFull)
			err = commit(changes)
		}
		s.committing.Store(0)
		if err != nil {
			s.fail(err)
			return
		}
		s.advance(zxid)
	}
}

// collect encodes what has changed since the last call, and forgets that it has.
func (s *Server) collect() []change {
	changes := make([]change, 0, 2*len(s.tree.dirty)+len(s.dirtySessions)+1)
	for path, what := range s.tree.dirty {
		key, n := []byte(path), s.tree.nodes[path]
		if n == nil {
			changes = append(changes, change{bucketNodes, key, nil}, change{bucketData, key, nil})
			continue
		}
		changes = append(changes, change{bucketNodes, key, appendNode(nil, path, n)})
		if what&dirtyData != 0 {
			changes = append(changes, change{bucketData, key, n.data})
		}
	}
	for id := range s.dirtySessions {
		row := []byte(nil)
		if sess := s.sessions[id]; sess != nil {
			row = sess.row()
		}
		changes = append(changes, change{bucketSessions, appendInt64(nil, id), row})
	}
	changes = append(changes, change{bucketMeta, keyState, stateRow(s.zxid, len(s.tree.nodes), len(s.sessions))})
	clear(s.tree.dirty)
	clear(s.dirtySessions)
	return changes
}

// advance lets out what needed zxid.
func (s *Server) advance(zxid int64) {
	s.mu.Lock()
	s.durable.Store(zxid)
	if s.full {
		s.full = false
		s.log.Info("zookeeper database has room again")
	}
	s.settled.Broadcast()
	s.mu.Unlock()
	s.releaseAll()
}

// releaseAll wakes the outboxes that wait for a commit.
func (s *Server) releaseAll() {
	s.waitMu.Lock()
	waiting := s.waiting
	s.waiting = nil
	s.waitMu.Unlock()
	for _, o := range waiting {
		o.release()
	}
}

func (s *Server) setFull(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.full {
		s.full = true
		s.log.Error("zookeeper database: disk full, writes refused until there is room", "err", err)
		s.settled.Broadcast()
	}
}

// fail ends all writing. Connections that wait for something that will never be durable are closed: their clients have
// to find out what became of it, as after any lost connection.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = fmt.Errorf("zookeeper database: %w", err)
	close(s.broken)
	s.log.Error("zookeeper database failed, writes refused from here on", "err", err)
	for c := range s.conns {
		if c.out.stuck() {
			c.kill()
		}
	}
	s.settled.Broadcast()
}
