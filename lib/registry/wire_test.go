package registry

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

// TestWireIsNotWaitedFor: a server that accepts and says nothing is not waited for longer than a session, whatever the
// client sets.
func TestWireIsNotWaitedFor(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	conn := &wire{Conn: near, asked: 10 * time.Millisecond, granted: new(atomic.Int64)}
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		if err := conn.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("deadline %v: %v, want it exceeded", deadline, err)
		}
	}
}

// still is a connection that yields what a server has sent, and notes until when it is waited for.
type still struct {
	net.Conn
	io.Reader
	until time.Time
}

func (s *still) Read(b []byte) (int, error)        { return s.Reader.Read(b) }
func (s *still) SetReadDeadline(t time.Time) error { s.until = t; return nil }

// TestWireHearsWhatIsGranted: however the answer arrives; and the zeros of a session that has ended are no timeout.
func TestWireHearsWhatIsGranted(t *testing.T) {
	answer := func(ms uint32) []byte {
		b := make([]byte, 4+36)
		binary.BigEndian.PutUint32(b, 36)
		binary.BigEndian.PutUint32(b[8:], ms)
		return append(b, bytes.Repeat([]byte{0, 0, 0, 99}, 20)...) // what comes later is no answer
	}
	for _, test := range []struct {
		name          string
		ms            uint32
		before, after time.Duration
	}{
		{"granted", 40_000, 0, 40 * time.Second},
		{"another one", 4_000, 40 * time.Second, 4 * time.Second},
		{"ended", 0, 40 * time.Second, 40 * time.Second},
	} {
		for _, in := range []io.Reader{bytes.NewReader(answer(test.ms)), iotest.OneByteReader(bytes.NewReader(answer(test.ms)))} {
			granted := new(atomic.Int64)
			granted.Store(int64(test.before))
			if _, err := io.Copy(io.Discard, &wire{Conn: &still{Reader: in}, granted: granted}); err != nil {
				t.Fatal(err)
			}
			if got := time.Duration(granted.Load()); got != test.after {
				t.Errorf("%s: %v, want %v", test.name, got, test.after)
			}
		}
	}
}

// TestWireWaitsForWhatIsGranted: a server that grants more than was asked for is pinged less often, and not to be given
// up in between.
func TestWireWaitsForWhatIsGranted(t *testing.T) {
	conn := &still{}
	w := &wire{Conn: conn, asked: time.Second, granted: new(atomic.Int64)}
	w.granted.Store(int64(time.Hour))
	want := time.Now().Add(40 * time.Minute)
	if err := w.SetReadDeadline(want); err != nil || !conn.until.Equal(want) {
		t.Errorf("waits until %v, %v; want %v", conn.until, err, want)
	}
}
