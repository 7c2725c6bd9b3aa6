package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNagios runs the command that the manual page of logrebalance defines for Nagios, with the arguments of the service
// there, as Nagios does: one line, and an exit status.
func TestNagios(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../man/logrebalance.8")
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)^ +`+name+` +(.*)$`).FindAllSubmatch(text, -1)
		if len(found) != 1 {
			t.Fatalf("%d lines %s in the page", len(found), name)
		}
		return string(found[0][1])
	}
	command, arguments, _ := strings.Cut(field("check_command"), "!")
	if command != field("command_name") {
		t.Errorf("the service uses the command %s, defined is %s", command, field("command_name"))
	}
	line := strings.ReplaceAll(field("command_line"), "$ARG1$", arguments)
	line, found := strings.CutPrefix(line, "/usr/local/bin/")
	if !found {
		t.Errorf("the command is not where it is installed: %s", line)
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	env := append(os.Environ(), "LOGKIT_BROKERS="+broker)
	shell := func(line string) (string, int) {
		cmd := exec.Command("/bin/sh", "-c", filepath.Join(tools, line))
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, step := range []struct {
		before string // what is done first
		status int
		says   string
	}{
		{"logcat clicks ../README.md", 3, "UNKNOWN: "},
		{"logtail -g mailer clicks", 0, "OK: group mailer: 0 bytes behind in 1 partition, "},
		{"logcat clicks ../README.md", 1, "WARNING: group mailer: "},
	} {
		if out, code := shell(step.before); code != 0 {
			t.Fatalf("%s: exit status %d\n%s", step.before, code, out)
		}
		out, code := shell(line)
		if code != step.status || !strings.HasPrefix(out, step.says) || strings.Count(out, "\n") != 1 || step.status != 3 && !strings.Contains(out, "|lag=") {
			t.Errorf("after %s, %s: exit status %d, want %d\n%s", step.before, line, code, step.status, out)
		}
	}
}
