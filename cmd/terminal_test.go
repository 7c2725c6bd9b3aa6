package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"logkit/lib/cli"
)

// screen is a terminal in which a shell command runs: a tmux with a server of its own.
type screen struct {
	t      *testing.T
	socket string
}

// newScreen runs a command in a terminal of that many columns and 10 lines, in a directory. When the command has ended,
// the screen shows: exit STATUS.
func newScreen(t *testing.T, columns int, dir, broker, command string) *screen {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("SKIPPED: tmux is not installed (testdata/debian/install)")
	}
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t, filepath.Join(t.TempDir(), "tmux")}
	t.Cleanup(func() { exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	s.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", "10", "-c", dir,
		"env", "PATH="+tools+":"+os.Getenv("PATH"), "LOGKIT_BROKERS="+broker, "sh", "-c", "trap : INT; "+command+`; echo "exit $?"; exec cat`)
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// until waits until the screen shows a text, and returns its lines, without the empty ones at the end.
func (s *screen) until(text string) []string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		shown := strings.TrimRight(s.tmux("capture-pane", "-p"), "\n")
		if strings.Contains(shown, text) {
			return strings.Split(shown, "\n")
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen does not show %q, but:\n%s", text, shown)
		}
	}
}

// interrupted is all that the screen shows when logcat was interrupted: how far it has come, and the exit status.
var interrupted = regexp.MustCompile(`^logcat: [0-9]+ messages acknowledged, 0 refused, [0-9]+ not delivered; a-log-file-with-a-rather-long-name: line [0-9]+ is the last one readexit 130$`)

// A window that is made narrower, and wider, keeps nothing of a line that was too long for it, and loses nothing else.
func TestProgressInAnotherWidth(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	const name = "a-log-file-with-a-rather-long-name"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("line\n", 100_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, 120, dir, broker, "seq 20; logcat --rate 50 t "+name)
	s.until(name + ": ")
	for _, columns := range []string{"40", "25", "120", "50"} {
		s.tmux("resize-window", "-x", columns)
		begun := time.Now()
		for before := s.all(); ; time.Sleep(20 * time.Millisecond) { // until it is written anew, and what was before is gone
			shown := s.all()
			if len(shown) == 21 && shown[19] == "20" && strings.HasPrefix(shown[20], "a-log") && shown[20] != before[len(before)-1] {
				break
			}
			if time.Since(begun) > patience {
				t.Fatalf("in %s columns:\n%s", columns, strings.Join(shown, "\n"))
			}
		}
	}
	s.tmux("send-keys", "C-c")
	s.until("exit ")
	if text := strings.Join(s.all()[20:], ""); !interrupted.MatchString(text) {
		t.Errorf("after Ctrl-C:\n%s", text)
	}
}

// A terminal that can not clear a line shows no progress.
func TestNoProgressOnDumbTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte(strings.Repeat("line\n", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, 80, dir, broker, "TERM=dumb logcat --rate 50 t in 2>&1 | cat; TERM=dumb script -qc 'logcat --rate 50 t in' typescript > said; grep -c acknowledged said")
	if lines := s.until("exit "); lines[0] != "0" {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// all is what the screen shows and what has been moved out of it at its top, as lines that are not broken.
func (s *screen) all() []string {
	s.t.Helper()
	return strings.Split(strings.TrimRight(s.tmux("capture-pane", "-p", "-J", "-S", "-"), "\n "), "\n")
}

// A file that is sent shows how far it has come, on one line, however narrow the terminal is; Ctrl-C leaves nothing of it.
// What is not a terminal gets none of it.
func TestProgressOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	const name = "a-log-file-with-a-rather-long-name"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("line\n", 100_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{100, 30} {
		s := newScreen(t, columns, dir, broker, "logcat --rate 50 t "+name)
		lines := s.until(" acknowledged")
		if len(lines) != 1 || len(lines[0]) > columns-1 || !strings.HasPrefix(lines[0], "a-log-") {
			t.Errorf("in %d columns:\n%s", columns, strings.Join(lines, "\n"))
		}
		s.tmux("send-keys", "C-c")
		if text := strings.Join(s.until("exit "), ""); !interrupted.MatchString(text) {
			t.Errorf("in %d columns, after Ctrl-C:\n%s", columns, text)
		}
	}
	s := newScreen(t, 80, dir, broker, "{ logcat --rate 50 t "+name+" 2> err > out & }; logtail -f -n 0 -c 50 t > tail; kill $!; wait $!; cat err out; grep -c read err")
	if lines := s.until("exit "); len(lines) != 4 || lines[2] != "1" || lines[3] != "exit 0" {
		t.Errorf("beside a terminal:\n%s", strings.Join(lines, "\n"))
	}
}

// Names of groups are any bytes, up to 1,024. On a terminal none of them moves the cursor, and none makes the lines wider
// than it is.
func TestGroupNamesOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	s := newScreen(t, 60, t.TempDir(), broker, `echo x | logcat t; for g in "$(printf 'red\033[31m')" "$(printf '%01000d' 7)" -b; do logtail -g "$g" t > out; done; logrebalance list -q -- | cut -c 1-20; logrebalance list; logrebalance list -q | grep -c "$(printf '\033')"`)
	lines := s.until("exit ")
	shown := strings.Join(lines, "\n")
	if len(lines) != 9 || lines[len(lines)-2] != "1" { // three names, cut; a heading and three lines; in a pipe names are as they are
		t.Fatalf("%d lines:\n%s", len(lines), shown)
	}
	for _, line := range lines[4:7] {
		if n := utf8.RuneCountInString(line); n > 60 || !strings.Contains(line, " registry ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(shown, `"red\x1b[31m"`) || !strings.Contains(shown, "000\u2026000") {
		t.Errorf("names:\n%s", shown)
	}
	s = newScreen(t, 60, t.TempDir(), broker, `logrebalance delete --execute -- "$(printf '%01000d' 7)"; logrebalance list -q`)
	if lines := s.until("exit "); len(lines) != 3 || lines[0] != "-b" || lines[1] != `"red\x1b[31m"` {
		t.Errorf("names alone:\n%s", strings.Join(lines, "\n"))
	}
}

// A copy of what is sent is not mixed with progress, wherever its way to the terminal leads.
func TestCopyOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "few"), []byte("1\n2\n3\n4\n5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"logcat --rate 2 --tee t few", "logcat --rate 2 --tee t few | cat"} {
		s := newScreen(t, 80, dir, broker, command)
		if lines := strings.Join(s.until("exit "), "\n"); lines != "1\n2\n3\n4\n5\nexit 0" {
			t.Errorf("%s:\n%s", command, lines)
		}
	}
}

// Columns stand below each other whatever a name is made of, and a terminal that cannot redraw is not told to.
func TestWideNamesOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	s := newScreen(t, 60, t.TempDir(), broker, "export LC_ALL=C.UTF-8; echo x | logcat t; for g in \u65e5\u672c\u8a9e\u30b0\u30eb\u30fc\u30d7 e\u0301te\u0301 plain; do logtail -g $g t > out; done; logrebalance list")
	lines := s.until("exit ")
	for _, line := range lines[:len(lines)-1] {
		before, _, ok := strings.Cut(line+"  ", "  registry ")
		if before, _, heading := strings.Cut(line, "  KIND "); heading && len(before) == 14 {
			continue
		}
		if !ok || cli.Width(before) != 14 {
			t.Errorf("%q is out of line in\n%s", line, strings.Join(lines, "\n"))
		}
	}
	dir := t.TempDir()
	s = newScreen(t, 60, dir, broker, "export TERM=dumb; logrebalance status --watch --interval 100ms plain")
	s.tmux("pipe-pane", "-o", "cat >> '"+filepath.Join(dir, "seen")+"'")
	var seen []byte
	for deadline := time.Now().Add(patience); !strings.Contains(string(seen), "PARTITIONS"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is shown on a dumb terminal: %q", seen)
		}
		seen, _ = os.ReadFile(filepath.Join(dir, "seen"))
	}
	if strings.Contains(string(seen), "\x1b") {
		t.Errorf("a dumb terminal is told %q", seen)
	}
	s.tmux("send-keys", "C-c")
	s.until("exit 130")
}

// What is in a message reaches a terminal as text, and a pipe as it is.
func TestMessagesOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	const evil = "red\x1b[31m\x1b]0;title\a\u009b2J\r\x7f \u65e5\u672c\U0001f600e\u0301\n"
	if err := os.WriteFile(filepath.Join(dir, "evil"), []byte(evil), 0o644); err != nil {
		t.Fatal(err)
	}
	const shown = "red\\x1b[31m\\x1b]0;title\\x07\\x9b2J\\x0d\\x7f \u65e5\u672c\U0001f600e\u0301"
	s := newScreen(t, 200, dir, broker, "logcat --tee t evil; logtail t; logcat --tee t evil | cmp - evil && logtail -n 1 t | cmp - evil")
	if lines := s.until("exit "); len(lines) != 3 || lines[0] != shown || lines[1] != shown || lines[2] != "exit 0" {
		t.Errorf("got\n%q\nwant twice\n%q", lines, shown)
	}
}

// A verdict is red on a terminal, unless that is not wanted, and in a pipe never.
func TestColourOnTerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000000.log"), make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		command, verdict string
		red              bool
	}{
		{"logsegdump *.log 2> said", "zero_tail", true},
		{"NO_COLOR=1 logsegdump *.log 2> said", "zero_tail", false},
		{"TERM=dumb logsegdump *.log 2> said", "zero_tail", false},
		{"logsegdump *.log 2> said | cat", "zero_tail", false},
		{"logsegdump --check *.log 2> said", "00000000000000000000.log: position 0 to 100", true},
		{"NO_COLOR=1 logsegdump --check *.log 2> said", "00000000000000000000.log: position 0 to 100", false},
		{"logsegdump --check *.log 2> said | cat", "00000000000000000000.log: position 0 to 100", false},
	} {
		s := newScreen(t, 200, dir, "", test.command)
		s.until(test.verdict)
		if shown := s.tmux("capture-pane", "-p", "-e"); strings.Contains(shown, "\x1b[31m"+test.verdict) != test.red {
			t.Errorf("%s: red %v is wanted, and shown:\n%q", test.command, test.red, shown)
		}
	}
}

// A status that is redrawn shows the lag in a terminal of any width, follows it when it gets another one, and leaves a clean
// line at the end.
func TestWatchOnTerminal(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	dir := t.TempDir()
	s := newScreen(t, 100, dir, broker, "seq 5 | logcat a-topic-of-a-long-name; logtail -g mailer -c 5 a-topic-of-a-long-name > /dev/null; "+
		"logrebalance status --watch --interval 1h mailer")
	if shown := strings.Join(s.until("NOTE"), "\n"); !strings.Contains(shown, "LOG-START") {
		t.Errorf("in 100 columns:\n%s", shown)
	}
	for _, test := range []struct {
		columns int
		lacks   string
	}{{60, "LOG-START"}, {40, "COMMITTED"}, {25, "OWNER"}} {
		s.tmux("resize-window", "-x", fmt.Sprint(test.columns), "-y", "10")
		lines := s.untilLacks(test.lacks)
		last := ""
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				last = strings.TrimSpace(line)
			}
		}
		if !strings.Contains(strings.Join(lines, "\n"), "PARTITION") || !strings.HasSuffix(last, " 0") && !strings.HasSuffix(last, " 95") {
			t.Errorf("in %d columns:\n%s", test.columns, strings.Join(lines, "\n"))
		}
	}
	s.tmux("send-keys", "C-c")
	if lines := s.until("exit "); lines[len(lines)-1] != "exit 130" {
		t.Errorf("at the end:\n%s", strings.Join(lines, "\n"))
	}
}

// untilLacks waits until the screen shows something, and a text no longer.
func (s *screen) untilLacks(text string) []string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		shown := strings.TrimRight(s.tmux("capture-pane", "-p"), "\n")
		if strings.Contains(shown, "LAG") && !strings.Contains(shown, text) {
			return strings.Split(shown, "\n")
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen shows %q still:\n%s", text, shown)
		}
	}
}
