package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// A configuration file is lines of
//
//	# comment
//	name = value    # comment
//	name = "value"
//
// where name is a long option without its dashes, and value is what would stand behind it on the command line. A # begins
// a comment at the start of a line or after a blank. A value in double quotes may hold blanks at its ends, # and the
// escapes of Go. An option that can be given several times may have several lines. Lines may end with CR LF, and a byte
// order mark may stand before the first.
const maxConfigBytes = 1 << 20

// byteOrderMark is what editors of other systems put before UTF-8 text.
const byteOrderMark = "\ufeff"

type configFlags struct {
	file  string
	print bool
}

// unconfigurable are options that make no sense in the file itself.
var unconfigurable = map[string]bool{"config": true, "print-config": true, "help": true, "version": true}

func (t *Tool) allFlags() []ucli.Flag {
	if !t.Config {
		return t.Flags
	}
	return append(t.Flags[:len(t.Flags):len(t.Flags)],
		&ucli.PathFlag{Name: "config", Usage: "read options from `FILE`, lines of name = value", Destination: &t.config.file},
		&ucli.BoolFlag{Name: "print-config", Usage: "show the options in force and where each comes from, and exit", Destination: &t.config.print})
}

// configEntries reads the file that the command line or the environment names, if any.
func (c *call) configEntries(ctx context.Context) ([]setting, error) {
	given := c.options.byName["config"].given
	if len(given) == 0 {
		return nil, nil
	}
	last := given[len(given)-1]
	name := last.value
	if err := new(path).Set(name); err != nil {
		return nil, errValue(last.origin, name, err)
	}
	f, err := OpenInput(ctx, name)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, Usagef("%s: %w", last.origin, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, Usagef("%s: %w", last.origin, err)
	}
	if len(data) > maxConfigBytes {
		return nil, Usagef("%s: larger than %d bytes, the most a configuration may have", name, maxConfigBytes)
	}
	return c.options.parseConfig(name, bytes.TrimPrefix(data, []byte(byteOrderMark)))
}

func (s *options) parseConfig(file string, data []byte) ([]setting, error) {
	var entries []setting
	lineOf := map[*option]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxConfigBytes+1)
	for n := 1; lines.Scan(); n++ {
		origin := fmt.Sprintf("%s:%d", file, n)
		name, value, err := splitConfigLine(lines.Text())
		if err != nil {
			return nil, Usagef("%s: %w", origin, err)
		}
		if name == "" {
			continue
		}
		o := s.byName[name]
		if o == nil || len(name) == 1 || unconfigurable[o.name()] {
			err := Usagef("%s: unknown option %q", origin, shortened(name))
			if near := strings.TrimLeft(s.nearest(name), "-"); near != "" && !unconfigurable[near] {
				err = WithHint(err, hintDidYouMean(near))
			}
			return nil, err
		}
		if first := lineOf[o]; first > 0 && !o.repeatable {
			return nil, Usagef("%s: option %s is given in line %d already", origin, name, first)
		}
		lineOf[o] = n
		entries = append(entries, setting{o, value, origin + ": " + name})
	}
	return entries, lines.Err()
}

// splitConfigLine returns an empty name for a line that says nothing.
func splitConfigLine(line string) (name, value string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	name, rest, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return "", "", fmt.Errorf("%q: not a line of name = value", shortened(line))
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return "", "", fmt.Errorf("%s: closing quote missing, or an escape that does not exist", name)
		}
		if after := strings.TrimSpace(rest[len(quoted):]); after != "" && after[0] != '#' {
			return "", "", fmt.Errorf("%s: %q behind the closing quote", name, shortened(after))
		}
		value, err = strconv.Unquote(quoted)
		return name, value, err
	}
	return name, strings.TrimSpace(cutComment(rest)), nil
}

func cutComment(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}

// printConfig shows the values in force as a file that sets the same.
func (c *call) printConfig() string {
	var b strings.Builder
	for _, o := range c.options.list {
		if o.flag == nil || o.hidden || unconfigurable[o.name()] {
			continue
		}
		value, origin := o.current(), "default"
		if len(o.given) > 0 {
			origin = o.given[len(o.given)-1].origin
		}
		if value == "" && len(o.given) == 0 {
			fmt.Fprintf(&b, "# %s is not set\n", o.name())
			continue
		}
		fmt.Fprintf(&b, "%s = %s  # %s\n", o.name(), configValue(value), printable(origin))
	}
	return b.String()
}

// configValue quotes a value that would not be read back as it is.
func configValue(s string) string {
	if _, value, err := splitConfigLine("x = " + s); err != nil || value != s || printable(s) != s || s == "" || strings.Contains(s, "#") {
		return strconv.Quote(s)
	}
	return s
}
