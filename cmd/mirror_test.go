package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMirror copies a topic to another broker with the pipeline of the manual pages, logtail --confirm and logcat --confirm,
// while messages are sent, and kills each side of it, both, and either broker, at moments that nobody chooses. What is left
// of the pipeline ends by itself, and it is started again. In the end no message is missing in the copy.
func TestMirror(t *testing.T) {
	m := newMirror(t)
	writer, sent := m.write()
	kills := []func(){m.killTail, m.killCat, m.killBoth, m.source.bounce, m.target.bounce}
	rand.Shuffle(len(kills), func(i, j int) { kills[i], kills[j] = kills[j], kills[i] })
	for _, kill := range kills {
		time.Sleep(rand.N(time.Second))
		kill()
		m.restart(func() bool { return m.copied() > 0 })
	}
	if err := writer.Wait(); err != nil {
		t.Fatalf("the writer: %v", err)
	}
	m.restart(func() bool { return m.copied() >= sent })
	m.stop()

	stored := map[string]int{}
	values := readValues(t, m.to)
	for _, value := range values {
		stored[value]++
	}
	for i := range sent {
		if stored[fmt.Sprint(i)] == 0 {
			t.Errorf("message %d is missing", i)
		}
	}
	t.Logf("%d messages, %d more than once, %d starts of the pipeline", sent, len(values)-len(stored), m.starts)
}

// mirror is a pipeline between two brokers.
type mirror struct {
	t              *testing.T
	dir            string
	source, target *mortal
	from, to       string // their addresses
	tail, cat      *exec.Cmd
	ended          chan struct{} // gets one for each side that has ended
	running        int           // sides that have not
	starts         int
}

func newMirror(t *testing.T) *mirror {
	m := &mirror{t: t, dir: t.TempDir(), ended: make(chan struct{}, 2)}
	for _, v := range []**mortal{&m.source, &m.target} {
		*v = &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--partitions", "2"}}
		(*v).listen = (*v).start() // where it comes back
		(*v).zk = []string{"--zookeeper-listen", zookeeperOf(t, *v)}
		t.Cleanup((*v).kill)
	}
	m.from, m.to = m.source.listen, m.target.listen
	createTopic(t, m.from, "t")
	createTopic(t, m.to, "t")
	if err := unix.Mkfifo(filepath.Join(m.dir, "f"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.killBoth)
	m.start()
	return m
}

func (m *mirror) tool(name string, args ...string) *exec.Cmd {
	m.t.Helper()
	tools, err := tools()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(tools, name), args...)
	cmd.Dir = m.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// write begins to send numbers to the source, for some seconds.
func (m *mirror) write() (writer *exec.Cmd, count int) {
	m.t.Helper()
	const rate, seconds = 1000, 12
	var lines strings.Builder
	for ; count < rate*seconds; count++ {
		fmt.Fprintln(&lines, count)
	}
	writer = m.tool("logcat", "-b", m.from, "--rate", fmt.Sprint(rate), "t")
	writer.Stdin, writer.Stderr = strings.NewReader(lines.String()), os.Stderr
	if err := writer.Start(); err != nil {
		m.t.Fatal(err)
	}
	return writer, count
}

func (m *mirror) start() {
	m.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	m.tail = m.tool("logtail", "-b", m.from, "-g", "mirror", "--session-timeout", "4s", "-f", "--json", "--confirm", "f", "t")
	m.cat = m.tool("logcat", "--json", "--confirm", "f", "-b", m.to, "t")
	m.tail.Stdout, m.cat.Stdin = w, r
	for _, cmd := range []*exec.Cmd{m.tail, m.cat} {
		said, err := os.OpenFile(filepath.Join(m.dir, "said"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			m.t.Fatal(err)
		}
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			m.t.Fatal(err)
		}
		said.Close()
		m.running++
		go func() {
			cmd.Wait()
			m.ended <- struct{}{}
		}()
	}
	r.Close()
	w.Close()
	m.starts++
}

// restart starts the pipeline again when it has ended, until something is so. A side that is left alone ends by itself.
func (m *mirror) restart(until func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(3 * patience); ; {
		var alone time.Time
		for m.running > 0 {
			select {
			case <-m.ended:
				m.running--
				alone = time.Now()
				continue
			case <-time.After(50 * time.Millisecond):
			}
			if m.running == 1 && time.Since(alone) > patience {
				m.t.Fatalf("one side goes on without the other\n%s", m.said())
			}
			if m.running == 2 && until() {
				return
			}
			if time.Now().After(deadline) {
				m.t.Fatalf("not there within %v: %d messages are copied\n%s", 3*patience, m.copied(), m.said())
			}
		}
		m.start()
	}
}

// copied is how many different messages the copy has.
func (m *mirror) copied() int {
	out, err := m.tool("logtail", "-b", m.to, "-o", "earliest", "t").Output()
	if err != nil {
		return 0 // the broker is away
	}
	different := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		different[line] = true
	}
	return len(different)
}

func (m *mirror) said() string {
	text, _ := os.ReadFile(filepath.Join(m.dir, "said"))
	return string(text)
}

func (m *mirror) killTail() { m.tail.Process.Kill() }
func (m *mirror) killCat()  { m.cat.Process.Kill() }
func (m *mirror) killBoth() { m.killTail(); m.killCat() }

// stop ends the pipeline in order.
func (m *mirror) stop() {
	m.tail.Process.Signal(syscall.SIGTERM)
	for deadline := time.After(patience); m.running > 0; m.running-- {
		select {
		case <-m.ended:
		case <-deadline:
			m.t.Fatalf("does not end after TERM\n%s", m.said())
		}
	}
}

// bounce kills a broker and starts it again.
func (m *mortal) bounce() {
	m.kill()
	m.start()
}
