package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// StateFile returns the path of a file that a tool reads, and replaces by renaming another one: the one that a symbolic
// link leads to, as the link is to stay. It need not exist. What is there and is no regular file is refused: it would
// be replaced as well, and holds no state.
func StateFile(name string) (string, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			return "", fmt.Errorf("%s: a symbolic link to nothing", name)
		}
		return name, nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file", name)
	}
	return filepath.EvalSymlinks(name)
}
