package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary is also the tool it tests: signals and pipes need a process.
func TestMain(m *testing.M) {
	if behaviour := os.Getenv("CLI_TEST_PROCESS"); behaviour != "" {
		Main(process(behaviour))
	}
	goleak.VerifyTestMain(m)
}

// process is a tool that does what its name says, after it has said "ready" on stderr.
func process(behaviour string) *Tool {
	var follow bool
	return &Tool{
		Name: "proc", Usage: "test", SignalOK: behaviour == "daemon", Flags: []ucli.Flag{&ucli.BoolFlag{Name: "follow", Destination: &follow, Usage: "test"}},
		Run: func(ctx context.Context, env *Env, args []string) error {
			env.Say("ready")
			switch behaviour {
			case "wait", "daemon":
				<-ctx.Done()
				return context.Cause(ctx)
			case "stuck":
				<-ctx.Done()
				env.Say("%v", context.Cause(ctx))
				select {}
			case "watch":
				ctx = env.WatchStdout(ctx)
				<-ctx.Done()
				if errors.Is(context.Cause(ctx), ErrStdoutClosed) {
					env.Say("reader gone")
				}
				return fmt.Errorf("fetch: %w", ctx.Err())
			case "write":
				for {
					if _, err := io.WriteString(env.Stdout, "line\n"); err != nil {
						return fmt.Errorf("message: %w", err)
					}
				}
			case "complain":
				for range 1000 {
					env.Say("something")
				}
				_, err := io.WriteString(env.Stdout, "done\n")
				return err
			case "terminals":
				_, err := fmt.Fprintln(env.Stdout, env.StdinTerminal(), env.StdoutTerminal(), env.StderrTerminal(), env.StdoutColour())
				return err
			}
			return nil
		},
	}
}

// environment makes the test binary the tool. Without the last variable it would sleep for a second at its end under -race.
func environment(behaviour string) []string {
	return append(os.Environ(), "CLI_TEST_PROCESS="+behaviour, "GORACE=atexit_sleep_ms=0")
}

type proc struct {
	*exec.Cmd
	t      *testing.T
	stderr *bufio.Reader
}

// start runs a process until it is ready. It is killed if the test ends before it.
func start(t *testing.T, behaviour string, stdout *os.File) *proc {
	t.Helper()
	p := &proc{Cmd: exec.Command(os.Args[0]), t: t}
	p.Env = environment(behaviour)
	if stdout != nil {
		p.Stdout = stdout
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { p.Process.Kill() })
	t.Cleanup(func() { timer.Stop(); p.Process.Kill(); p.Wait() })
	if got := p.line(); got != "proc: ready" {
		t.Fatalf("first line %q", got)
	}
	return p
}

func (p *proc) line() string {
	line, _ := p.stderr.ReadString('\n')
	return strings.TrimSuffix(line, "\n")
}

// end waits for the process, and checks its status and what it still had to say.
func (p *proc) end(code int, stderr string) {
	p.t.Helper()
	rest, _ := io.ReadAll(p.stderr)
	p.Wait()
	if got := p.ProcessState.ExitCode(); got != code || string(rest) != stderr {
		p.t.Errorf("%v, stderr %q; want status %d, stderr %q", p.ProcessState, rest, code, stderr)
	}
}

func TestSignals(t *testing.T) {
	rows := []struct {
		behaviour string
		signal    syscall.Signal
		code      int
	}{
		{"wait", syscall.SIGINT, 130}, {"wait", syscall.SIGTERM, 143}, {"wait", syscall.SIGHUP, 129},
		{"daemon", syscall.SIGTERM, 0}, {"daemon", syscall.SIGINT, 0}, {"daemon", syscall.SIGHUP, 0},
	}
	for _, row := range rows {
		t.Run(fmt.Sprint(row.behaviour, " ", row.signal), func(t *testing.T) {
			t.Parallel()
			p := start(t, row.behaviour, nil)
			p.Process.Signal(row.signal)
			p.end(row.code, "")
		})
	}
}

func TestSecondSignal(t *testing.T) {
	p := start(t, "stuck", nil)
	p.Process.Signal(syscall.SIGINT)
	if got := p.line(); got != "proc: signal: interrupt" {
		t.Fatalf("line %q", got)
	}
	p.Process.Signal(syscall.SIGTERM)
	p.end(143, "")
}

// timeout(1) signals the process, and then its group: that is one wish, not two.
func TestSignalSentTwice(t *testing.T) {
	p := start(t, "stuck", nil)
	p.Process.Signal(syscall.SIGTERM)
	if got := p.line(); got != "proc: signal: terminated" {
		t.Fatalf("line %q", got)
	}
	p.Process.Signal(syscall.SIGTERM)
	time.Sleep(20 * time.Millisecond) // or INT would come before it
	p.Process.Signal(syscall.SIGINT)
	p.end(130, "")
}

// A shell without job control starts background jobs with INT ignored; it must not end them.
func TestIgnoredInterrupt(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap '' INT; exec "$0"`, os.Args[0])
	cmd.Env = environment("stuck")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(stderr)
	lines.ReadString('\n')
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Process.Signal(syscall.SIGTERM)
	if line, _ := lines.ReadString('\n'); line != "proc: signal: terminated\n" {
		t.Errorf("first signal seen: %q", line)
	}
	cmd.Process.Kill()
	cmd.Wait()
}

// pipes are the ways stdout can have a reader that goes away.
var pipes = map[string]func(t *testing.T) (ours, theirs *os.File){
	"pipe": func(t *testing.T) (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	},
	"socket": func(t *testing.T) (*os.File, *os.File) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.CloseOnExec(fds[0]) // or the child would hold its own reader
		return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	},
}

func TestStdoutClosed(t *testing.T) {
	for name, open := range pipes {
		for behaviour, said := range map[string]string{"watch": "proc: reader gone\n", "write": ""} {
			t.Run(name+" "+behaviour, func(t *testing.T) {
				t.Parallel()
				ours, theirs := open(t)
				p := start(t, behaviour, theirs)
				theirs.Close()
				if behaviour == "write" {
					if _, err := io.ReadFull(ours, make([]byte, 5)); err != nil {
						t.Fatal(err)
					}
				}
				ours.Close()
				p.end(0, said)
			})
		}
	}
}

// A reader that is slow is there; a signal ends the watch as it ends all else.
func TestWatchEndsWithSignal(t *testing.T) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	p := start(t, "watch", theirs)
	theirs.Close()
	p.Process.Signal(syscall.SIGTERM)
	p.end(143, "")
}

// A file has no reader that could go.
func TestWatchOfFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := start(t, "watch", f)
	p.Process.Signal(syscall.SIGTERM)
	p.end(143, "")
}

// The watch sleeps: no processor time while nothing happens, and its goroutine and files are gone after the run.
func TestWatchIsIdleAndEnds(t *testing.T) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	before := openFiles(t)
	s := &sample{}
	s.run = func(ctx context.Context, env *Env) error {
		watched := env.WatchStdout(context.Background()) // a context that never ends
		if watched.Err() != nil {
			t.Error("ended at once")
		}
		return nil
	}
	if code := s.tool().Execute(context.Background(), []string{"t"}, Stdio{Stdout: theirs, Stderr: io.Discard}); code != 0 {
		t.Errorf("status %d", code)
	}
	for deadline := time.Now().Add(5 * time.Second); openFiles(t) != before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d files open after the run, %d before", openFiles(t), before)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: no /proc")
	}
	return len(entries)
}

func TestClosedStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = environment("complain")
	cmd.Stderr = w
	r.Close()
	out, err := cmd.Output()
	w.Close()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v, stdout %q", err, out)
	}
}

// /dev/null is a character device and no terminal; script(1) gives a real one.
func TestTerminals(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if terminal(null) || terminal(nil) {
		t.Error("/dev/null, or nothing, is a terminal")
	}
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("SKIPPED: script is not installed")
	}
	for env, want := range map[string]string{"TERM=xterm": "true true true true", "TERM=dumb": "true true true false", "NO_COLOR=1": "true true true false"} {
		cmd := exec.Command("script", "-qec", os.Args[0], os.DevNull)
		cmd.Env = append(environment("terminals"), "TERM=xterm", env)
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q, want %q", env, err, out, want)
		}
	}
}

// What leaves the process is the whole contract: streams and status, from the real arguments.
func TestMainArguments(t *testing.T) {
	cmd := exec.Command(os.Args[0], "x", "--follow=perhaps")
	cmd.Env = environment("wait")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	if got := (result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}); got.code != 64 || got.stdout != "" ||
		!strings.HasPrefix(got.stderr, `proc: --follow "perhaps": not a truth value`) {
		t.Errorf("%+v", got)
	}
}
