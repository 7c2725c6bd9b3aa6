// Package zkreal runs Debian's ZooKeeper as a process, for tests that hold what is ours to the real one.
package zkreal

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// jar is where the package zookeeper of Debian puts the server.
const jar = "/usr/share/java/zookeeper.jar"

// patience is how long a server may take to come up: a JVM on a machine that is busy.
const patience = 60 * time.Second

// Installed returns why there is no ZooKeeper to be run.
func Installed() error {
	_, java := exec.LookPath("java")
	_, err := os.Stat(jar)
	if err = errors.Join(java, err); err != nil {
		return fmt.Errorf("NOT TRIED ON THE REAL ZOOKEEPER: %w (Debian package zookeeper)", err)
	}
	return nil
}

// Server is a ZooKeeper of one node. It dies with the process that has started it.
type Server struct {
	Addr string // HOST:PORT, the same after a restart
	dir  string
	cmd  *exec.Cmd
}

// Start runs a server on a free port of 127.0.0.1, with a tick in which its times are reckoned, and waits until it
// serves. Its data are in dir.
func Start(dir string, tick time.Duration) (*Server, error) {
	s := &Server{dir: dir}
	var err error
	for range 5 { // the free port may be taken before the server gets to it
		if s.Addr, err = freePort(); err != nil {
			return nil, err
		}
		if err = s.configure(tick); err != nil {
			return nil, err
		}
		if err = s.Launch(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (s *Server) configure(tick time.Duration) error {
	_, port, _ := net.SplitHostPort(s.Addr)
	text := fmt.Sprintf("dataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\ntickTime=%d\nmaxSessionTimeout=60000\n"+
		"maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n", s.dir, port, tick.Milliseconds())
	if err := os.WriteFile(filepath.Join(s.dir, "zoo.cfg"), []byte(text), 0o644); err != nil {
		return err
	}
	// The JVM asks for the name of the machine, which may take half a minute where nobody answers.
	host, _ := os.Hostname()
	return os.WriteFile(filepath.Join(s.dir, "hosts"), []byte("127.0.0.1 localhost "+host+"\n"), 0o644)
}

// Launch runs the server again, after Kill, and waits until it serves.
func (s *Server) Launch() error {
	out, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	s.cmd = exec.Command("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true",
		"-Djdk.net.hosts.file="+filepath.Join(s.dir, "hosts"), "-Xmx512m", "-cp", jar,
		"org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(s.dir, "zoo.cfg"))
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end) && !s.exited(); time.Sleep(50 * time.Millisecond) {
		if s.answers() {
			return nil
		}
	}
	s.Kill()
	said, _ := os.ReadFile(out.Name())
	return fmt.Errorf("the real ZooKeeper did not come up at %s:\n%s", s.Addr, strings.TrimSpace(string(said)))
}

// Kill ends the server as a crash does. Its data stay.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// exited reports whether the process is a zombie.
func (s *Server) exited() bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

// answers reports whether the server is ready: one that is not yet does not know its mode.
func (s *Server) answers() bool {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "srvr")
	text, _ := io.ReadAll(conn)
	return strings.Contains(string(text), "Mode: standalone")
}
