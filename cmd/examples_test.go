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

// elsewhere is what the pages call a broker on another machine.
var elsewhere = []string{"other.example:9092", "$LOGKIT_BROKERS", "127.0.0.1:9092", "$LOGKIT_BROKERS"}

// started waits for what logd says when it serves.
const started = `grep -q started err`

var pages = map[string]page{
	"logcat.1": {
		prepare: `printf 'GET /\nGET /a\n' > access.log; : > access.log.1; seq 100 | gzip > access.log.2.gz
printf '1\n2\n' > cut.log; logcat --progress cut.pos clicks cut.log; printf '3\n4\n' >> cut.log; cp cut.log cut.log.1; echo 5 > cut.log
if logcat --progress cut.pos clicks cut.log; then exit 1; fi`,
		examples: map[string]example{
			"logcat -v":            {talks: true},
			"flock -n run":         {replace: []string{"$LOG", "access.log"}},
			"p=$(jq":               {replace: []string{"clicks cut.log", "clicks cut.log && logtail -n 3 clicks"}, out: `^3\n4\n5\n$`},
			"logtail -f -g mirror": {until: "logtail -o earliest mirrored | grep -q .", replace: elsewhere},
		},
	},
	"logd.8": {examples: map[string]example{
		"logd --data-dir ./data --addr-file": {until: "test -s addr"},
		"logd --data-dir ./data":             {until: started},
		"logd --listen 0.0.0.0":              {until: started, replace: []string{"0.0.0.0:9092", "127.0.0.1:0"}},
		"logd --listen 10.0.0.1": {until: started, replace: []string{
			"10.0.0.1:9092", "127.0.0.1:0", "zk1,zk2,zk3", "$ZOOKEEPER", "logd --listen", "LOGD_DATA_DIR=clustered logd --listen"}},
		"echo LOGD_RETENTION": {replace: []string{"/etc/default/logd", "default"}},
		"systemctl":           {why: "it would change the machine; the unit is tried by TestUnit"},
		"journalctl":          {why: "it wants a machine on which logd is a service"},
	}},
	"logrebalance.8": {
		prepare: `seq 100 | logcat clicks
echo '{"group":"mailer","topic":"clicks","partition":0,"offset":0}' | logrebalance -q import mailer - --execute`,
		examples: map[string]example{
			"logrebalance status --watch":    {until: "grep -q clicks out"},
			"logrebalance reset mailer":      {talks: true},
			"logrebalance import mailer":     {talks: true, out: "(?m)^clicks +0 +100 +0$"},
			"logrebalance export mailer \\":  {talks: true, replace: []string{"-b other:9092 ", ""}},
			"logrebalance plan mailer":       {talks: true, out: "(?m)^clicks +0 +- +a +moves$"},
			"logrebalance status mailer --j": {out: "(?m)^100\tclicks\t0$"},
		},
	},
	"logsegdump.1": {
		prepare: `logtopic create clicks --partitions 3; for p in 0 1 2; do seq 1000 | logcat -p $p clicks; done
cp -r live backup; cp -r live/clicks-0 .; cd clicks-0; cp *0.log ..; cp *0.log 00000000000000000000.log.cut-8192`,
		examples: map[string]example{
			"mkdir saved-0":         {talks: true},
			"logtopic create":       {replace: []string{"create clicks", "create restored"}},
			"for p in 0 1 2":        {replace: []string{"-p $p clicks;", "-p $p restored; logtail -p $p -n 1 restored;"}, out: `^1000\n1000\n1000\n$`},
			"rm -rf /var/lib/logd":  {why: "logd has to be down; script restore_directory.txtar does it"},
			"cp -a backup/clicks-0": {why: "as above"},
			"rm -f /var/lib/logd":   {why: "as above"},
			"chown -R":              {why: "as above"},
		},
	},
	"logsegment.5": {},
	"logtail.1": {
		prepare: `printf 'view\ncheckout\n' | logcat clicks; printf 'alice:1\n' | logcat -K : scores; seq 9 | logcat orders
printf 'a\nb\n' | logcat errors; printf '#!/bin/sh\nexec cat\n' > work; chmod +x work`,
		examples: map[string]example{
			"logtail -f clicks":                        {until: "test -s out"},
			"logtail -f clicks | ":                     {until: "test -s out", meanwhile: "echo 'GET / 503 7' | logcat clicks"},
			"logtail -f -n 0 -c 3":                     {meanwhile: "echo x | logcat -p 0 clicks"},
			"logtail -f -g workers":                    {until: "test -s out", meanwhile: "echo x | logcat orders", replace: []string{" &", ""}},
			"logtail -f -g mirror":                     {until: "logtail -o earliest copy | grep -q ."},
			"logtail -o earliest --f":                  {out: `^ +[0-9]+ 0\n$`},
			"logtail -F --json":                        {until: "grep -q ^2 out", meanwhile: "echo c | logcat errors"},
			"logtail -f -n 0 --i":                      {replace: []string{"5m", "100ms"}},
			"logtail -p 0 -o 4711":                     {replace: []string{"4711", "1"}, out: `^b\n`},
			"e=$(logtail":                              {exit: 1},      // there were two
			"logtail --cursor clicks.cursor clicks \\": {out: "^0\n$"}, // the line before has read all there was
			"mirror orders":                            {why: "it is run by TestMirrorRecipe"},
			"for b in":                                 {replace: elsewhere},
			"diff":                                     {replace: elsewhere},
			"comm":                                     {replace: elsewhere},
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
			lines := commandLines(shown(t, file, 1000))
			unused := maps.Clone(p.examples)
			w := newWorkplace(t, p)
			for _, script := range installScripts(t, file, filepath.Join(w.dir, "bin")) {
				moveTo(t, filepath.Join(w.dir, "bin", script), w.dir)
			}
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

// shown are the lines of a page as mandoc shows them on a terminal of so many columns; 0 is what it takes by itself.
func shown(t *testing.T, file string, columns int) []string {
	t.Helper()
	args := []string{"-T", "ascii", file}
	if columns > 0 {
		args = append(args, "-O", fmt.Sprintf("width=%d", columns))
	}
	out, err := exec.Command("mandoc", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(overstrike.ReplaceAllString(string(out), ""), "\n")
}

// commandLines are the lines of a page that begin with a $, or with the five fields of a line in a crontab. What follows
// a \ at the end, or stands further to the right than the $, belongs to them.
func commandLines(lines []string) (commands []string) {
	column, open := -1, false
	for _, line := range lines {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		command, found := strings.CutPrefix(text, "$ ")
		if at := cronTime.FindString(text); at != "" {
			command, found = strings.TrimPrefix(text, at), true
		}
		switch {
		case text != "" && (open || column >= 0 && indent > column):
			commands[len(commands)-1] += "\n" + text
		case found:
			commands, column = append(commands, command), indent
		default:
			column = -1
		}
		open = column >= 0 && strings.HasSuffix(text, `\`)
	}
	return commands
}

// installScripts writes the shell scripts that a page shows to a directory. The first word of a comment on the second line
// of each is its name.
func installScripts(t *testing.T, file, dir string) (names []string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := shown(t, file, 0)
	for i, line := range lines {
		if strings.TrimSpace(line) != "#!/bin/sh" {
			continue
		}
		margin := line[:len(line)-len("#!/bin/sh")]
		var text strings.Builder
		for _, line := range lines[i:] {
			line, within := strings.CutPrefix(line, margin)
			if !within {
				break
			}
			text.WriteString(line + "\n")
		}
		title := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines[i+1]), "#"))
		if len(title) == 0 {
			t.Fatalf("%s: a script without a name", file)
		}
		name := strings.TrimSuffix(title[0], ":")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o755); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestExamplesFit wants every command line of every manual page to be shown as it was written, so that it can be pasted,
// and no line to be wider than mandoc's page, which fits on a terminal of 80 columns.
func TestExamplesFit(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("SKIPPED: mandoc is not installed (testdata/debian/install): the width of the manual pages is not looked at")
	}
	const widest = 78
	for _, file := range matches(t, "../man/*") {
		lines := shown(t, file, 0)
		got, want := commandLines(lines), commandLines(shown(t, file, 1000))
		for i, line := range want {
			if i >= len(got) || got[i] != line {
				t.Errorf("%s: a command line is broken: %s", file, line)
				break
			}
		}
		for _, line := range lines[1:] { // the first one is the head of the page
			if len(line) > widest {
				t.Errorf("%s: %d columns, want %d at most: %s", file, len(line), widest, line)
			}
		}
	}
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
	w.env = append(os.Environ(), "PATH="+w.dir+"/bin:"+tools+":"+os.Getenv("PATH"), "HOME="+w.dir, "TZ=UTC", "LOGKIT_BROKERS="+broker,
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
