package format

import "unicode/utf8"

// Tame makes a printer fit for terminals: control characters of a message, which could move the cursor or worse, are
// shown as escapes such as \x1b. Newlines and tabs stay. The printer it returns is for one goroutine.
func Tame(p Printer) Printer { return &tame{Printer: p} }

type tame struct {
	Printer
	wild []byte
}

func (t *tame) Append(dst []byte, m *Message) []byte {
	t.wild = t.Printer.Append(t.wild[:0], m)
	return AppendTame(dst, t.wild)
}

// AppendTame appends text as Tame shows it.
func AppendTame(dst, text []byte) []byte {
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
