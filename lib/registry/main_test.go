package registry_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver/zkpeer"
)

var _ registry.Conn = (*zkfake.Conn)(nil)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		zkpeer.StopShared()
		os.Exit(code)
	}))
}

// client is a session, and how to trouble it.
type client struct {
	*registry.Session
	fake *zkfake.Conn  // nil when the server is a real one
	cut  func(on bool) // breaks the connection, and lets it come back
}

// target is a server that the same expectations are held to.
type target struct {
	name string
	addr string // "" for the twin
	dial func(t testing.TB, options registry.Options) client
	conn func(t testing.TB) registry.Conn // one of its own, with a session
	root string                           // chroot of this test
}

// all runs f on the twin, on the server of this project, and on ZooKeeper itself.
func all(t *testing.T, f func(t *testing.T, target target)) {
	t.Run("twin", func(t *testing.T) { f(t, twin(zkfake.New())) })
	if zkpeer.Race {
		return // the others are for the run without the detector
	}
	t.Run("zkserver", func(t *testing.T) { f(t, ownTarget(t)) })
	t.Run("zookeeper", func(t *testing.T) { f(t, realTarget(t)) })
}

func twin(server *zkfake.Server) target {
	return target{
		name: "twin",
		root: "/test",
		dial: func(t testing.TB, options registry.Options) client { return dialTwin(t, server, options) },
		conn: func(t testing.TB) registry.Conn {
			c := server.Connect(nil)
			t.Cleanup(c.Close)
			return c
		},
	}
}

func dialTwin(t testing.TB, server *zkfake.Server, options registry.Options) client {
	t.Helper()
	options.Backoff, options.Parallel = time.Microsecond, 1
	var conn *zkfake.Conn
	s, err := registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
		conn = server.Connect(events)
		return conn, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	lease(t, s)
	return client{s, conn, func(on bool) {
		if on {
			conn.Disconnect()
		} else {
			conn.Reconnect()
		}
	}}
}

func lease(t testing.TB, s *registry.Session) *registry.Lease {
	t.Helper()
	l, err := s.Lease(background(t))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// background ends what hangs, with a message that says where.
func background(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// planted is a client in a tree of its own.
func (target target) planted(t testing.TB) client {
	t.Helper()
	c := target.client(t)
	must(t, c.Plant(background(t)))
	return c
}

func (target target) client(t testing.TB) client {
	return target.dial(t, registry.Options{Chroot: target.root, SessionTimeout: 2 * time.Second})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}
