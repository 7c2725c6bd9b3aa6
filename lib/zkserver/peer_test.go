package zkserver

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"logkit/lib/zkserver/zkpeer"
)

// Debian's packages, which the tests against the real server and the real clients need.
const (
	packages   = "zookeeper zookeeper-bin python3-kazoo"
	realCli    = "/usr/share/zookeeper/bin/zkCli.sh"
	realCliMT  = "/usr/lib/zookeeper/bin/cli_mt"
	realPython = "/usr/bin/python3"
)

// testTick is the tick of the servers under test: sessions of 400 ms to 8 s.
const testTick = 200 * time.Millisecond

func TestMain(m *testing.M) {
	if os.Getenv("ZKSERVER_CHILD") != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		zkpeer.StopShared()
		os.Exit(code)
	}))
}

// target is a server that the same expectations are held to.
type target struct {
	name, addr string
	ours       *Server // nil for the real one
}

// both runs f against this server and against ZooKeeper itself.
func both(t *testing.T, f func(t *testing.T, target target)) {
	t.Run("logkit", func(t *testing.T) {
		s := start(t, Options{})
		f(t, target{"logkit", s.Addr().String(), s})
	})
	t.Run("zookeeper", func(t *testing.T) {
		f(t, target{"zookeeper", peer(t), nil})
	})
}

// start opens a server on a free port, in a directory of the test's own unless there is one in opts.
func start(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	if opts.TickTime == 0 {
		opts.TickTime = testTick
	}
	if opts.MaxSessionTimeout == 0 {
		opts.MaxSessionTimeout = 40 * opts.TickTime
	}
	opts.Listen = "127.0.0.1:0"
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && s.Err() == nil {
			t.Error(err)
		}
		verify(t, opts.Dir)
	})
	return s
}

// verify opens the database that a test leaves behind once more and compares what it holds with itself.
func verify(t testing.TB, dir string) {
	t.Helper()
	st, err := openStore(dir)
	if err != nil {
		t.Error(err)
		return
	}
	defer st.close()
	if _, err := st.load(); err != nil {
		t.Error(err)
	}
	if err := checkDatabase(st); err != nil {
		t.Error(err)
	}
}

// peer returns the address of Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func peer(t testing.TB) string {
	t.Helper()
	return zkpeer.Shared(t).Addr()
}
