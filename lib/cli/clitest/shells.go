package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logkit/lib/cli"
)

// run asks a real shell what it would complete, and compares with the flags. PATH holds a logtopic and a logrebalance
// that know some names, and some that must never be offered; then it holds none, and nothing may be said.
func run(t *testing.T, shell, file string, tool *cli.Tool) {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed: %s is not run", shell, file)
	}
	s := &shellRun{t: t, shell: shell, path: path, file: file, tool: tool.Name, bin: t.TempDir(), dir: t.TempDir()}
	docs := tool.Describe()
	for _, doc := range docs {
		flags := docs[0].Flags
		var line []string
		if doc.Name != "" {
			flags = append(slices.Clone(flags), doc.Flags...)
			line = []string{doc.Name}
		}
		var names []string
		for _, f := range flags {
			for _, name := range f.Names {
				if len(name) > 1 {
					names = append(names, "--"+name)
				}
			}
		}
		s.expect(names, append(slices.Clone(line), "--")...)
		for _, f := range flags {
			if len(f.Names[0]) > 1 && len(f.Choices) > 0 {
				s.expect(f.Choices, append(slices.Clone(line), "--"+f.Names[0], "")...)
			}
		}
	}
	if len(docs) > 1 {
		var commands []string
		for _, doc := range docs[1:] {
			commands = append(commands, doc.Name)
		}
		s.expect(commands, "")
	}
	s.stub()
	s.names(tool, []string{"clicks", "views"}, []string{"mailer"})
	for _, program := range []string{"logtopic", "logrebalance"} {
		if err := os.Remove(filepath.Join(s.bin, program)); err != nil {
			t.Fatal(err)
		}
	}
	s.names(tool, nil, nil)
}

// names completes operands and values that are names of topics or groups, of which these are all.
func (s *shellRun) names(tool *cli.Tool, topics, groups []string) {
	s.t.Helper()
	if s.shell == "zsh" {
		s.zshNames("topics", topics)
		s.zshNames("groups", groups)
		return
	}
	names := map[cli.Operand][]string{cli.TopicOperand: topics, cli.GroupOperand: groups}
	for _, c := range append([]*cli.Tool{tool}, tool.Commands...) {
		var line []string
		if c != tool {
			line = []string{c.Name}
		}
		if len(c.Operands) > 0 && (c.Operands[0] == cli.TopicOperand || c.Operands[0] == cli.GroupOperand) {
			s.expect(names[c.Operands[0]], append(line, "")...)
		}
	}
	for _, doc := range tool.Describe() {
		var line []string
		if doc.Name != "" {
			line = []string{doc.Name}
		}
		for _, f := range doc.Flags {
			option := append(slices.Clone(line), "--"+f.Names[0], "")
			switch {
			case strings.HasPrefix(f.Placeholder, "TOPIC"):
				s.expect(topics, option...)
			case f.Placeholder == "GROUP", f.Placeholder == "G":
				s.expect(groups, option...)
			}
		}
	}
}

type shellRun struct {
	t                       *testing.T
	shell, path, file, tool string
	bin                     string // PATH of the shell
	dir                     string // where it works
}

// stub makes a logtopic and a logrebalance, which know names that may be offered and some that may not.
func (s *shellRun) stub() {
	for program, names := range map[string]string{"logtopic": "clicks views", "logrebalance": "mailer"} {
		script := "#!/bin/sh\nprintf '%s\\n' " + names + " '$(>evaluated)' 'a b' ''\n"
		if err := os.WriteFile(filepath.Join(s.bin, program), []byte(script), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

// expect completes the last of words, which may be empty.
func (s *shellRun) expect(want []string, words ...string) {
	s.t.Helper()
	s.expectLine(want, s.tool+" "+strings.Join(words, " "), words...)
}

// expectLine is expect where the words are not what the line has between its blanks.
func (s *shellRun) expectLine(want []string, line string, words ...string) {
	s.t.Helper()
	want = slices.Clone(want)
	script := map[string]func(string, []string) string{"bash": s.bash, "zsh": s.zsh, "fish": s.fish}[s.shell](line, words)
	if s.shell == "zsh" && len(want) > 0 && !strings.HasPrefix(want[0], "--") {
		return // only the specifications of options are looked at: see zsh
	}
	s.compare(want, fmt.Sprintf("completing %q", words), script)
}

// compare runs a script in the shell, which prints what it completes.
func (s *shellRun) compare(want []string, what, script string) {
	s.t.Helper()
	args := map[string][]string{
		"bash": {"--norc", "--noprofile", "-c"}, "zsh": {"-f", "-c"}, "fish": {"--no-config", "-c"},
	}[s.shell]
	cmd := exec.Command(s.path, append(args, script)...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + s.bin, "HOME=" + s.bin, "LC_ALL=C"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		s.t.Fatalf("%s, %s: %v\n%s", s.shell, what, err, stderr.String())
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		got = append(got, word)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Errorf("%s, %s:\ngot  %q\nwant %q", s.shell, what, got, want)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "evaluated")); err == nil {
		s.t.Fatalf("%s: the name of a topic was evaluated", s.shell)
	}
}

func (s *shellRun) absolute() string {
	file, err := filepath.Abs(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	return quote(file)
}

func (s *shellRun) bash(line string, words []string) string {
	var quoted []string
	for _, word := range append([]string{s.tool}, words...) {
		quoted = append(quoted, quote(word))
	}
	last := words[len(words)-1]
	if last == "=" || last == ":" {
		last = "" // readline puts the answer behind it
	}
	// Without readline there is no compopt, and nobody who completes files.
	const compopt = `compopt() { [[ $2 != default ]] || mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }`
	return fmt.Sprintf("%s; source %s; COMP_WORDS=(%s); COMP_CWORD=%d; COMP_LINE=%s; COMP_POINT=${#COMP_LINE}; _%s %s %s; "+
		"((${#COMPREPLY[@]} == 0)) || printf '%%s\\n' \"${COMPREPLY[@]}\"",
		compopt, s.absolute(), strings.Join(quoted, " "), len(words), quote(line), s.tool, s.tool, quote(last))
}

// zsh has no completions outside its line editor: _arguments is replaced by a function that shows the options it is given.
func (s *shellRun) zsh(_ string, words []string) string {
	const show = `
_arguments() {
    local spec
    for spec; do
        spec=${spec#\(*\)}; spec=${spec#\*}
        [[ $spec == --* ]] || continue
        print -r -- ${${spec%%[\[]*}%=}
    done
}
`
	if len(words) == 1 && words[0] == "" {
		return ":"
	}
	return fmt.Sprintf("%swords=(%s %s); CURRENT=$#words; () { source %s }", show, s.tool, strings.Join(words, " "), s.absolute())
}

// zshNames calls the function for a kind of names, if there is one, where compadd would take what it offers.
func (s *shellRun) zshNames(kind string, want []string) {
	s.t.Helper()
	function := "_" + s.tool + "_" + kind
	text, err := os.ReadFile(s.file)
	if err != nil || !strings.Contains(string(text), function+"()") {
		return
	}
	script := fmt.Sprintf(`_arguments() { : }; compadd() { (($#names)) && print -rl -- "$names[@]"; return 0 }; all=(%s); () { source %s }; %s`,
		s.tool, s.absolute(), function)
	s.compare(slices.Clone(want), kind, script)
}

func (s *shellRun) fish(line string, _ []string) string {
	return fmt.Sprintf("source %s; complete -C %s", s.absolute(), quote(line))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
