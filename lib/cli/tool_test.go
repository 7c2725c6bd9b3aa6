package cli

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"
)

// sample is a tool with one flag of each kind.
type sample struct {
	follow, verbose bool
	lines           Lines
	offset          Offset
	brokers         []string
	partitions      []int32
	headers         []string
	compress, group string
	autoCreate      Bool
	size            Size
	file            string
	args            []string
	run             func(ctx context.Context, env *Env) error
}

func (s *sample) tool() *Tool {
	s.lines = Lines{N: 10}
	s.compress = "none"
	s.autoCreate = true
	return &Tool{
		Name: "sample", Usage: "show what was understood", Synopsis: []string{"[OPTION]... TOPIC..."},
		Operands: []Operand{TopicOperand, FileOperand},
		Flags: []ucli.Flag{
			BrokerFlag(&s.brokers),
			VerboseFlag(&s.verbose),
			&ucli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Destination: &s.follow, Usage: "go on"},
			&ucli.GenericFlag{Name: "lines", Aliases: []string{"n"}, Value: &s.lines, Usage: "the last `N` messages"},
			&ucli.GenericFlag{Name: "offset", Aliases: []string{"o"}, Value: &s.offset, Usage: "start at `OFFSET`"},
			&ucli.GenericFlag{Name: "partition", Aliases: []string{"p"}, Value: Partitions(&s.partitions), Usage: "partition `N`; repeatable"},
			&ucli.GenericFlag{Name: "header", Aliases: []string{"H"}, Value: Strings(&s.headers), Usage: "header `NAME=VALUE`"},
			&ucli.GenericFlag{Name: "compress", Aliases: []string{"z"}, Value: Enum(&s.compress, "none", "gzip", "zstd"), Usage: "codec"},
			&ucli.GenericFlag{Name: "auto-create", Value: &s.autoCreate, Usage: "create topics"},
			&ucli.GenericFlag{Name: "batch-bytes", Value: &s.size, Usage: "largest batch"},
			&ucli.StringFlag{Name: "group", Aliases: []string{"g"}, Destination: &s.group, EnvVars: []string{"SAMPLE_GROUP"}, Usage: "member of group `G`"},
			&ucli.PathFlag{Name: "cursor", Destination: &s.file, Usage: "keep the position in `FILE`"},
		},
		MinArgs: 1, MaxArgs: -1,
		Run: func(ctx context.Context, env *Env, args []string) error {
			s.args = args
			if s.run != nil {
				return s.run(ctx, env)
			}
			return nil
		},
	}
}

type result struct {
	code           int
	stdout, stderr string
}

func execute(t *Tool, env map[string]string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := t.Execute(context.Background(), args, Stdio{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] },
	})
	return result{code, stdout.String(), stderr.String()}
}

func TestArguments(t *testing.T) {
	rows := []struct{ args, want string }{
		{"t", "lines=10 args=[t]"},
		{"t -n 5", "lines=5 args=[t]"},
		{"t -n5 u", "lines=5 args=[t u]"},
		{"t -fn5", "follow lines=5 args=[t]"},
		{"t -fn 5", "follow lines=5 args=[t]"},
		{"t -vf", "verbose follow lines=10 args=[t]"},
		{"--lines=5 t", "lines=5 args=[t]"},
		{"t --lines 5", "lines=5 args=[t]"},
		{"t -n +5", "lines=+5 args=[t]"},
		{"t -n -5", "lines=5 args=[t]"},
		{"t -n 010", "lines=10 args=[t]"},
		{"t -o -3d", "lines=10 offset=-72h args=[t]"},
		{"t -- -n 5", "lines=10 args=[t -n 5]"},
		{"-- t --", "lines=10 args=[t --]"},
		{"-", "lines=10 args=[-]"},
		{"help", "lines=10 args=[help]"},
		{"h", "lines=10 args=[h]"},
		{"broker -b x", "lines=10 brokers=x:9092 args=[broker]"},
		{"t -p 1 --partition 2 -p3", "lines=10 partitions=[1 2 3] args=[t]"},
		{"t -H a=b,c --header d=", "lines=10 headers=[a=b,c d=] args=[t]"},
		{"t -n 1 --lines 2", "lines=2 args=[t]"},
		{"t --follow=false", "lines=10 args=[t]"},
		{"t --auto-create false", "lines=10 no-create args=[t]"},
		{"t -g -- -- x", "lines=10 group=-- args=[t x]"},
		{"t --batch-bytes 1k", "lines=10 size=1024 args=[t]"},
	}
	for _, row := range rows {
		t.Run(row.args, func(t *testing.T) {
			t.Parallel()
			s := &sample{}
			got := execute(s.tool(), nil, strings.Fields(row.args)...)
			if got.code != ExitOK || got.stdout+got.stderr != "" {
				t.Fatalf("status %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
			}
			if got := s.String(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func (s *sample) String() string {
	var b strings.Builder
	put := func(show bool, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, format+" ", args...)
		}
	}
	put(s.verbose, "verbose")
	put(s.follow, "follow")
	put(true, "lines=%s", &s.lines)
	put(s.offset.IsSet(), "offset=%s", &s.offset)
	put(strings.Join(s.brokers, ",") != "127.0.0.1:9092", "brokers=%s", strings.Join(s.brokers, ","))
	put(s.partitions != nil, "partitions=%v", s.partitions)
	put(s.headers != nil, "headers=%v", s.headers)
	put(s.compress != "none", "compress=%s", s.compress)
	put(!bool(s.autoCreate), "no-create")
	put(s.size != 0, "size=%d", s.size)
	put(s.group != "", "group=%s", s.group)
	put(s.file != "", "cursor=%s", s.file)
	fmt.Fprintf(&b, "args=%v", s.args)
	return b.String()
}

// Streams and statuses of help and version, which urfave would have looked up as a topic (STYLE 4.2: 7, 8).
func TestHelpAndVersion(t *testing.T) {
	for _, args := range []string{"--help", "-h", "t --help", "--help t", "-fh", "-n 5 --help --unknown", "--help help"} {
		got := execute((&sample{}).tool(), nil, strings.Fields(args)...)
		if got.code != ExitOK || got.stderr != "" || !strings.HasPrefix(got.stdout, "Usage: sample [OPTION]... TOPIC...\n") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	for _, args := range []string{"--version", "t --version --unknown"} {
		got := execute((&sample{}).tool(), nil, strings.Fields(args)...)
		want := fmt.Sprintf("sample dev (%s)\n", runtime.Version())
		if got != (result{stdout: want}) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := execute((&sample{}).tool(), nil, "--unknown", "--help"); got.code != ExitUsage || got.stdout != "" {
		t.Errorf("an error before --help: %+v", got)
	}
}

func TestHelp(t *testing.T) {
	tool := (&sample{}).tool()
	tool.Description = "First paragraph.\n\nSecond paragraph."
	tool.Exits = Exits(ExitOK, ExitDamaged)
	const want = `Usage: sample [OPTION]... TOPIC...
show what was understood

Options:
  -b, --broker HOST:PORT  a broker to ask first; repeatable, commas between
                          several (default 127.0.0.1:9092) [LOGKIT_BROKERS]
  -v, --verbose           say more on stderr
  -f, --follow            go on
  -n, --lines N           the last N messages (default 10)
  -o, --offset OFFSET     start at OFFSET
  -p, --partition N       partition N; repeatable
  -H, --header NAME=VALUE
                          header NAME=VALUE
  -z, --compress NAME     codec: none, gzip, zstd (default none)
      --auto-create BOOL  create topics (default true)
      --batch-bytes SIZE  largest batch
  -g, --group G           member of group G [SAMPLE_GROUP]
      --cursor FILE       keep the position in FILE
  -h, --help              show this help and exit
      --version           show the version and exit

First paragraph.

Second paragraph.

Exit status:
  0    done
  65   damaged data was found
`
	if diff := cmp.Diff(want, execute(tool, nil, "--help").stdout); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	rows := []struct {
		name string
		env  map[string]string
		args string
		want string
	}{
		{"variables", map[string]string{"LOGKIT_BROKERS": "a,b:1", "SAMPLE_GROUP": "g"}, "t", "lines=10 brokers=a:9092,b:1 group=g args=[t]"},
		{"flags replace them", map[string]string{"LOGKIT_BROKERS": "a,b:1", "SAMPLE_GROUP": "g"}, "t -b c -b d -g h", "lines=10 brokers=c:9092,d:9092 group=h args=[t]"},
		{"empty is unset", map[string]string{"LOGKIT_BROKERS": "", "SAMPLE_GROUP": ""}, "t", "lines=10 args=[t]"},
		{"a flag may be empty", map[string]string{"SAMPLE_GROUP": "g"}, "t --group=", "lines=10 args=[t]"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := &sample{}
			if got := execute(s.tool(), row.env, strings.Fields(row.args)...); got != (result{}) {
				t.Fatalf("%+v", got)
			}
			if got := s.String(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	got := execute((&sample{}).tool(), map[string]string{"LOGKIT_BROKERS": "a:b:c"}, "t")
	want := result{code: ExitUsage, stderr: "sample: LOGKIT_BROKERS \"a:b:c\": not an address: allowed is HOST:PORT, with an IPv6 address in brackets\n" +
		"sample: hint: try 'sample --help'\n"}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// commands is a tool with two commands that show what they were given.
func commands(got *string) *Tool {
	var brokers []string
	var execute bool
	partitions := int32(1)
	run := func(name string) func(context.Context, *Env, []string) error {
		return func(_ context.Context, _ *Env, args []string) error {
			*got = fmt.Sprint(name, " ", brokers, " ", partitions, " ", execute, " ", args)
			return nil
		}
	}
	return &Tool{
		Name: "topic", Usage: "topics", Synopsis: []string{"COMMAND [OPTION]... [TOPIC]..."}, Flags: []ucli.Flag{BrokerFlag(&brokers)},
		Commands: []*Tool{
			{Name: "create", Usage: "create TOPIC", Synopsis: []string{"[OPTION]... TOPIC"}, MinArgs: 1, MaxArgs: 1, Run: run("create"), Flags: []ucli.Flag{
				&ucli.GenericFlag{Name: "partitions", Value: Number(&partitions, 1, 10), Usage: "how many"}}},
			{Name: "delete", Usage: "delete TOPIC", MinArgs: 1, MaxArgs: -1, Run: run("delete"), Flags: []ucli.Flag{
				&ucli.BoolFlag{Name: "execute", Destination: &execute, Usage: "do it"}},
				Exits: append([]Exit{{Code: 3, Meaning: "it was not there"}}, Exits(ExitOK)...)},
		},
	}
}

func TestCommands(t *testing.T) {
	rows := []struct {
		args string
		code int
		want string // what the command saw, or stderr
	}{
		{"create t", ExitOK, "create [127.0.0.1:9092] 1 false [t]"},
		{"-b x create t --partitions 3", ExitOK, "create [x:9092] 3 false [t]"},
		{"create --partitions=3 t -bx", ExitOK, "create [x:9092] 3 false [t]"},
		{"delete t create --execute -- --x", ExitOK, "delete [127.0.0.1:9092] 1 true [t create --x]"},
		{"", ExitUsage, "topic: command missing: allowed are create, delete\ntopic: hint: try 'topic --help'\n"},
		{"-- create", ExitUsage, "topic: unknown command \"create\": allowed are create, delete\ntopic: hint: try 'topic --help'\n"},
		{"creat t", ExitUsage, "topic: unknown command \"creat\": allowed are create, delete\ntopic: hint: try 'topic --help'\n"},
		{"--execute delete t", ExitUsage, "topic: unknown option --execute\ntopic: hint: try 'topic --help'\n"},
		{"create --execute t", ExitUsage, "topic: unknown option --execute\ntopic: hint: try 'topic create --help'\n"},
		{"create --partitions 0 t", ExitUsage, "topic: --partitions \"0\": out of range: allowed is 1 to 10, in decimal digits\ntopic: hint: try 'topic create --help'\n"},
		{"create t u", ExitUsage, "topic: operand \"u\": at most 1 taken\ntopic: hint: topic create [OPTION]... TOPIC\n"},
	}
	for _, row := range rows {
		t.Run(row.args, func(t *testing.T) {
			saw := ""
			got := execute(commands(&saw), nil, strings.Fields(row.args)...)
			if got.code != row.code || saw+got.stderr != row.want || got.stdout != "" {
				t.Errorf("got %+v and %q", got, saw)
			}
		})
	}
	saw := ""
	help := execute(commands(&saw), nil, "create", "--help").stdout
	if !strings.HasPrefix(help, "Usage: topic create [OPTION]... TOPIC\n") || !strings.Contains(help, "--partitions N") || !strings.Contains(help, "--broker") {
		t.Errorf("help of a command:\n%s", help)
	}
	help = execute(commands(&saw), nil, "--help").stdout
	if !strings.Contains(help, "Commands:\n  create ") || strings.Contains(help, "--partitions") || !strings.HasSuffix(help, "\n\nExit status of delete:\n  3    it was not there\n") {
		t.Errorf("help of the tool:\n%s", help)
	}
}

// What urfave would do in its own way is refused when the tool is written (STYLE 4.2: 5, 9, 12, 13).
func TestFlagsThatPanic(t *testing.T) {
	var b bool
	var s string
	rows := map[string][]ucli.Flag{
		"number":         {&ucli.IntFlag{Name: "x"}},
		"list":           {&ucli.StringSliceFlag{Name: "x"}},
		"required":       {&ucli.StringFlag{Name: "x", Destination: &s, Required: true}},
		"no destination": {&ucli.BoolFlag{Name: "x"}},
		"no value":       {&ucli.GenericFlag{Name: "x"}},
		"twice":          {&ucli.BoolFlag{Name: "x", Destination: &b}, &ucli.BoolFlag{Name: "y", Aliases: []string{"x"}, Destination: &b}},
		"help":           {&ucli.BoolFlag{Name: "help", Destination: &b}},
		"name":           {&ucli.BoolFlag{Name: "a=b", Destination: &b}},
	}
	for name, flags := range rows {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			(&Tool{Name: "x", Flags: flags}).Describe()
		})
	}
}

// The value of a variable a flag points at is the default, and help leaves it as it is.
func TestDefaultsAreKept(t *testing.T) {
	s, b := "default", true
	tool := &Tool{Name: "x", MaxArgs: 0, Flags: []ucli.Flag{
		&ucli.StringFlag{Name: "s", Destination: &s, Usage: "text"}, &ucli.BoolFlag{Name: "b", Destination: &b, Usage: "switch"}},
		Run: func(context.Context, *Env, []string) error { return nil }}
	if got := execute(tool, nil); got.code != ExitOK || s != "default" || !b {
		t.Errorf("%+v, s=%q, b=%v", got, s, b)
	}
}

// A line of progress is cleared in as many rows as a terminal of that width breaks it into.
func TestClearProgress(t *testing.T) {
	below := func(rows int) string { return "\r\x1b[K\x1b7" + strings.Repeat("\x1b[B\r\x1b[K", rows) + "\x1b8" }
	for _, row := range []struct {
		cells, width int
		want         string
	}{
		{0, 80, "\r\x1b[K"}, {79, 80, "\r\x1b[K"}, {79, 79, "\r\x1b[K"}, {79, 78, below(1)}, {79, 40, below(1)}, {79, 39, below(2)}, {5, 1, below(4)}, {3, 0, below(2)},
	} {
		p := printer{progress: row.cells}
		if got := p.clear(row.width); got != row.want || p.progress != 0 {
			t.Errorf("%d in %d columns: %q, want %q", row.cells, row.width, got, row.want)
		}
	}
}

// A line of progress fits, and keeps its end, and no half of a number; wide characters are two columns.
func TestNarrow(t *testing.T) {
	for _, row := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 5, "short"}, {"", 3, ""},
		{"access.log: 12345 messages read", 20, "access..essages read"}, {"abcdef", 5, "a..ef"}, {"abcdef", 2, ".."}, {"abcdef", 1, "."},
		{"many: 71935 messages, 70709 acknowledged", 30, "many: .. 70709 acknowledged"}, {"many: 71935 messages, 70709 acknowledged", 25, "many: .. acknowledged"},
		{"漢字漢字", 8, "漢字漢字"}, {"漢字漢字", 7, "..漢字"}, {"a漢字漢", 6, "a..漢"},
	} {
		got := narrow(row.text, row.columns)
		if got != row.want {
			t.Errorf("%q in %d: %q, want %q", row.text, row.columns, got, row.want)
		}
	}
}
