package logdir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logkit/lib/segment"
)

// TestCutFiles: what a recovery has kept beside a log is no part of it, and goes with the topic.
func TestCutFiles(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	if err := create(d, "t", 1, nil); err != nil {
		t.Fatal(err)
	}
	appendOne(t, d, "t", 0, "x")
	log, _ := d.Log("t", 0)
	positions := log.Positions()
	bytes, segments, err := log.Size()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	kept := segment.Path(filepath.Join(path, "t-0"), 0) + segment.LogSuffix + segment.CutSuffix + "81920"
	for _, name := range []string{kept, kept + "-2", kept + "-3.tmp"} {
		if err := os.WriteFile(name, []byte("no batch"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, clean := range []bool{true, false} {
		if !clean {
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(path, cleanFile)); err != nil {
				t.Fatal(err)
			}
		}
		d = open(t, path)
		log, _ = d.Log("t", 0)
		if b, n, err := log.Size(); err != nil || b != bytes || n != segments || log.Positions() != positions {
			t.Errorf("clean %v: %d bytes in %d segments, %+v, %v; want %d, %d, %+v", clean, b, n, log.Positions(), err, bytes, segments, positions)
		}
	}
	for name, want := range map[string]bool{kept: true, kept + "-2": true, kept + "-3.tmp": false} {
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) == want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Delete("t"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(path, "t-0*")); err != nil || len(left) > 0 {
		t.Errorf("left of the topic: %q, %v", left, err)
	}
}
