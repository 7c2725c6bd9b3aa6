package zkserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Debian's packages, which the tests against the real server and the real clients need.
const (
	packages   = "zookeeper zookeeper-bin python3-kazoo"
	realJar    = "/usr/share/java/zookeeper.jar"
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
		stopPeer()
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

var realServer struct {
	once sync.Once
	cmd  *exec.Cmd
	dir  string
	addr string
	err  error
}

// peer returns the address of Debian's ZooKeeper, started once for all tests. Where it is not installed, the test skips.
func peer(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(realJar); err != nil {
		t.Skipf("NOT COMPARED WITH THE REAL ZOOKEEPER: %v (Debian packages %s)", err, packages)
	}
	realServer.once.Do(func() { realServer.err = startPeer() })
	if realServer.err != nil {
		t.Fatal(realServer.err)
	}
	return realServer.addr
}

func startPeer() error {
	dir, err := os.MkdirTemp("", "zkserver-peer-")
	if err != nil {
		return err
	}
	realServer.dir = dir
	for range 5 { // the free port may be taken before the server gets to it
		if realServer.addr, realServer.cmd, err = launchPeer(dir); err == nil {
			return nil
		}
	}
	return err
}

// launchPeer starts the real server on the directory.
func launchPeer(dir string) (addr string, cmd *exec.Cmd, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	l.Close()
	config := filepath.Join(dir, "zoo.cfg")
	_, port, _ := net.SplitHostPort(addr)
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\ntickTime=%d\nmaxClientCnxns=0\n"+
		"maxSessionTimeout=%d\nadmin.enableServer=false\n4lw.commands.whitelist=*\n",
		dir, port, testTick.Milliseconds(), (40 * testTick).Milliseconds())
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, err
	}
	defer out.Close()
	cmd = exec.Command("java", append(javaFlags(dir), "-Xmx512m", "-cp", realJar, "org.apache.zookeeper.server.ZooKeeperServerMain", config)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	// Not by connecting alone: a connection to a free port may get that very port for its own end, and meet itself. And
	// connections that come before the server is ready are never answered.
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if listening(port) && answers(addr) {
			return addr, cmd, nil
		}
		if exited(cmd) {
			break
		}
	}
	stopProcess(cmd)
	log, _ := os.ReadFile(out.Name())
	return "", nil, fmt.Errorf("the real ZooKeeper did not come up at %s:\n%s", addr, strings.TrimSpace(string(log)))
}

// javaFlags make a JVM start fast, and keep it from asking the network for the name of this machine, which may take half
// a minute: the names are in a file in dir.
func javaFlags(dir string) []string {
	host, _ := os.Hostname()
	hosts := filepath.Join(dir, "hosts")
	os.WriteFile(hosts, []byte("127.0.0.1 localhost "+host+"\n"), 0o644)
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", "-Djdk.net.hosts.file=" + hosts}
}

// answers reports whether the server grants sessions.
func answers(addr string) bool {
	r, err := dialRaw(addr)
	if err != nil {
		return false
	}
	defer r.nc.Close()
	r.nc.SetDeadline(time.Now().Add(300 * time.Millisecond))
	return r.connect(0, 1000, 0, make([]byte, 16)) == nil
}

// listening reports whether somebody listens at 127.0.0.1:port.
func listening(port string) bool {
	n, _ := strconv.Atoi(port)
	table, _ := os.ReadFile("/proc/net/tcp")
	return strings.Contains(string(table), fmt.Sprintf(" 0100007F:%04X 00000000:0000 0A ", n))
}

// exited reports whether the process is a zombie.
func exited(cmd *exec.Cmd) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func stopProcess(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

func stopPeer() {
	if realServer.cmd != nil {
		stopProcess(realServer.cmd)
	}
	os.RemoveAll(realServer.dir)
}
