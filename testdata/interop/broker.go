package interop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience is how long anything may take that must happen.
const patience = time.Minute

// built is the directory with the tools, and whether it is ours to remove.
var built = sync.OnceValues(func() (dir string, err error) {
	if dir := os.Getenv("LOGKIT_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir, err = os.MkdirTemp("", "logkit-interop-"); err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", "../..", "-trimpath", "-tags", "urfave_cli_no_docs",
		"-o", dir+string(filepath.Separator), "./cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

// RemoveTools removes what Tool has built. It is for TestMain, at the end.
func RemoveTools() {
	if os.Getenv("LOGKIT_BIN") != "" {
		return
	}
	if dir, _ := built(); dir != "" {
		os.RemoveAll(dir)
	}
}

// Tool returns the path of a built tool.
func Tool(t testing.TB, name string) string {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Broker is a logd with a data directory of its own.
type Broker struct {
	Addr string // where it listens; the same after a restart

	t    testing.TB
	dir  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	said *words
}

// StartBroker starts a logd on a free port of the loopback. The test ends it.
func StartBroker(t testing.TB) *Broker {
	t.Helper()
	b := &Broker{Addr: "127.0.0.1:0", t: t, dir: t.TempDir(), said: new(words)}
	t.Cleanup(func() {
		if b.done != nil {
			b.Kill()
		}
		if t.Failed() {
			t.Logf("logd said:\n%s", b.said)
		}
	})
	b.Start()
	return b
}

// Start starts it where it was before, and waits until it serves.
func (b *Broker) Start() {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ready, ended := b.try()
		switch {
		case ready:
			return
		// Between two lives of the broker a client's own connection may have been given the port.
		case ended && strings.Contains(b.said.String(), "in use") && time.Now().Before(deadline):
		default:
			b.t.Fatalf("logd not ready within %v, or ended: %s", patience, b.said)
		}
	}
}

// try starts a process and waits until it is ready or has ended.
func (b *Broker) try() (ready, ended bool) {
	b.t.Helper()
	file := filepath.Join(b.dir, "addr")
	os.Remove(file)
	cmd := exec.Command(Tool(b.t, "logd"), "--data-dir", filepath.Join(b.dir, "data"), "--listen", b.Addr, "--zookeeper-listen", "127.0.0.1:0", "--addr-file", file)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = b.said, b.said, dieWithParent
	cmd.Env = append(os.Environ(), "TZ=UTC")
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	done := make(chan struct{})
	b.cmd, b.done = cmd, done
	go func() {
		cmd.Wait()
		close(done)
	}()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-b.done:
			return false, true
		case <-time.After(2 * time.Millisecond):
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if at, ok := strings.CutPrefix(strings.TrimSpace(line), "kafka "); ok {
				b.Addr = at
				return true, false
			}
		}
	}
	return false, false
}

// Stop ends it as a service manager does, and wants exit status 0.
func (b *Broker) Stop() {
	b.t.Helper()
	b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.done:
	case <-time.After(patience):
		b.t.Fatalf("logd does not end after TERM: %s", b.said)
	}
	if code := b.cmd.ProcessState.ExitCode(); code != 0 {
		b.t.Fatalf("logd: exit status %d after TERM: %s", code, b.said)
	}
}

// Kill ends it without warning.
func (b *Broker) Kill() {
	b.cmd.Process.Kill()
	<-b.done
}

// Topics creates topics with one partition, as clients do that ask for the metadata of what is not there.
func (b *Broker) Topics(ctx context.Context, topics ...string) {
	b.t.Helper()
	client, err := NewFranz(b.Addr)
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	for again := true; again; { // the first answer may be that there is no leader as yet
		again = false
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = true
		for _, name := range topics {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, topic)
		}
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, topic := range resp.Topics {
			switch err := kerr.ErrorForCode(topic.ErrorCode); {
			case kerr.IsRetriable(err):
				again = true
			case err != nil:
				b.t.Fatalf("topic %s: %v", *topic.Topic, err)
			}
		}
	}
}
