package registry

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"
)

// TestHosts: a name that nobody knows does not matter while there is another one.
func TestHosts(t *testing.T) {
	h := newHosts(slog.New(slog.DiscardHandler))
	if err := h.Init([]string{"no-such-host.invalid:2181", "127.0.0.1:2181"}); err != nil || h.Len() != 1 {
		t.Errorf("%d servers, %v; want the one that is known", h.Len(), err)
	}
	if err := newHosts(slog.New(slog.DiscardHandler)).Init([]string{"no-such-host.invalid:2181"}); err == nil {
		t.Error("no error when nobody is known")
	}
}

// TestHasty: a server that accepts and says nothing is not waited for longer than a session, whatever the client sets.
func TestHasty(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	conn := hasty{near, 10 * time.Millisecond}
	for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
		if err := conn.SetReadDeadline(deadline); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("deadline %v: %v, want it exceeded", deadline, err)
		}
	}
}
