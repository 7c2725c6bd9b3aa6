package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logkit/lib/cli"
)

// fakeManager is a service manager: the name of its socket, and what it hears.
type fakeManager struct {
	t     *testing.T
	name  string
	heard chan string
}

func newFakeManager(t *testing.T) *fakeManager {
	t.Helper()
	m := &fakeManager{t, filepath.Join(t.TempDir(), "notify"), make(chan string, 10_000)}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		defer close(m.heard)
		for b := make([]byte, 1000); ; {
			n, err := socket.Read(b)
			if err != nil {
				return
			}
			m.heard <- string(b[:n])
		}
	}()
	return m
}

// next is the next datagram.
func (m *fakeManager) next() string {
	m.t.Helper()
	select {
	case text := <-m.heard:
		return text
	case <-time.After(patience):
		m.t.Fatal("nothing is told")
		return ""
	}
}

// until returns what was told up to a datagram that has a line, that one included.
func (m *fakeManager) until(line string) (told []string) {
	m.t.Helper()
	for {
		text := m.next()
		told = append(told, text)
		if slices.Contains(strings.Split(text, "\n"), line) {
			return told
		}
	}
}

// The service manager hears what takes its time, READY=1 when clients are served, and STOPPING=1.
func TestSystemdReadiness(t *testing.T) {
	m := newFakeManager(t)
	d := start(t, defaults(), map[string]string{"NOTIFY_SOCKET": m.name})
	d.stop()
	told := m.until("READY=1")
	if !strings.HasPrefix(told[0], "STATUS=opening "+dataDir(d)+"\nEXTEND_TIMEOUT_USEC=30000000") {
		t.Errorf("first %q, want what is opened, and the wish for patience", told[0])
	}
	if want := "READY=1\nSTATUS=serving " + d.address; told[len(told)-1] != want {
		t.Errorf("%q, want %q", told[len(told)-1], want)
	}
	m.until("STOPPING=1")
	if text := m.next(); !strings.HasPrefix(text, "STATUS=closing "+dataDir(d)+"\n") {
		t.Errorf("at the end %q", text)
	}
}

// A manager that wants to hear from logd hears from it again and again, until it ends.
func TestSystemdWatchdog(t *testing.T) {
	for pid, wanted := range map[string]bool{"": true, fmt.Sprint(os.Getpid()): true, "1": false} {
		m := newFakeManager(t)
		d := start(t, defaults(), map[string]string{"NOTIFY_SOCKET": m.name, "WATCHDOG_USEC": "20000", "WATCHDOG_PID": pid})
		if wanted {
			m.until("READY=1")
			m.until("WATCHDOG=1")
			m.until("WATCHDOG=1")
		}
		d.stop()
		told := m.until("STOPPING=1")
		if !wanted && slices.Contains(told, "WATCHDOG=1") {
			t.Errorf("WATCHDOG_PID %s is another process, and yet %q", pid, told)
		}
	}
}

// A start is not killed because it takes long: the manager is asked for patience again and again, and no more afterwards.
func TestSystemdPatience(t *testing.T) {
	fake := newFakeManager(t)
	m := newManager(func(name string) string { return map[string]string{"NOTIFY_SOCKET": fake.name}[name] })
	m.extend = time.Millisecond
	done := m.during("reading")
	for range 3 {
		if text := fake.next(); text != "STATUS=reading\nEXTEND_TIMEOUT_USEC=3000" {
			t.Errorf("told %q", text)
		}
	}
	done()
	m.close()
	m.say("X=1")
	m.say("Y=1")
	fake.until("X=1")
	if text := fake.next(); text != "Y=1" {
		t.Errorf("afterwards %q", text)
	}
}

// A manager that listens no more does not keep logd from stopping.
func TestSystemdDeaf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	socket.SetReadDeadline(time.Now().Add(patience))
	d := start(t, defaults(), map[string]string{"NOTIFY_SOCKET": name})
	for text, b := "", make([]byte, 1000); !strings.HasPrefix(text, "READY=1\n"); {
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b[:n])
	}
	m := newManager(func(key string) string { return map[string]string{"NOTIFY_SOCKET": name}[key] })
	defer m.close()
	for err := error(nil); err == nil; { // until no more fits
		err = m.say("X=1")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := m.ready(ended, ""); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ready: %v", err)
	}
	if code := d.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, &d.stderr)
	}
}

// Nonsense in the environment is no reason not to serve.
func TestSystemdWatchdogNonsense(t *testing.T) {
	for _, usec := range []string{"", "0", "-1", "x", "9223372036854775807", "99999999999999999999"} {
		m := newManager(func(name string) string { return map[string]string{"WATCHDOG_USEC": usec}[name] })
		if m.watchdog != 0 {
			t.Errorf("%q: %v", usec, m.watchdog)
		}
		m.close()
	}
}

// Lines for the journal carry their priority, and leave the time to it.
func TestJournal(t *testing.T) {
	var b bytes.Buffer
	logger := slog.New(newJournalHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	logger.Debug("a")
	logger.With("x", 1).Info("b")
	logger.WithGroup("g").Warn("c", "time", 2)
	logger.Error("d\ne")
	want := "<7>level=DEBUG msg=a\n<6>level=INFO msg=b x=1\n<4>level=WARN msg=c g.time=2\n<3>level=ERROR msg=\"d\\ne\"\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	if h := newJournalHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn}); h.Enabled(t.Context(), slog.LevelInfo) || !h.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("the level is not obeyed")
	}
}

// Where stderr is what JOURNAL_STREAM names, logd writes for the journal, and where it is something else it does not.
func TestJournalStream(t *testing.T) {
	for _, ours := range []bool{true, false} {
		file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		stream := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
		if !ours {
			stream = fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+1)
		}
		env := map[string]string{"JOURNAL_STREAM": stream}
		code := newTool().Execute(t.Context(), []string{"--partitions", "x"}, cli.Stdio{Stderr: file, Getenv: func(name string) string { return env[name] }})
		file.Close()
		said, err := os.ReadFile(file.Name())
		if err != nil || code != cli.ExitUsage {
			t.Fatalf("exit %d, %v", code, err)
		}
		if strings.HasPrefix(string(said), "<3>logd: --partitions \"x\"") != ours {
			t.Errorf("journal %v: %s", ours, said)
		}
	}
}
