package registry_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/registry"
	"logkit/lib/zkserver"
	"logkit/lib/zkserver/zkpeer"
)

// debian are the packages that tests against the real server and the real clients need.
const debian = "zookeeper zookeeper-bin python3-kazoo"

// realTarget is Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func realTarget(t testing.TB) target {
	t.Helper()
	return tcpTarget("zookeeper", zkpeer.Shared(t).Addr())
}

var roots atomic.Int64

// ownTarget is the server of lib/zkserver, one for each test.
func ownTarget(t testing.TB) target {
	t.Helper()
	s, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", TickTime: 200 * time.Millisecond, MaxSessionTimeout: 8 * time.Second})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return tcpTarget("zkserver", s.Addr().String())
}

func tcpTarget(name, addr string) target {
	return target{
		name: name,
		addr: addr,
		root: fmt.Sprintf("/test/%d", roots.Add(1)),
		dial: func(t testing.TB, options registry.Options) client { return dialTCP(t, addr, options) },
		conn: func(t testing.TB) registry.Conn {
			conn, events, err := zk.Connect([]string{addr}, 8*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
			must(t, err)
			t.Cleanup(conn.Close)
			for e := range events {
				if e.State == zk.StateHasSession {
					break
				}
			}
			return conn
		},
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dialTCP connects through a dialer that can be cut.
func dialTCP(t testing.TB, addr string, options registry.Options) client {
	t.Helper()
	cable := &zkpeer.Cable{}
	s, err := registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
		conn, _, err := zk.Connect([]string{addr}, options.SessionTimeout, zk.WithEventCallback(events),
			zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithDialer(cable.Dial))
		return conn, err
	})
	must(t, err)
	t.Cleanup(s.Close)
	lease(t, s)
	return client{s, nil, cable.Cut}
}
