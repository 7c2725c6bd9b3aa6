package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ucli "github.com/urfave/cli/v2"
)

// daemon is a tool with a configuration.
type daemon struct {
	dir, level string
	listen     Listen
	size       Size
	brokers    []string
	create     Bool
	exit       bool
	separator  Escaped
	ran        bool
}

func (d *daemon) tool() *Tool {
	d.dir, d.level, d.listen, d.size, d.create = "/var/lib/d", "info", "127.0.0.1:9092", 1<<30, true
	return &Tool{
		Name: "d", Usage: "daemon", EnvPrefix: "D", Config: true, SignalOK: true,
		Flags: []ucli.Flag{
			&ucli.PathFlag{Name: "data-dir", Destination: &d.dir, Usage: "`DIR` of the data"},
			&ucli.GenericFlag{Name: "listen", Aliases: []string{"l"}, Value: &d.listen, EnvVars: []string{"LOGKIT_LISTEN"}, Usage: "listen here"},
			&ucli.GenericFlag{Name: "segment-bytes", Value: &d.size, Usage: "roll"},
			&ucli.GenericFlag{Name: "peer", Value: Brokers(&d.brokers), Usage: "peers"},
			&ucli.GenericFlag{Name: "auto-create", Value: &d.create, Usage: "create"},
			&ucli.BoolFlag{Name: "exit-on-error", Destination: &d.exit, Usage: "exit"},
			&ucli.GenericFlag{Name: "separator", Value: &d.separator, Usage: "between"},
			&ucli.GenericFlag{Name: "log-level", Value: Enum(&d.level, "info", "debug"), Usage: "how much"},
		},
		Run: func(context.Context, *Env, []string) error { d.ran = true; return nil },
	}
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "d.conf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestConfigLayers(t *testing.T) {
	file := writeConfig(t, `
# a comment
data-dir = /srv/d   # and another
listen=:1
segment-bytes	=	64MiB
peer = a
  peer = b:1,c
exit-on-error = yes
separator = "\\t#"
`)
	env := map[string]string{"D_LISTEN": ":2", "D_SEGMENT_BYTES": "", "D_PEER": "", "D_CONFIG": file, "LOGKIT_LISTEN": ":7"}
	d := &daemon{}
	got := execute(d.tool(), env, "--print-config", "--segment-bytes", "1k", "--log-level=debug")
	if got.code != ExitOK || got.stderr != "" || d.ran {
		t.Fatalf("%+v, ran %v", got, d.ran)
	}
	want := strings.ReplaceAll(`data-dir = /srv/d  # FILE:3: data-dir
listen = :2  # D_LISTEN
segment-bytes = 1KiB  # --segment-bytes
peer = a:9092,b:1,c:9092  # FILE:7: peer
auto-create = true  # default
exit-on-error = true  # FILE:8: exit-on-error
separator = "\\t#"  # FILE:9: separator
log-level = debug  # --log-level
`, "FILE", file)
	if diff := cmp.Diff(want, got.stdout); diff != "" {
		t.Error(diff)
	}
	again := execute((&daemon{}).tool(), map[string]string{"D_CONFIG": writeConfig(t, got.stdout)}, "--print-config")
	values := func(s string) string {
		var b strings.Builder
		for line := range strings.Lines(s) {
			value, _, _ := strings.Cut(line, "  # ")
			b.WriteString(value + "\n")
		}
		return b.String()
	}
	if diff := cmp.Diff(values(got.stdout), values(again.stdout)); diff != "" {
		t.Errorf("what --print-config shows sets something else: %s\n%s", again.stderr, diff)
	}
	got = execute((&daemon{}).tool(), nil, "--print-config")
	if !strings.Contains(got.stdout, "listen = 127.0.0.1:9092  # default\n") || !strings.Contains(got.stdout, "# peer is not set\n") {
		t.Errorf("defaults:\n%s", got.stdout)
	}
}

func TestConfigErrors(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"unknown", "listen = :1\nlisten-on = :2\n", `FILE:2: unknown option "listen-on"`},
		{"near", "segment-byte = 1\n", "d: hint: did you mean 'segment-bytes'?"},
		{"short name", "l = :1\n", `FILE:1: unknown option "l"`},
		{"itself", "config = x\n", `FILE:1: unknown option "config"`},
		{"help", "help = true\n", `FILE:1: unknown option "help"`},
		{"no value", "\n\nlisten\n", `FILE:3: "listen": not a line of name = value`},
		{"no name", "= x\n", `FILE:1: "= x": not a line of name = value`},
		{"twice", "listen = :1\n\nlisten = :2\n", "FILE:3: option listen is given in line 1 already"},
		{"value", "listen = x\n", `FILE:1: listen "x": not an address`},
		{"switch", "exit-on-error = maybe\n", `FILE:1: exit-on-error "maybe": not a truth value`},
		{"quote", `listen = ":1` + "\n", "FILE:1: listen: closing quote missing"},
		{"behind the quote", `listen = ":1" x` + "\n", `FILE:1: listen: "x" behind the closing quote`},
		{"too large", strings.Repeat("# filler\n", 200_000), "FILE: larger than 1048576 bytes"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			file := writeConfig(t, row.text)
			d := &daemon{}
			got := execute(d.tool(), nil, "--config", file)
			want := strings.ReplaceAll(row.want, "FILE", file)
			if got.code != ExitUsage || !strings.Contains(got.stderr, want) || got.stdout != "" || d.ran {
				t.Errorf("got %+v, want %s", got, want)
			}
		})
	}
	got := execute((&daemon{}).tool(), map[string]string{"D_CONFIG": "/nonexistent/d.conf"})
	if got.code != ExitUsage || !strings.Contains(got.stderr, "/nonexistent/d.conf: no such file") {
		t.Errorf("missing file: %+v", got)
	}
}

// FuzzConfig: no panic; errors are usage errors; an entry's value, written as --print-config writes it, reads as the same.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"", "listen = :1", "peer=a\npeer=b", "separator = \"\\x00\" # c", "separator = a#b # c", "separator=\"", "=", "\x00=\xff", "listen", strings.Repeat("=", 1000), "separator = \ufeff\r"} {
		f.Add([]byte(seed))
	}
	options := newOptions((&daemon{}).tool())
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := options.parseConfig("f", data)
		if err != nil {
			if codeOf(err) != ExitUsage {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		for _, e := range entries {
			line := e.name() + " = " + configValue(e.value) + "  # origin"
			name, value, err := splitConfigLine(line)
			if err != nil || name != e.name() || value != e.value {
				t.Fatalf("%q: %q is written %s, which is %q (%v)", data, e.value, line, value, err)
			}
		}
	})
}
