package broker

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	// copyBelow is the length of a file range from which sendfile(2) is cheaper than a copy.
	copyBelow = 64 << 10
	// flushAbove is how much may be buffered between two answers.
	flushAbove = 16 << 10
	// sendChunk is how much one sendfile(2) is asked for; the client must take some of it within the write timeout.
	sendChunk = 1 << 20
	// writeChunk is how much of other bytes the client must take within the write timeout.
	writeChunk = 64 << 10
)

// source is an open file whose ranges are sent. segment.Handle is one.
type source interface {
	io.ReaderAt
	Name() string
	// Fd is the descriptor, when there is one.
	Fd() (fd uintptr, ok bool)
}

// sendFunc sends up to n bytes of the file in from pos to the socket behind raw, as sendfile(2) does, and tells how
// many went. It blocks until the socket takes some, or its write deadline has passed.
type sendFunc func(raw syscall.RawConn, in source, pos int64, n int) (int, error)

// output is the sending side of a connection, used by its writer alone. Small answers are collected in a buffer; it goes
// out when it has grown, before something waits, and before a file range.
type output struct {
	conn    net.Conn
	raw     syscall.RawConn // nil: ranges are copied
	send    sendFunc
	timeout time.Duration // for a client to take some of a sendChunk, or a whole writeChunk
	pool    *bufferPool

	pending *buffer // nil when nothing is buffered
}

func newOutput(conn net.Conn, pool *bufferPool, timeout time.Duration, send sendFunc) *output {
	o := &output{conn: conn, pool: pool, timeout: timeout, send: send}
	if tcp, ok := conn.(*net.TCPConn); ok && send != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			o.raw = raw
		}
	}
	return o
}

// space makes room for n more bytes in the buffer and returns them. They are sent with it.
func (o *output) space(n int) []byte {
	if o.pending == nil {
		o.pending = o.pool.get(n)
		return o.pending.b
	}
	start := len(o.pending.b)
	if start+n <= cap(o.pending.b) {
		o.pending.b = o.pending.b[:start+n]
	} else {
		larger := o.pool.get(start + n)
		copy(larger.b, o.pending.b)
		o.pool.put(o.pending)
		o.pending = larger
	}
	return o.pending.b[start:]
}

// add buffers a copy of b.
func (o *output) add(b []byte) { copy(o.space(len(b)), b) }

// write buffers a copy of b, or sends a large one as it is, after what is buffered.
func (o *output) write(b []byte) error {
	if len(b) < flushAbove {
		o.add(b)
		return nil
	}
	if err := o.writeBuffered(true); err != nil {
		return err
	}
	return o.transmit(b, false)
}

// flush sends what is buffered and gives the buffer back.
func (o *output) flush() error { return o.writeBuffered(false) }

// flushFull does so when much is buffered.
func (o *output) flushFull() error {
	if o.pending == nil || len(o.pending.b) < flushAbove {
		return nil
	}
	return o.flush()
}

// writeBuffered is flush; more says that more is sent at once.
func (o *output) writeBuffered(more bool) error {
	if o.pending == nil {
		return nil
	}
	err := o.transmit(o.pending.b, more)
	o.drop()
	return err
}

// transmit sends b to a client that takes it, however slowly.
func (o *output) transmit(b []byte, more bool) (err error) {
	for len(b) > 0 && err == nil {
		chunk := b[:min(len(b), writeChunk)]
		b = b[len(chunk):]
		o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		if o.raw != nil && (more || len(b) > 0) {
			err = writeMore(o.raw, chunk)
		} else {
			_, err = o.conn.Write(chunk)
		}
	}
	return err
}

// drop gives the buffer back unsent.
func (o *output) drop() {
	if o.pending != nil {
		o.pool.put(o.pending)
		o.pending = nil
	}
}

// sendRange sends n bytes of a file from pos on, after what is buffered. A short file is an error.
func (o *output) sendRange(in source, pos, n int64) error {
	if n < copyBelow {
		return o.copyRange(in, pos, n)
	}
	if _, ok := in.Fd(); !ok || o.raw == nil {
		return o.copyRange(in, pos, n)
	}
	if err := o.writeBuffered(true); err != nil {
		return err
	}
	for n > 0 {
		o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		sent, err := o.send(o.raw, in, pos, int(min(n, sendChunk)))
		if err != nil {
			return err
		}
		if sent == 0 {
			return fmt.Errorf("%s: ends at %d, %d bytes before what the log says", in.Name(), pos, n)
		}
		pos += int64(sent)
		n -= int64(sent)
	}
	return nil
}

// copyRange sends the range through the buffer.
func (o *output) copyRange(in source, pos, n int64) error {
	for n > 0 {
		if o.pending != nil && len(o.pending.b) >= copyBelow {
			if err := o.flush(); err != nil {
				return err
			}
		}
		step := int(min(n, copyBelow))
		if got, err := in.ReadAt(o.space(step), pos); got < step {
			return fmt.Errorf("%s: %d bytes at %d: %w", in.Name(), step, pos, err)
		}
		pos += int64(step)
		n -= int64(step)
	}
	return nil
}
