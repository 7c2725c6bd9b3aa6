package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shells are those that have completions, each with the file that it reads at the start, below its home, and what is in
// there. PREFIX is where logkit is installed.
var shells = []struct{ name, command, file, rc string }{
	{"bash", "bash --noprofile --rcfile ~/rc -i", "rc", bashPrompt + `
for file in PREFIX/share/bash-completion/completions/*; do source "$file"; done
`},
	{"bash-completion", "bash --noprofile --rcfile ~/rc -i", "rc", bashPrompt + `
export XDG_DATA_DIRS=PREFIX/share
source /usr/share/bash-completion/bash_completion
`},
	{"zsh", "zsh -o NO_GLOBAL_RCS -i", ".zshrc", `
PS1='> '
setopt no_beep
fpath=(PREFIX/share/zsh/site-functions $fpath)
autoload -U compinit
compinit -u -D
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
bindkey '^X*' all-matches
`},
	{"fish", "fish -i", ".config/fish/config.fish", `
set -g fish_autosuggestion_enabled 0
function fish_prompt; echo -n '> '; end
function fish_greeting; end
function insert_all; commandline -t -- (complete -C (commandline -cp) | string replace -r '\t.*' '' | string join ' '); commandline -C 1000; end
bind \cx'*' insert_all
`},
}

const bashPrompt = `
PS1='> '
bind 'set bell-style none'
bind '"\C-x*": insert-completions'
`

// prompt is an interactive shell in a terminal, with logkit installed where blanks are in the name.
type prompt struct {
	*screen
	shell string
	home  string
	rows  int
}

func newPrompt(t *testing.T, shell, broker string) *prompt {
	t.Helper()
	which := slices.IndexFunc(shells, func(s struct{ name, command, file, rc string }) bool { return s.name == shell })
	program, _, _ := strings.Cut(shells[which].command, " ")
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIPPED: %s is not installed: nothing is completed in it (testdata/debian/install)", program)
	}
	if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); err != nil && shell == "bash-completion" {
		t.Skip("SKIPPED: bash-completion is not installed: nothing is completed with it (testdata/debian/install)")
	}
	home := t.TempDir()
	prefix := install(t, t.TempDir(), "/log kit")
	for name, text := range map[string]string{
		shells[which].file: strings.ReplaceAll(shells[which].rc, "PREFIX", `"`+prefix+`"`), "work/log-file": "", "work/log dir/x": "", "work/other": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Nothing of the user's own is read.
	command := fmt.Sprintf("unset XDG_DATA_HOME XDG_CONFIG_HOME ZDOTDIR ENV; export HOME='%s' XDG_DATA_DIRS='%s/share:/usr/share'; cd ~/work; %s",
		home, prefix, shells[which].command)
	p := &prompt{screen: newScreen(t, 200, home, broker, command), shell: program, home: home}
	p.until(">")
	return p
}

// press types a line, with keys of tmux in <> and those two as «», and returns what is in the line then.
func (p *prompt) press(keys string) string {
	p.t.Helper()
	for keys != "" {
		text, rest, _ := strings.Cut(keys, "<")
		if text != "" {
			p.tmux("send-keys", "-l", "--", strings.NewReplacer("«", "<", "»", ">").Replace(text))
		}
		key, after, ok := strings.Cut(rest, ">")
		if !ok {
			break
		}
		p.tmux("send-keys", key)
		keys = after
	}
	// What is typed next is shown when all before it has been dealt with.
	p.rows++
	mark := fmt.Sprintf("#%d#", p.rows)
	p.tmux("send-keys", "-l", mark)
	for _, line := range p.until(mark) {
		if text, ok := strings.CutPrefix(line, "> "); ok && strings.Contains(line, mark) {
			p.tmux("send-keys", "C-e")
			p.tmux("send-keys", "C-u")
			return strings.Replace(text, mark, "|", 1)
		}
	}
	p.t.Fatalf("there is no prompt any more before %q:\n%s", mark, p.tmux("capture-pane", "-p"))
	return ""
}

// expect presses until the line becomes what is wanted: a broker that is slow to answer is not waited for.
func (p *prompt) expect(keys, want string) {
	p.t.Helper()
	var got string
	for range 5 {
		if got = p.press(keys); got == want {
			return
		}
	}
	p.t.Errorf("%s: %s\ngot  %q\nwant %q", p.shell, keys, got, want)
}

// TestCompletion presses Tab in real shells, in which logkit is installed, beside a live broker.
func TestCompletion(t *testing.T) {
	v := &mortal{t: t, dir: t.TempDir(), listen: "127.0.0.1:0"}
	broker := v.start()
	t.Cleanup(v.stop)
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	run := func(line string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "LOGKIT_BROKERS="+broker)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	run("for t in clicks views_by.day-1 views_by.day-2; do echo x | logcat $t; done; echo x | logcat --header a=b log-x")
	run("for g in mailer app:eu/1 'two words' '$(touch evaluated)' -b; do logtail -g \"$g\" clicks >/dev/null; done")
	for _, shell := range shells {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			p := newPrompt(t, shell.name, broker)
			for _, row := range completionRows {
				if want := row.wanted(p.shell); want != "" {
					p.expect(row.keys, want)
				}
			}
			if text := p.tmux("capture-pane", "-p", "-S", "-"); strings.Contains(text, "evaluated") {
				t.Errorf("a name of evil is offered:\n%s", text)
			}
			if found, _ := filepath.Glob(filepath.Join(p.home, "*", "evaluated")); found != nil {
				t.Error("the name of a group was evaluated")
			}
		})
	}
	for _, shell := range shells {
		t.Run(shell.name+" elsewhere", func(t *testing.T) {
			t.Parallel()
			testCompletionElsewhere(t, shell.name, broker)
		})
	}
}

// testCompletionElsewhere: the broker is not where the environment says. It is asked where the line says, and one that
// is not there, or does not answer, is no reason to print anything.
func testCompletionElsewhere(t *testing.T, shell, broker string) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p := newPrompt(t, shell, "127.0.0.1:1")
	for _, option := range []string{"-b " + broker, "-b" + broker, "--broker " + broker, "--broker=" + broker, "-vb " + broker, "-b 127.0.0.1:1 -b " + broker} {
		if option[1] == 'v' {
			p.expect("logcat "+option+" cli<Tab>", "logcat "+option+" clicks |")
			continue
		}
		p.expect("logtail "+option+" cli<Tab>", "logtail "+option+" clicks |")
		p.expect("logtopic "+option+" describe cli<Tab>", "logtopic "+option+" describe clicks |")
	}
	p.expect("logrebalance status -b "+broker+" mai<Tab>", "logrebalance status -b "+broker+" mailer |")
	p.expect("logtail -b "+broker+" -g mai<Tab>", "logtail -b "+broker+" -g mailer |")
	p.tmux("send-keys", "C-l")
	for _, option := range []string{"", "-b " + silent.Addr().String() + " ", "-b nonsense: "} {
		for _, line := range []string{"logtail " + option + "cli", "logtail " + option + "-g mai", "logrebalance " + option + "status mai"} {
			if got := p.press(line + "<Tab>"); got != line+"|" {
				t.Errorf("%s: got %q", line, got)
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(p.tmux("capture-pane", "-p")), "\n") {
		if line != "" && line[0] != '>' {
			t.Errorf("printed on the terminal: %q", line)
		}
	}
}

// completionRow is what is typed, and what the line is then, with | where the cursor stands. A want that begins with the
// name of a shell and a colon counts for that one only; - means that nothing is expected there.
type completionRow struct {
	keys  string
	wants []string
}

func (r completionRow) wanted(shell string) (want string) {
	for _, w := range r.wants {
		name, text, _ := strings.Cut(w, ":")
		switch {
		case name == shell:
			return strings.TrimPrefix(text, "-")
		case !slices.Contains([]string{"bash", "zsh", "fish"}, name):
			want = w
		}
	}
	return want
}

var completionRows = []completionRow{
	// Options, and values of them that are words.
	{"logcat --compr<Tab>", []string{"logcat --compress |", "zsh:logcat --compress=|"}},
	{"logcat --compress g<Tab>", []string{"logcat --compress gzip |"}},
	{"logcat --compress=g<Tab>", []string{"logcat --compress=gzip |"}},
	{"logcat -z ls<Tab>", []string{"logcat -z ls|"}},
	{"logcat -z <C-x>*", []string{"logcat -z none gzip snappy lz4 zstd |", "bash:logcat -z gzip lz4 none snappy zstd |", "zsh:logcat -z gzip lz4 none snappy zstd |", "fish:logcat -z gzip lz4 none snappy zstd|"}},
	{"logcat -zg<Tab>", []string{"logcat -zgzip |"}},
	{"logcat -wz sn<Tab>", []string{"logcat -wz snappy |"}},
	{"logcat -wzsn<Tab>", []string{"logcat -wzsnappy |"}},
	{"logcat -a al<Tab>", []string{"logcat -a all |"}},
	{"logtail --from ea<Tab>", []string{"logtail --from earliest |"}},
	{"logtail -o la<Tab>", []string{"logtail -o latest |"}},
	{"logtail --until=la<Tab>", []string{"logtail --until=latest |"}},
	{"logtail --strategy st<Tab>", []string{"logtail --strategy sticky |"}},
	{"logrebalance plan --strategy=st<Tab>", []string{"logrebalance plan --strategy=sticky |"}},
	{"logd --log-level w<Tab>", []string{"logd --log-level warn |"}},
	{"logd --auto-create=f<Tab>", []string{"logd --auto-create=false |"}},
	{"logtail -n v<Tab>", []string{"logtail -n v|"}},

	// Commands, and options of them.
	{"logtopic des<Tab>", []string{"logtopic describe |"}},
	{"logtopic -v des<Tab>", []string{"logtopic -v describe |"}},
	{"logtopic alter --uns<Tab>", []string{"logtopic alter --unset |", "zsh:logtopic alter --unset=|"}},
	{"logtopic describe --uns<Tab>", []string{"logtopic describe --uns|"}},
	{"logtopic describe alte<Tab>", []string{"logtopic describe alte|"}},
	{"logrebalance rese<Tab>", []string{"logrebalance reset |"}},
	{"logrebalance reset --exe<Tab>", []string{"logrebalance reset --execute |"}},

	// Settings of topics.
	{"logtopic create t --config retention.m<Tab>", []string{"logtopic create t --config retention.ms=|"}},
	{"logtopic create t --config=max<Tab>", []string{"logtopic create t --config=max.message.bytes=|"}},
	{"logtopic alter clicks --unset segment.m<Tab>", []string{"logtopic alter clicks --unset segment.ms |"}},
	{"logtopic alter clicks --unset=flush.me<Tab>", []string{"logtopic alter clicks --unset=flush.messages |"}},

	// Topics, and where there are none.
	{"logtail cli<Tab>", []string{"logtail clicks |"}},
	{"logtail -f clicks vi<Tab>", []string{"logtail -f clicks views_by.day-|"}},
	{"logtail vi<C-x>*", []string{"logtail views_by.day-1 views_by.day-2 |", "fish:logtail views_by.day-1 views_by.day-2|"}},
	{"logtail -fn 5 cli<Tab>", []string{"logtail -fn 5 clicks |"}},
	{"logtail -o @10 cli<Tab>", []string{"logtail -o @10 clicks |"}},
	{"logtail --format '%k: %s' cli<Tab>", []string{"logtail --format '%k: %s' clicks |"}},
	{"logtail -K : cli<Tab>", []string{"logtail -K : clicks |"}},
	{"logtail -K = cli<Tab>", []string{"logtail -K = clicks |"}},
	{"logtail -- cli<Tab>", []string{"logtail -- clicks |"}},
	{"logtail -- --foll<Tab>", []string{"logtail -- --foll|"}},
	{"logtail 'cli<Tab>", []string{"logtail 'clicks' |"}},
	{"logtail cli -f<Left><Left><Left><Tab>", []string{"logtail clicks | -f", "bash:logtail clicks| -f", "fish:logtail clicks |-f"}},
	{"logtail clX<Left><Tab>", []string{"bash:logtail clicks|X", "zsh:-", "fish:-"}},
	{"logtopic describe clicks views_by.day-1<Tab>", []string{"logtopic describe clicks views_by.day-1 |"}},
	{"logtopic delete cli<Tab>", []string{"logtopic delete clicks |"}},
	{"logtopic delete clicks vi<Tab>", []string{"logtopic delete clicks vi|"}},
	{"logtopic create cli<Tab>", []string{"logtopic create cli|"}},
	{"logrebalance reset mailer --topic cli<Tab>", []string{"logrebalance reset mailer --topic clicks |"}},
	{"logrebalance reset mailer --topic=cli<Tab>", []string{"logrebalance reset mailer --topic=clicks |"}},
	{"echo y; logtail cli<Tab>", []string{"echo y; logtail clicks |"}},
	{"logtail clicks | logcat vi<Tab>", []string{"logtail clicks | logcat views_by.day-|"}},

	// Groups.
	{"logtail -g mai<Tab>", []string{"logtail -g mailer |"}},
	{"logtail --group=mai<Tab>", []string{"logtail --group=mailer |"}},
	{"logtail -gmai<Tab>", []string{"logtail -gmailer |"}},
	{"logrebalance status ap<Tab>", []string{"logrebalance status app:eu/1 |", `zsh:logrebalance status app:eu/1 |`}},
	{"logrebalance status app:e<Tab>", []string{"logrebalance status app:eu/1 |"}},
	{"logrebalance status two<Tab>", []string{"logrebalance status two|"}},
	{"logrebalance status <C-x>*", []string{"logrebalance status app:eu/1 mailer |", "fish:logrebalance status app:eu/1 mailer|"}},

	// Files.
	{"logcat clicks log-<Tab>", []string{"logcat clicks log-file |"}},
	{"logcat clicks log\\ <Tab>", []string{"logcat clicks log\\ dir/|"}},
	{"logcat clicks ~/work/oth<Tab>", []string{"logcat clicks ~/work/other |"}},
	{"logcat clicks « log-<Tab>", []string{"logcat clicks < log-file |"}},
	{"logcat clicks 2»log-<Tab>", []string{"logcat clicks 2>log-file |"}},
	{"logcat log-<Tab>", []string{"logcat log-x |"}},
	{"logcat --progress log-<Tab>", []string{"logcat --progress log-file |"}},
	{"logcat --progress=log-<Tab>", []string{"logcat --progress=log-file |"}},
	{"logtail --cursor oth<Tab>", []string{"logtail --cursor other |"}},
	{"logsegdump -r oth<Tab>", []string{"logsegdump -r other |"}},
	{"logd --data-dir lo<Tab>", []string{"logd --data-dir log\\ dir/|"}},
	{"logrebalance import mailer oth<Tab>", []string{"logrebalance import mailer other |"}},
	{"logrebalance import mai<Tab>", []string{"logrebalance import mailer |"}},
}

// What completions ask with does not wait for a broker or a ZooKeeper that refuses a connection, and for one that says
// nothing no longer than it is told.
func TestOnce(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, line := range []string{
		"logtopic list --timeout 1h -b 127.0.0.1:1",
		"logtopic list --timeout 1h -b 127.0.0.1:1,127.0.0.1:2",
		"logrebalance list --timeout 1h -b 127.0.0.1:1",
		"logrebalance list --timeout 1h --zookeeper 127.0.0.1:1",
		"logrebalance list --timeout 1h --zookeeper 127.0.0.1:1,127.0.0.1:2",
		"logtopic list --timeout 50ms -b " + silent.Addr().String(),
		"logrebalance list --timeout 50ms -b " + silent.Addr().String(),
		"logrebalance list --timeout 50ms --zookeeper " + silent.Addr().String(),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		words := strings.Fields(line)
		cmd := exec.CommandContext(ctx, filepath.Join(tools, words[0]), append(words[1:], "--quiet", "--once")...)
		out, err := cmd.Output()
		if ctx.Err() != nil || err == nil || cmd.ProcessState.ExitCode() != 75 || len(out) > 0 {
			t.Errorf("%s: %v, printed %q", line, err, out)
		}
		cancel()
	}
}
