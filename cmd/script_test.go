// Package cmd holds the tools. The tests here run them as users do: the built binaries, in the scripts of
// testdata/script, one behaviour a file, against a broker of their own.
package cmd

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// tools builds the binaries once, as they are shipped, and returns their directory.
var tools = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "logkit-tools-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs",
		"-ldflags", "-X logkit/lib/cli.Version=test", "-o", dir+string(filepath.Separator), "./...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if dir, _ := tools(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func TestScripts(t *testing.T) {
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	const scripts = "../testdata/script"
	if found, err := filepath.Glob(filepath.Join(scripts, "*.txtar")); err != nil || len(found) == 0 {
		t.Fatalf("no scripts in %s: %v", scripts, err)
	}
	samples, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("TESTDATA", samples)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			env.Values[brokersKey{}] = new(*process)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"broker":     brokerCommand,
			"stopbroker": stopBrokerCommand,
			"exitcode":   exitCode,
			"waitfile":   waitFile,
			"waitline":   waitLine,
			"signal":     signalCommand,
			"corrupt":    corruptCommand,
		},
	})
}

// condition knows [prog:NAME]. It says so, loudly, when a program that a test wants is missing.
func condition(name string) (bool, error) {
	if program, ok := strings.CutPrefix(name, "prog:"); ok {
		_, err := exec.LookPath(program)
		if err != nil {
			fmt.Fprintf(os.Stderr, "SKIPPED: %s is not installed (testdata/debian/install)\n", program)
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// exitCode runs a program and wants that exit status: exitcode N PROGRAM [ARGUMENT]...
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N PROGRAM [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", args[1], got, want)
	}
}

// patience is how long a script waits for something that must happen.
const patience = 20 * time.Second

// waitFile waits until a file is there and is not empty: waitfile PATH
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile PATH")
	}
	poll(ts, args[0], func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() > 0
	})
}

// waitLine waits until a file has at least N lines: waitline N PATH
func waitLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitline N PATH")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	poll(ts, args[1], func() bool {
		data, err := os.ReadFile(ts.MkAbs(args[1]))
		return err == nil && countLines(data) >= want
	})
}

func poll(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not there within %v", what, patience)
		}
	}
}
