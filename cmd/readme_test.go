package cmd

import (
	"context"
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

// tour says how a command of the tour in README is run, where that is not as every example of the manual pages.
var tour = map[string]example{
	"make":                   {why: "the tools are there"},
	"bin/logd":               {why: "a broker runs"},
	"bin/logtail -f journal": {until: "test -s out"},
}

// settles are the commands whose answer comes to be what is shown, since others run beside them.
var settles = []string{"bin/logrebalance list"}

// TestReadme runs the tour of README, command by command as they stand there, and wants what it shows. Only what belongs to
// the machine is made up: the journal, and the log in /var/log.
func TestReadme(t *testing.T) {
	for _, program := range []string{"jq", "kcat"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed (testdata/debian/install): the tour of README is not run", program)
		}
	}
	sample, err := filepath.Abs("../testdata/logs/dpkg.log")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkplace(t, page{prepare: `mkdir -p bin; for tool in logcat logd logrebalance logsegdump logtail logtopic; do ln -s "$(command -v $tool)" bin; done
printf '#!/bin/sh\nwhile echo error; do sleep 0.1; done\n' > bin/journalctl
chmod +x bin/journalctl`})
	here := strings.NewReplacer("/var/log/dpkg.log", sample, "/tmp/logs", "live", "127.0.0.1:9092", "$LOGKIT_BROKERS")
	for _, step := range tourOf(t) {
		_, how := find(tour, step.line)
		line, beside := strings.CutSuffix(here.Replace(step.line), " &")
		how.out = "^" + regexp.QuoteMeta(step.shows) + "$"
		if step.shows == "" {
			how.out = ""
		}
		whole := t
		t.Run(step.line, func(t *testing.T) {
			if beside && how.why == "" {
				w.beside(t, whole, line)
				return
			}
			for _, settles := range settles {
				if strings.HasPrefix(line, settles) {
					w.settle(t, line, step.shows)
				}
			}
			w.run(t, line, how)
		})
		if t.Failed() {
			break
		}
	}
}

// beside starts a command that goes on for as long as the test of the whole tour.
func (w *workplace) beside(t, whole *testing.T, line string) {
	t.Helper()
	cmd := w.command(context.Background(), line)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	whole.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
}

// settle waits until a command prints what is wanted.
func (w *workplace) settle(t *testing.T, line, want string) {
	t.Helper()
	for deadline := time.Now().Add(3 * patience); ; time.Sleep(50 * time.Millisecond) {
		out, _ := w.command(t.Context(), line).Output()
		if string(out) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v\n%s", line, 3*patience, out)
		}
	}
}

// tourStep is a command line, and what README shows that it prints.
type tourStep struct{ line, shows string }

// tourOf are the commands of the tour in README: those lines that begin with a $.
func tourOf(t *testing.T) (steps []tourStep) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Two minutes\n")
	if !found {
		t.Fatal("README has no tour")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	open := false
	for line := range strings.Lines(section) {
		code, within := strings.CutPrefix(line, "    ")
		command, found := strings.CutPrefix(code, "$ ")
		switch {
		case within && found:
			steps = append(steps, tourStep{line: strings.TrimSpace(command)})
		case within && open:
			steps[len(steps)-1].shows += code
		}
		open = within
	}
	if len(steps) < 10 {
		t.Fatalf("%d commands in the tour", len(steps))
	}
	return steps
}

// TestReadmeMap wants README to name every tool in its table and every package in its map, and none that is not there.
func TestReadmeMap(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, pattern := range []string{"*/main.go", "../lib/*/*.go"} {
		for _, file := range matches(t, pattern) {
			there = append(there, strings.TrimPrefix(filepath.Dir(file), "../"))
		}
	}
	slices.Sort(there)
	there = slices.Compact(there)
	_, chart, _ := strings.Cut(string(text), "\n## A map of the code\n")
	named := regexp.MustCompile(`\blib/[a-z]+\b`).FindAllString(strings.ReplaceAll(chart, "lib/floors_test.go", ""), -1)
	for _, row := range regexp.MustCompile("(?m)^\\| `(log[a-z]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		named = append(named, row[1])
	}
	slices.Sort(named)
	named = slices.Compact(named)
	if !slices.Equal(named, there) {
		t.Errorf("README names\n%q\nthere are\n%q", named, there)
	}
}
