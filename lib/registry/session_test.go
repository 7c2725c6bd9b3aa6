package registry_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver"
	"logkit/lib/zkserver/zkpeer"
)

// session is on the twin, and in a bubble of time.
func session(t *testing.T) (*registry.Session, *zkfake.Conn) {
	var conn *zkfake.Conn
	s, err := registry.NewSession(registry.Options{SessionTimeout: 8 * time.Second}, func(events func(zk.Event)) (registry.Conn, error) {
		conn = zkfake.New().Connect(events)
		return conn, nil
	})
	must(t, err)
	t.Cleanup(s.Close)
	synctest.Wait()
	return s, conn
}

// DESIGN D9: a member stops at the latest a quarter of the session timeout after Disconnected.
func TestLeaseEndsAQuarterOfTheTimeoutAfterDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conn := session(t)
		l, err := s.Lease(t.Context())
		must(t, err)
		conn.Disconnect()
		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		if l.Err() != nil {
			t.Fatalf("ended before: %v", l.Err())
		}
		conn.Disconnect() // said twice: the first one counts
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !errors.Is(l.Err(), registry.ErrFenced) {
			t.Fatalf("2 s after: %v", l.Err())
		}
		conn.Reconnect()
		again, err := s.Lease(t.Context())
		must(t, err)
		if again == l || again.ID() != l.ID() {
			t.Errorf("after the same session came back: %x, before %x", again.ID(), l.ID())
		}
	})
}

func TestLeaseOutlivesAShortDisconnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conn := session(t)
		l, err := s.Lease(t.Context())
		must(t, err)
		for range 5 {
			conn.Disconnect()
			time.Sleep(1900 * time.Millisecond)
			conn.Reconnect()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if again, err := s.Lease(t.Context()); err != nil || again != l || l.Err() != nil {
			t.Errorf("%v, %v", err, l.Err())
		}
	})
}

func TestLeaseEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conn := session(t)
		l, err := s.Lease(t.Context())
		must(t, err)
		conn.Expire()
		if !errors.Is(l.Err(), registry.ErrExpired) {
			t.Fatal(l.Err())
		}
		next, err := s.Lease(t.Context())
		must(t, err)
		if next.ID() == l.ID() {
			t.Errorf("the session that has ended: %x", next.ID())
		}
		s.Close()
		if !errors.Is(next.Err(), registry.ErrClosed) {
			t.Error(next.Err())
		}
		if _, err := s.Lease(t.Context()); !errors.Is(err, registry.ErrClosed) {
			t.Error(err)
		}
	})
}

func TestReadsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, conn := session(t)
		conn.Disconnect()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.ClusterID(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		go func() { time.Sleep(time.Second); s.Close() }()
		if _, err := s.ClusterID(t.Context()); !errors.Is(err, registry.ErrClosed) {
			t.Error(err)
		}
	})
}

// Hazard F3 of ZOOKEEPER.md: what was asked for in one session may be carried out in the next one.
func TestRegistrationInALaterSessionDoesNotCount(t *testing.T) {
	c := twin(zkfake.New()).planted(t)
	l := lease(t, c.Session)
	c.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
		if call.Op == "create" {
			return zkfake.ExpireBefore
		}
		return zkfake.None
	})
	b := registry.Broker{ID: 1, Host: "h", Port: 1, Incarnation: "one"}
	if err := c.RegisterBroker(background(t), l, b); !errors.Is(err, registry.ErrExpired) {
		t.Fatalf("registered by a session that has ended: %v", err)
	}
	c.fake.SetFaults(nil)
	must(t, c.RegisterBroker(background(t), lease(t, c.Session), b))
}

func TestClaimInALaterSessionLeavesNothingBehind(t *testing.T) {
	target := twin(zkfake.New())
	made := topic(t, target.planted(t), "T", 1)
	m := join(t, target, "g", "one")
	m.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
		if call.Op == "multi" {
			return zkfake.ExpireBefore
		}
		return zkfake.None
	})
	if _, err := m.claim(background(t), made, 0, nil); !errors.Is(err, registry.ErrExpired) {
		t.Fatal(err)
	}
	if owners := get[map[int32]string](t)(m.Owners(background(t), "T")); len(owners) > 0 {
		t.Errorf("nobody knows of %v", owners)
	}
}

// The token of a change is gone when others follow before it is looked for. Then the topic's id tells.
func TestCreationWithoutReplyIsFoundBehindOtherChanges(t *testing.T) {
	server := zkfake.New()
	one, two := twin(server).planted(t), twin(server).client(t)
	lost := false
	one.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
		switch {
		case call.Op == "multi" && !lost:
			lost = true
			return zkfake.LoseReply
		case call.Op == "sync":
			topic(t, two, "other", 1)
		}
		return zkfake.None
	})
	made := topic(t, one, "T", 1)
	if now, found, err := two.Topic(background(t), "T"); err != nil || !found || now.ID != made.ID || !lost {
		t.Errorf("%+v is %+v, %v", made, now, err)
	}
}

// The removal of an own node may be carried out when the session is over and somebody else has the partition: with a
// node of the same version.
func TestRemovalInALaterSessionSparesTheOwnerSince(t *testing.T) {
	target := twin(zkfake.New())
	made := topic(t, target.planted(t), "T", 1)
	one, two := join(t, target, "g", "one"), join(t, target, "g", "two")
	get[*registry.Owned](t)(one.claim(background(t), made, 0, nil))
	var since *registry.Owned
	one.fake.SetFaults(func(call zkfake.Call) zkfake.Fault {
		if call.Op == "multi" && since == nil {
			one.fake.Expire()
			since = get[*registry.Owned](t)(two.claim(background(t), made, 0, nil))
		}
		return zkfake.None
	})
	must(t, one.Audit(background(t), one.lease, "T", func(int32) bool { return false }))
	must(t, two.commit(t, since, 5))
	must(t, two.Recheck(background(t), two.lease, since))
}

// A server may grant less than was asked for. What goes by the timeout of the session has to go by that: a lease that
// counts by the other one would outlive its session.
func TestLeaseCountsByTheTimeoutThatIsGranted(t *testing.T) {
	if zkpeer.Race {
		t.Skip("go-zookeeper races with itself when a connection is lost")
	}
	server, err := zkserver.Open(zkserver.Options{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", TickTime: 50 * time.Millisecond, MaxSessionTimeout: time.Second,
	})
	must(t, err)
	t.Cleanup(func() { must(t, server.Close()) })
	cable := &zkpeer.Cable{}
	address := server.Addr().String()
	s, err := registry.Connect(registry.Options{
		Servers: []string{address}, SessionTimeout: 24 * time.Hour,
		Dial: func() (net.Conn, error) { return cable.Dial("tcp", address, time.Second) },
	})
	must(t, err)
	t.Cleanup(s.Close)
	l := lease(t, s)
	if s.Timeout() != time.Second {
		t.Errorf("timeout %v, granted was 1s", s.Timeout())
	}
	cable.Cut(true)
	select {
	case <-l.Done():
		if !errors.Is(l.Err(), registry.ErrFenced) {
			t.Errorf("ended by %v", l.Err())
		}
	case <-time.After(30 * time.Second):
		t.Error("the lease goes by the timeout that was asked for")
	}
}
