package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// option is a flag as the shell sees it: names, texts, the values given for it, and the flag urfave sets them through.
type option struct {
	names       []string // canonical name first
	usage       string
	placeholder string // of its value; empty for a switch
	def         string // default, as shown; empty when there is nothing to show
	env         []string
	choices     []string
	hidden      bool
	files       fileKind
	asked       Operand // TopicOperand or GroupOperand: its values are names that a broker knows
	repeatable  bool    // each further value is added to those before

	flag    ucli.Flag     // nil for help and version
	current func() string // value in force, as print-config shows it
	given   []setting     // values from the source that won, in order
	set     int           // how many of them have been set
	failed  error         // why setting one of them failed
}

// setting is a value given for an option, and where: the option as typed, a variable, or a line of a file.
type setting struct {
	*option
	value, origin string
}

type fileKind int

const (
	noFile fileKind = iota
	anyFile
	directory
)

func (o *option) name() string     { return o.names[0] }
func (o *option) takesValue() bool { return o.placeholder != "" }

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Values of this package say more about themselves than a urfave Generic does.
type (
	placeholderer interface{ Placeholder() string }
	chooser       interface{ Choices() []string }
	repeater      interface{ Repeatable() bool }
)

// newOption describes a flag, and copies it without the parts that urfave would treat in its own way: further names (it
// sets the value once more for each), variables (empty ones count there), and Required (prints help on stdout).
func newOption(f ucli.Flag, envPrefix string) *option {
	o := &option{}
	switch f := f.(type) {
	case *ucli.BoolFlag:
		mustHave(f.Destination != nil && !f.Required, f.Name)
		c := *f
		c.Value = c.Value || *c.Destination
		o.hidden, o.env = c.Hidden, c.EnvVars
		o.current = func() string { return strconv.FormatBool(*c.Destination) }
		o.describe(f.Name, f.Aliases, f.Usage, "")
		c.Name, c.Aliases, c.EnvVars = o.name(), nil, nil
		o.flag = &c
	case *ucli.StringFlag:
		mustHave(f.Destination != nil && !f.Required, f.Name)
		c := *f
		c.Value = cmp.Or(c.Value, *c.Destination)
		o.hidden, o.env, o.def = c.Hidden, c.EnvVars, cmp.Or(c.DefaultText, c.Value)
		o.current = func() string { return *c.Destination }
		o.describe(f.Name, f.Aliases, f.Usage, "STRING")
		c.Name, c.Aliases, c.EnvVars = o.name(), nil, nil
		o.flag = &c
	case *ucli.PathFlag:
		mustHave(f.Destination != nil && !f.Required, f.Name)
		c := *f
		c.Value = cmp.Or(c.Value, *c.Destination)
		o.hidden, o.env, o.def = c.Hidden, c.EnvVars, cmp.Or(c.DefaultText, c.Value)
		o.current = func() string { return *c.Destination }
		o.describe(f.Name, f.Aliases, f.Usage, "FILE")
		*c.Destination = c.Value
		o.flag = &ucli.GenericFlag{Name: o.name(), Usage: c.Usage, Value: &checked{(*path)(c.Destination), o}}
	case *ucli.GenericFlag:
		mustHave(f.Value != nil && f.Destination == nil && !f.Required, f.Name)
		c := *f
		o.hidden, o.env, o.def = c.Hidden, c.EnvVars, cmp.Or(c.DefaultText, zeroOut(c.Value.String()))
		o.current = f.Value.String
		placeholder := "VALUE"
		if v, ok := f.Value.(placeholderer); ok {
			placeholder = v.Placeholder()
		}
		if v, ok := f.Value.(chooser); ok {
			o.choices = v.Choices()
		}
		if v, ok := f.Value.(repeater); ok {
			o.repeatable = v.Repeatable()
		}
		o.describe(f.Name, f.Aliases, f.Usage, placeholder)
		if e, ok := f.Value.(*enum); ok {
			o.usage += ": " + strings.Join(e.choices, ", ")
		}
		c.Name, c.Aliases, c.EnvVars, c.Value = o.name(), nil, nil, &checked{f.Value, o}
		o.flag = &c
	default:
		panic(fmt.Sprintf("cli: flag %v: %T is not supported: use a value of package cli in a GenericFlag", f.Names(), f))
	}
	if envPrefix != "" && o.name() != "print-config" {
		o.env = []string{envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(o.name(), "-", "_"))}
	}
	return o
}

func mustHave(ok bool, name string) {
	if !ok {
		panic("cli: flag " + name + ": needs a Destination (a GenericFlag: a Value and no Destination), and Required is not supported")
	}
}

// zeroOut leaves out defaults that say nothing.
func zeroOut(s string) string {
	if s == "0" || s == "0s" || s == "[]" {
		return ""
	}
	return s
}

// describe sets names and texts. A word in backquotes in the usage is the placeholder, as urfave has it. Behind a comma or a
// colon it is no part of the sentence, and is left out of it: it stands beside the name already.
func (o *option) describe(name string, aliases []string, usage, placeholder string) {
	o.names = append([]string{name}, aliases...)
	if i := slices.IndexFunc(o.names, func(n string) bool { return len(n) > 1 }); i > 0 {
		o.names[0], o.names[i] = o.names[i], o.names[0]
	}
	o.usage = usage
	o.placeholder = placeholder
	if before, rest, ok := strings.Cut(usage, "`"); ok {
		if word, after, ok := strings.Cut(rest, "`"); ok {
			if apart := strings.TrimSuffix(strings.TrimSuffix(before, ", "), ": "); apart != before {
				o.usage = apart + after
			} else {
				o.usage = before + word + after
			}
			if placeholder != "" {
				o.placeholder = word
			}
		}
	}
	switch {
	case !o.takesValue():
	case strings.Contains(o.placeholder, "DIR"):
		o.files = directory
	case strings.Contains(o.placeholder, "FILE"), strings.Contains(o.placeholder, "PATH"):
		o.files = anyFile
	case strings.HasPrefix(o.placeholder, "TOPIC"):
		o.asked = TopicOperand
	case o.placeholder == "GROUP", o.placeholder == "G":
		o.asked = GroupOperand
	}
}

// checked hands values to the tool's own, and keeps the error that urfave would turn into text.
type checked struct {
	value  ucli.Generic
	option *option
}

func (c *checked) Set(s string) error {
	err := c.value.Set(s)
	if err != nil && c.option.failed == nil {
		c.option.failed = errValue(c.option.given[c.option.set].origin, s, err)
	}
	c.option.set++
	return err
}

func (c *checked) String() string {
	if c.value == nil {
		return ""
	}
	return c.value.String()
}

// options are the flags of a tool, or of one of its commands with those of the tool.
type options struct {
	list   []*option
	byName map[string]*option
}

func (s *options) add(o *option) {
	for _, name := range o.names {
		if name == "" || strings.ContainsAny(name, "= ,") || name[0] == '-' {
			panic(fmt.Sprintf("cli: flag name %q", name))
		}
		if s.byName[name] != nil {
			panic("cli: flag " + name + " is declared twice")
		}
		s.byName[name] = o
	}
	s.list = append(s.list, o)
}

var (
	helpNames    = []string{"help", "h"}
	versionNames = []string{"version"}
)

func newOptions(t *Tool) *options {
	s := &options{byName: map[string]*option{}}
	for _, f := range t.allFlags() {
		s.add(newOption(f, t.EnvPrefix))
	}
	s.add(&option{names: helpNames, usage: "show this help and exit"})
	s.add(&option{names: versionNames, usage: "show the version and exit"})
	return s
}
