package zkserver

import (
	"encoding/binary"
	"io"
	"net"
)

// Memory for requests. Most are small: a buffer of up to frameKeep bytes stays with its connection, one of up to
// frameSmall is anybody's right, and for larger ones there are largeFrames slots to wait for.
const (
	frameKeep   = 4 << 10
	frameSmall  = 64 << 10
	largeFrames = 64
)

// readFrame reads the next request into c.frame, which releaseFrame gives back. It takes memory as the bytes arrive,
// not as they are promised.
func (c *conn) readFrame(least, most int) error {
	head, err := c.in.Peek(4)
	if err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head)
	if int64(size) < int64(least) || int64(size) > int64(most) {
		return frameError(size, least, most)
	}
	c.in.Discard(4)
	if size > frameSmall {
		select {
		case c.s.large <- struct{}{}:
		case <-c.dead:
			return net.ErrClosed
		}
	}
	c.frame, err = readGrowing(c.in, c.frame[:0], int(size))
	if err != nil && size > frameSmall {
		<-c.s.large
	}
	return err
}

// readGrowing appends n bytes of r to b, which at no time is larger than twice what has arrived, and frameKeep.
func readGrowing(r io.Reader, b []byte, n int) ([]byte, error) {
	for len(b) < n {
		step := min(n-len(b), max(len(b), frameKeep))
		start := len(b)
		b = append(b, make([]byte, step)...)
		if _, err := io.ReadFull(r, b[start:]); err != nil {
			return b, err
		}
	}
	return b, nil
}

// releaseFrame gives back what readFrame took.
func (c *conn) releaseFrame() {
	if len(c.frame) > frameSmall {
		<-c.s.large
	}
	if cap(c.frame) > frameKeep {
		c.frame = nil
	}
	c.frame = c.frame[:0]
}
