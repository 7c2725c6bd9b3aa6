package broker

import (
	"bytes"
	"net"
	"os"
	"testing"
	"time"
)

// slowConn is a connection to a client that takes so many bytes within the time that it is given, and no more.
type slowConn struct {
	net.Conn
	took   []byte
	atOnce int
	left   int // of the time that runs
}

func (c *slowConn) SetWriteDeadline(time.Time) error { c.left = c.atOnce; return nil }

func (c *slowConn) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.took = append(c.took, b[:n]...)
	if c.left -= n; n < len(b) {
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

// TestSlowClientTakesAll: a client that takes little at a time gets an answer of any size: the time is for a piece of it.
func TestSlowClientTakesAll(t *testing.T) {
	conn := &slowConn{atOnce: writeChunk}
	out := newOutput(conn, new(bufferPool), time.Second, nil)
	var want []byte
	for i, size := range []int{10, 5 << 20, flushAbove - 1, flushAbove, 100, 3 * writeChunk} {
		b := bytes.Repeat([]byte{byte(i)}, size)
		want = append(want, b...)
		if err := out.write(b); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	out.add(make([]byte, 2*writeChunk))
	want = append(want, make([]byte, 2*writeChunk)...)
	if err := out.flush(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(conn.took, want) {
		t.Errorf("the client got %d bytes, want these %d", len(conn.took), len(want))
	}
	if out.pending != nil {
		t.Error("the buffer was kept")
	}
}
