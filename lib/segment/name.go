package segment

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Suffixes of a segment's files.
const (
	LogSuffix       = ".log"
	IndexSuffix     = ".index"
	TimeIndexSuffix = ".timeindex"
)

// Path is the name of the segment with base id base in dir, without a suffix.
func Path(dir string, base int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d", base))
}

// ParseName reads the base id out of a file name such as 00000000000000000042.log with the given suffix. ok is false
// for every other name.
func ParseName(name, suffix string) (base int64, ok bool) {
	digits, found := strings.CutSuffix(name, suffix)
	if !found || len(digits) != 20 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	return base, err == nil
}
