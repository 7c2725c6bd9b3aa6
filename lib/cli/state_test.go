package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStateFile(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, target := range map[string]string{"link": "file", "chain": "link", "dangling": "nothing", "loop": "loop", "null": os.DevNull} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, want, err string }{
		{"file", "file", ""},
		{"link", "file", ""},
		{"chain", "file", ""},
		{"absent", "absent", ""},
		{"dangling", "", "dangling: a symbolic link to nothing"},
		{"null", "", "null: not a regular file"},
		{".", "", ".: not a regular file"},
		{os.DevNull, "", os.DevNull + ": not a regular file"},
		{"loop", "", "stat loop: too many levels of symbolic links"},
		{"file/x", "", "stat file/x: not a directory"},
	} {
		got, err := StateFile(row.name)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != row.want || said != row.err {
			t.Errorf("%s: %q, %q, want %q, %q", row.name, got, said, row.want, row.err)
		}
	}
}
