// Package lib holds no code of its own: this test keeps the arrows between the packages below it pointing downwards.
package lib

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// floors gives each package its floor. A package may import only packages on lower floors, so that whoever reads one
// never has to look up. A package that is not in the table may not exist.
var floors = map[string]int{
	"lib/broker":      6,
	"lib/cluster":     5,
	"lib/logdir":      4,
	"lib/commitlog":   3,
	"lib/inspect":     3,
	"lib/consumer":    3,
	"lib/segment":     2,
	"lib/client":      2,
	"lib/format":      2,
	"lib/record":      1,
	"lib/producers":   1,
	"lib/index":       1,
	"lib/assign":      1,
	"lib/zkserver":    1,
	"lib/registry":    1,
	"lib/vfs":         0,
	"lib/vfs/crashfs": 1,

	"lib/registry/zkfake": 1,
	"lib/zkserver/zkpeer": 0,
}

// shell is the package that every tool is wrapped in: it imports no package of ours, and only cmd imports it.
var shell = map[string]bool{"lib/cli": true, "lib/cli/clitest": true}

func TestImportsPointDown(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	err = filepath.WalkDir(filepath.Join(root, "lib"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if dir == "lib" {
			return nil
		}
		seen++
		checkFile(t, filepath.ToSlash(dir), path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatal("no Go files found below lib")
	}
}

func checkFile(t *testing.T, dir, path string) {
	floor, known := floors[dir]
	if !known && !shell[dir] {
		t.Errorf("%s: package has no floor; add it to the table", dir)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imported, ours := strings.CutPrefix(imported, "logkit/")
		if !ours || imported == dir {
			continue
		}
		switch lower, ok := floors[imported]; {
		case shell[dir] && shell[imported]:
		case shell[dir] || shell[imported]:
			t.Errorf("%s imports %s: lib/cli and the rest of lib stay apart", path, imported)
		case !ok:
			t.Errorf("%s imports %s, which has no floor", path, imported)
		case strings.HasSuffix(path, "_test.go") && lower <= floor:
		case lower >= floor:
			t.Errorf("%s (floor %d) imports %s (floor %d): arrows point down only", path, floor, imported, lower)
		}
	}
}
