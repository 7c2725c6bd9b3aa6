package format

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// JSON prints each message as an object on a line, as the package comment describes it.
type JSON struct{}

// Append is Printer's.
func (JSON) Append(dst []byte, m *Message) []byte { return append(AppendJSON(dst, m), '\n') }

// AppendJSON appends the object alone, without a newline.
func AppendJSON(dst []byte, m *Message) []byte {
	dst = append(dst, `{"topic":"`...)
	dst, _ = appendText(dst, m.Topic, false)
	dst = append(dst, `","partition":`...)
	dst = strconv.AppendInt(dst, int64(m.Partition), 10)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, m.Offset, 10)
	dst = append(dst, `,"timestamp":`...)
	dst = strconv.AppendInt(dst, m.Timestamp, 10)
	dst = appendBytes(dst, `,"key":`, `,"key_base64":`, m.Key, "")
	dst = appendBytes(dst, `,"value":`, `,"value_base64":`, m.Value, "")
	dst = append(dst, `,"headers":[`...)
	for i := range m.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = appendName(dst, m.Headers[i].Name)
		dst = appendBytes(dst, ",", `,{"base64":`, m.Headers[i].Value, "}")
		dst = append(dst, ']')
	}
	return append(dst, ']', '}')
}

// appendBytes appends b behind asText, or behind asBase64 and before end when it is not UTF-8.
func appendBytes(dst []byte, asText, asBase64 string, b []byte, end string) []byte {
	start := len(dst)
	dst = append(dst, asText...)
	if b == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst, ok := appendText(dst, b, true)
	if !ok {
		dst = append(dst[:start], asBase64...)
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, b)
		dst = append(dst, '"')
		return append(dst, end...)
	}
	return append(dst, '"')
}

// appendName is appendBytes for the name of a header.
func appendName(dst []byte, name string) []byte {
	start := len(dst)
	dst = append(dst, '"')
	dst, ok := appendText(dst, name, true)
	if !ok {
		return appendBytes(dst[:start], "", `{"base64":`, []byte(name), "}")
	}
	return append(dst, '"')
}

// plain tells the ASCII characters that stand for themselves in a JSON string. DEL does not, nor do the control
// characters behind it, though JSON allows it: what is printed goes to terminals too.
var plain = func() (table [utf8.RuneSelf]bool) {
	for c := range table {
		table[c] = c >= ' ' && c != '"' && c != '\\' && c != 0x7f
	}
	return table
}()

// appendText appends the inside of a JSON string. Bytes that are not UTF-8 make it give up if strict, and are
// replaced by U+FFFD if not.
func appendText[T string | []byte](dst []byte, text T, strict bool) (_ []byte, ok bool) {
	done := 0 // text up to here is in dst
	for i := 0; i < len(text); {
		for len(text)-i >= 8 && allPlain(text[i:i+8]) {
			i += 8
		}
		if i == len(text) {
			break
		}
		c := text[i]
		if c < utf8.RuneSelf {
			if !plain[c] {
				dst = append(dst, text[done:i]...)
				dst = appendEscape(dst, c)
				done = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		switch {
		case r == utf8.RuneError && n == 1:
			if strict {
				return dst, false
			}
			dst = append(dst, text[done:i]...)
			dst = append(dst, "\uFFFD"...)
			done = i + n
		case r < 0xa0:
			dst = append(dst, text[done:i]...)
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[r>>4], hex[r&0xf])
			done = i + n
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, text[done:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hex[r&0xf])
			done = i + n
		}
		i += n
	}
	return append(dst, text[done:]...), true
}

// allPlain reports whether eight bytes are plain, all at once; it may say no when they are.
func allPlain[T string | []byte](text T) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	var eight [8]byte
	copy(eight[:], text)
	w := binary.LittleEndian.Uint64(eight[:])
	quote, backslash, del := w^('"'*low), w^('\\'*low), w^(0x7f*low)
	// A byte minus a larger one borrows from its high bit.
	return (w|(w-' '*low)|(quote-low)|(backslash-low)|(del-low))&high == 0
}

const hex = "0123456789abcdef"

// appendEscape appends a character that is not plain, in the form that encoding/json has for it.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
