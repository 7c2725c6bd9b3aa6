package zkserver

import (
	"strings"
	"unicode/utf8"
)

// validPath is ZooKeeper's PathUtils.validatePath: absolute, no trailing slash, no empty or dot component, no control
// or unassigned characters; and MaxPath bytes at most.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if len(path) > MaxPath || !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return strings.IndexFunc(path, forbidden) < 0
}

func forbidden(r rune) bool {
	switch {
	case r <= 0x1f, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0 && r <= 0xffff: // utf8.RuneError, of a malformed string, too
		return true
	}
	return r > utf8.MaxRune
}

// builtIns are there from the start, and can not be deleted.
var builtIns = []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"}
