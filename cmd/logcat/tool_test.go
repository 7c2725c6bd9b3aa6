package main

import (
	"bytes"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logkit/lib/cli"
)

// run executes logcat without a broker.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newTool().Execute(t.Context(), args, cli.Stdio{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	return code, out.String(), errs.String()
}

func TestDryRun(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, stdin string
		args        []string
		code        int
		stderr      string
	}{
		{"lines", "a\n\nb", nil, 0, "logcat: dry run: 3 messages, 2 bytes would be sent\n"},
		{"nothing", "", nil, 0, "logcat: dry run: 0 messages, 0 bytes would be sent\n"},
		{"file and stdin", "x\n", []string{file, "-"}, 0, "logcat: dry run: 4 messages, 12 bytes would be sent\n"},
		{"whole", "a\nb\n", []string{"-w"}, 0, "logcat: dry run: 1 message, 4 bytes would be sent\n"},
		{"delimiter", "a--b--c", []string{"-d", "--"}, 0, "logcat: dry run: 3 messages, 3 bytes would be sent\n"},
		{"keys", "k:v\nw\n", []string{"-K", ":"}, 0, "logcat: dry run: 2 messages, 3 bytes would be sent\n"},
		{"json", `{"value":"x"}` + "\nx\n" + `{"key":"k"}` + "\n", []string{"--json"}, 1,
			"logcat: line 2: position 1: \"x\", expected an object\nlogcat: dry run: 2 messages, 2 bytes would be sent\n"},
		{"too long", "a\n" + strings.Repeat("x", 2<<20) + "\nb\n", nil, 1,
			"logcat: line 2: 2097213 bytes with its batch, a topic for which nothing is set allows 1048576\nlogcat: dry run: 2 messages, 2 bytes would be sent\n"},
		{"a file is missing", "", []string{file, filepath.Join(dir, "none"), file}, 1,
			"logcat: " + filepath.Join(dir, "none") + ": no such file or directory\nlogcat: dry run: 6 messages, 22 bytes would be sent\n"},
		{"a directory", "", []string{dir}, 1, "logcat: " + dir + ": is a directory\nlogcat: dry run: 0 messages, 0 bytes would be sent\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := run(t, row.stdin, append([]string{"-n", "t"}, row.args...)...)
			if code != row.code || stdout != "" || stderr != row.stderr {
				t.Errorf("exit %d, stdout %q, stderr:\n%s\nwant %d and\n%s", code, stdout, stderr, row.code, row.stderr)
			}
		})
	}
}

// A rehearsal goes on where the resume file says, and leaves it as it is.
func TestDryRunOfTheRest(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("in", []byte("1\n2\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := openProgress(t.Context(), "pos", "t", []string{"in"}, []byte("\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(p)
	l.hold(t.Context(), &message{line: 1, bytes: []byte("1"), size: 1, mark: mark{end: 2, crc: crc32.Checksum([]byte("1\n"), castagnoli)}}, nil, nil)
	l.settle([]int64{1}, acknowledged)
	if err := p.save(); err != nil {
		t.Fatal(err)
	}
	p.close()
	before, err := os.ReadFile("pos")
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := run(t, "", "-n", "--progress", "pos", "t", "in")
	if want := "logcat: dry run: 2 messages, 2 bytes would be sent\n"; code != 0 || stderr != want {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if after, err := os.ReadFile("pos"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the resume file is %s (%v), and was %s", after, err, before)
	}
}

// A refused line is named by its number in its own file.
func TestRefusedLinesAreNamedWithTheirFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "{}\n{}\n", "b": "{}\nbad\n{}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := filepath.Join(dir, "b")
	_, _, stderr := run(t, "", "--json", "-n", "t", filepath.Join(dir, "a"), b, b)
	if got := strings.Count(stderr, "logcat: "+b+": line 2: "); got != 2 {
		t.Error(stderr)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-0", "-d", "x", "t"}, {"-d", "", "t"}, {"-K", "", "t"}, {"-p", "-1", "t"}, {"-w", "-0", "t"}, {"-k", "a", "-K", ":", "t"}, {"--json", "-K", ":", "t"}, {"-n", "--tee", "t"},
		{"-q", "-v", "t"}, {"--batch-bytes", "0", "t"}, {"-z", "brotli", "t"}, {"-a", "2", "t"}, {"-H", "=x", "t"}, {"-p", "x", "t"}, {"--linger", "-1s", "t"},
		{"--confirm", "f", "t"}, {"--json", "-n", "--confirm", "f", "t"}, {"--json", "--confirm", "f", "--progress", "p", "t"}, {"--timeout", "0", "t"},
	} {
		code, stdout, stderr := run(t, "", args...)
		if code != cli.ExitUsage || stdout != "" || strings.Count(stderr, "\n") > 2 || !strings.HasPrefix(stderr, "logcat: ") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
