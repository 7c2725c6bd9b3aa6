package cmd

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	display  = regexp.MustCompile(`(?s)\.Bd -literal -offset indent\n(.*?)\.Ed\n`)
	variable = regexp.MustCompile(`(?m)^([A-Z_]+)=(.*)$`)
)

// cronLine is a line for crontab(5), with the variables that its table sets.
type cronLine struct {
	env     []string
	command string
}

// TestCron runs the lines for crontab(5) in the manual page of logrebalance as cron does: by /bin/sh, with the variables of
// the table and no others, without a terminal or standard input. They do what they are for, and say nothing: cron would
// mail it.
func TestCron(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir, bin := t.TempDir(), t.TempDir()
	shell := cronShell(t, dir)
	here := append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "LOGKIT_BROKERS="+broker)
	if out, err := shell(here, `seq 100 | logcat clicks
echo '{"group":"mailer","topic":"clicks","partition":0,"offset":0}' | logrebalance -q import mailer - --execute`); err != nil {
		t.Fatal(err, out)
	}
	const page = "../man/logrebalance.8"
	for _, script := range installScripts(t, page, bin) {
		moveTo(t, filepath.Join(bin, script), dir)
	}
	var check cronLine
	for _, line := range cronLines(t, page, map[string]string{"PATH": tools + ":" + bin + ":/usr/bin:/bin", "LOGKIT_BROKERS": broker, "HOME": dir}) {
		if strings.Contains(line.command, " check ") {
			check = line
		}
		for range 2 { // the second time there is nothing to do
			if out, err := shell(line.env, line.command); err != nil || out != "" {
				t.Errorf("%s: %v\n%s", line.command, err, out)
			}
		}
	}
	out, err := shell(here, "logrebalance export mailer")
	if err != nil || out != `{"group":"mailer","topic":"clicks","partition":0,"offset":100}`+"\n" {
		t.Errorf("exported: %v\n%s", err, out)
	}
	undo, err := os.ReadFile(filepath.Join(dir, "mailer.undo"))
	if err != nil || string(undo) != `{"group":"mailer","topic":"clicks","partition":0,"offset":0}`+"\n" {
		t.Errorf("undo file: %v\n%s", err, undo)
	}
	// A group that is behind and has no members is not well, and that is mailed.
	if out, err := shell(here, "seq 10 | logcat clicks"); err != nil {
		t.Fatal(err, out)
	}
	if mail, err := shell(check.env, check.command); err != nil || !strings.HasPrefix(mail, "WARNING: group mailer: ") {
		t.Errorf("what is mailed: %v\n%s", err, mail)
	}
}

// cronShell runs commands in a directory as cron does, and returns what cron would mail.
func cronShell(t *testing.T, dir string) func(env []string, command string) (string, error) {
	return func(env []string, command string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// TestCronShips runs the line for crontab(5) in the manual page of logcat: what a log has got is sent, once, and rotation
// leaves nothing out. Nothing is mailed, also not by a run that overlaps.
func TestCronShips(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("SKIPPED: flock(1) is not installed (util-linux)")
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	shell := cronShell(t, dir)
	lines := cronLines(t, "../man/logcat.1", map[string]string{
		"PATH": tools + ":/usr/bin:/bin", "LOGKIT_BROKERS": broker, "HOME": dir, "LOG": filepath.Join(dir, "access.log")})
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1", len(lines))
	}
	line := lines[0]
	for _, step := range []struct{ before, command, mail, sent string }{
		{"seq 2 > access.log; : > access.log.1", line.command, "", "1\n2\n"},
		{"", line.command, "", "1\n2\n"},
		{"echo 3 >> access.log", "exec 9> run; flock 9; " + line.command + " 9>&-; [ $? = 1 ]", "", "1\n2\n"},
		{"mv access.log access.log.1; echo 4 > access.log", line.command, "", "1\n2\n3\n4\n"},
		{"echo 5 >> access.log", "exec 9> pos.lock; flock 9; " + line.command + " 9>&-; [ $? = 1 ]", "logcat: pos: another logcat is at it\n", "1\n2\n3\n4\n"},
	} {
		if out, err := shell(line.env, step.before); err != nil {
			t.Fatal(err, out)
		}
		if mail, err := shell(line.env, step.command); err != nil || mail != step.mail {
			t.Errorf("%s; %s: %v, mailed is %q, want %q", step.before, step.command, err, mail, step.mail)
		}
		if sent, err := shell(line.env, "logtail -o earliest clicks"); err != nil || sent != step.sent {
			t.Errorf("%s; %s: %v, sent are %q, want %q", step.before, step.command, err, sent, step.sent)
		}
	}
}

// moveTo has a script use another directory than /var/tmp.
func moveTo(t *testing.T, script, dir string) {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, bytes.ReplaceAll(text, []byte("/var/tmp"), []byte(dir)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// cronLines are the lines for crontab(5) in a page, with the variables that their table sets, some of them replaced.
func cronLines(t *testing.T, page string, replace map[string]string) (lines []cronLine) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range display.FindAllStringSubmatch(string(text), -1) {
		env := []string{"SHELL=/bin/sh", "LOGNAME=nobody", "HOME=" + replace["HOME"]}
		for _, v := range variable.FindAllStringSubmatch(table[1], -1) {
			name, value := v[1], v[2]
			if other, ok := replace[name]; ok {
				value = other
			}
			env = append(env, name+"="+value)
		}
		for line := range strings.Lines(table[1]) {
			at := cronTime.FindString(line)
			if at == "" {
				continue
			}
			if strings.Contains(line, "%") || strings.Contains(line, `\`) {
				t.Errorf("%s: %% means a new line to cron, and no line can be continued", line)
			}
			lines = append(lines, cronLine{env, strings.TrimSuffix(strings.TrimPrefix(line, at), "\n")})
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s: no lines for crontab", page)
	}
	return lines
}
