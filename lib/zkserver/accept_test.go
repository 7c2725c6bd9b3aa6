package zkserver

import (
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// deadListener is one of a process that has no file descriptor left.
type deadListener struct {
	net.Listener
	mu    sync.Mutex
	tries int
}

func (l *deadListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries++
	return nil, syscall.EMFILE
}

func (l *deadListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tries
}

// A server without file descriptors goes on trying, but does not fill the log.
func TestNoDescriptors(t *testing.T) {
	var lines logged
	opts, err := Options{Dir: t.TempDir(), Logger: lines.logger()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	st, err := openStore(opts.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(opts, st)
	if err != nil {
		t.Fatal(err)
	}
	l := &deadListener{}
	s.listener = l
	if l.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.serving.Go(s.accept)
	for l.count() < 5 {
		time.Sleep(time.Millisecond)
	}
	allowed := 1 + int(time.Since(began)/time.Second)
	if n := lines.count("not accepted"); n == 0 || n > allowed {
		t.Errorf("%d lines, %d allowed", n, allowed)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
