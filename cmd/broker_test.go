package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// process is a logd that a script has started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// brokersKey finds, in the Values of a script, the place of its broker: a **process.
type brokersKey struct{}

// brokerCommand starts a logd on a free port and waits until it is ready: broker [FLAG]...
// Its data are in $WORK/data, what it says in $WORK/logd.log; LOGKIT_BROKERS is where it listens, ZOOKEEPER where its
// ZooKeeper does, LOGD_PID its process.
func brokerCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: broker [FLAG]...")
	}
	if running(ts) != nil {
		ts.Fatalf("a broker runs already")
	}
	addr := ts.MkAbs("addr")
	os.Remove(addr)
	log, err := os.OpenFile(ts.MkAbs("logd.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	ts.Check(err)
	defer log.Close()
	path, err := tools()
	ts.Check(err)
	cmd := exec.Command(path+"/logd", append([]string{
		"--data-dir", ts.MkAbs("data"), "--listen", "127.0.0.1:0", "--zookeeper-listen", "127.0.0.1:0", "--addr-file", addr,
	}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ts.Check(cmd.Start())
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	set(ts, p)
	ts.Setenv("LOGD_PID", strconv.Itoa(cmd.Process.Pid))
	ts.Defer(func() { end(p) })
	poll(ts, "address file of logd", func() bool {
		select {
		case <-p.done:
			said, _ := os.ReadFile(ts.MkAbs("logd.log"))
			ts.Fatalf("logd ended: %s", said)
		default:
		}
		_, err := os.Stat(addr)
		return err == nil
	})
	lines, err := os.ReadFile(addr)
	ts.Check(err)
	found := false
	for line := range strings.Lines(string(lines)) {
		switch kind, at, _ := strings.Cut(strings.TrimSpace(line), " "); kind {
		case "kafka":
			ts.Setenv("LOGKIT_BROKERS", at)
			found = true
		case "zookeeper":
			ts.Setenv("ZOOKEEPER", at)
		}
	}
	if !found {
		ts.Fatalf("no line for kafka in the address file: %q", lines)
	}
}

// stopBrokerCommand ends the broker of the script: stopbroker [KILL]. Without KILL it wants exit status 0.
func stopBrokerCommand(ts *testscript.TestScript, neg bool, args []string) {
	p := running(ts)
	if neg || len(args) > 1 || p == nil {
		ts.Fatalf("usage: stopbroker [KILL], with a broker running")
	}
	set(ts, nil)
	if len(args) == 1 {
		p.cmd.Process.Kill()
		<-p.done
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		ts.Fatalf("logd does not end after TERM")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("logd: exit status %d after TERM, want 0", code)
	}
}

// signalCommand sends a signal to the broker: signal STOP|CONT
func signalCommand(ts *testscript.TestScript, neg bool, args []string) {
	p := running(ts)
	signals := map[string]syscall.Signal{"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	if neg || len(args) != 1 || signals[args[0]] == 0 || p == nil {
		ts.Fatalf("usage: signal STOP|CONT, with a broker running")
	}
	ts.Check(p.cmd.Process.Signal(signals[args[0]]))
}

func end(p *process) {
	p.cmd.Process.Kill()
	<-p.done
}

func running(ts *testscript.TestScript) *process {
	p, _ := ts.Value(brokersKey{}).(**process)
	if p == nil {
		return nil
	}
	return *p
}

func set(ts *testscript.TestScript, p *process) {
	*ts.Value(brokersKey{}).(**process) = p
}

func countLines(data []byte) int { return bytes.Count(data, []byte("\n")) }
