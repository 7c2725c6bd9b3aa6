package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

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
