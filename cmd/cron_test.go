package cmd

import (
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

// TestCron runs the lines for crontab(5) in the manual page of logrebalance as cron does: by /bin/sh, with the variables of
// the table and no others, without a terminal or standard input. They do what they are for, and say nothing: cron would
// mail it.
func TestCron(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../man/logrebalance.8")
	if err != nil {
		t.Fatal(err)
	}
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	here := append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "LOGKIT_BROKERS="+broker)
	shell := func(env []string, command string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := shell(here, `seq 100 | logcat clicks
echo '{"group":"mailer","topic":"clicks","partition":0,"offset":0}' | logrebalance -q import mailer - --execute`); err != nil {
		t.Fatal(err, out)
	}
	lines := 0
	for _, table := range display.FindAllStringSubmatch(string(text), -1) {
		env := []string{"SHELL=/bin/sh", "LOGNAME=nobody", "HOME=" + dir}
		for _, v := range variable.FindAllStringSubmatch(table[1], -1) {
			name, value := v[1], v[2]
			switch name {
			case "PATH":
				value = tools + ":" + value
			case "LOGKIT_BROKERS":
				value = broker
			}
			env = append(env, name+"="+value)
		}
		for line := range strings.Lines(table[1]) {
			at := cronTime.FindString(line)
			if at == "" {
				continue
			}
			lines++
			command := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(line, at), "\n"), "/var/tmp", dir)
			if strings.Contains(command, "%") {
				t.Errorf("%s: %% means a new line to cron", command)
			}
			for range 2 { // the second time there is nothing to do
				if out, err := shell(env, command); err != nil || out != "" {
					t.Errorf("%s: %v\n%s", command, err, out)
				}
			}
		}
	}
	if lines < 2 {
		t.Fatalf("%d lines for crontab", lines)
	}
	out, err := shell(here, "logrebalance export mailer")
	if err != nil || out != `{"group":"mailer","topic":"clicks","partition":0,"offset":100}`+"\n" {
		t.Errorf("exported: %v\n%s", err, out)
	}
	undo, err := os.ReadFile(filepath.Join(dir, "mailer.undo"))
	if err != nil || string(undo) != `{"group":"mailer","topic":"clicks","partition":0,"offset":0}`+"\n" {
		t.Errorf("undo file: %v\n%s", err, undo)
	}
	lag, err := os.ReadFile(filepath.Join(dir, "mailer.lag"))
	if err != nil || !strings.HasPrefix(string(lag), "OK: group mailer: 0 bytes behind in 1 partition, idle without members|lag=0B;104857600;1073741824;0 ") {
		t.Errorf("what the check says: %v\n%s", err, lag)
	}
}
