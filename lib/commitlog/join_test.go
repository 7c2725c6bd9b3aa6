package commitlog

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"logkit/lib/segment"
	"logkit/lib/vfs"
)

// A segment whose files are missing is noticed by whoever reads on past it, and said once: ids have gaps, so the readers do
// not see it. Nothing is said of a log that is whole.
func TestMissingSegmentIsSaid(t *testing.T) {
	dir := t.TempDir()
	l, headers := oneBatchEach(t, dir, 6, Options{})
	clean, err := l.Close()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	env := newEnv(t, vfs.OS)
	env.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for _, missing := range []bool{false, true} {
		if missing {
			for _, suffix := range []string{segment.LogSuffix, segment.IndexSuffix, segment.TimeIndexSuffix} {
				if err := os.Remove(segment.Path(dir, headers[2].BaseOffset) + suffix); err != nil {
					t.Fatal(err)
				}
				env.Files.Forget(segment.Path(dir, headers[2].BaseOffset) + suffix)
			}
		}
		l, err := Open(env, dir, Options{}, Checkpoint{Clean: clean})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			n := 6
			if missing {
				n = 5
			}
			if got := readAll(t, l); len(got) != n {
				t.Errorf("missing %v: %d batches are read, want %d", missing, len(got), n)
			}
		}
		if clean, err = l.Close(); err != nil {
			t.Fatal(err)
		}
		text := said.String()
		if lines := strings.Count(text, "\n"); !missing && lines != 0 || missing && lines != 1 {
			t.Errorf("missing %v: said %q", missing, text)
		}
		if missing && (!strings.Contains(text, segment.Path(dir, headers[1].BaseOffset)) || !strings.Contains(text, segment.Path(dir, headers[3].BaseOffset))) {
			t.Errorf("%q does not name the segments", text)
		}
	}
}
