package registry

import (
	"fmt"
	"strings"
)

// MaxName is the longest name of a group or of a member, in bytes before it is escaped.
const MaxName = 1024

const upperHex = "0123456789ABCDEF"

// EscapeName makes any name of a group or member a component of a path; UnescapeName is its reverse.
//
// Printable ASCII stands for itself, but for '/', '%' and a '.' at the beginning. These, and all other bytes, are written
// as '%' and two upper-case hexadecimal digits. The empty name is "%".
//
//	orders-2   -> orders-2        .        -> %2E
//	a/b        -> a%2Fb           50%      -> 50%25
//	café       -> caf%C3%A9       (empty)  -> %
//
// So the names in use with Kafka 0.8, which has no such rule, are as they were.
func EscapeName(name string) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plain(c, i) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
		}
	}
	return b.String()
}

func plain(c byte, at int) bool {
	return c >= ' ' && c < 0x7f && c != '/' && c != '%' && (c != '.' || at > 0)
}

// UnescapeName accepts exactly what EscapeName writes: one name, one path.
func UnescapeName(text string) (string, error) {
	if text == "%" {
		return "", nil
	}
	name := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return "", escapeError(text, i)
			}
			high, low := strings.IndexByte(upperHex, text[i+1]), strings.IndexByte(upperHex, text[i+2])
			if high < 0 || low < 0 {
				return "", escapeError(text, i)
			}
			c = byte(high<<4 | low)
			if plain(c, len(name)) {
				return "", escapeError(text, i)
			}
			i += 2
		} else if !plain(c, len(name)) {
			return "", escapeError(text, i)
		}
		name = append(name, c)
	}
	if len(name) == 0 {
		return "", escapeError(text, 0)
	}
	return string(name), nil
}

func escapeError(text string, at int) error {
	return fmt.Errorf("escaped name %.100q: byte %d, allowed are printable ASCII and %%XX for what is not", text, at)
}

func checkName(what, name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("%s name of %d bytes, allowed are %d", what, len(name), MaxName)
	}
	return nil
}
