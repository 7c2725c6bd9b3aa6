package zkserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// sessionlessTimeout is how long a connection may take to say what it wants.
const sessionlessTimeout = 10 * time.Second

// conn is one connection: a goroutine that reads requests and executes them one by one, and one that writes what is in
// the outbox. The reader owns the fields up to out.
type conn struct {
	s        *Server
	nc       net.Conn
	in       *bufio.Reader
	frame    []byte // of the request under way, used again for the next
	who      []identity
	lastZxid int64 // highest zxid in a reply so far
	timeout  time.Duration

	out     *outbox
	session *session            // set once, with the server's lock held
	watched map[string]struct{} // paths; the server's lock covers it
	tcp     bool
	id      int64 // for stable listings
	killing sync.Once
	dead    chan struct{}
	stats   connStats
}

// connStats is what the four-letter words tell about a connection.
type connStats struct {
	received, sent     atomic.Int64
	established        time.Time
	lastOp, lastXid    atomic.Int32
	lastZxid, lastTime atomic.Int64
	latency            latency
}

func (s *Server) newConn(nc net.Conn, tcp bool) *conn {
	s.nextConn++
	c := &conn{
		s: s, nc: nc, in: bufio.NewReader(nc), tcp: tcp, id: s.nextConn, dead: make(chan struct{}),
		who: []identity{{"ip", remoteIP(nc)}},
	}
	c.stats.established = time.Now()
	c.out = newOutbox(&s.durable, &s.unread, func() {
		s.waitMu.Lock()
		s.waiting = append(s.waiting, c.out)
		s.waitMu.Unlock()
	})
	return c
}

// remoteIP is the client's address; a client inside the process is at home.
func remoteIP(nc net.Conn) string {
	if addr, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		return addr.AddrPort().Addr().Unmap().WithZone("").String()
	}
	return "127.0.0.1"
}

// kill closes the connection at once. It takes no lock of the server.
func (c *conn) kill() {
	c.killing.Do(func() {
		close(c.dead)
		c.nc.Close()
		c.out.close()
	})
}

// run reads until the connection ends, for whatever reason, and cleans up.
func (c *conn) run() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := c.read()
	c.explain(err)
	if errors.Is(err, errDone) {
		c.out.finish()
		writer.Wait()
		c.linger()
	}
	c.kill()
	writer.Wait()
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detach(c)
	delete(s.conns, c)
	if c.tcp {
		s.tcpConns--
	}
}

// errDone ends a connection after the last reply.
var errDone = errors.New("connection done")

// errGarbage is wrapped by the errors of input that no ZooKeeper client sends.
var errGarbage = errors.New("not the ZooKeeper protocol")

// explain logs what an operator may want to know about the end of a connection: one line for bad input.
func (c *conn) explain(err error) {
	if errors.Is(err, errGarbage) || errors.Is(err, errMalformed) || errors.Is(err, errRefused) {
		c.s.log.Warn("zookeeper connection closed", "client", c.nc.RemoteAddr(), "err", err)
		return
	}
	c.s.log.Debug("zookeeper connection closed", "client", c.nc.RemoteAddr(), "err", err)
}

// linger lets the client read the last reply before the connection goes: closing with unread input would reset it.
func (c *conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.nc.SetReadDeadline(time.Now().Add(time.Second)) == nil {
		io.Copy(io.Discard, io.LimitReader(c.nc, MaxFrame))
	}
}

// read serves the connection and returns why it ended.
func (c *conn) read() error {
	if err := c.nc.SetReadDeadline(time.Now().Add(sessionlessTimeout)); err != nil {
		return err
	}
	first, err := c.in.Peek(4)
	if err != nil {
		return err
	}
	if answer, ok := fourLetterWords[string(first)]; ok {
		c.answerWord(answer)
		return errDone
	}
	if err := c.readFrame(minConnect, maxConnect); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	for c.out.waitRoom(c.s.opts.MaxOutstanding) { // before the next frame takes memory that others may wait for
		if err := c.readFrame(8, MaxFrame); err != nil {
			return err
		}
		err := c.execute()
		c.releaseFrame()
		if err != nil {
			return err
		}
	}
	return net.ErrClosed
}

// write sends what the outbox lets out. A client that takes nothing for as long as the longest session is given up.
func (c *conn) write() {
	var buf []byte
	var marks []mark
	for {
		var ok bool
		if buf, marks, ok = c.out.next(buf[:0], marks[:0]); !ok {
			return
		}
		if err := c.writeAll(buf); err != nil {
			c.kill()
			return
		}
		c.out.written(c.countSent(marks))
		if cap(buf) > outboxKeep {
			buf, marks = nil, nil
		}
	}
}

// writeChunk is how much a client has to take before its time starts afresh.
const writeChunk = 64 << 10

func (c *conn) writeAll(b []byte) error {
	for len(b) > 0 {
		if err := c.nc.SetWriteDeadline(time.Now().Add(c.s.opts.MaxSessionTimeout)); err != nil {
			return err
		}
		n, err := c.nc.Write(b[:min(len(b), writeChunk)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// countSent enters frames that have been written into the statistics, and returns how many of them were replies.
func (c *conn) countSent(marks []mark) (replies int) {
	now := c.s.sinceStart()
	for _, m := range marks {
		if m.born != 0 {
			replies++
			c.stats.latency.add(now - m.born)
			c.s.stats.latency.add(now - m.born)
		}
	}
	c.stats.sent.Add(int64(len(marks)))
	c.s.stats.sent.Add(int64(len(marks)))
	return replies
}

// notify queues an event that the transaction zxid has caused. The caller holds the server's lock.
func (c *conn) notify(ev event, zxid int64) {
	ok := c.out.add(zxid, 0, func(b []byte) []byte {
		b = appendReplyHeader(b, xidEvent, -1, codeOK)
		b = appendInt32(b, ev.kind)
		b = appendInt32(b, stateConnected)
		return appendString(b, ev.path)
	})
	if !ok {
		c.s.log.Warn("zookeeper connection closed: it does not read its events", "client", c.nc.RemoteAddr())
		c.kill()
	}
}

func inHex(v int64) string { return "0x" + strconv.FormatInt(v, 16) }

// frameError says what was wrong with the length of a frame.
func frameError(size uint32, least, most int) error {
	return fmt.Errorf("%w: frame of %d bytes, %d to %d allowed", errGarbage, size, least, most)
}
