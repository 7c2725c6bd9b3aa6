package cmd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInstall installs into an empty root: all that belongs to each tool is there and can be run, and uninstall takes it
// away again.
func TestInstall(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not installed")
	}
	root := t.TempDir()
	make := func(args ...string) {
		t.Helper()
		// BINS is what is built first: nothing, it is there already.
		if out, err := exec.Command("make", append([]string{"-s", "-C", "..", "BIN=" + tools, "BINS="}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("make %q: %v\n%s", args, err, out)
		}
	}
	make("install", "DESTDIR="+root, "PREFIX=/usr")
	want := []string{"usr/lib/systemd/system/logd.service"}
	for _, tool := range matches(t, "*/main.go") {
		tool = filepath.Dir(tool)
		dir := "usr/bin/"
		if tool == "logd" {
			dir = "usr/sbin/"
		}
		want = append(want, dir+tool, "usr/share/bash-completion/completions/"+tool, "usr/share/zsh/site-functions/_"+tool,
			"usr/share/fish/vendor_completions.d/"+tool+".fish")
	}
	for _, page := range matches(t, "../man/*") {
		name := filepath.Base(page)
		want = append(want, "usr/share/man/man"+strings.TrimPrefix(filepath.Ext(name), ".")+"/"+name)
	}
	slices.Sort(want)
	if got := files(t, root); !slices.Equal(got, want) {
		t.Errorf("installed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, file := range want {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if strings.Contains(file, "bin/") {
			mode = 0o755
		}
		if info.Mode() != mode || info.Size() == 0 {
			t.Errorf("%s: mode %v, %d bytes", file, info.Mode(), info.Size())
		}
	}
	unit, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system/logd.service"))
	if err != nil || !strings.Contains(string(unit), "\nExecStart=/usr/sbin/logd ") {
		t.Errorf("the unit does not start /usr/sbin/logd (%v):\n%s", err, unit)
	}
	make("uninstall", "DESTDIR="+root, "PREFIX=/usr")
	if left := files(t, root); len(left) > 0 {
		t.Errorf("uninstall leaves %q", left)
	}
}

// TestUnit has the installed unit checked by systemd.
func TestUnit(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"make", "systemd-analyze"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed: the unit is not checked", program)
		}
	}
	root := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "..", "BIN="+tools, "BINS=", "install", "PREFIX="+root).CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	file := filepath.Join(root, "lib/systemd/system/logd.service")
	unit, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Manual pages are looked for where man looks.
	if err := os.WriteFile(file, []byte(strings.Replace(string(unit), "\nDocumentation=man:logd(8)\n", "\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), file) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: nothing found (%v)", pattern, err)
	}
	return found
}

// files lists the files below a directory, which may be gone.
func files(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
