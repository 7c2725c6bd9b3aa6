package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logkit/lib/cli"
	"logkit/lib/record"
)

// fuzzOptions are forms of output and what they can be combined with.
var fuzzOptions = []string{
	"", "--json", "-c", "-c -r", "-c --json -r", "-r", "-r --json", "-x", "--values", "--values --json", "--values -0", "--values --format %o:%k:%v\\n",
	"--summary", "--summary --json --histogram", "--histogram", "-o 1..5", "-r -o 3", "--values --time 2020-01-01..2030-01-01", "--json -o ..2", "-v",
}

// FuzzTool reads arbitrary bytes from standard input, with every option.
//
//   - it never panics, and says that all is well, that it is no log, or that there is damage
//   - what it prints of a log has no control characters but newlines, unless it is values, and JSON is JSON
//   - what it prints of a file is the same, but for the name
func FuzzTool(f *testing.F) {
	for i := range fuzzOptions {
		data, err := os.ReadFile(segment(f, record.Codec(i%5)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint8(i))
		f.Add(append(data[:len(data)-i], data...), uint8(i))
		data[i*3] ^= 1
		f.Add(append(data, data...), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, option uint8) {
		options := fuzzOptions[int(option)%len(fuzzOptions)]
		args := append(strings.Fields(options), "--max-decompressed", "64KiB")
		code, stdout, stderr := execute(t, string(data), append(args, "-")...)
		if code != cli.ExitOK && code != cli.ExitUsage && code != cli.ExitDamaged {
			t.Fatalf("%s: %d %s", options, code, stderr)
		}
		if (code == cli.ExitOK) != (stderr == "") {
			t.Fatalf("%s: %d %s", options, code, stderr)
		}
		if strings.Contains(options, "--json") {
			for line := range strings.Lines(stdout) {
				if !json.Valid([]byte(line)) {
					t.Fatalf("%s: %q", options, line)
				}
			}
		}
		if !strings.Contains(options, "--values") || strings.Contains(options, "--json") {
			if i := strings.IndexFunc(stdout+stderr, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
				t.Fatalf("%s: control character at %d of %q", options, i, stdout+stderr)
			}
		}
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		again, same, _ := execute(t, "", append(args, path)...)
		named := strings.NewReplacer(path, "-")
		if again != code || strings.Contains(options, "--values") && same != stdout || strings.Count(named.Replace(same), "\n") != strings.Count(stdout, "\n") {
			t.Fatalf("%s: %d %q\nas a file %d %q", options, code, stdout, again, same)
		}
	})
}
