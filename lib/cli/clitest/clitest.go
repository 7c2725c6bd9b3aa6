// Package clitest holds a tool's flags, its manual page and its completions together: what one of them says and another
// does not is a failed test.
package clitest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"logkit/lib/cli"
)

// Update is the test flag -update: rewrite files that are written from code instead of comparing them. A test binary
// has one flag of a name, so golden tests beside a CheckDocs share this one.
var Update = flag.Bool("update", false, "rewrite the files that are written from code")

// CheckDocs checks man/NAME.[1-8] and the completions of the tool below root, the directory of the project as seen from
// the test. newTool is called for each use, as a Tool serves one.
//
// The manual page is held to the conventions of the page's own checks: see [checkManual].
func CheckDocs(t *testing.T, newTool func() *cli.Tool, root string) {
	t.Helper()
	tool := newTool()
	t.Run("manual", func(t *testing.T) {
		pages, err := filepath.Glob(filepath.Join(root, "man", tool.Name+".[1-8]"))
		if err != nil || len(pages) != 1 {
			t.Fatalf("manual pages of %s: %v (%v), want exactly one", tool.Name, pages, err)
		}
		text, err := os.ReadFile(pages[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkManual(newTool(), parseManual(string(text))) {
			t.Errorf("%s: %s", pages[0], problem)
		}
		lint(t, pages[0])
	})
	scripts := map[string]string{
		"bash": filepath.Join(root, "completions", tool.Name+".bash"),
		"zsh":  filepath.Join(root, "completions", "_"+tool.Name),
		"fish": filepath.Join(root, "completions", tool.Name+".fish"),
	}
	for shell, file := range scripts {
		t.Run(shell, func(t *testing.T) {
			compare(t, file, cli.Completion(newTool(), shell))
			run(t, shell, file, newTool())
		})
	}
}

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run 'make docs'", err)
	}
	if string(got) != want {
		t.Fatalf("%s differs from the flags: run 'make docs'", file)
	}
}
