package broker

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxPending and maxPendingBytes bound the answers that one connection is owed; then no more is read from it.
	maxPending      = 256
	maxPendingBytes = 256 << 10
	// readBuffer holds the beginnings of frames. The rest of a larger frame is read right into its own buffer.
	readBuffer = 4 << 10
)

// conn is one client's connection. Its reader is the goroutine in serve, its writer the one in writeLoop.
type conn struct {
	broker *Broker
	socket net.Conn
	frames framer
	queue  *queue

	// reading ends when no more requests are taken: the client has closed, or did something wrong, or the broker stops.
	// What waits only for the client's sake, a long poll, ends with it.
	reading  context.Context
	stop     context.CancelFunc
	draining atomic.Bool

	// fetchFirst is where the next fetch begins to fill its answer. The writer's.
	fetchFirst partitionKey
}

func newConn(b *Broker, socket net.Conn) *conn {
	c := &conn{
		broker: b,
		socket: socket,
		queue:  newQueue(maxPending, maxPendingBytes, b.memory),
	}
	c.frames = framer{
		in: bufio.NewReaderSize(socket, readBuffer), clock: c, apis: b.apis, maxBytes: b.options.MaxRequestBytes,
		memory: b.memory, pool: &b.buffers, timeout: b.options.FrameTimeout,
	}
	c.reading, c.stop = context.WithCancel(b.hard)
	return c
}

// serve answers the connection's requests until it ends, and closes it.
func (c *conn) serve() {
	written := make(chan error, 1)
	go func() { written <- c.writeLoop() }()
	readErr := c.readLoop()
	c.stop()
	c.queue.close()
	writeErr := <-written
	c.report(readErr, writeErr)
	c.socket.Close()
}

// drain lets the connection end in order: nothing more is read, what was read is answered.
func (c *conn) drain() {
	c.draining.Store(true)
	c.stop()
	c.socket.SetReadDeadline(time.Unix(1, 0))
}

// readLoop returns nil when the connection may end without a word.
func (c *conn) readLoop() error {
	for {
		c.readWithin(c.broker.options.IdleTimeout)
		size, key, version, err := c.frames.await()
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.draining.Load() && c.queue.busy() {
			continue // it waits for us
		}
		if err == nil && c.queue.room() {
			err = c.readRequest(size, key, version)
		}
		if err != nil || c.queue.isLost() {
			return c.readError(err)
		}
	}
}

// readRequest takes one announced frame and puts what it is owed into the queue.
func (c *conn) readRequest(size int, key, version int16) error {
	f, err := c.frames.read(c.reading, size, key, version)
	if err != nil {
		return err
	}
	defer c.frames.release(f)
	a, err := c.handle(f)
	if a != nil {
		c.queue.put(a)
	}
	return err
}

func (c *conn) handle(f *frame) (answer, error) {
	row := c.broker.apis.find(f.key)
	if row.key == kmsg.ApiVersions && f.version > row.max {
		return refuseAPIVersions(c.broker.apis, f.correlation)
	}
	// Only a Produce is done with its frame when its handler returns, and has enough in it for a copy to matter.
	req, err := f.decode(row.key == kmsg.Produce)
	if err != nil {
		return nil, err
	}
	return row.handle(c, req, f.correlation)
}

// readWithin sets the time for what is read next, unless the connection is to end.
func (c *conn) readWithin(d time.Duration) {
	c.socket.SetReadDeadline(time.Now().Add(d))
	if c.draining.Load() {
		c.socket.SetReadDeadline(time.Unix(1, 0))
	}
}

func (c *conn) ending() bool { return c.draining.Load() }

// readError strips what is no fault of the client.
func (c *conn) readError(err error) error {
	var frame *frameError
	switch {
	case errors.As(err, &frame):
		return err
	case c.draining.Load(), err == io.EOF, errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// writeLoop writes the answers in order until the queue is closed and empty.
func (c *conn) writeLoop() (err error) {
	out := newOutput(c.socket, &c.broker.buffers, c.broker.options.WriteTimeout, c.broker.send)
	defer out.drop()
	for err == nil {
		var a answer
		if a, err = c.queue.take(out.flush); err != nil || a == nil {
			break
		}
		err = a.write(out)
		c.queue.done(a)
		if err == nil {
			err = out.flushFull()
		}
	}
	if err == nil {
		return out.flush()
	}
	c.queue.lose()
	c.socket.Close() // which ends the reader, too
	return err
}
