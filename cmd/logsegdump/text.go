package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"logkit/lib/format"
)

// safeName is text from outside, such as a file's name, without what could move the cursor.
func safeName(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return text
	}
	return strings.Trim(strconv.Quote(text), `"`)
}

// appendJSON appends v, a string or a number, as JSON.
func appendJSON(dst []byte, v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return append(dst, "null"...)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// tame is a printer for terminals: control characters of a message, which could move the cursor or worse, are shown as
// escapes. Newlines and tabs stay.
type tame struct {
	format.Printer
	wild []byte
}

func (t *tame) Append(dst []byte, m *format.Message) []byte {
	t.wild = t.Printer.Append(t.wild[:0], m)
	return appendTame(dst, t.wild)
}

func appendTame(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && n == 1, c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			dst = append(dst, '\\', 'x', digits[text[0]>>4], digits[text[0]&15])
		case c >= 0x80 && c < 0xa0: // C1: some terminals take them for escape sequences
			dst = append(dst, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}
