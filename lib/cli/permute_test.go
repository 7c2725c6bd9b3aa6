package cli

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// parsed gives the arguments in the form that urfave sees.
func parsed(args []string) (canonical, operands []string, err error) {
	c, err := (&sample{}).tool().parse(args)
	for _, s := range c.settings {
		canonical = append(canonical, "--"+s.name()+"="+s.value)
	}
	return canonical, c.operands, err
}

// FuzzArgs takes arguments with NUL between them. For any arguments
//
//   - parsing does not panic
//   - the operands are arguments, in their order, and none that follows -- is missing
//   - the canonical form means the same as what it was made of
//   - urfave hands the run the same operands
//   - an error is a usage error
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{
		"", "t", "-n\x005\x00t", "t\x00-fn5", "--lines=5\x00--\x00-x", "-", "--", "-\x00--\x00--", "--lines", "-n", "-fvn", "--=", "-=",
		"--follow=maybe", "-\xff", "--\xff=\xfe", "-fx", "-5", "--help", "-hf", "t\x00--version", strings.Repeat("-f\x00", 100), "-" + strings.Repeat("f", 1000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		canonical, operands, err := parsed(args)
		if errors.Is(err, errHelp) || errors.Is(err, errVersion) {
			return
		}
		if err != nil {
			if codeOf(err) != ExitUsage {
				t.Fatalf("%q: %v has status %d", args, err, codeOf(err))
			}
			return
		}
		rest := args
		for _, operand := range operands {
			i := slices.Index(rest, operand)
			if i < 0 {
				t.Fatalf("%q: operand %q is no argument, or out of order: %q", args, operand, operands)
			}
			rest = rest[i+1:]
		}
		again := append(append(slices.Clone(canonical), "--"), operands...)
		canonical2, operands2, err := parsed(again)
		if err != nil || !slices.Equal(canonical, canonical2) || !slices.Equal(operands, operands2) {
			t.Fatalf("%q became %q, which became %q %q (%v)", args, again, canonical2, operands2, err)
		}
		s := &sample{}
		if got := execute(s.tool(), nil, args...); got.code == ExitOK && !slices.Equal(s.args, operands) || got.code != ExitOK && got.code != ExitUsage {
			t.Fatalf("%q ran with %q, and gave %+v", args, s.args, got)
		}
	})
}

// getopt(1) of util-linux is the function of the C library, whose order of arguments is the contract.
func TestArgumentsAsGetopt(t *testing.T) {
	if out, _ := exec.Command("getopt", "-T").CombinedOutput(); len(out) > 0 {
		t.Skip("SKIPPED: no getopt of util-linux")
	}
	words := []string{"-f", "-v", "-n", "-n5", "-fn5", "-fvn", "-o", "-3d", "--lines", "--lines=5", "--lines=", "--follow", "--", "-", "t", "u", "", "-p1", "--partition", "-fx", "--unknown", "-H=x"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		args := make([]string, random.IntN(7))
		for i := range args {
			args[i] = words[random.IntN(len(words))]
		}
		command := append([]string{"-q", "-o", "fvn:o:p:H:", "-l", "follow,verbose,lines:,offset:,partition:,header:", "--"}, args...)
		out, failed := exec.Command("getopt", command...).Output()
		c, err := (&sample{}).tool().parse(args)
		if (failed != nil) != (err != nil) {
			t.Fatalf("%q: getopt says %v, the parser %v", args, failed, err)
		}
		if err != nil {
			continue
		}
		if got, want := getoptForm(c), strings.TrimSuffix(string(out), "\n"); got != want {
			t.Fatalf("%q\ngot    %s\ngetopt %s", args, got, want)
		}
	}
}

// getoptForm is how getopt prints a result: options as typed, values and operands in quotes.
func getoptForm(c *call) string {
	var b strings.Builder
	for _, s := range c.settings {
		b.WriteString(" " + s.origin)
		if s.takesValue() {
			b.WriteString(" '" + s.value + "'")
		}
	}
	b.WriteString(" --")
	for _, operand := range c.operands {
		b.WriteString(" '" + operand + "'")
	}
	return b.String()
}

func TestUsageErrors(t *testing.T) {
	const try = "try 'sample --help'"
	rows := []struct {
		args          []string
		message, hint string
	}{
		{[]string{"--linse"}, "unknown option --linse", "did you mean '--lines'?"},
		{[]string{"--xyzzy=1"}, "unknown option --xyzzy", try},
		{[]string{"-x"}, "unknown option -x", try},
		{[]string{"-fx"}, "unknown option -x in -fx", try},
		{[]string{"-é"}, "unknown option -é", try},
		{[]string{"--n=5"}, "unknown option --n", try},
		{[]string{"--="}, "unknown option --", try},
		{[]string{"-lines", "3"}, "unknown option -lines", "did you mean '--lines'?"}, // STYLE 4.2: 15
		{[]string{"-5", "t"}, "unknown option -5", "did you mean '-n 5'?"},
		{[]string{"-50", "t"}, "unknown option -50", "did you mean '-n 50'?"},
		{[]string{"t", "-n"}, "option -n: value missing, N", try},
		{[]string{"t", "--cursor"}, "option --cursor: value missing, FILE", try},
		{[]string{"t", "-n", "1_000"}, `-n "1_000": not a count: allowed are N for the last N and +N for all from the N-th on, in decimal digits`, try}, // 12
		{[]string{"t", "-n", "0x10"}, `-n "0x10": not a count: allowed are N for the last N and +N for all from the N-th on, in decimal digits`, try},
		{[]string{"t", "-o", "-10"}, `-o "-10": not an offset: allowed are earliest, latest, an id, @TIME and -DURATION`, "the last 10 messages are -n 10"},
		{[]string{"t", "--follow=maybe"}, `--follow "maybe": not a truth value: allowed are true and false`, try},
		{[]string{"t", "--compress", "lzo"}, `--compress "lzo": not known: allowed are none, gzip, zstd`, try},
		{[]string{"-b", "x", "-z", "a", "-z", "b", "t"}, `-z "a": not known: allowed are none, gzip, zstd`, try},
		{[]string{"-p", "1", "-p", "x", "t"}, `-p "x": not a partition: allowed is 0 to 2147483647, in decimal digits`, try},
		{nil, "operand missing: 0 given, at least 1 needed", "sample [OPTION]... TOPIC..."},
		{[]string{"--", "-x"}, "", ""},
		{[]string{"-\x1b[2J"}, `unknown option -\x1b in -\x1b[2J`, try},
	}
	for _, row := range rows {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			t.Parallel()
			got := execute((&sample{}).tool(), nil, row.args...)
			want := result{code: ExitUsage, stderr: "sample: " + row.message + "\nsample: hint: " + row.hint + "\n"}
			if row.message == "" {
				want = result{}
			}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}
