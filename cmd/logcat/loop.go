package main

import (
	"fmt"
	"os"
	"path/filepath"

	"logkit/lib/cli"
)

// notItself refuses a file that would be read while it is written: by --tee or --confirm its end would never come, and by
// --progress it would be lost.
func (t *transfer) notItself(files []string) error {
	var written []os.FileInfo
	if t.tee != nil {
		if f := t.env.StdoutFile(); f != nil {
			written = append(written, regular(f.Stat()))
		}
	}
	if t.o.confirm != "" {
		written = append(written, regular(os.Stat(t.o.confirm)))
	}
	if len(files) == 0 {
		files = []string{standardInput}
	}
	kept := t.o.progress
	resume := regular(os.Stat(kept))
	for _, name := range files {
		input, read, named := "an input", regular(os.Stat(name)), filepath.Clean(name) == filepath.Clean(kept)
		if name == standardInput {
			input, read, named = "standard input", nil, false
			if f := t.env.StdinFile(); f != nil {
				read = regular(f.Stat())
			}
		}
		if kept != "" && (named || same(read, resume)) {
			return keptInInput(kept, input)
		}
		for _, w := range written {
			if same(read, w) {
				return fmt.Errorf("%s: it is read and written at the same time", shownName(name))
			}
		}
	}
	return nil
}

func keptInInput(name, input string) error {
	return cli.WithHint(cli.Usagef("--progress %s: it is %s as well, and would be written over", name, input),
		"what follows --progress is the file to keep the progress in: --progress FILE TOPIC INPUT")
}

// regular returns nil for what is not there, or is no regular file. Who opens it will tell.
func regular(info os.FileInfo, err error) os.FileInfo {
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}

// same reports whether both are there, and one file.
func same(a, b os.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }
