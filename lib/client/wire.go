package client

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire keeps produce requests in order on their way through kgo, which answers requests in the order in which they were
// written, but promises no order among goroutines that make them, and opens another connection when one has died. Two
// rules make up for that:
//
//   - to each broker one request is handed over at a time: the next one has to wait until it was written
//   - a connection is opened only when the results of all requests on the last one have been dealt with, so that nothing
//     overtakes what has to be sent again
//
// It is a hook of the kgo client, and its dialer.
type wire struct {
	net.Dialer
	client *kgo.Client

	mu     sync.Mutex
	links  map[int32]*link // by broker id
	silent map[string]bool // addresses that were written to and from which nothing has come since
}

// link is the way to one broker.
type link struct {
	wire   *wire
	broker int32
	order  sync.Mutex // held by the request that is being handed over

	mu      sync.Mutex
	pending int           // results not dealt with
	written chan struct{} // closed when the request that is being handed over was written; nil when there is none
}

func newWire(timeout time.Duration) *wire {
	return &wire{Dialer: net.Dialer{Timeout: timeout}, links: map[int32]*link{}, silent: map[string]bool{}}
}

func (w *wire) link(broker int32) *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.links[broker]
	if l == nil {
		l = &link{wire: w, broker: broker}
		w.links[broker] = l
	}
	return l
}

// noDial marks the context of requests that may go on the connection there is, and on no other.
type noDial struct{}

var errConnectionLost = errors.New("connection lost")

// dial is kgo's: it gets the context of the request that needs a connection.
func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if ctx.Value(noDial{}) != nil {
		return nil, errConnectionLost
	}
	c, err := w.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &conn{c, w, c.RemoteAddr().String()}, nil
}

// conn knows which broker it is that does not answer, where errors do not tell: when the other side has closed the
// connection, and when an answer was waited for in vain.
type conn struct {
	net.Conn
	wire *wire
	addr string
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.wire.heard(c.addr, true)
	}
	if err == io.EOF {
		err = &closedError{c.addr}
	}
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.wire.heard(c.addr, false)
	}
	return n, err
}

func (w *wire) heard(addr string, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is {
		delete(w.silent, addr)
	} else {
		w.silent[addr] = true
	}
}

// mute is the one broker that has not answered, "" where it may be several.
func (w *wire) mute() (addr string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.silent) != 1 {
		return ""
	}
	for addr = range w.silent {
	}
	return addr
}

// closedError is io.EOF, of a broker.
type closedError struct{ addr string }

func (e *closedError) Error() string {
	return "broker " + e.addr + ": connection closed by the other side"
}
func (e *closedError) Unwrap() error { return io.EOF }

// OnBrokerWrite is kgo's hook.
func (w *wire) OnBrokerWrite(to kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key != int16(kmsg.Produce) || err != nil {
		return // after an error kgo may try once more
	}
	l := w.link(to.NodeID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
}

// produce sends a request and returns its answer. It calls sent when the request was written, or has failed.
func (l *link) produce(ctx context.Context, req *kmsg.ProduceRequest, sent func()) (kmsg.Response, error) {
	l.order.Lock()
	written := make(chan struct{})
	l.mu.Lock()
	l.written = written
	if l.pending++; l.pending > 1 {
		ctx = context.WithValue(ctx, noDial{}, true)
	}
	l.mu.Unlock()

	answered := make(chan struct{})
	var resp kmsg.Response
	var err error
	go func() {
		defer close(answered)
		resp, err = l.wire.client.Broker(int(l.broker)).Request(ctx, req)
	}()
	select {
	case <-written:
	case <-answered:
	}
	l.order.Unlock()
	sent()
	<-answered
	return resp, err
}

// settled notes that a result has been dealt with.
func (l *link) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
}
