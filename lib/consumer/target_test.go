package consumer

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver"
	"logkit/lib/zkserver/zkpeer"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// target is a ZooKeeper that the same expectations are held to.
type target struct {
	name string
	fake *zkfake.Server // nil when the server is a real one
	addr string
	root string

	timeout time.Duration // that sessions ask for; sessionTimeout
}

// all runs f on the twin, on the server of this project, and on ZooKeeper itself.
func all(t *testing.T, f func(t *testing.T, target target)) {
	t.Run("twin", func(t *testing.T) { f(t, twin()) })
	if zkpeer.Race {
		return // the others are for the run without the detector
	}
	t.Run("zkserver", func(t *testing.T) { f(t, ownTarget(t)) })
	t.Run("zookeeper", func(t *testing.T) { f(t, realTarget(t)) })
}

func twin() target { return target{name: "twin", fake: zkfake.New(), root: "/test"} }

var roots atomic.Int64

func ownTarget(t testing.TB) target {
	t.Helper()
	s, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", TickTime: 200 * time.Millisecond, MaxSessionTimeout: 30 * time.Second})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return target{name: "zkserver", addr: s.Addr().String(), root: fmt.Sprintf("/test/%d", roots.Add(1))}
}

// session is a session, and how to trouble it.
type session struct {
	*registry.Session
	fake *zkfake.Conn
	cut  func(on bool) // breaks the connection, and lets it come back
}

const sessionTimeout = 2 * time.Second

func (target target) session(t testing.TB) session {
	t.Helper()
	s := target.dial(t)
	ctx := deadline(t)
	must(t, s.Plant(ctx))
	_, err := s.Lease(ctx)
	must(t, err)
	return s
}

func (target target) dial(t testing.TB) session {
	t.Helper()
	options := registry.Options{Chroot: target.root, SessionTimeout: cmp.Or(target.timeout, sessionTimeout)}
	var s session
	var err error
	if target.fake != nil {
		options.Backoff, options.Parallel = time.Microsecond, 1
		s.Session, err = registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
			s.fake = target.fake.Connect(events)
			return s.fake, nil
		})
		s.cut = func(on bool) {
			if on {
				s.fake.Disconnect()
			} else {
				s.fake.Reconnect()
			}
		}
	} else {
		cable := &zkpeer.Cable{}
		s.cut = cable.Cut
		options.Servers = []string{target.addr}
		options.Dial = func() (net.Conn, error) { return cable.Dial("tcp", target.addr, patience) }
		s.Session, err = registry.Connect(options)
	}
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// realTarget is Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func realTarget(t testing.TB) target {
	t.Helper()
	return target{name: "zookeeper", addr: zkpeer.Shared(t).Addr(), root: fmt.Sprintf("/test/%d", roots.Add(1))}
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("nothing for %v", patience))
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
