package registry_test

import (
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
	"logkit/lib/zkserver"
)

// Debian's packages, which the tests against the real server and the real clients need.
const (
	debian  = "zookeeper zookeeper-bin python3-kazoo"
	realJar = "/usr/share/java/zookeeper.jar"
)

var realServer struct {
	once  sync.Once
	cmd   *exec.Cmd
	dir   string
	addr  string
	err   error
	roots atomic.Int64
}

// realTarget is Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func realTarget(t testing.TB) target {
	t.Helper()
	if _, err := os.Stat(realJar); err != nil {
		t.Skipf("NOT TRIED ON THE REAL ZOOKEEPER: %v (Debian packages %s)", err, debian)
	}
	realServer.once.Do(func() { realServer.err = startReal() })
	must(t, realServer.err)
	return tcpTarget("zookeeper", realServer.addr)
}

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
		root: fmt.Sprintf("/test/%d", realServer.roots.Add(1)),
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
	cable := &cable{}
	s, err := registry.NewSession(options, func(events func(zk.Event)) (registry.Conn, error) {
		conn, _, err := zk.Connect([]string{addr}, options.SessionTimeout, zk.WithEventCallback(events),
			zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithDialer(cable.dial))
		return conn, err
	})
	must(t, err)
	t.Cleanup(s.Close)
	lease(t, s)
	return client{s, nil, cable.cut}
}

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

func startReal() (err error) {
	if realServer.dir, err = os.MkdirTemp("", "registry-zookeeper-"); err != nil {
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
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\ntickTime=200\nmaxClientCnxns=0\n"+
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
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline) && !exited(cmd); time.Sleep(50 * time.Millisecond) {
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
