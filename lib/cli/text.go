package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// Bool is a switch that takes a value: --auto-create false. A switch without a value is a ucli.BoolFlag.
type Bool bool

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, errors.New("not a truth value: allowed are true and false")
}

func (b *Bool) Set(value string) error {
	v, err := parseBool(value)
	if err == nil {
		*b = Bool(v)
	}
	return err
}

func (b *Bool) String() string { return strconv.FormatBool(bool(*b)) }

func (*Bool) Placeholder() string { return "BOOL" }

func (*Bool) Choices() []string { return []string{"true", "false"} }

// Enum is a value that is one of the choices. What dest holds is the default.
func Enum(dest *string, choices ...string) ucli.Generic { return &enum{dest, choices} }

type enum struct {
	dest    *string
	choices []string
}

func (e *enum) Set(value string) error {
	if !slices.Contains(e.choices, value) {
		return fmt.Errorf("not known: allowed are %s", strings.Join(e.choices, ", "))
	}
	*e.dest = value
	return nil
}

func (e *enum) String() string      { return *e.dest }
func (e *enum) Choices() []string   { return e.choices }
func (e *enum) Placeholder() string { return "NAME" }

// Escaped is a string of any bytes, written with the escapes \n \t \r \0 \\ and \xHH.
type Escaped string

var errEscape = errors.New(`an escape that does not exist: allowed are \n, \t, \r, \0, \xHH and \\`)

// Unescape reads an [Escaped].
func Unescape(s string) (string, error) {
	var b strings.Builder
	for s != "" {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found {
			break
		}
		if rest == "" {
			return "", errEscape
		}
		s = rest[1:]
		switch rest[0] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '0':
			b.WriteByte(0)
		case '\\':
			b.WriteByte('\\')
		case 'x':
			if len(s) < 2 {
				return "", errEscape
			}
			v, err := strconv.ParseUint(s[:2], 16, 8)
			if err != nil {
				return "", errEscape
			}
			b.WriteByte(byte(v))
			s = s[2:]
		default:
			return "", errEscape
		}
	}
	return b.String(), nil
}

func (e *Escaped) Set(value string) error {
	s, err := Unescape(value)
	if err == nil {
		*e = Escaped(s)
	}
	return err
}

// String is the text that Set reads back, in printable ASCII.
func (e *Escaped) String() string {
	var b strings.Builder
	for _, c := range []byte(*e) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == 0:
			b.WriteString(`\0`)
		case c == '\\':
			b.WriteString(`\\`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (*Escaped) Placeholder() string { return "STRING" }

// Separator is an [Escaped] that has to be at least one byte.
type Separator string

func (s *Separator) Set(value string) error {
	text, err := Unescape(value)
	if err == nil && text == "" {
		err = errors.New("empty: allowed is at least one byte")
	}
	if err == nil {
		*s = Separator(text)
	}
	return err
}

func (s *Separator) String() string { return (*Escaped)(s).String() }

func (*Separator) Placeholder() string { return "STRING" }

// path is the value of a ucli.PathFlag. An empty one is most likely a variable that was not set.
type path string

func (p *path) Set(value string) error {
	if value == "" {
		return errors.New("empty: allowed is the path of a file or directory")
	}
	*p = path(value)
	return nil
}

func (p *path) String() string { return string(*p) }

// Strings is a value for an option given any number of times; each adds one string, bytes untouched. The first replaces
// what dest holds, the default.
func Strings(dest *[]string) ucli.Generic {
	return Repeated(dest, func(s string) ([]string, error) { return []string{s}, nil }, strings.Clone)
}

// Partitions is a value for a repeatable option of partition numbers, 0 or more.
func Partitions(dest *[]int32) ucli.Generic {
	parse := func(s string) ([]int32, error) {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil || !isDigits(s) {
			return nil, errors.New("not a partition: allowed is 0 to 2147483647, in decimal digits")
		}
		return []int32{int32(n)}, nil
	}
	return Repeated(dest, parse, func(p int32) string { return strconv.Itoa(int(p)) })
}

// Repeated is a value for an option given any number of times: parse turns each into the items it adds, format turns an
// item back into text. The first replaces what dest holds, the default.
func Repeated[T any](dest *[]T, parse func(string) ([]T, error), format func(T) string) ucli.Generic {
	return &repeated[T]{dest: dest, parse: parse, format: format}
}

// Chosen adds to a value what completions offer for it. Other values are taken as well. Choices that end in = are keys,
// which a value follows.
func Chosen(value ucli.Generic, choices ...string) ucli.Generic { return &chosen{value, choices} }

type chosen struct {
	ucli.Generic
	choices []string
}

func (c *chosen) Choices() []string { return c.choices }

func (c *chosen) Placeholder() string {
	if v, ok := c.Generic.(placeholderer); ok {
		return v.Placeholder()
	}
	return "VALUE"
}

func (c *chosen) Repeatable() bool {
	v, ok := c.Generic.(repeater)
	return ok && v.Repeatable()
}

type repeated[T any] struct {
	dest        *[]T
	parse       func(string) ([]T, error)
	format      func(T) string
	placeholder string
	set         bool
}

func (r *repeated[T]) Set(value string) error {
	items, err := r.parse(value)
	if err != nil {
		return err
	}
	if !r.set {
		*r.dest, r.set = nil, true
	}
	*r.dest = append(*r.dest, items...)
	return nil
}

func (r *repeated[T]) String() string {
	var texts []string
	for _, item := range *r.dest {
		texts = append(texts, r.format(item))
	}
	return strings.Join(texts, ",")
}

func (*repeated[T]) Repeatable() bool { return true }

func (r *repeated[T]) Placeholder() string {
	if r.placeholder != "" {
		return r.placeholder
	}
	return "VALUE"
}
