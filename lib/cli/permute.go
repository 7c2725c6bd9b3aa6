package cli

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// errHelp and errVersion end parsing: as in GNU tools, what was wrong before them is told, what follows is not looked at.
var (
	errHelp    = errors.New("help asked for")
	errVersion = errors.New("version asked for")
)

// parser takes arguments apart in GNU order:
//
//	--lines=5  --lines 5  -n5  -n 5  -fn5  -fn 5     options, before or after operands
//	-o -3d                                          an option that takes a value takes the next argument, whatever it is
//	-                                               an operand
//	--                                              only operands follow
//
// Long options need two dashes and are never shortened. An option given twice, under whichever name, is in the settings
// twice. No argument is lost: each is an option, a value, an operand, the first --, or the error.
type parser struct {
	options  *options
	settings []setting
	operands []string

	// operand, when set, is told each operand before the first --, and may extend options. It reports whether it took it.
	operand func(arg string) (taken bool, err error)
}

func (p *parser) parse(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case arg == "--":
			p.operands = append(p.operands, args...)
			return nil
		case strings.HasPrefix(arg, "--"):
			args, err = p.long(arg, args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = p.cluster(arg, args)
		default:
			err = p.plain(arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) plain(arg string) error {
	if p.operand != nil {
		taken, err := p.operand(arg)
		if taken || err != nil {
			return err
		}
	}
	p.operands = append(p.operands, arg)
	return nil
}

// long reads one --name or --name=value; rest is what follows it, of which it returns what it has not taken.
func (p *parser) long(arg string, rest []string) ([]string, error) {
	name, value, given := strings.Cut(arg[2:], "=")
	typed := "--" + name
	o := p.options.byName[name]
	if o == nil || len(name) < 2 {
		return nil, p.unknown(typed, "")
	}
	switch {
	case given:
	case !o.takesValue():
		value = "true"
	case len(rest) == 0:
		return nil, errValueMissing(typed, o.placeholder)
	default:
		value, rest = rest[0], rest[1:]
	}
	return rest, p.put(o, value, typed)
}

// cluster reads -abc: switches, of which the last may be an option with its value behind it or in the next argument.
func (p *parser) cluster(arg string, rest []string) ([]string, error) {
	for letters := arg[1:]; letters != ""; {
		_, n := utf8.DecodeRuneInString(letters)
		name, typed := letters[:n], "-"+letters[:n]
		letters = letters[n:]
		o := p.options.byName[name]
		switch {
		case o == nil:
			return nil, p.unknown(typed, arg)
		case !o.takesValue():
			if err := p.put(o, "true", typed); err != nil {
				return nil, err
			}
		case letters != "":
			return rest, p.put(o, letters, typed)
		case len(rest) == 0:
			return nil, errValueMissing(typed, o.placeholder)
		default:
			return rest[1:], p.put(o, rest[0], typed)
		}
	}
	return rest, nil
}

func (p *parser) put(o *option, value, origin string) error {
	switch o.name() {
	case helpNames[0]:
		return errHelp
	case versionNames[0]:
		return errVersion
	}
	s, err := newSetting(o, value, origin)
	if err == nil {
		p.settings = append(p.settings, s)
	}
	return err
}

// newSetting checks what urfave would check in its own words: the value of a switch.
func newSetting(o *option, value, origin string) (setting, error) {
	if !o.takesValue() {
		on, err := parseBool(value)
		if err != nil {
			return setting{}, errValue(origin, value, err)
		}
		value = "false"
		if on {
			value = "true"
		}
	}
	return setting{o, value, origin}, nil
}

// unknown names the option as typed, and one hint: the same word with two dashes, the number tail once took, or the
// nearest name.
func (p *parser) unknown(typed, within string) error {
	word, _, _ := strings.Cut(strings.TrimLeft(within, "-"), "=")
	if len(word) > 1 && p.options.byName[word] != nil {
		return WithHint(errUnknownOption("-"+word, ""), hintDidYouMean("--"+word))
	}
	if isDigits(word) && p.options.byName["n"] != nil {
		return WithHint(errUnknownOption(within, ""), hintDidYouMean("-n "+word))
	}
	err := errUnknownOption(typed, within)
	if near := p.options.nearest(strings.TrimLeft(typed, "-")); near != "" {
		return WithHint(err, hintDidYouMean(near))
	}
	return err
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
