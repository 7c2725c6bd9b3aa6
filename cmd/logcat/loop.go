package main

import (
	"fmt"
	"os"
)

// notItself refuses a file that would be read while it is written, by --tee or --confirm: its end would never come.
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
	for _, name := range files {
		read := regular(os.Stat(name))
		if name == standardInput {
			read = nil
			if f := t.env.StdinFile(); f != nil {
				read = regular(f.Stat())
			}
		}
		for _, w := range written {
			if read != nil && w != nil && os.SameFile(read, w) {
				return fmt.Errorf("%s: it is read and written at the same time", shownName(name))
			}
		}
	}
	return nil
}

// regular returns nil for what is not there, or is no regular file. Who opens it will tell.
func regular(info os.FileInfo, err error) os.FileInfo {
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return info
}
