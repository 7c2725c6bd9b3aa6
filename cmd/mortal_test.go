package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mortal is a logd that is killed and started again on the same data.
type mortal struct {
	t      testing.TB
	dir    string
	listen string
	flags  []string
	zk     []string // flags that say which ZooKeeper; nil: its own, somewhere
	cmd    *exec.Cmd
}

// launch begins a process and does not wait for it.
func (m *mortal) launch() {
	m.t.Helper()
	tools, err := tools()
	if err != nil {
		m.t.Fatal(err)
	}
	said, err := os.OpenFile(filepath.Join(m.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	defer said.Close()
	os.Remove(filepath.Join(m.dir, "addr"))
	zk := m.zk
	if zk == nil {
		zk = []string{"--zookeeper-listen", "127.0.0.1:0"}
	}
	m.cmd = exec.Command(filepath.Join(tools, "logd"), slices.Concat([]string{"--data-dir", filepath.Join(m.dir, "data"),
		"--listen", m.listen, "--addr-file", filepath.Join(m.dir, "addr")}, zk, m.flags)...)
	m.cmd.Stdout, m.cmd.Stderr = said, said
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

// start begins a process, waits until it serves, and returns its address.
func (m *mortal) start() (addr string) {
	m.t.Helper()
	m.launch()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		lines, _ := os.ReadFile(filepath.Join(m.dir, "addr"))
		for line := range strings.Lines(string(lines)) {
			if at, ok := strings.CutPrefix(strings.TrimSpace(line), "kafka "); ok {
				return at
			}
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(m.dir, "log"))
			m.t.Fatalf("logd is not ready: %s", said)
		}
	}
}

func (m *mortal) kill() {
	m.cmd.Process.Kill()
	m.cmd.Wait()
}

// stop ends it in order.
func (m *mortal) stop() {
	m.cmd.Process.Signal(syscall.SIGTERM)
	if err := m.cmd.Wait(); err != nil {
		m.t.Errorf("logd after TERM: %v", err)
	}
}
