package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// chaosMember is a logtail.
type chaosMember struct {
	cmd     *exec.Cmd
	out     string // file of what it printed, PARTITION ID a line
	said    string // file of its stderr
	name    string // in the group, "" while it has not said it
	ended   chan error
	crashed bool
	stops   [][2]int64 // parts of out that were printed between going on after a stop and being a member again
}

func (c *chaos) startMember() {
	dir := c.t.TempDir()
	m := &chaosMember{out: filepath.Join(dir, "out"), said: filepath.Join(dir, "said"), ended: make(chan error, 1)}
	run := c.tool("logtail", "-f", "-g", "g", "--session-timeout", chaosSession.String(), "--timeout", "60s", "--verbose", "--format", `%p %o\n`, "t")
	out, err := os.Create(m.out)
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close()
	said, err := os.Create(m.said)
	if err != nil {
		c.t.Fatal(err)
	}
	defer said.Close()
	run.Stdout, run.Stderr = out, said
	if err := run.Start(); err != nil {
		c.t.Fatal(err)
	}
	m.cmd = run.Cmd
	go func() { m.ended <- run.Wait() }()
	c.t.Cleanup(func() { m.cmd.Process.Kill() })
	c.live, c.members = append(c.live, m), append(c.members, m)
}

func (c *chaos) remove(i int) *chaosMember {
	m := c.live[i]
	c.live = slices.Delete(c.live, i, i+1)
	return m
}

// end ends a member in order.
func (c *chaos) end(i int) {
	m := c.remove(i)
	m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(patience):
		c.t.Errorf("member %d does not end: %s", m.cmd.Process.Pid, m.text(m.said))
		m.cmd.Process.Kill()
		<-m.ended
	}
	// Without ZooKeeper it can not commit, and says so.
	if code := m.cmd.ProcessState.ExitCode(); code != 143 {
		m.crashed = true
		if !strings.Contains(m.text(m.said), "could not be committed") {
			c.t.Errorf("a member has ended with status %d: %s", code, m.text(m.said))
		}
	}
}

func (m *chaosMember) text(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

func (c *chaos) kill(i int) {
	m := c.remove(i)
	m.crashed = true
	m.cmd.Process.Kill()
	<-m.ended
}

// stop stops a member, waits until its session has ended and the others have its partitions, and lets it go on.
func (c *chaos) stop(i int) {
	m := c.remove(i)
	m.crashed = true
	m.cmd.Process.Signal(syscall.SIGSTOP)
	size, back := m.size(), m.returns()
	c.balanced("stop")
	time.Sleep(time.Duration(c.dice.IntN(1000)) * time.Millisecond)
	m.cmd.Process.Signal(syscall.SIGCONT)
	for end := time.Now().Add(patience); m.returns() == back; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("a member that was stopped does not come back: %s", m.text(m.said))
		}
	}
	m.stops = append(m.stops, [2]int64{size, m.size()})
	c.live = append(c.live, m)
}

func (m *chaosMember) size() int64 { return int64(len(m.text(m.out))) }

// returns counts how often the member has said that it is one again.
func (m *chaosMember) returns() int {
	return strings.Count(m.text(m.said), "zookeeper reachable again")
}
