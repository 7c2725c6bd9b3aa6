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

// awkward is a PREFIX that must come through make, the shell, sed and systemd as it is. (Systemd takes no quotes there.)
const awkward = "/opt/log kit & 5%"

// install has make put all into root, as a user whose files nobody else may read, and returns where it is.
func install(t *testing.T, root, prefix string) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: make is not installed")
	}
	makeQuietly(t, "install", "DESTDIR="+root, "PREFIX="+prefix)
	return filepath.Join(root, prefix)
}

func makeQuietly(t *testing.T, args ...string) {
	t.Helper()
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	// BINS is what is built first: nothing, it is there already.
	args = append([]string{"-c", `umask 077; exec make "$@"`, "sh", "-s", "-C", "..", "BIN=" + tools, "BINS="}, args...)
	if out, err := exec.Command("sh", args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("make %q: %v\n%s", args[7:], err, out)
	}
}

// TestInstall installs into an empty root, twice: all that belongs to each tool is there, everybody can run it, and
// uninstall takes it away again.
func TestInstall(t *testing.T) {
	root := t.TempDir()
	prefix := strings.TrimPrefix(awkward, "/") + "/"
	want := []string{prefix + "lib/systemd/system/logd.service"}
	for _, tool := range matches(t, "*/main.go") {
		tool = filepath.Dir(tool)
		dir := "bin/"
		if tool == "logd" {
			dir = "sbin/"
		}
		want = append(want, prefix+dir+tool, prefix+"share/bash-completion/completions/"+tool, prefix+"share/zsh/site-functions/_"+tool,
			prefix+"share/fish/vendor_completions.d/"+tool+".fish")
	}
	for _, page := range matches(t, "../man/*") {
		name := filepath.Base(page)
		want = append(want, prefix+"share/man/man"+strings.TrimPrefix(filepath.Ext(name), ".")+"/"+name)
	}
	slices.Sort(want)
	for range 2 {
		install(t, root, awkward)
		if got := files(t, root); !slices.Equal(got, want) {
			t.Errorf("installed:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "opt"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if d.IsDir() || strings.Contains(path, "bin/") {
			mode = 0o755
		}
		if info.Mode().Perm() != mode || info.Size() == 0 {
			t.Errorf("%s: mode %v, %d bytes", path, info.Mode(), info.Size())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(filepath.Join(root, awkward, "lib/systemd/system/logd.service"))
	if start := "\nExecStart=\"" + strings.ReplaceAll(awkward, "%", "%%") + "/sbin/logd\" "; err != nil || !strings.Contains(string(unit), start) {
		t.Errorf("the unit does not have %q (%v):\n%s", start, err, unit)
	}
	others := filepath.Join(root, awkward, "bin", "other")
	if err := os.WriteFile(others, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		makeQuietly(t, "uninstall", "DESTDIR="+root, "PREFIX="+awkward)
		if left := files(t, root); !slices.Equal(left, []string{prefix + "bin/other"}) {
			t.Errorf("uninstall leaves %q", left)
		}
	}
}

// TestManual finds the pages where they are installed, and what each is about.
func TestManual(t *testing.T) {
	for _, program := range []string{"man", "mandb", "whatis"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed (testdata/debian/install)", program)
		}
	}
	root := filepath.Join(install(t, t.TempDir(), "/usr"), "share/man")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "LC_ALL=C", "MANPATH=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("mandb", "--quiet", "--user-db", "--create", root)
	for _, page := range matches(t, "../man/*") {
		file := filepath.Base(page)
		name, section := strings.TrimSuffix(file, filepath.Ext(file)), filepath.Ext(file)[1:]
		if found := strings.TrimSpace(run("man", "-M", root, "-w", section, name)); found != filepath.Join(root, "man"+section, file) {
			t.Errorf("man finds %s", found)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, about, _ := strings.Cut(string(text), "\n.Nd ")
		about, _, _ = strings.Cut(about, "\n")
		line := strings.Join(strings.Fields(run("whatis", "-l", "-M", root, "-s", section, name)), " ")
		if want := name + " (" + section + ") - " + about; line != want || about == "" {
			t.Errorf("whatis says %q, want %q", line, want)
		}
	}
}

// TestUnit has the installed unit checked by systemd.
func TestUnit(t *testing.T) {
	for _, program := range []string{"make", "systemd-analyze"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed: the unit is not checked", program)
		}
	}
	// DESTDIR is empty, as the unit must name a program that is there.
	file := filepath.Join(install(t, "", filepath.Join(t.TempDir(), filepath.Base(awkward))), "lib/systemd/system/logd.service")
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
