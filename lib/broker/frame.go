package broker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	sizeLen = 4
	// minFrame is the shortest header: key, version, correlation id and a null client id.
	minFrame = 2 + 2 + 4 + 2
	// maxControlFrame bounds a frame that is not a Produce.
	maxControlFrame = 1 << 20
	// decodeFactor is how many bytes the decoded form of a byte may take while a frame other than a Produce is handled.
	// The worst of them are arrays of tiny structs: 2 bytes that become some 72.
	decodeFactor = 40
)

// frameError says why a frame cannot be taken. The connection is closed for it.
type frameError struct{ reason string }

func (e *frameError) Error() string { return e.reason }

func badFrame(format string, args ...any) error { return &frameError{fmt.Sprintf(format, args...)} }

// frame is one request as it came, in pooled memory that is charged to the budget.
type frame struct {
	key         int16
	version     int16
	correlation int32
	body        []byte // behind the header; part of the buffer

	buffer  *buffer
	charged int64
}

// framer reads frames from one connection. All lengths are checked before anything is allocated for them.
type framer struct {
	in       *bufio.Reader
	clock    readClock
	apis     *apiTable
	maxBytes int // of a frame
	memory   *budget
	pool     *bufferPool
	timeout  time.Duration // for a frame that has begun; large ones get more
}

// readClock is the time of the connection that a framer reads from.
type readClock interface {
	// readWithin sets the time for the reads that follow. They fail with os.ErrDeadlineExceeded when it is over.
	readWithin(time.Duration)
	// ending tells whether reads fail so because the connection is to end.
	ending() bool
}

// await blocks until the size and the beginning of a frame are there and tells what it says: nothing is taken from the
// connection. io.EOF: the client has closed it between two frames.
func (r *framer) await() (size int, key, version int16, err error) {
	b, err := r.in.Peek(sizeLen)
	if err != nil {
		if err == io.EOF && len(b) > 0 {
			err = badFrame("connection closed %d bytes into the size of a frame", len(b))
		}
		return 0, 0, 0, err
	}
	announced := int32(binary.BigEndian.Uint32(b))
	if announced < minFrame || int64(announced) > int64(r.maxBytes) {
		return 0, 0, 0, badFrame("frame of %d bytes, allowed are %d to %d", announced, minFrame, r.maxBytes)
	}
	size = int(announced)
	if b, err = r.in.Peek(sizeLen + 4); err != nil {
		return 0, 0, 0, cutShort(err, size)
	}
	key = int16(binary.BigEndian.Uint16(b[sizeLen:]))
	version = int16(binary.BigEndian.Uint16(b[sizeLen+2:]))
	if err := r.apis.check(key, version); err != nil {
		return 0, 0, 0, err
	}
	if key != int16(kmsg.Produce) && size > maxControlFrame {
		return 0, 0, 0, badFrame("%s of %d bytes, allowed are %d", kmsg.NameForKey(key), size, maxControlFrame)
	}
	return size, key, version, nil
}

// read takes the frame that await has announced. It blocks until there is memory for it and it is there whole.
func (r *framer) read(ctx context.Context, size int, key, version int16) (*frame, error) {
	_, class := classOf(size)
	f := &frame{key: key, version: version, charged: int64(class)}
	if key != int16(kmsg.Produce) {
		f.charged += int64(size) * decodeFactor
	}
	if err := r.memory.acquire(ctx, f.charged); err != nil {
		return nil, err
	}
	f.buffer = r.pool.get(size)
	if _, err := r.in.Discard(sizeLen); err != nil {
		r.release(f)
		return nil, err
	}
	if err := r.fill(f.buffer.b); err != nil {
		r.release(f)
		return nil, cutShort(err, size)
	}
	if err := f.parseHeader(r.apis.flexible(key, version)); err != nil {
		r.release(f)
		return nil, err
	}
	return f, nil
}

const (
	// slowestClient is how many bytes of a frame must arrive in a second, beyond the time allowed for any frame.
	slowestClient = 256 << 10
	// While others wait for memory, the time for any frame is no more than contendedTime, and contendedClient the
	// bytes in a second beyond: nobody may keep memory that he does not fill.
	contendedTime   = 2 * time.Second
	contendedClient = 1 << 20
	// fillStep is how long a read may take before the rules are looked at.
	fillStep = time.Second
)

// fill reads the rest of a frame, as long as it comes fast enough.
func (r *framer) fill(b []byte) error {
	began := time.Now()
	allowed := r.timeout + time.Duration(len(b)/slowestClient)*time.Second
	for got := 0; ; {
		r.clock.readWithin(min(fillStep, allowed))
		n, err := io.ReadFull(r.in, b[got:])
		got += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || r.clock.ending() {
			return err
		}
		took := time.Since(began)
		if took >= allowed {
			return badFrame("frame of %d bytes did not come within %v", len(b), allowed)
		}
		if took > contendedTime+time.Duration(got/contendedClient)*time.Second && r.memory.contended() {
			return badFrame("frame of %d bytes came too slowly, %d in %v, while others wait for memory", len(b), got, took.Round(time.Second))
		}
	}
}

func cutShort(err error, size int) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return badFrame("connection closed within a frame of %d bytes", size)
	}
	return err
}

// release gives the memory of a frame back. Nothing may point into it any more.
func (r *framer) release(f *frame) {
	r.pool.put(f.buffer)
	f.buffer, f.body = nil, nil
	r.memory.release(f.charged)
}

// parseHeader finds the correlation id and the body. The client id, and what tagged fields there are, are of no use here.
func (f *frame) parseHeader(flexible bool) error {
	r := kbin.Reader{Src: f.buffer.b[4:]} // behind key and version
	f.correlation = r.Int32()
	if n := r.Int16(); n > 0 {
		r.Span(int(n))
	}
	if flexible {
		kmsg.SkipTags(&r)
	}
	if !r.Ok() {
		return badFrame("header of a %s v%d request is cut short", kmsg.NameForKey(f.key), f.version)
	}
	f.body = r.Src
	return nil
}

// decode returns the request in the frame. Its byte slices and strings point into the frame's buffer when unsafe is
// true; they are copies otherwise. It must be given a version that kmsg knows.
func (f *frame) decode(unsafe bool) (req kmsg.Request, err error) {
	// kmsg is generated and sound as far as its fuzzing and ours went; should it panic all the same, one
	// connection is lost and not the broker.
	defer func() {
		if r := recover(); r != nil {
			req, err = nil, badFrame("body of a %s v%d request: %v", kmsg.NameForKey(f.key), f.version, r)
		}
	}()
	if f.key == int16(kmsg.Produce) {
		if err := checkProduceCounts(f.version, f.body); err != nil {
			return nil, err
		}
	}
	req = kmsg.RequestForKey(f.key)
	req.SetVersion(f.version)
	if reader, ok := req.(kmsg.UnsafeReadFrom); ok && unsafe {
		err = reader.UnsafeReadFrom(f.body)
	} else {
		err = req.ReadFrom(f.body)
	}
	if err != nil {
		return nil, badFrame("body of a %s v%d request: %v", kmsg.NameForKey(f.key), f.version, err)
	}
	return req, nil
}

// appendResponse appends a whole response frame to dst.
func appendResponse(dst []byte, correlation int32, resp kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = kbin.AppendInt32(dst, correlation)
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeLen))
	return dst
}
