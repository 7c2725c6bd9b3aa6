package cmd

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between clients and a broker that comes and goes, and harms their connections when it is told to.
type proxy struct {
	listener net.Listener
	backend  atomic.Pointer[string] // where the broker listens
	running  sync.WaitGroup

	mu    sync.Mutex
	pairs map[*pair]struct{}
	harm  [3]int // how often which has been done
}

// pair is a client's connection and the one to the broker that carries it on.
type pair struct {
	client, server net.Conn
	mute           atomic.Bool  // answers are swallowed
	left           atomic.Int64 // bytes of answers that still go through when it is not negative, and then the connection ends
}

func newProxy(t *testing.T) *proxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, pairs: make(map[*pair]struct{})}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.each(func(c *pair) { c.reset() })
		p.running.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", *p.backend.Load())
		if err != nil {
			client.Close()
			continue
		}
		c := &pair{client: client, server: server}
		c.left.Store(-1)
		p.mu.Lock()
		p.pairs[c] = struct{}{}
		p.mu.Unlock()
		p.running.Go(func() {
			io.Copy(server, client)
			c.reset()
		})
		p.running.Go(func() {
			c.answers()
			c.reset()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.pairs, c)
		})
	}
}

// answers carries what the broker says, as far as it may.
func (c *pair) answers() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if left := c.left.Load(); left >= 0 {
			if int64(n) > left {
				c.client.Write(buf[:left])
				return
			}
			c.left.Add(int64(-n))
		}
		if !c.mute.Load() {
			if _, err := c.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// reset ends both connections as a crash would: what is under way is lost.
func (c *pair) reset() {
	for _, conn := range []net.Conn{c.client, c.server} {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

func (p *proxy) each(f func(*pair)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		f(c)
	}
}

// disturb harms some connections: it resets them, swallows their answers and then resets them, or lets them end in the
// middle of an answer.
func (p *proxy) disturb() {
	p.each(func(c *pair) {
		if rand.IntN(3) == 0 {
			return
		}
		kind := rand.IntN(len(p.harm))
		p.harm[kind]++
		switch kind {
		case 0:
			c.reset()
		case 1:
			c.mute.Store(true)
			time.AfterFunc(time.Duration(rand.IntN(50))*time.Millisecond, c.reset)
		case 2:
			c.left.Store(rand.Int64N(100))
		}
	})
}

// TestProxy: the proxy carries both ways, and each harm ends a connection.
func TestProxy(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	p := newProxy(t)
	backend := server.Addr().String()
	p.backend.Store(&backend)
	for p.harm[0] == 0 || p.harm[1] == 0 || p.harm[2] == 0 {
		conn, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		word := []byte("ping")
		conn.Write(word)
		if _, err := io.ReadFull(conn, word); err != nil || string(word) != "ping" {
			t.Fatalf("%q came back, %v", word, err)
		}
		before := p.harm
		for before == p.harm {
			p.disturb()
		}
		conn.Write(make([]byte, 1000))
		if n, err := io.Copy(io.Discard, conn); n >= 1000 || errors.Is(err, net.ErrClosed) {
			t.Errorf("%d bytes after the harm, %v", n, err)
		}
		conn.Close()
		for deadline := time.Now().Add(patience); p.carried() > 0; time.Sleep(time.Millisecond) { // or the next harm may be its
			if time.Now().After(deadline) {
				t.Fatal("the proxy keeps a connection that has ended")
			}
		}
	}
}

// carried is the number of connections that go through.
func (p *proxy) carried() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}
