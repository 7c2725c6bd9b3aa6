package format

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

const knownEscapes = `\n \t \r \0 \\ \xHH`

// Unescape returns text with its escapes replaced: \n \t \r \0 (NUL) \\ and \xHH, one byte in two hexadecimal digits.
// Anything else behind a backslash is a *ParseError.
func Unescape(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			out = append(out, text[i])
			i++
			continue
		}
		c, n, err := unescape(text, i)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		i += n
	}
	return out, nil
}

// unescape decodes the escape at text[i:], and returns its byte and its length.
func unescape(text string, i int) (c byte, n int, err error) {
	rest := text[i+1:]
	if rest == "" {
		return 0, 0, &ParseError{i + 1, `lone \ at the end, known escapes are ` + knownEscapes}
	}
	switch rest[0] {
	case 'n':
		return '\n', 2, nil
	case 't':
		return '\t', 2, nil
	case 'r':
		return '\r', 2, nil
	case '0':
		return 0, 2, nil
	case '\\':
		return '\\', 2, nil
	case 'x':
		digits := rest[1:min(3, len(rest))]
		if v, err := strconv.ParseUint(digits, 16, 8); err == nil && len(digits) == 2 {
			return byte(v), 4, nil
		}
		return 0, 0, &ParseError{i + 1, `\x without two hexadecimal digits`}
	}
	return 0, 0, &ParseError{i + 1, fmt.Sprintf(`unknown escape \%s, known are %s`, first(rest), knownEscapes)}
}

// first is the first character of text, made fit to be shown.
func first(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if strconv.IsPrint(r) && (r != utf8.RuneError || n > 1) {
		return text[:n]
	}
	return strconv.Quote(text[:n])
}
