// Package zkpeer starts Debian's ZooKeeper (package zookeeper) on a free loopback port, for tests that hold this project to
// it. A test skips, loudly, where it is not installed.
package zkpeer

import (
	"fmt"
	"io"
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
)

// Jar is ZooKeeper's, whose manifest names the others.
const Jar = "/usr/share/java/zookeeper.jar"

// Tick is the unit of session time that most tests want: it makes sessions of 400 ms to 8 s.
const Tick = 200 * time.Millisecond

// patience is how long the JVM may take to come up.
const patience = 60 * time.Second

// Server is a ZooKeeper that runs, or has been killed. It is for one goroutine.
type Server struct {
	dir  string
	port string
	tick time.Duration
	cmd  *exec.Cmd
}

// Start starts one that ends with the test. Sessions have 2 to 40 ticks.
func Start(t testing.TB, tick time.Duration) *Server {
	t.Helper()
	return StartIn(t, t.TempDir(), tick)
}

// StartIn is Start with the data in dir, where they stay.
func StartIn(t testing.TB, dir string, tick time.Duration) *Server {
	t.Helper()
	require(t)
	s, err := start(dir, tick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func require(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(Jar); err != nil {
		t.Skipf("NOT TRIED WITH THE REAL ZOOKEEPER: %v (Debian package zookeeper)", err)
	}
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns one, of that Tick, that is started once for all tests of a package, whose TestMain calls StopShared at the end.
func Shared(t testing.TB) *Server {
	t.Helper()
	require(t)
	shared.once.Do(func() {
		var dir string
		if dir, shared.err = os.MkdirTemp("", "zookeeper-"); shared.err == nil {
			shared.server, shared.err = start(dir, Tick)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// StopShared ends what Shared has started, if it has.
func StopShared() {
	if shared.server != nil {
		shared.server.Kill()
		os.RemoveAll(shared.server.dir)
	}
}

func start(dir string, tick time.Duration) (s *Server, err error) {
	for range 5 { // the free port may be taken before the server gets to it
		if s, err = onFreePort(dir, tick); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func onFreePort(dir string, tick time.Duration) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	s := &Server{dir: dir, port: port, tick: tick}
	return s, s.Resume()
}

// Addr is HOST:PORT.
func (s *Server) Addr() string { return "127.0.0.1:" + s.port }

// Pid is that of the process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Kill ends the process at once.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// Stop ends it in order.
func (s *Server) Stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
}

// Resume starts one that has been killed, on the same port and data, and waits until it answers.
func (s *Server) Resume() error {
	config := filepath.Join(s.dir, "zoo.cfg")
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\ntickTime=%d\nmaxSessionTimeout=%d\n"+
		"maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n", s.dir, s.port, s.tick.Milliseconds(), 40*s.tick.Milliseconds())
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	s.cmd = exec.Command("java", append(JavaFlags(s.dir), "-Xmx512m", "-cp", Jar, "org.apache.zookeeper.server.ZooKeeperServerMain", config)...)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end) && !s.exited(); time.Sleep(20 * time.Millisecond) {
		if s.listens() && s.ready() {
			return nil
		}
	}
	s.Kill()
	log, _ := os.ReadFile(out.Name())
	return fmt.Errorf("zookeeper did not come up at %s:\n%s", s.Addr(), strings.TrimSpace(string(log)))
}

// JavaFlags make a JVM start fast, and keep it from asking the network for the name of this machine, which may take half
// a minute: the names are in a file in dir.
func JavaFlags(dir string) []string {
	host, _ := os.Hostname()
	hosts := filepath.Join(dir, "hosts")
	os.WriteFile(hosts, []byte("127.0.0.1 localhost "+host+"\n"), 0o644)
	return []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", "-Djdk.net.hosts.file=" + hosts}
}

// listens reports whether somebody listens at the port. Connecting does not tell: a connection to a free port may get that
// very port for its own end, and meet itself.
func (s *Server) listens() bool {
	n, _ := strconv.Atoi(s.port)
	table, _ := os.ReadFile("/proc/net/tcp")
	return strings.Contains(string(table), fmt.Sprintf(" 0100007F:%04X 00000000:0000 0A ", n))
}

// ready reports whether the server serves: one that does not yet does not know its mode.
func (s *Server) ready() bool {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "srvr")
	text, _ := io.ReadAll(conn)
	return strings.Contains(string(text), "Mode: standalone")
}

// exited reports whether the process is a zombie.
func (s *Server) exited() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Pid()))
	return err != nil || strings.Contains(string(text), ") Z ")
}
