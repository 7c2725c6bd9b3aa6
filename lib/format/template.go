package format

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const letters = "tpokKsShTR%"

// Template prints messages as a text with letters in it says. Make it with ParseTemplate.
type Template struct {
	parts []part
}

// part is a piece of text or, where that is nil, a letter.
type part struct {
	text   []byte
	letter byte
}

// ParseTemplate reads a template. What it does not know it refuses with a *ParseError.
func ParseTemplate(text string) (*Template, error) {
	t := new(Template)
	for i := 0; i < len(text); {
		switch text[i] {
		case '%':
			if i+1 == len(text) {
				return nil, &ParseError{i + 1, "lone % at the end, known letters are " + letters}
			}
			letter := text[i+1]
			switch {
			case letter == '%':
				t.addText('%')
			case strings.IndexByte(letters, letter) >= 0:
				t.parts = append(t.parts, part{letter: letter})
			default:
				return nil, &ParseError{i + 1, fmt.Sprintf("unknown letter %%%s, known are %s", first(text[i+1:]), letters)}
			}
			i += 2
		case '\\':
			c, n, err := unescape(text, i)
			if err != nil {
				return nil, err
			}
			t.addText(c)
			i += n
		default:
			t.addText(text[i])
			i++
		}
	}
	return t, nil
}

func (t *Template) addText(c byte) {
	if n := len(t.parts); n > 0 && t.parts[n-1].text != nil {
		t.parts[n-1].text = append(t.parts[n-1].text, c)
		return
	}
	t.parts = append(t.parts, part{text: []byte{c}})
}

// Append is Printer's.
func (t *Template) Append(dst []byte, m *Message) []byte {
	for i := range t.parts {
		p := &t.parts[i]
		switch p.letter {
		case 0:
			dst = append(dst, p.text...)
		case 't':
			dst = append(dst, m.Topic...)
		case 'p':
			dst = strconv.AppendInt(dst, int64(m.Partition), 10)
		case 'o':
			dst = strconv.AppendInt(dst, m.Offset, 10)
		case 'T':
			dst = strconv.AppendInt(dst, m.Timestamp, 10)
		case 'k':
			dst = append(dst, m.Key...)
		case 's':
			dst = append(dst, m.Value...)
		case 'K':
			dst = strconv.AppendInt(dst, int64(length(m.Key)), 10)
		case 'S':
			dst = strconv.AppendInt(dst, int64(length(m.Value)), 10)
		case 'R':
			dst = binary.BigEndian.AppendUint32(dst, uint32(length(m.Value)))
		case 'h':
			dst = appendHeaders(dst, m)
		}
	}
	return dst
}

// length is -1 for null.
func length(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

func appendHeaders(dst []byte, m *Message) []byte {
	for i := range m.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.Headers[i].Name...)
		dst = append(dst, '=')
		if m.Headers[i].Value == nil {
			dst = append(dst, "NULL"...)
		}
		dst = append(dst, m.Headers[i].Value...)
	}
	return dst
}
