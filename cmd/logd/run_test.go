package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"logkit/lib/cli"
	"logkit/lib/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// output is what a tool has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// daemon is a logd that runs in this process.
type daemon struct {
	t         *testing.T
	stdout    output
	stderr    output
	address   string
	zookeeper string
	signal    context.CancelCauseFunc
	exited    chan struct{}
	code      int
}

// start runs logd on a free port and a temporary directory, unless args say otherwise, until the test ends.
func start(t *testing.T, o *options, env map[string]string, args ...string) *daemon {
	t.Helper()
	dir := t.TempDir()
	addr := filepath.Join(dir, "addr")
	args = append([]string{"--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--zookeeper-listen", "127.0.0.1:0", "--addr-file", addr}, args...)
	ctx, cancel := context.WithCancelCause(context.Background())
	d := &daemon{t: t, signal: cancel, exited: make(chan struct{})}
	go func() {
		defer close(d.exited)
		d.code = toolFor(o).Execute(ctx, args, d.stdio(env))
	}()
	t.Cleanup(func() { d.stop() })
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		text, err := os.ReadFile(addr)
		if err == nil {
			if _, err := fmt.Sscanf(string(text), "kafka %s\nzookeeper %s\n", &d.address, &d.zookeeper); err != nil {
				t.Fatalf("address file %q: %v", text, err)
			}
			return d
		}
		select {
		case <-tick.C:
		case <-d.exited:
			t.Fatalf("exit %d: %s", d.code, &d.stderr)
		case <-deadline:
			t.Fatalf("no address file within %v: %s", patience, &d.stderr)
		}
	}
}

func (d *daemon) stdio(env map[string]string) cli.Stdio {
	return cli.Stdio{Stdin: strings.NewReader(""), Stdout: &d.stdout, Stderr: &d.stderr, Getenv: func(name string) string { return env[name] }}
}

// stop ends logd as SIGTERM does and returns its exit status.
func (d *daemon) stop() int {
	d.t.Helper()
	d.signal(cli.SignalError{Signal: syscall.SIGTERM})
	return d.wait()
}

func (d *daemon) wait() int {
	d.t.Helper()
	select {
	case <-d.exited:
	case <-time.After(patience):
		d.t.Fatalf("it does not end: %s", &d.stderr)
	}
	return d.code
}

// produce sends one record with acks=all.
func produce(t *testing.T, address, value string) error {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.AllowAutoTopicCreation(), kgo.RecordRetries(0), kgo.DisableIdempotentWrite(),
		kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte(value)}).FirstErr()
}

func TestServesAndStops(t *testing.T) {
	d := start(t, defaults(), nil)
	if err := produce(t, d.address, "x"); err != nil {
		t.Fatal(err)
	}
	idle, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	dir := dataDir(d)
	began := time.Now()
	if code := d.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %s", code, &d.stderr)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("stopped after %v, 2s are allowed", took)
	}
	lines := strings.Split(strings.TrimSpace(d.stderr.String()), "\n")
	if n := len(lines); n != 3 || !strings.Contains(lines[0], "msg=started") || !strings.Contains(lines[1], "partitions begun") || !strings.Contains(lines[2], "msg=stopped") {
		t.Errorf("log %q, want one line at the start, one for the topic, and one at the end", lines)
	}
	for _, part := range []string{"address=" + d.address, "zookeeper=" + d.zookeeper, " id=0 ", "data_dir=" + dir, "acks=all at once, others within 50ms"} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("start line %q lacks %q", lines[0], part)
		}
	}
	if d.stdout.String() != "" {
		t.Errorf("stdout: %q", &d.stdout)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "addr")); !os.IsNotExist(err) {
		t.Errorf("the address file is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "clean-shutdown")); err != nil {
		t.Errorf("no orderly stop: %v", err)
	}
}

// dataDir is the directory in the start line.
func dataDir(d *daemon) string {
	_, rest, _ := strings.Cut(d.stderr.String(), "data_dir=")
	dir, _, _ := strings.Cut(rest, " ")
	return dir
}

// refusals run until they end by themselves.
func TestRefusals(t *testing.T) {
	first := start(t, defaults(), nil)
	dir := dataDir(first)
	free := func(args ...string) []string {
		return append([]string{"--data-dir", filepath.Join(t.TempDir(), "d"), "--listen", "127.0.0.1:0", "--zookeeper-listen", "127.0.0.1:0"}, args...)
	}
	for _, test := range []struct {
		name string
		args []string
		env  map[string]string
		code int
		want []string
	}{
		{"locked directory", []string{"--data-dir", dir, "--listen", "127.0.0.1:0"}, nil, cli.ExitFailed, []string{dir, "hint: another logd"}},
		{"taken port", free("--listen", first.address), nil, cli.ExitFailed, []string{"option --listen " + first.address + ": ", "in use", "hint: "}},
		{"wildcard", free("--listen", "0.0.0.0:0"), nil, cli.ExitUsage, []string{"--listen 0.0.0.0:0", "hint: ", "--advertise HOST:PORT"}},
		{"wildcard, no host", free("--listen", ":0"), nil, cli.ExitUsage, []string{"--listen :0"}},
		{"wildcard advertised", free("--listen", ":0", "--advertise", "[::]:9092"), nil, cli.ExitUsage, []string{"--advertise [::]:9092"}},
		{"no port", free("--listen", "localhost"), nil, cli.ExitUsage, []string{`--listen "localhost": not an address: allowed is HOST:PORT`}},
		{"port too high", free("--listen", "localhost:65536"), nil, cli.ExitUsage, []string{`--listen "localhost:65536": `, "allowed is a port of 0 to 65535"}},
		{"unreachable name", free("--listen", "no-such-host.invalid:0"), nil, cli.ExitFailed, []string{"option --listen no-such-host.invalid:0"}},
		{"no flush", free("--flush-interval", "0"), nil, cli.ExitUsage, []string{"--flush-interval"}},
		{"segment too large", free("--segment-bytes", "2GiB"), nil, cli.ExitUsage, []string{`--segment-bytes "2GiB"`, "allowed are 1KiB to 2147483647"}},
		{"batch above request", free("--max-request-bytes", "1MiB", "--max-message-bytes", "1MiB"), nil, cli.ExitUsage, []string{"--max-request-bytes 1MiB", "--max-message-bytes"}},
		{"request above memory", free("--memory-limit", "100MiB", "--max-request-bytes", "100MiB"), nil, cli.ExitUsage, []string{"--memory-limit 100MiB"}},
		{"no memory", free("--memory-limit", "0"), nil, cli.ExitUsage, []string{`--memory-limit "0": out of range: allowed are 2MiB to 1024TiB`}},
		{"batch above memory", free("--memory-limit", "10m", "--max-message-bytes", "10m"), nil, cli.ExitUsage, []string{"--max-message-bytes 10MiB"}},
		{"empty zookeeper", free("--zookeeper", ""), nil, cli.ExitUsage, []string{`--zookeeper ""`, "HOST:PORT"}},
		{"zookeeper port", free("--zookeeper", "zk:70000"), nil, cli.ExitUsage, []string{`--zookeeper "zk:70000"`, "0 to 65535"}},
		{"two chroots", free("--zookeeper", "zk1/a,zk2/a"), nil, cli.ExitUsage, []string{"--zookeeper", "once, at the end"}},
		{"unknown zookeeper", free("--zookeeper", "no-such-host.invalid"), nil, cli.ExitFailed, []string{"option --zookeeper no-such-host.invalid:2181: "}},
		{"zookeeper session", free("--zookeeper-session", "1ms"), nil, cli.ExitUsage, []string{`--zookeeper-session "1ms": out of range: allowed are 1s to 5m`}},
		{"taken zookeeper port", free("--zookeeper-listen", first.zookeeper), nil, cli.ExitFailed, []string{"option --zookeeper-listen " + first.zookeeper + ": ", "in use", "hint: "}},
		{"broker id", free("--id", "x"), nil, cli.ExitUsage, []string{`--id "x": not a broker id: allowed is 0 to 2147483647`}},
		{"verbose and quiet", free("-v", "-q"), nil, cli.ExitUsage, []string{"--verbose", "--quiet"}},
		{"operand", free("x"), nil, cli.ExitUsage, []string{`"x"`}},
		{"environment", free(), map[string]string{"LOGD_PARTITIONS": "0"}, cli.ExitUsage, []string{"LOGD_PARTITIONS"}},
		{"directory is a file", []string{"--data-dir", os.Args[0], "--listen", "127.0.0.1:0"}, nil, cli.ExitFailed, []string{os.Args[0]}},
		{"address file in no directory", free("--addr-file", filepath.Join(t.TempDir(), "no", "file")), nil, cli.ExitFailed, []string{"option --addr-file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &daemon{t: t, exited: make(chan struct{})}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if code := newTool().Execute(ctx, test.args, d.stdio(test.env)); code != test.code {
				t.Errorf("exit %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(d.stderr.String(), want) {
					t.Errorf("stderr %q lacks %q", &d.stderr, want)
				}
			}
			if d.stdout.String() != "" {
				t.Errorf("stdout: %q", &d.stdout)
			}
		})
	}
}

// TestEnvironment: logd reads LOGD_ variables, and none of those that the other tools share.
func TestEnvironment(t *testing.T) {
	d := start(t, defaults(), map[string]string{"LOGD_ADVERTISE": "logs.example:1", "LOGKIT_BROKERS": "nonsense:x"})
	if !strings.Contains(d.stderr.String(), "advertised=logs.example:1") {
		t.Errorf("log %q", &d.stderr)
	}
}

// TestExitOnDiskError: a flush that fails ends logd when that is asked for, and else the one log only.
func TestExitOnDiskError(t *testing.T) {
	t.Run("asked for", func(t *testing.T) {
		o := defaults()
		o.fs = failingFS{vfs.OS}
		d := start(t, o, nil, "--exit-on-disk-error")
		if err := produce(t, d.address, "x"); err == nil {
			t.Error("acknowledged")
		}
		if code := d.wait(); code != cli.ExitFailed {
			t.Errorf("exit %d, want %d", code, cli.ExitFailed)
		}
		if !strings.Contains(d.stderr.String(), "logd: a log has failed: ") {
			t.Errorf("stderr %q", &d.stderr)
		}
	})
	t.Run("not asked for", func(t *testing.T) {
		o := defaults()
		o.fs = failingFS{vfs.OS}
		d := start(t, o, nil)
		if err := produce(t, d.address, "x"); err == nil {
			t.Error("acknowledged")
		}
		conn, err := net.Dial("tcp", d.address)
		if err != nil {
			t.Fatalf("it serves no more: %v", err)
		}
		conn.Close()
	})
}

// TestExitOnDiskErrorAtTheStart: a log that cannot be opened keeps no other from being served, but when that is asked for.
func TestExitOnDiskErrorAtTheStart(t *testing.T) {
	d := start(t, defaults(), nil)
	if err := produce(t, d.address, "x"); err != nil {
		t.Fatal(err)
	}
	dir := dataDir(d)
	d.stop()
	again := func(args ...string) *daemon {
		if err := os.Remove(filepath.Join(dir, "clean-shutdown")); err != nil { // the logs are read then
			t.Fatal(err)
		}
		d := &daemon{t: t, exited: make(chan struct{})}
		o := defaults()
		o.fs = unreadableFS{vfs.OS}
		ctx, cancel := context.WithCancelCause(context.Background())
		d.signal = cancel
		go func() {
			defer close(d.exited)
			args = append(args, "--data-dir", dir, "--listen", "127.0.0.1:0", "--zookeeper-listen", "127.0.0.1:0")
			d.code = toolFor(o).Execute(ctx, args, d.stdio(nil))
		}()
		return d
	}
	d = again("--exit-on-disk-error")
	if code := d.wait(); code != cli.ExitFailed || !strings.Contains(d.stderr.String(), "logd: a log has failed: ") {
		t.Errorf("exit %d, want %d: %s", code, cli.ExitFailed, &d.stderr)
	}
	d = again()
	for deadline := time.Now().Add(patience); !strings.Contains(d.stderr.String(), "msg=started"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not started: %s", &d.stderr)
		}
	}
	if code := d.stop(); code != cli.ExitOK || !strings.Contains(d.stderr.String(), "cannot be opened") {
		t.Errorf("exit %d, want %d: %s", code, cli.ExitOK, &d.stderr)
	}
}

// unreadableFS cannot read segments.
type unreadableFS struct{ vfs.FS }

func (u unreadableFS) OpenRead(name string) (vfs.File, error) { return unreadable(u.FS.OpenRead, name) }
func (u unreadableFS) OpenWrite(name string) (vfs.File, error) {
	return unreadable(u.FS.OpenWrite, name)
}

func unreadable(open func(string) (vfs.File, error), name string) (vfs.File, error) {
	if strings.HasSuffix(name, ".log") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return open(name)
}

// failingFS cannot flush segments.
type failingFS struct{ vfs.FS }

func (f failingFS) Create(name string) (vfs.File, error)    { return failing(f.FS.Create(name)) }
func (f failingFS) OpenWrite(name string) (vfs.File, error) { return failing(f.FS.OpenWrite(name)) }

func failing(f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(f.Name(), ".log") {
		return f, err
	}
	return &failingFile{File: f}, nil
}

type failingFile struct {
	vfs.File
	written bool
	mu      sync.Mutex
}

func (f *failingFile) WriteAt(b []byte, at int64) (int, error) {
	f.mu.Lock()
	f.written = true
	f.mu.Unlock()
	return f.File.WriteAt(b, at)
}

// Sync fails once there is something to lose.
func (f *failingFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
	}
	return f.File.Sync()
}

func TestPrintConfig(t *testing.T) {
	var stdout output
	code := newTool().Execute(context.Background(), []string{"--print-config", "--partitions", "3"},
		cli.Stdio{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: io.Discard, Getenv: func(string) string { return "" }})
	if code != cli.ExitOK || !strings.Contains(stdout.String(), "partitions = 3") || !strings.Contains(stdout.String(), "flush-interval = 50ms") {
		t.Errorf("exit %d: %s", code, &stdout)
	}
}
