package cmd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMirrorRecipe runs the script of the manual page of logtail that mirrors a topic for ever, kills one part of it or
// another and both brokers, and compares both ends by the command lines that the page has for it: nothing is missing, and
// what is there twice is counted.
func TestMirrorRecipe(t *testing.T) {
	for _, program := range []string{"mandoc", "jq", "pgrep"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed (testdata/debian/install): the mirror of the manual page is not run", program)
		}
	}
	r := newMirrorRecipe(t)
	finish := r.write()
	for _, kill := range []func(){r.killPart, r.target.bounce, r.killPart, r.source.bounce, r.killPart} {
		before := len(r.values(r.to))
		kill()
		r.await("more is copied", func() bool { return len(r.values(r.to)) > before })
	}
	sent := finish()
	r.await("all is copied", func() bool {
		different := map[string]bool{}
		for _, value := range r.values(r.to) {
			different[value] = true
		}
		return len(different) == sent
	})
	r.stop()

	twice := len(r.values(r.to)) - sent
	t.Logf("%d messages, %d of them twice", sent, twice)
	r.agrees(twice, 0)
	// One is made a duplicate, and another one is not there yet.
	r.shell(fmt.Sprintf("logtail -b %s -n 1 --json orders | logcat -b %s --json orders", r.from, r.to))
	r.agrees(twice+1, 0)
	r.shell(fmt.Sprintf("echo late | logcat -b %s orders", r.from))
	r.agrees(twice+1, 1)
}

// mirrorRecipe is the script of the page at work between two brokers.
type mirrorRecipe struct {
	t              *testing.T
	dir            string
	env            []string
	source, target *mortal
	from, to       string // their addresses
	page           []string
	cmd            *exec.Cmd
}

func newMirrorRecipe(t *testing.T) *mirrorRecipe {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	const file = "../man/logtail.1"
	r := &mirrorRecipe{t: t, dir: t.TempDir(), page: commandLines(shown(t, file, 0))}
	for _, v := range []**mortal{&r.source, &r.target} {
		*v = &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0", flags: []string{"--partitions", "2"}}
		(*v).listen = (*v).start() // where it comes back
		(*v).zk = []string{"--zookeeper-listen", zookeeperOf(t, *v)}
		t.Cleanup((*v).kill)
	}
	r.from, r.to = r.source.listen, r.target.listen
	bin := filepath.Join(r.dir, "bin")
	installScripts(t, file, bin)
	r.env = append(os.Environ(), "PATH="+bin+":"+tools+":"+os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C")
	createTopic(t, r.from, "orders")

	r.cmd = r.command(t.Context(), "exec "+r.line("mirror orders "))
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := os.Create(filepath.Join(r.dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) })
	return r
}

// line is the command line of the page that begins so, with the addresses of the brokers here.
func (r *mirrorRecipe) line(prefix string) string {
	r.t.Helper()
	for _, line := range r.page {
		if strings.HasPrefix(line, prefix) {
			return strings.NewReplacer("127.0.0.1:9092", r.from, "other.example:9092", r.to).Replace(line)
		}
	}
	r.t.Fatalf("the page has no line %q", prefix)
	return ""
}

func (r *mirrorRecipe) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// shell runs a command line, which may fail as diff(1) does, and returns the lines that it prints.
func (r *mirrorRecipe) shell(line string) []string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := r.command(ctx, line)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code < 0 || code > 1 || errs.Len() > 0 {
		r.t.Fatalf("%s: %v\n%s%s", line, err, out, errs.String())
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' })
}

// write sends numbers to the source until finish is called, which returns how many they were.
func (r *mirrorRecipe) write() (finish func() int) {
	r.t.Helper()
	writer := r.command(r.t.Context(), fmt.Sprintf("exec logcat -b %s --timeout 1m orders", r.from))
	writer.Stderr = os.Stderr
	lines, err := writer.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		r.t.Fatal(err)
	}
	count, enough, done := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer lines.Close()
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-enough:
				return
			case <-tick.C:
			}
			for range 5 {
				fmt.Fprintln(lines, count)
				count++
			}
		}
	}()
	return func() int {
		r.t.Helper()
		close(enough)
		<-done
		if err := writer.Wait(); err != nil {
			r.t.Fatalf("the writer: %v", err)
		}
		return count
	}
}

// values are those of a broker's topic that can be read at the moment.
func (r *mirrorRecipe) values(broker string) []string {
	out, _ := r.command(r.t.Context(), "logtail -o earliest -b "+broker+" orders 2>/dev/null").Output()
	return strings.Fields(string(out))
}

func (r *mirrorRecipe) await(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(3 * patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(filepath.Join(r.dir, "said"))
			r.t.Fatalf("not within %v: %s\n%s", 3*patience, what, said)
		}
	}
}

// killPart kills one process of the pipeline, or all of them.
func (r *mirrorRecipe) killPart() {
	r.t.Helper()
	var parts []int
	r.await("the pipeline runs", func() bool {
		parts = nil
		out, _ := exec.Command("pgrep", "-P", fmt.Sprint(r.cmd.Process.Pid), "log").Output()
		for _, field := range strings.Fields(string(out)) {
			var pid int
			fmt.Sscan(field, &pid)
			parts = append(parts, pid)
		}
		return len(parts) == 2
	})
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	for _, pid := range parts[rand.IntN(len(parts)):] {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// stop ends the script as systemd(1) or a shell does; it leaves no process behind.
func (r *mirrorRecipe) stop() {
	r.t.Helper()
	r.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			r.t.Errorf("mirror after TERM: %v", err)
		}
	case <-time.After(3 * patience):
		r.t.Fatal("mirror does not end after TERM")
	}
	if err := syscall.Kill(-r.cmd.Process.Pid, 0); err != syscall.ESRCH {
		r.t.Errorf("mirror has left processes behind: %v", err)
	}
}

// agrees compares both ends, minute by minute and message by message.
func (r *mirrorRecipe) agrees(more, missing int) {
	r.t.Helper()
	r.shell(r.line("for b in 127.0.0.1:9092 other.example:9092; do\nlogtail -b $b -o earliest --format"))
	balance := 0
	for _, line := range r.shell(r.line("diff ")) {
		var side, day, minute string
		var count int
		if n, _ := fmt.Sscan(line, &side, &count, &day, &minute); n != 4 {
			continue // where in the files
		}
		if side == "<" {
			count = -count
		}
		balance += count
	}
	if balance != more-missing {
		r.t.Errorf("by the minutes the copy has %d messages more, want %d", balance, more-missing)
	}
	r.shell(r.line("for b in 127.0.0.1:9092 other.example:9092; do\nlogtail -b $b -o earliest --json"))
	if got := r.shell(r.line("comm -13 ")); len(got) != more {
		r.t.Errorf("the copy has %d messages too many, want %d: %q", len(got), more, got)
	}
	if got := r.shell(r.line("comm -23 ")); len(got) != missing {
		r.t.Errorf("%d messages are missing, want %d: %q", len(got), missing, got)
	}
}
