package clitest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"

	"logkit/lib/cli"
)

// newPlain is a tool without commands, newNested one with them.
func newPlain() *cli.Tool {
	lines, codec, delimiter := cli.Lines{N: 10}, "none", cli.Escaped("\n")
	var brokers []string
	var follow, secret bool
	var file string
	return &cli.Tool{
		Name: "plain", Usage: "it's a [tool]: plain", MinArgs: 1, MaxArgs: -1,
		Operands: []cli.Operand{cli.TopicOperand, cli.FileOperand}, Variables: []string{"NO_COLOR"},
		Flags: []ucli.Flag{
			cli.BrokerFlag(&brokers),
			&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Destination: &follow, Usage: "go on: don't [ever] stop"},
			&ucli.GenericFlag{Name: "lines", Aliases: []string{"n"}, Value: &lines, Usage: "the last `N`"},
			&ucli.GenericFlag{Name: "compress", Aliases: []string{"z"}, Value: cli.Enum(&codec, "none", "gzip", "zstd"), Usage: "codec"},
			&ucli.GenericFlag{Name: "delimiter", Aliases: []string{"d"}, Value: &delimiter, Usage: "between messages"},
			&ucli.PathFlag{Name: "cursor", Destination: &file, Usage: "keep the position in `FILE`"},
			&ucli.BoolFlag{Name: "secret", Destination: &secret, Hidden: true},
		},
		Run: func(context.Context, *cli.Env, []string) error { return nil },
	}
}

func newNested() *cli.Tool {
	var brokers []string
	var force, all bool
	mode := "a"
	run := func(context.Context, *cli.Env, []string) error { return nil }
	return &cli.Tool{
		Name: "nested", Usage: "a tool with commands", Flags: []ucli.Flag{cli.BrokerFlag(&brokers)},
		Exits: cli.Exits(cli.ExitOK, cli.ExitFailed, cli.ExitUsage),
		Commands: []*cli.Tool{
			{Name: "delete", Usage: "delete a topic", Operands: []cli.Operand{cli.TopicOperand}, MinArgs: 1, MaxArgs: 1, Run: run,
				Flags: []ucli.Flag{&ucli.BoolFlag{Name: "execute", Destination: &force, Usage: "do it"},
					&ucli.GenericFlag{Name: "mode", Value: cli.Enum(&mode, "a", "b"), Usage: "how"}}},
			{Name: "list", Usage: "list topics", Run: run, Flags: []ucli.Flag{&ucli.BoolFlag{Name: "all", Destination: &all, Usage: "all"}}},
		},
	}
}

const plainPage = `.Dd January 1, 2024
.Dt PLAIN 1
.Os
.Sh NAME
.Nm plain
.Nd a plain tool
.Sh SYNOPSIS
.Nm
.Op Ar option ...
.Ar topic ...
.Sh DESCRIPTION
Text.
.Sh OPTIONS
.Bl -tag -width Ds
.It Fl b Ar HOST:PORT , Fl -broker Ar HOST:PORT
A broker
.Pq default 127.0.0.1:9092 .
.It Fl f , Fl -follow
Go on.
.It Fl n Ar N , Fl -lines Ar N
The last
.Ar N
(default 10).
.It Fl z Ar NAME , Fl -compress Ar NAME
Codec
.Pq default Cm none .
.It Fl d Ar STRING , Fl -delimiter Ar STRING
Between messages
.Pq default \en .
.It Fl -cursor Ar FILE
Keep the position in
.Ar FILE .
.It Fl h , Fl -help
Help.
.It Fl -version
Version.
.El
.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev LOGKIT_BROKERS
As
.Fl -broker .
.It Ev NO_COLOR
No colour.
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
.It 0
Done.
.It 1
Failed.
.It 64
Usage.
.It 65
Damaged.
.It 75
Unavailable.
.It 129
Hung up.
.It 130
Interrupted.
.It 143
Terminated.
.El
`

const nestedPage = `.Dd January 1, 2024
.Dt NESTED 8
.Os
.Sh NAME
.Nm nested
.Nd a tool with commands
.Sh SYNOPSIS
.Nm
.Ar command
.Sh DESCRIPTION
.Bl -tag -width Ds
.It Fl b Ar HOST:PORT , Fl -broker Ar HOST:PORT
A broker
.Pq default 127.0.0.1:9092 .
.It Fl h , Fl -help
Help.
.It Fl -version
Version.
.El
.Ss delete
.Bl -tag -width Ds
.It Fl -execute
Do it.
.It Fl -mode Ar NAME
How
.Pq default a .
.El
.Bl -tag -width Ds
.It Cm list
List.
.It Fl -all
All.
.El
.Sh ENVIRONMENT
.Bl -tag -width Ds
.It Ev LOGKIT_BROKERS
As
.Fl -broker .
.El
.Sh EXIT STATUS
.Bl -tag -width Ds
.It 0
Done.
.It 1
Failed.
.It 64
Usage.
.El
`

func TestCheckDocs(t *testing.T) {
	for page, newTool := range map[string]func() *cli.Tool{plainPage: newPlain, nestedPage: newNested} {
		tool := newTool()
		t.Run(tool.Name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, section, _ := strings.Cut(parseManual(page).title, " ")
			write("man/"+tool.Name+"."+section, page)
			write("completions/"+tool.Name+".bash", cli.Completion(newTool(), "bash"))
			write("completions/_"+tool.Name, cli.Completion(newTool(), "zsh"))
			write("completions/"+tool.Name+".fish", cli.Completion(newTool(), "fish"))
			CheckDocs(t, newTool, root)
		})
	}
}

// Each row makes one thing of a right page wrong, and says what must be told.
func TestManualProblems(t *testing.T) {
	rows := []struct{ name, old, new, want string }{
		{"flag missing", ".It Fl -cursor Ar FILE\n", ".It Ar FILE\n", "--cursor has no item"},
		{"flag too many", ".It Fl -version\n", ".It Fl -version\nVersion.\n.It Fl -secret\n", "--secret is not a flag"},
		{"short name missing", ".It Fl f , Fl -follow", ".It Fl -follow", "--follow, -f has no item"},
		{"short name wrong", ".It Fl f , Fl -follow", ".It Fl F , Fl -follow", "--follow, -f has no item"},
		{"default wrong", "(default 10)", "(default 20)", `--lines, -n: the item says default ["20"], the flag has "10"`},
		{"default missing", ".Pq default Cm none .\n", "", `--compress, -z: the item says default [], the flag has "none"`},
		{"default invented", "Go on.", "Go on (default never).", "--follow, -f: the item says default"},
		{"variable missing", ".It Ev LOGKIT_BROKERS\n", ".It Ar X\n", "variable LOGKIT_BROKERS has no item"},
		{"variable unknown", ".It Ev NO_COLOR\n", ".It Ev NO_COLOR\nX\n.It Ev LOGKIT_X\n", "LOGKIT_X is read by no flag"},
		{"extra variable missing", ".It Ev NO_COLOR\n", ".It Ar X\n", "variable NO_COLOR has no item"},
		{"exit missing", ".It 65\n", ".It Ar X\n", "65 (damaged data was found) has no item"},
		{"exit unknown", ".It 65\n", ".It 65\nX\n.It 66\n", "66 is not in the table"},
		{"name", ".Nm plain", ".Nm other", `first .Nm is "other"`},
		{"title", ".Dt PLAIN 1", ".Dt OTHER 1", `.Dt is "OTHER 1"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			page := strings.Replace(plainPage, row.old, row.new, 1)
			if page == plainPage {
				t.Fatal("the row changes nothing")
			}
			problems := strings.Join(checkManual(newPlain(), parseManual(page)), "\n")
			if !strings.Contains(problems, row.want) {
				t.Errorf("problems are\n%s\nwant %s", problems, row.want)
			}
		})
	}
	page := strings.Replace(nestedPage, ".Ss delete", ".Ss other", 1)
	if problems := strings.Join(checkManual(newNested(), parseManual(page)), "\n"); !strings.Contains(problems, "command delete has no item") {
		t.Errorf("a missing command is not told: %s", problems)
	}
}

// Readline splits at = and : as well as at blanks, and COMP_WORDS holds what it splits.
func TestBashWords(t *testing.T) {
	rows := []struct {
		line  string
		words []string
		want  []string
	}{
		{"plain --compress=g", []string{"--compress", "=", "g"}, []string{"gzip"}},
		{"plain --compress=", []string{"--compress", "="}, []string{"gzip", "none", "zstd"}},
		{"plain -fz n", []string{"-fz", "n"}, []string{"none"}},
		{"plain -b localhost:9092 --foll", []string{"-b", "localhost", ":", "9092", "--foll"}, []string{"--follow"}},
		{"plain -b localhost:9092 v", []string{"-b", "localhost", ":", "9092", "v"}, []string{"views"}},
		{"plain -d : v", []string{"-d", ":", "v"}, []string{"views"}},
		{"plain -d -- --foll", []string{"-d", "--", "--foll"}, []string{"--follow"}},
		{"plain -- --foll", []string{"--", "--foll"}, nil},
		{"plain -n v", []string{"-n", "v"}, nil},
		{"plain clicks dat", []string{"clicks", "dat"}, []string{"data.txt"}},
		{"plain --cursor dat", []string{"--cursor", "dat"}, []string{"data.txt"}},
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: bash is not installed")
	}
	s := &shellRun{t: t, shell: "bash", path: bash, tool: "plain", bin: t.TempDir()}
	s.dir = s.bin
	s.file = filepath.Join(s.bin, "plain.bash")
	for _, file := range []string{s.file, filepath.Join(s.bin, "data.txt")} {
		if err := os.WriteFile(file, []byte(cli.Completion(newPlain(), "bash")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.stub()
	for _, row := range rows {
		s.t = t
		s.expectLine(row.want, row.line, row.words...)
	}
}
