package consumer

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"logkit/lib/registry"
	"logkit/lib/registry/zkfake"
	"logkit/lib/zkserver"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// target is a ZooKeeper that the same expectations are held to.
type target struct {
	name string
	fake *zkfake.Server // nil when the server is a real one
	addr string
	root string
}

// all runs f on the twin, on the server of this project, and on ZooKeeper itself.
func all(t *testing.T, f func(t *testing.T, target target)) {
	t.Run("twin", func(t *testing.T) { f(t, twin()) })
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
	options := registry.Options{Chroot: target.root, SessionTimeout: sessionTimeout}
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
		wire := &cable{}
		s.cut = wire.cut
		s.Session, err = registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
			conn, _, err := zk.Connect([]string{target.addr}, options.SessionTimeout, zk.WithEventCallback(events),
				zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithDialer(wire.dial))
			return conn, err
		})
	}
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// cable is a connection that can be cut.
type cable struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (c *cable) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, io.ErrClosedPipe
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cable) cut(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = on
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

var realServer struct {
	once sync.Once
	cmd  *exec.Cmd
	dir  string
	addr string
	err  error
}

const realJar = "/usr/share/java/zookeeper.jar"

// realTarget is Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func realTarget(t testing.TB) target {
	t.Helper()
	if _, err := os.Stat(realJar); err != nil {
		t.Skipf("NOT TRIED ON THE REAL ZOOKEEPER: %v (Debian package zookeeper)", err)
	}
	realServer.once.Do(func() { realServer.err = startReal() })
	must(t, realServer.err)
	return target{name: "zookeeper", addr: realServer.addr, root: fmt.Sprintf("/test/%d", roots.Add(1))}
}

func startReal() (err error) {
	if realServer.dir, err = os.MkdirTemp("", "consumer-zookeeper-"); err != nil {
		return err
	}
	for range 5 { // the free port may be taken before the server gets to it
		if realServer.addr, realServer.cmd, err = launchReal(realServer.dir); err == nil {
			return nil
		}
	}
	return err
}

func launchReal(dir string) (addr string, cmd *exec.Cmd, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	config, hosts := filepath.Join(dir, "zoo.cfg"), filepath.Join(dir, "hosts")
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\ntickTime=200\nmaxSessionTimeout=30000\nmaxClientCnxns=0\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=*\n", dir, port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	// The JVM asks for the name of the machine, which may take half a minute where nobody answers.
	host, _ := os.Hostname()
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost "+host+"\n"), 0o644); err != nil {
		return "", nil, err
	}
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	cmd = exec.Command("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
		"-Djdk.net.hosts.file="+hosts, "-Xmx512m", "-cp", realJar, "org.apache.zookeeper.server.ZooKeeperServerMain", config)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	for end := time.Now().Add(patience); time.Now().Before(end) && !exited(cmd); time.Sleep(50 * time.Millisecond) {
		if answers(addr) {
			return addr, cmd, nil
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	log, _ := os.ReadFile(out.Name())
	return "", nil, fmt.Errorf("the real ZooKeeper did not come up at %s:\n%s", addr, strings.TrimSpace(string(log)))
}

// exited reports whether the process is a zombie.
func exited(cmd *exec.Cmd) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// answers reports whether a ZooKeeper is ready: one that is not yet does not know its mode.
func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "srvr")
	text, _ := io.ReadAll(conn)
	return strings.Contains(string(text), "Mode: standalone")
}

func stopReal() {
	if realServer.cmd != nil {
		realServer.cmd.Process.Kill()
		realServer.cmd.Wait()
	}
	os.RemoveAll(realServer.dir)
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
