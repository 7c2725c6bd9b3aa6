package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsOfPages has systemd check what the manual pages put into its directories: the service that mirrors a topic,
// and the file beside the unit of logd that moves its data.
func TestUnitsOfPages(t *testing.T) {
	tools, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"make", "systemd-analyze"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: %s is not installed: the units of the manual pages are not checked", program)
		}
	}
	root := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "..", "BIN="+tools, "BINS=", "install", "PREFIX="+root).CombinedOutput(); err != nil {
		t.Fatalf("make install: %v\n%s", err, out)
	}
	units := filepath.Join(root, "lib/systemd/system")
	installScripts(t, "../man/logtail.1", filepath.Join(root, "bin"))
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// Manual pages are looked for where man looks.
		text = strings.ReplaceAll(strings.ReplaceAll(text, "/usr/local", root), "Documentation=man:logd(8)\n", "")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unit, err := os.ReadFile(filepath.Join(units, "logd.service"))
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(units, "logd.service"), string(unit))
	write(filepath.Join(units, "logd.service.d/override.conf"), serviceOf(t, "../man/logd.8"))
	write(filepath.Join(units, "mirror.service"), serviceOf(t, "../man/logtail.1"))
	for _, name := range []string{"logd.service", "mirror.service"} {
		verify := exec.Command("systemd-analyze", "verify", filepath.Join(units, name))
		verify.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+units+":")
		if out, err := verify.CombinedOutput(); err != nil || strings.Contains(string(out), units) || strings.Contains(string(out), name) {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
	}
}

// serviceOf is the display of a page that has a section [Service].
func serviceOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range display.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(found[1], "[Service]\n") {
			return strings.ReplaceAll(found[1], `\e`, `\`)
		}
	}
	t.Fatalf("%s: no [Service]", page)
	return ""
}
