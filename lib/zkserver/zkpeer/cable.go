package zkpeer

import (
	"io"
	"net"
	"sync"
	"time"
)

// Cable is a way to a server that can be cut: hand Dial to zk.WithDialer. Its methods may be called by several goroutines.
type Cable struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

// Dial connects, unless the cable is cut.
func (c *Cable) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, io.ErrClosedPipe
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// Cut breaks all connections and lets no other one through until it is called with false.
func (c *Cable) Cut(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = on
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}
