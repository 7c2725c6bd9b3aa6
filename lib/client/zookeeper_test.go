package client

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/registry"
	"logkit/lib/zkserver"
)

// tellingBroker is a broker that tells of its cluster, and nothing else.
type tellingBroker struct {
	net.Listener
	host    string // as it is advertised
	cluster *string
	connect *string // zookeeper.connect; nil: a broker that has no such setting
	refuses atomic.Int32

	serving sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
}

func newTellingBroker(t *testing.T, cluster, connect *string) *tellingBroker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &tellingBroker{Listener: l, host: "127.0.0.1", cluster: cluster, connect: connect}
	b.serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, conn)
			b.mu.Unlock()
			b.serving.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for _, conn := range b.conns {
			conn.Close()
		}
		b.mu.Unlock()
		b.serving.Wait()
	})
	return b
}

func (b *tellingBroker) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		if _, err := conn.Write(answer(frame, b.fill)); err != nil {
			return
		}
	}
}

func (b *tellingBroker) fill(req kmsg.Request, resp kmsg.Response) {
	switch req := req.(type) {
	case *kmsg.MetadataRequest:
		resp := resp.(*kmsg.MetadataResponse)
		port := int32(b.Addr().(*net.TCPAddr).Port)
		resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: 4, Host: b.host, Port: port})
		resp.ControllerID, resp.ClusterID = 4, b.cluster
	case *kmsg.DescribeConfigsRequest:
		for _, r := range req.Resources {
			out := kmsg.NewDescribeConfigsResponseResource()
			out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
			switch {
			case r.ResourceType != kmsg.ConfigResourceTypeBroker || r.ResourceName != "4":
				out.ErrorCode = kerr.InvalidRequest.Code
			case b.refuses.Add(-1) >= 0:
				out.ErrorCode = kerr.NotController.Code
			case b.connect != nil && len(r.ConfigNames) == 1 && r.ConfigNames[0] == "zookeeper.connect":
				config := kmsg.NewDescribeConfigsResponseResourceConfig()
				config.Name, config.Value = "zookeeper.connect", b.connect
				out.Configs = append(out.Configs, config)
			}
			resp := resp.(*kmsg.DescribeConfigsResponse)
			resp.Resources = append(resp.Resources, out)
		}
	}
}

// newEnsemble starts a ZooKeeper whose tree belongs to a cluster, below a chroot.
func newEnsemble(t *testing.T, chroot, cluster string) (addr string) {
	t.Helper()
	server, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	addr = server.Addr().String()
	s, err := DialZooKeeper(t.Context(), ZooKeeper{Servers: []string{addr}, Chroot: chroot}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Plant(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.JoinCluster(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	return addr
}

func dialThrough(t *testing.T, b *tellingBroker, z ZooKeeper, timeout time.Duration) (*registry.Session, error) {
	t.Helper()
	c, err := New(Options{Brokers: []string{b.Addr().String()}, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := c.DialZooKeeper(t.Context(), z)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

func ptr[T any](v T) *T { return &v }

func TestZooKeeperOfTheBroker(t *testing.T) {
	addr := newEnsemble(t, "/a/b", "ours")
	b := newTellingBroker(t, ptr("ours"), ptr(addr+"/a/b"))
	b.refuses.Store(2) // another broker may take over while we ask
	s, err := dialThrough(t, b, ZooKeeper{}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := s.ClusterID(t.Context()); id != "ours" || err != nil {
		t.Errorf("cluster %q, %v", id, err)
	}
}

// One that was named is taken, whatever the broker says of its own.
func TestZooKeeperThatWasNamed(t *testing.T) {
	addr := newEnsemble(t, "", "ours")
	b := newTellingBroker(t, ptr("ours"), ptr("127.0.0.1:1"))
	if _, err := dialThrough(t, b, ZooKeeper{Servers: []string{addr}}, time.Minute); err != nil {
		t.Fatal(err)
	}
}

func TestZooKeeperOfAStranger(t *testing.T) {
	addr := newEnsemble(t, "/theirs", "theirs")
	for _, test := range []struct {
		name    string
		cluster *string
		chroot  string
		want    ClusterError
	}{
		{"another cluster", ptr("ours"), "/theirs", ClusterError{InZooKeeper: "theirs", OfBroker: "ours"}},
		{"another chroot", ptr("ours"), "/ours", ClusterError{OfBroker: "ours"}},
		{"a broker without a cluster", nil, "/theirs", ClusterError{InZooKeeper: "theirs"}},
	} {
		for _, named := range []bool{false, true} {
			b := newTellingBroker(t, test.cluster, ptr(addr+test.chroot))
			var z ZooKeeper
			if named {
				z = ZooKeeper{Servers: []string{addr}, Chroot: test.chroot}
			}
			_, err := dialThrough(t, b, z, time.Minute)
			var got *ClusterError
			if !errors.As(err, &got) {
				t.Fatalf("%s: %v", test.name, err)
			}
			test.want.ZooKeeper, test.want.Broker = addr+test.chroot, b.Addr().String()
			if *got != test.want || errors.Is(err, ErrUnavailable) || got.Hint() == "" {
				t.Errorf("%s: %v, want %v", test.name, err, &test.want)
			}
		}
	}
}

func TestZooKeeperThatIsOfNoUse(t *testing.T) {
	for _, test := range []struct {
		name, connect string
		want          error
	}{
		{"none", "", errNoConnect},
		{"nonsense", "a/../b", nil},
	} {
		b := newTellingBroker(t, ptr("ours"), ptr(test.connect))
		_, err := dialThrough(t, b, ZooKeeper{}, time.Minute)
		var got *ConnectError
		if !errors.As(err, &got) || test.want != nil && !errors.Is(err, test.want) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.HasPrefix(err.Error(), "broker "+b.Addr().String()+": zookeeper.connect ") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	b := newTellingBroker(t, ptr("ours"), nil)
	if _, err := dialThrough(t, b, ZooKeeper{}, time.Minute); !errors.Is(err, errNoConnect) {
		t.Errorf("without the setting: %v", err)
	}
}

// What is a loopback address to a broker elsewhere is not its ZooKeeper here.
func TestZooKeeperOnTheLoopbackOfAnotherMachine(t *testing.T) {
	const elsewhere = "192.0.2.1" // of no machine (RFC 5737)
	for _, test := range []struct {
		host, connect string
		refused       bool
	}{
		{elsewhere, "127.0.0.1:2181", true},
		{elsewhere, "zk1:2181,localhost:2181/c", true},
		{elsewhere, "[::1]:2181", true},
		{elsewhere, "127.9.9.9", true},
		{elsewhere, "192.0.2.2:2181", false},
		{"127.0.0.1", "127.0.0.1:2181", false},
		{"localhost", "[::1]:2181", false},
		{ownAddress(t), "127.0.0.1:2181", false},
	} {
		b := told{host: test.host, connect: test.connect}
		_, _, err := b.servers(t.Context())
		if refused := errors.Is(err, errLoopback); refused != test.refused || !refused && err != nil {
			t.Errorf("zookeeper.connect %q of %s: %v", test.connect, test.host, err)
		}
	}
}

// ownAddress is one of this machine, not of the loopback where there is another.
func ownAddress(t *testing.T) string {
	all, err := net.InterfaceAddrs()
	if err != nil || len(all) == 0 {
		t.Fatal("no address: ", err)
	}
	for _, a := range all {
		if ip := a.(*net.IPNet).IP; !ip.IsLoopback() && !ip.IsLinkLocalUnicast() {
			return ip.String()
		}
	}
	return all[0].(*net.IPNet).IP.String()
}

func TestZooKeeperIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = DialZooKeeper(t.Context(), ZooKeeper{Servers: []string{addr}}, 50*time.Millisecond)
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), "zookeeper "+addr+": ") {
		t.Errorf("nobody listens: %v", err)
	}
	b := newTellingBroker(t, ptr("ours"), ptr(addr))
	if _, err = dialThrough(t, b, ZooKeeper{}, time.Second); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "zookeeper "+addr+": ") {
		t.Errorf("nobody listens where the broker says: %v", err)
	}
	b.Close()
	if _, err = dialThrough(t, b, ZooKeeper{}, 50*time.Millisecond); !errors.Is(err, ErrUnavailable) || !strings.HasPrefix(err.Error(), "broker "+b.Addr().String()+": ") {
		t.Errorf("no broker: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := DialZooKeeper(ctx, ZooKeeper{Servers: []string{addr}}, time.Minute); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
}

// A server that takes connections and says nothing is no ZooKeeper.
func TestZooKeeperIsSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = DialZooKeeper(t.Context(), ZooKeeper{Servers: []string{l.Addr().String()}, Chroot: "/c"}, 100*time.Millisecond)
	if !errors.Is(err, ErrUnavailable) || err.Error() != "zookeeper "+l.Addr().String()+"/c: no session within 100ms" {
		t.Error(err)
	}
}

// A ZooKeeper that comes a little later is waited for.
func TestZooKeeperStartsLater(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ended := make(chan error)
	go func() {
		s, err := DialZooKeeper(t.Context(), ZooKeeper{Servers: []string{addr}}, time.Minute)
		if err == nil {
			s.Close()
		}
		ended <- err
	}()
	server, err := zkserver.Open(zkserver.Options{Dir: t.TempDir(), Listen: addr})
	if err != nil {
		t.Error(err)
	} else {
		defer server.Close()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
