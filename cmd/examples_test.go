package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// example says how a command line of a manual page is run, where that is not: by /bin/sh, to its end, with exit status 0
// and nothing on standard error.
type example struct {
	why       string   // it is not run
	replace   []string // in the line: old, new, old, new …
	until     string   // a shell command: the example goes on for ever, and is ended when this succeeds
	meanwhile string   // a shell command that is run again and again as long as the example runs
	exit      int
	out       string // a regular expression that standard output matches
	talks     bool   // it says something on standard error
}

// page is how the examples of a manual page are run: in their order, in one directory, with a logd of their own, after
// the shell script that makes what they speak of.
type page struct {
	prepare  string
	examples map[string]example // by the command line, or its beginning
}

// started waits for what logd says when it serves.
const started = `grep -q started err`

var pages = map[string]page{
	"logcat.1": {
		prepare: `printf 'GET /\nGET /a\n' > access.log; : > access.log.1; seq 100 | gzip > access.log.2.gz`,
		examples: map[string]example{
			"logcat -v":            {talks: true},
			"logtail -f -g mirror": {until: "logtail -o earliest mirrored | grep -q .", replace: []string{"other.example:9092", "$LOGKIT_BROKERS"}},
		},
	},
	"logd.8": {examples: map[string]example{
		"logd --data-dir ./data --listen": {until: "test -s addr"},
		"logd --data-dir ./data":          {until: started},
		"logd --listen 0.0.0.0":           {until: started, replace: []string{"0.0.0.0:9092", "127.0.0.1:0"}},
		"logd --listen 10.0.0.1": {until: started, replace: []string{
			"10.0.0.1:9092", "127.0.0.1:0", "zk1,zk2,zk3", "$ZOOKEEPER", "logd --listen", "LOGD_DATA_DIR=clustered logd --listen"}},
		"echo LOGD_RETENTION": {replace: []string{"/etc/default/logd", "default"}},
		"systemctl enable":    {why: "it would change the machine; the unit is tried by TestUnit"},
	}},
	"logrebalance.8": {
		prepare: `seq 100 | logcat clicks
echo '{"group":"mailer","topic":"clicks","partition":0,"offset":0}' | logrebalance -q import mailer - --execute`,
		examples: map[string]example{
			"logrebalance status --watch":    {until: "grep -q clicks out"},
			"logrebalance reset mailer":      {talks: true},
			"logrebalance import mailer":     {talks: true, out: "(?m)^clicks +0 +100 +0$"},
			"logrebalance export mailer | ":  {talks: true, replace: []string{"-b other:9092 ", ""}},
			"logrebalance plan mailer":       {talks: true, out: "(?m)^clicks +0 +- +a +moves$"},
			"logrebalance status mailer --j": {out: "(?m)^100\tclicks\t0$"},
		},
	},
	"logsegdump.1": {
		prepare: `seq 1000 | logcat clicks; cp -r live/clicks-0 .; cd clicks-0; cp *0.log ..; cp *0.log 00000000000000000000.log.cut-8192`,
		examples: map[string]example{
			"mkdir saved-0": {talks: true},
		},
	},
	"logsegment.5": {},
	"logtail.1": {
		prepare: `printf 'view\ncheckout\n' | logcat clicks; printf 'alice:1\n' | logcat -K : scores; seq 9 | logcat orders
printf '#!/bin/sh\nexec cat\n' > work; chmod +x work`,
		examples: map[string]example{
			"logtail -f clicks":     {until: "test -s out"},
			"logtail -f clicks | ":  {until: "test -s out", meanwhile: "echo 'GET / 503 7' | logcat clicks"},
			"logtail -f -n 0 -c 3":  {meanwhile: "echo x | logcat -p 0 clicks"},
			"logtail -f -g workers": {until: "test -s out", meanwhile: "echo x | logcat orders", replace: []string{" &", ""}},
			"logtail -f -g mirror":  {until: "logtail -o earliest copy | grep -q ."},
		},
	},
	"logtopic.8": {
		prepare: `logtopic create views; printf '%0200d\n' 1 | logcat views`,
		examples: map[string]example{
			"logtopic list":            {out: "(?m)^clicks +3$"},
			"logtopic describe |":      {out: "(?m)^views 270$"},
			"logtopic describe clicks": {out: "(?m)^clicks +2 .* retention.ms=86400000$"},
		},
	},
}

// TestExamples runs every command line of every manual page, as mandoc shows it to readers.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("SKIPPED: mandoc is not installed (testdata/debian/install): the examples of the manual pages are not run")
	}
	for _, file := range matches(t, "../man/*") {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			p, known := pages[name]
			if !known {
				t.Fatal("no entry in the table")
			}
			lines := commandLines(t, file)
			unused := maps.Clone(p.examples)
			w := newWorkplace(t, p)
			for _, line := range lines {
				key, how := find(p.examples, line)
				delete(unused, key)
				t.Run(line, func(t *testing.T) { w.run(t, line, how) })
			}
			for key := range unused {
				t.Errorf("the table speaks of %q, which the page has not", key)
			}
		})
	}
}

// find returns the longest key that the line begins with.
func find(examples map[string]example, line string) (string, example) {
	keys := slices.SortedFunc(maps.Keys(examples), func(a, b string) int { return len(b) - len(a) })
	for _, key := range keys {
		if strings.HasPrefix(line, key) {
			return key, examples[key]
		}
	}
	return "", example{}
}

var (
	overstrike = regexp.MustCompile(`.\x08`)
	cronTime   = regexp.MustCompile(`^[-*/,0-9]+( [-*/,0-9]+){4} +`)
)

// commandLines are the lines of a page that begin with a $, or with the five fields of a line in a crontab; a \ at the
// end joins the next one.
func commandLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	out, err := exec.Command("mandoc", "-T", "ascii", "-O", "width=1000", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(overstrike.ReplaceAllString(string(out), "")) {
		line = strings.TrimSpace(line)
		command, found := strings.CutPrefix(line, "$ ")
		if at := cronTime.FindString(line); at != "" {
			command, found = strings.TrimPrefix(line, at), true
		}
		switch {
		case open:
			lines[len(lines)-1] += "\n" + line
		case found:
			lines = append(lines, command)
		default:
			continue
		}
		open = strings.HasSuffix(line, `\`)
	}
	return lines
}

// workplace is a directory with a logd, whose data are in its directory live.
type workplace struct {
	dir string
	env []string
}

func newWorkplace(t *testing.T, p page) *workplace {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	w := &workplace{dir: t.TempDir()}
	w.env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "HOME="+w.dir, "TZ=UTC", "LOGKIT_BROKERS="+broker,
		"LOGD_LISTEN=127.0.0.1:0", "LOGD_ZOOKEEPER_LISTEN=127.0.0.1:0", "LOGD_DATA_DIR="+filepath.Join(w.dir, "data"), "ZOOKEEPER="+zookeeperOf(t, v))
	if err := os.Symlink(filepath.Join(v.dir, "data"), filepath.Join(w.dir, "live")); err != nil {
		t.Fatal(err)
	}
	if out, err := w.command(t.Context(), "set -e; "+p.prepare).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", p.prepare, err, out)
	}
	return w
}

// zookeeperOf is where the embedded ZooKeeper of a logd listens.
func zookeeperOf(t *testing.T, v *mortal) string {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(v.dir, "addr"))
	if err != nil {
		t.Fatal(err)
	}
	_, at, found := strings.Cut(string(lines), "zookeeper ")
	if !found {
		t.Fatalf("no line for ZooKeeper in the address file: %q", lines)
	}
	return strings.TrimSpace(at)
}

func (w *workplace) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func (w *workplace) run(t *testing.T, line string, how example) {
	if how.why != "" {
		t.Logf("not run: %s", how.why)
		return
	}
	line = strings.NewReplacer(append(how.replace, "/var/lib/logd", "live", "/var/tmp", ".")...).Replace(line)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := w.command(ctx, line)
	out, errs := w.create(t, "out"), w.create(t, "err")
	defer out.Close()
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := w.wait(ctx, cmd, how, ended)
	// What the shell has started may end after it. Nobody may be there to reap it: that is not waited for.
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	stdout, _ := os.ReadFile(out.Name())
	stderr, _ := os.ReadFile(errs.Name())
	switch {
	case err != nil:
	case len(stderr) > 0 && !how.talks && how.until == "":
		err = errors.New("talks")
	case !regexp.MustCompile(how.out).Match(stdout):
		err = fmt.Errorf("the output does not match %s", how.out)
	}
	if err != nil {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
}

// wait lets an example end, or ends it, and returns what is wrong with how it ended.
func (w *workplace) wait(ctx context.Context, cmd *exec.Cmd, how example, ended <-chan error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	stopped := false
	for {
		select {
		case <-ended:
			code := cmd.ProcessState.ExitCode()
			switch {
			case ctx.Err() != nil:
				return fmt.Errorf("does not end: %w", ctx.Err())
			case how.until != "" && !stopped:
				return fmt.Errorf("ends by itself: %v", cmd.ProcessState)
			case !stopped && code != how.exit:
				return fmt.Errorf("%v, want %d", cmd.ProcessState, how.exit)
			}
			return nil
		case <-ticker.C:
		}
		if how.meanwhile != "" {
			if out, err := w.command(ctx, how.meanwhile).CombinedOutput(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w\n%s", how.meanwhile, err, bytes.TrimSpace(out))
			}
		}
		if how.until != "" && !stopped && w.command(ctx, how.until).Run() == nil {
			stopped = true
			syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		}
	}
}

func (w *workplace) create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(w.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
