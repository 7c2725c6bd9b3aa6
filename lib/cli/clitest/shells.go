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

// run asks a real shell what it would complete, and compares with the flags. PATH holds a logtopic that knows two topics
// and one name that must never be offered; then it holds none, and nothing may be said.
func run(t *testing.T, shell, file string, tool *cli.Tool) {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed: %s is not run", shell, file)
	}
	s := &shellRun{t: t, shell: shell, path: path, file: file, tool: tool.Name, bin: t.TempDir()}
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
	if len(tool.Operands) > 0 && tool.Operands[0] == cli.TopicOperand {
		s.stub()
		s.expect([]string{"clicks", "views"}, "")
		if err := os.Remove(filepath.Join(s.bin, "logtopic")); err != nil {
			t.Fatal(err)
		}
		s.expect(nil, "")
	}
}

type shellRun struct {
	t                       *testing.T
	shell, path, file, tool string
	bin                     string // PATH of the shell
}

func (s *shellRun) stub() {
	const script = "#!/bin/sh\n" + `printf '%s\n' clicks views '$(>evaluated)' ''` + "\n"
	if err := os.WriteFile(filepath.Join(s.bin, "logtopic"), []byte(script), 0o755); err != nil {
		s.t.Fatal(err)
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
	args := map[string][]string{
		"bash": {"--norc", "--noprofile", "-c"}, "zsh": {"-f", "-c"}, "fish": {"--no-config", "-c"},
	}[s.shell]
	cmd := exec.Command(s.path, append(args, script)...)
	cmd.Dir = s.bin
	cmd.Env = []string{"PATH=" + s.bin, "HOME=" + s.bin, "LC_ALL=C"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		s.t.Fatalf("%s, completing %q: %v\n%s", s.shell, words, err, stderr.String())
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		got = append(got, word)
	}
	slices.Sort(got)
	slices.Sort(want)
	got = slices.Compact(got) // zsh shows the options of the tool once more with those of a command
	if !slices.Equal(got, want) {
		s.t.Errorf("%s, completing %q:\ngot  %q\nwant %q", s.shell, words, got, want)
	}
	if _, err := os.Stat(filepath.Join(s.bin, "evaluated")); err == nil {
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
	return fmt.Sprintf("source %s; COMP_WORDS=(%s); COMP_CWORD=%d; COMP_LINE=%s; _%s; ((${#COMPREPLY[@]} == 0)) || printf '%%s\\n' \"${COMPREPLY[@]}\"",
		s.absolute(), strings.Join(quoted, " "), len(words), quote(line), s.tool)
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
    [[ $* != *'->operands'* ]]
}
`
	if len(words) == 1 && words[0] == "" {
		return ":"
	}
	return fmt.Sprintf("%swords=(%s); () { source %s }", show, strings.Join(words, " "), s.absolute())
}

func (s *shellRun) fish(line string, _ []string) string {
	return fmt.Sprintf("source %s; complete -C %s", s.absolute(), quote(line))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
