package format

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text parses a string and returns its bytes, never nil. They share the memory of the line if nothing is escaped.
func (p *parser) text(what string) []byte {
	if p.peek() != '"' {
		p.fail("%s: %s, expected a string", what, p.found())
		return nil
	}
	p.pos++
	start := p.pos // of what is not copied yet
	var out []byte // once something was escaped
	for p.pos < len(p.line) {
		c := p.line[p.pos]
		switch {
		case c == '"':
			tail := p.line[start:p.pos:p.pos]
			p.pos++
			if out == nil {
				return tail
			}
			return append(out, tail...)
		case c == '\\':
			out = append(out, p.line[start:p.pos]...)
			out = p.escape(out, what)
			if p.err != nil {
				return nil
			}
			if out == nil {
				out = []byte{}
			}
			start = p.pos
		case c < ' ':
			p.fail("%s: control character %#02x in a string", what, c)
			return nil
		case c < utf8.RuneSelf:
			p.pos++
		default:
			r, n := utf8.DecodeRune(p.line[p.pos:])
			if r == utf8.RuneError && n == 1 {
				p.fail("%s: byte %#02x is not UTF-8, which base64 could carry", what, c)
				return nil
			}
			p.pos += n
		}
	}
	p.fail("%s: string without an end", what)
	return nil
}

// escape appends what the escape at the position stands for.
func (p *parser) escape(out []byte, what string) []byte {
	if p.pos+1 == len(p.line) {
		p.fail("%s: string without an end", what)
		return out
	}
	c := p.line[p.pos+1]
	switch c {
	case '"', '\\', '/':
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		return p.unicodeEscape(out, what)
	default:
		p.fail("%s: unknown escape \\%s", what, first(string(p.line[p.pos+1:min(len(p.line), p.pos+5)])))
		return out
	}
	p.pos += 2
	return append(out, c)
}

// unicodeEscape is escape for \uXXXX, and for two of them that are a surrogate pair.
func (p *parser) unicodeEscape(out []byte, what string) []byte {
	r, ok := p.hex4(p.pos)
	if !ok {
		p.fail("%s: \\u without four hexadecimal digits", what)
		return out
	}
	if !utf16.IsSurrogate(r) {
		p.pos += 6
		return utf8.AppendRune(out, r)
	}
	second, ok := p.hex4(p.pos + 6)
	if r = utf16.DecodeRune(r, second); !ok || r == utf8.RuneError {
		p.fail("%s: half a surrogate pair", what)
		return out
	}
	p.pos += 12
	return utf8.AppendRune(out, r)
}

// hex4 returns XXXX of the \uXXXX at i, if it is one.
func (p *parser) hex4(i int) (rune, bool) {
	if len(p.line)-i < 6 || p.line[i] != '\\' || p.line[i+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.line[i+2:i+6]), 16, 16)
	return rune(v), err == nil
}
