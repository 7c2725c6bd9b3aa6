package format

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"logkit/lib/record"
)

// The fields of an object, each of which may be there once; some have two keys.
const (
	topicField = 1 << iota
	partitionField
	offsetField
	timestampField
	keyField
	valueField
	headersField
	positionField // of logsegdump, no part of a message
)

// ParseJSON sets m to what a line of JSON says, which is an object as AppendJSON writes it, or as a person or another
// program would: in any order, with any blanks and escapes, with keys left out. What is left out stays as it is in m, and
// so does what is null, other than the key and the value of the message, for which null is one of the things they can be.
//
// It is strict where going on would lose something, and then returns a *ParseError and leaves m half set: bytes behind
// the object; keys that it does not know (but "position", which logsegdump adds), or that differ in case; a key given
// twice, or in both its forms; values of another type or out of range; numbers with a fraction or an exponent; text that
// is not UTF-8 or has half a surrogate pair; base64 that is not exactly the standard one, with padding.
//
// Key, value and header values may share the memory of line.
func ParseJSON(line []byte, m *Message) error {
	p := parser{line: line}
	p.object(m)
	if p.blank(); p.err == nil && p.pos < len(line) {
		p.fail("%s behind the object", p.found())
	}
	if p.err != nil { // not p.err itself: a nil *ParseError is not a nil error
		return p.err
	}
	return nil
}

// parser goes along a line. The first error sticks, and what is parsed behind it means nothing.
type parser struct {
	line []byte
	pos  int
	err  *ParseError
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &ParseError{p.pos + 1, fmt.Sprintf(format, args...)}
	}
}

// found names what stands at the position.
func (p *parser) found() string {
	if p.pos >= len(p.line) {
		return "end of line"
	}
	c := first(string(p.line[p.pos:min(len(p.line), p.pos+4)]))
	if len(c) > 1 && c[0] == '"' { // quoted already
		return c
	}
	return strconv.Quote(c)
}

// peek skips blanks and returns what follows, 0 at the end.
func (p *parser) peek() byte {
	p.blank()
	if p.err != nil || p.pos == len(p.line) {
		return 0
	}
	return p.line[p.pos]
}

func (p *parser) blank() {
	for p.pos < len(p.line) {
		switch p.line[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// take passes over c, and fails if there is something else.
func (p *parser) take(c byte, what string) {
	if p.peek() != c {
		p.fail("%s, expected %s", p.found(), what)
		return
	}
	p.pos++
}

// more passes over the comma before an element or over the bracket that ends the list, and reports whether there is an
// element. n is the number of elements before it.
func (p *parser) more(n int, end byte, in string) bool {
	switch c := p.peek(); {
	case p.err != nil:
		return false
	case c == end:
		p.pos++
		return false
	case n > 0 && c == ',':
		p.pos++
	case n > 0:
		p.fail("%s, expected a comma or %q in %s", p.found(), end, in)
	}
	return p.err == nil
}

func (p *parser) object(m *Message) {
	p.take('{', "an object")
	seen := 0
	for n := 0; p.more(n, '}', "the object"); n++ {
		p.blank()
		start := p.pos
		key := p.text("a key")
		p.take(':', "a colon behind the key")
		if p.err != nil {
			return
		}
		field := p.field(m, key)
		if p.err == nil && field&seen != 0 {
			p.pos = start
			p.fail("%s given twice", bytes.TrimSuffix(key, []byte("_base64")))
		}
		seen |= field
		if p.err == nil && field == 0 {
			p.pos = start
			p.fail("unknown key %.100q", key)
		}
	}
}

// field parses the value of a key and returns which field it is, 0 for none.
func (p *parser) field(m *Message, key []byte) int {
	switch string(key) {
	case "topic":
		if !p.absent("topic", "a string or null") {
			m.Topic = string(p.text("topic"))
		}
		return topicField
	case "partition":
		if !p.absent("partition", wholeOrNull) {
			m.Partition = int32(p.integer("partition", math.MinInt32, math.MaxInt32))
		}
		return partitionField
	case "offset":
		if !p.absent("offset", wholeOrNull) {
			m.Offset = p.integer("offset", math.MinInt64, math.MaxInt64)
		}
		return offsetField
	case "timestamp":
		if !p.absent("timestamp", wholeOrNull) {
			m.Timestamp = p.integer("timestamp", math.MinInt64, math.MaxInt64)
		}
		return timestampField
	case "key":
		m.Key = p.textOrNull("key")
		return keyField
	case "key_base64":
		m.Key = p.base64("key_base64")
		return keyField
	case "value":
		m.Value = p.textOrNull("value")
		return valueField
	case "value_base64":
		m.Value = p.base64("value_base64")
		return valueField
	case "headers":
		if !p.absent("headers", "an array of headers or null") {
			m.Headers = p.headers()
		}
		return headersField
	case "position":
		if !p.absent("position", wholeOrNull) {
			p.integer("position", math.MinInt64, math.MaxInt64)
		}
		return positionField
	}
	return 0
}

func (p *parser) headers() (fields []record.Field) {
	p.take('[', "an array of headers")
	for n := 0; p.more(n, ']', "the headers"); n++ {
		p.take('[', "a header, [name, value]")
		name := p.textOrBase64("name of a header")
		p.take(',', "a comma and the value of the header")
		field := record.Field{Name: string(name)}
		if p.peek() == 'n' {
			p.null("value of a header")
		} else {
			field.Value = p.textOrBase64("value of a header")
		}
		p.take(']', "the end of the header")
		fields = append(fields, field)
	}
	return fields
}

// textOrBase64 parses a string or {"base64": string}.
func (p *parser) textOrBase64(what string) []byte {
	if p.peek() != '{' {
		return p.text(what)
	}
	p.pos++
	p.blank()
	start := p.pos
	if key := p.text("a key"); p.err == nil && string(key) != "base64" {
		p.pos = start
		p.fail("%s: unknown key %.100q, expected base64", what, key)
	}
	p.take(':', "a colon behind the key")
	b := p.base64(what)
	p.take('}', "the end of the object")
	return b
}

func (p *parser) textOrNull(what string) []byte {
	if p.peek() == 'n' {
		p.null(what)
		return nil
	}
	return p.text(what)
}

const wholeOrNull = "a whole number or null"

// absent passes over null in the place of something that may be left out, and reports whether it stood there.
func (p *parser) absent(what, expected string) bool {
	if p.peek() != 'n' {
		return false
	}
	p.nothing(what, expected)
	return true
}

func (p *parser) null(what string) { p.nothing(what, "a string or null") }

func (p *parser) nothing(what, expected string) {
	rest, found := bytes.CutPrefix(p.line[p.pos:], []byte("null"))
	if !found {
		p.fail("%s: %s, expected %s", what, p.found(), expected)
		return
	}
	p.pos = len(p.line) - len(rest)
}

// base64 parses a string of base64 and returns its bytes, never nil. The decoder would pass over line ends.
func (p *parser) base64(what string) []byte {
	p.blank()
	start := p.pos
	encoded := p.text(what)
	if p.err != nil {
		return nil
	}
	b, err := base64.StdEncoding.Strict().AppendDecode([]byte{}, encoded)
	if err != nil || bytes.ContainsAny(encoded, "\r\n") {
		p.pos = start
		p.fail("%s: not base64 of the standard alphabet with padding", what)
	}
	return b
}

// integer parses a whole number.
func (p *parser) integer(what string, least, most int64) int64 {
	p.peek()
	start := p.pos
	negative := p.pos < len(p.line) && p.line[p.pos] == '-'
	if negative {
		p.pos++
	}
	digits, u, over := p.pos, uint64(0), false
	for ; p.pos < len(p.line) && p.line[p.pos] >= '0' && p.line[p.pos] <= '9'; p.pos++ {
		over = over || u > (math.MaxUint64-9)/10
		u = u*10 + uint64(p.line[p.pos]-'0')
	}
	n := p.pos - digits
	part := p.pos < len(p.line) && (p.line[p.pos] == '.' || p.line[p.pos]|0x20 == 'e')
	end := p.pos
	p.pos = start
	v := int64(u)
	if negative {
		v = -v
		over = over || u > 1<<63
	} else {
		over = over || u > math.MaxInt64
	}
	switch {
	case n == 0 || n > 1 && p.line[digits] == '0':
		p.fail("%s: %s, expected a whole number", what, p.found())
	case part:
		p.fail("%s: a number with a fraction or an exponent, expected a whole one", what)
	case over || v < least || v > most:
		p.fail("%s: %.100s is out of range, from %d to %d", what, p.line[start:end], least, most)
	}
	p.pos = end
	return v
}
