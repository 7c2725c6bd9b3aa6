package main

import (
	"bytes"
	"strings"
	"testing"

	"logkit/lib/cli"
	"logkit/lib/format"
	"logkit/lib/record"
)

func TestHeadersStandWhereTheTopicChanges(t *testing.T) {
	var out bytes.Buffer
	o := output{to: &out, printer: format.Raw{Delimiter: []byte("\n")}, headers: true}
	for _, topic := range []string{"a", "a", "b", "a"} {
		if err := o.print(topic, 0, &record.Record{Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() > 0 {
		t.Error("written too early")
	}
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	if want := "==> a <==\nx\nx\n\n==> b <==\nx\n\n==> a <==\nx\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-e", "-f", "t"}, {"-n", "5", "-o", "3", "t"}, {"-n", "5", "--cursor", "f", "t"}, {"--json", "--raw", "t"}, {"--json", "--format", "x", "t"},
		{"-0", "-d", "x", "t"}, {"--raw", "-0", "t"}, {"--json", "-K", ":", "t"}, {"-v", "-q", "t"}, {"-v", "--json", "t"}, {"-o", "-10", "t"}, {"--cursor", "", "t"}, {"-K", "", "t"},
		{"-c", "0", "t"}, {"--format", "%q", "t"}, {"-p", "x", "t"}, {"--idle", "x", "t"}, {"--until", "yesterday", "t"},
	} {
		var stdout, stderr bytes.Buffer
		code := newTool().Execute(t.Context(), args, cli.Stdio{
			Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
		})
		if code != cli.ExitUsage || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") > 2 || !strings.HasPrefix(stderr.String(), "logtail: ") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, stdout.String(), stderr.String())
		}
	}
}
