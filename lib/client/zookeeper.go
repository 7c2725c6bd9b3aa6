package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"logkit/lib/registry"
)

// ZooKeeper names an ensemble, and says how to speak to it. The zero value is the one that the brokers use.
type ZooKeeper struct {
	Servers        []string      // HOST:PORT each; none: a broker is asked
	Chroot         string        // path that all others are below; "" for none
	SessionTimeout time.Duration // 0 = registry.DefaultSessionTimeout
	Once           bool          // give up when each server has refused the connection
	Logger         *slog.Logger  // what the client of ZooKeeper has to say; nil discards
}

// String is the connect string, HOST:PORT,...[/CHROOT].
func (z ZooKeeper) String() string { return strings.Join(z.Servers, ",") + z.Chroot }

// ZooKeeperError says that an ensemble could not be reached, and why. It matches ErrUnavailable.
type ZooKeeperError struct {
	Addr string // HOST:PORT, or several with commas
	Err  error
}

func (e *ZooKeeperError) Error() string   { return fmt.Sprintf("zookeeper %s: %v", e.Addr, e.Err) }
func (e *ZooKeeperError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// ClusterError says that a ZooKeeper is not that of the broker: its groups would be a stranger's.
type ClusterError struct {
	ZooKeeper, Broker     string // addresses
	InZooKeeper, OfBroker string // cluster ids; "" for none
}

func (e *ClusterError) Error() string {
	return fmt.Sprintf("zookeeper %s belongs to %s, broker %s to %s", e.ZooKeeper, cluster(e.InZooKeeper), e.Broker, cluster(e.OfBroker))
}

// Hint is a next step.
func (e *ClusterError) Hint() string {
	return "--zookeeper and --broker have to name one cluster; without --zookeeper the broker is asked for it"
}

func cluster(id string) string {
	if id == "" {
		return "no cluster"
	}
	return fmt.Sprintf("cluster %q", id)
}

// ConnectError says that what a broker tells of its ZooKeeper is of no use here.
type ConnectError struct {
	Broker  string // HOST:PORT
	Connect string // its zookeeper.connect
	Err     error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("broker %s: zookeeper.connect %q: %v", e.Broker, e.Connect, e.Err)
}
func (e *ConnectError) Unwrap() error { return e.Err }

// Hint is a next step.
func (e *ConnectError) Hint() string { return "--zookeeper HOST:PORT names it" }

var (
	errNoConnect = errors.New("empty: it has no ZooKeeper, which keeps the groups")
	errLoopback  = errors.New("an address of the broker's machine, which is not this one")
)

// DialZooKeeper opens a session with the servers that z names, of which there must be one, and asks no broker whether
// they are the right ones. It waits until there is a session, at most for the timeout (0 = DefaultTimeout): a
// *ZooKeeperError. The caller closes the session.
func DialZooKeeper(ctx context.Context, z ZooKeeper, timeout time.Duration) (*registry.Session, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	last := dialError{servers: len(z.Servers)}
	if z.Once {
		last.refused = cancel
	}
	options := registry.Options{Servers: z.Servers, Chroot: z.Chroot, SessionTimeout: z.SessionTimeout, Logger: z.Logger}
	s, err := registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
		session := z.SessionTimeout
		if session <= 0 {
			session = registry.DefaultSessionTimeout
		}
		conn, _, err := zk.Connect(z.Servers, session, zk.WithDialer(last.dial),
			zk.WithEventCallback(events), zk.WithLogInfo(false), zk.WithLogger(clientLog{z.Logger}))
		return conn, err
	})
	if err != nil {
		return nil, &ZooKeeperError{z.String(), err}
	}
	if _, err = s.Lease(limited); err == nil {
		return s, nil
	}
	s.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, last.explain(z, timeout)
}

// dialError keeps why the last connection was not to be had: the client of ZooKeeper goes on trying, and does not tell.
type dialError struct {
	servers int
	refused func() // nil, or called when so many connections were not to be had

	mu     sync.Mutex
	addr   string
	err    error
	failed int
}

func (d *dialError) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addr, d.err = address, err
	if err != nil {
		if d.failed++; d.failed >= d.servers && d.refused != nil {
			d.refused()
		}
	}
	return conn, err
}

func (d *dialError) explain(z ZooKeeper, timeout time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		return &ZooKeeperError{z.String(), fmt.Errorf("no session within %v", timeout)}
	}
	cause := d.err
	if op := new(net.OpError); errors.As(cause, &op) {
		cause = op.Err
	}
	if errno := syscall.Errno(0); errors.As(cause, &errno) {
		cause = errno
	}
	return &ZooKeeperError{d.addr, cause}
}

// clientLog takes the lines of the client of ZooKeeper, which repeat while a server is away.
type clientLog struct{ *slog.Logger }

func (l clientLog) Printf(format string, args ...any) {
	if l.Logger != nil {
		l.Debug("zookeeper client", "line", fmt.Sprintf(format, args...))
	}
}

// DialZooKeeper opens a session with the ZooKeeper of this client's brokers: the one that z names, or else the one that
// a broker tells as its zookeeper.connect (a *ConnectError, when that is of no use). Either way it has to belong to the
// brokers' cluster: a *ClusterError, when it does not. Brokers and ZooKeeper are waited for, each at most for
// Options.Timeout: an error that matches ErrUnavailable. The caller closes the session.
func (c *Client) DialZooKeeper(ctx context.Context, z ZooKeeper) (*registry.Session, error) {
	var b told
	err := c.retry(ctx, c.opts.Timeout, func(ctx context.Context) (err error) {
		b, err = c.tell(ctx, len(z.Servers) == 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(z.Servers) == 0 {
		if z.Servers, z.Chroot, err = b.servers(ctx); err != nil {
			return nil, &ConnectError{b.addr, b.connect, err}
		}
	}
	s, err := DialZooKeeper(ctx, z, c.opts.Timeout)
	if err != nil {
		return nil, err
	}
	if err := c.compare(ctx, s, z, b); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// SameCluster asks a broker, for at most so long, whether a session with the ZooKeeper that z names is one with its own:
// a *ClusterError when it is not, one that matches ErrUnavailable when nobody could be asked.
func (c *Client) SameCluster(ctx context.Context, s *registry.Session, z ZooKeeper, wait time.Duration) error {
	var b told
	err := c.retry(ctx, wait, func(ctx context.Context) (err error) {
		b, err = c.tell(ctx, false)
		return err
	})
	if err != nil {
		return err
	}
	return c.compare(ctx, s, z, b)
}

func (c *Client) compare(ctx context.Context, s *registry.Session, z ZooKeeper, b told) error {
	limited, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	id, err := s.ClusterID(limited)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return &ZooKeeperError{z.String(), err}
	case id != b.cluster:
		return &ClusterError{ZooKeeper: z.String(), Broker: b.addr, InZooKeeper: id, OfBroker: b.cluster}
	}
	return nil
}

// told is what a broker tells of its cluster.
type told struct {
	addr, host string
	cluster    string // "" when it tells none
	connect    string
}

// tell asks for the cluster's id and, if that is wanted, a broker for its zookeeper.connect: the controller first, which
// for logd is the broker that was asked.
func (c *Client) tell(ctx context.Context, connect bool) (b told, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return told{}, err
	}
	if len(resp.Brokers) == 0 {
		return told{}, errors.New("metadata without brokers")
	}
	slices.SortStableFunc(resp.Brokers, func(x, y kmsg.MetadataResponseBroker) int {
		return rank(x.NodeID == resp.ControllerID) - rank(y.NodeID == resp.ControllerID)
	})
	for _, broker := range resp.Brokers {
		b = told{addr: net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port))), host: broker.Host}
		if resp.ClusterID != nil {
			b.cluster = *resp.ClusterID
		}
		if !connect {
			return b, nil
		}
		if b.connect, err = c.brokerSetting(ctx, broker.NodeID, "zookeeper.connect"); err == nil {
			return b, nil
		}
	}
	return told{}, err
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// brokerSetting asks a broker for a setting of its own: "" when it has none of that name.
func (c *Client) brokerSetting(ctx context.Context, broker int32, name string) (string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	want := kmsg.NewDescribeConfigsRequestResource()
	want.ResourceType, want.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(broker))
	want.ConfigNames = []string{name}
	req.Resources = append(req.Resources, want)
	resp, err := req.RequestWith(ctx, c.kgo)
	if err != nil {
		return "", err
	}
	for _, r := range resp.Resources {
		if err := brokerError(r.ErrorCode, r.ErrorMessage); err != nil {
			return "", fmt.Errorf("broker %d: setting %s: %w", broker, name, err)
		}
		for _, config := range r.Configs {
			if config.Name == name && config.Value != nil {
				return *config.Value, nil
			}
		}
	}
	return "", nil
}

// servers are those of zookeeper.connect, if they mean the same here as they do on the broker's machine.
func (b *told) servers(ctx context.Context) (servers []string, chroot string, err error) {
	if b.connect == "" {
		return nil, "", errNoConnect
	}
	servers, chroot, err = registry.ParseConnect(b.connect)
	if err != nil {
		return nil, "", err
	}
	for _, server := range servers {
		if host, _, _ := net.SplitHostPort(server); loopback(host) && !local(ctx, b.host) {
			return nil, "", errLoopback
		}
	}
	return servers, chroot, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

// local reports whether a host is this machine, by one of its addresses.
func local(ctx context.Context, host string) bool {
	if loopback(host) {
		return true
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(found, func(ip netip.Addr) bool {
		return ip.Unmap().IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			prefix, err := netip.ParsePrefix(a.String())
			return err == nil && prefix.Addr().Unmap() == ip.Unmap()
		})
	})
}
