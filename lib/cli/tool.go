package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// Tool is a program, or a command of one. Its flags point at the variables a run reads, so a Tool serves one Execute;
// tests make it anew with the same constructor main uses.
type Tool struct {
	Name     string
	Usage    string    // what it does, in half a line
	Synopsis []string  // lines such as "[OPTION]... TOPIC [FILE]...", without the name
	Operands []Operand // what completions offer for each operand; the last goes on for all further ones

	Flags       []ucli.Flag
	Description string // paragraphs below the options in help, separated by empty lines
	MinArgs     int
	MaxArgs     int // -1: any number

	// Check, when set, looks at the options together, before Run and before --print-config shows them: it may set those
	// that were not given, and returns what makes no sense, see Usagef.
	Check func() error

	// Run does the work. It ends soon when ctx does, and returns what went wrong: see WithCode, WithHint, Usagef,
	// Unavailable, Damaged. args are the operands, MinArgs to MaxArgs of them.
	Run func(ctx context.Context, env *Env, args []string) error

	// Commands make the first operand the name of one of them. Flags and Run of the command are used, with the flags of
	// the tool, which may stand before or behind the command's name. Their own Commands, EnvPrefix and Config are not.
	Commands []*Tool

	EnvPrefix string   // "LOGD": each flag reads LOGD_FLAG_NAME, and no other variable
	Variables []string // that Run reads through Env.Getenv itself, such as NO_COLOR: for the check of the manual page
	Config    bool     // adds --config and --print-config
	SignalOK  bool     // INT and TERM are the normal end: status 0
	Exits     []Exit   // exit statuses; nil means those all tools share

	config configFlags
}

// Operand is a kind of operand, for completions.
type Operand int

const (
	OtherOperand Operand = iota
	TopicOperand
	GroupOperand
	FileOperand
	DirOperand
)

// Execute runs the tool with the arguments that follow its name, and returns its exit status. Errors have been
// reported on s.Stderr by then. It returns when Run has; ctx is cancelled with a cause of SignalError for a signal.
func (t *Tool) Execute(ctx context.Context, args []string, s Stdio) int {
	ctx, cancel := context.WithCancel(ctx)
	env := newEnv(ctx, t.Name, s)
	err := t.run(ctx, env, args)
	code, failures := t.status(ctx, env, err)
	cancel()
	env.watchers.Wait()
	env.Progress("")
	for _, failure := range failures {
		env.report(failure)
	}
	return code
}

func (t *Tool) run(ctx context.Context, env *Env, args []string) error {
	call, err := t.parse(args)
	switch {
	case errors.Is(err, errHelp):
		return printed(io.WriteString(env.Stdout, call.help()))
	case errors.Is(err, errVersion):
		return printed(io.WriteString(env.Stdout, versionLine(t.Name)))
	case err != nil:
		return call.hinted(err)
	}
	settings, err := call.layers(ctx, env.Getenv)
	if err != nil {
		return call.hinted(err)
	}
	return call.start(ctx, env, settings)
}

// printed is the error of a write to stdout.
func printed(_ int, err error) error {
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// call is one invocation: the tool, the command of it that was named, and what was given.
type call struct {
	tool, command *Tool // the same where there are no commands
	parser
}

func (c *call) name() string {
	if c.command != c.tool {
		return c.tool.Name + " " + c.command.Name
	}
	return c.tool.Name
}

func (t *Tool) parse(args []string) (*call, error) {
	c := &call{tool: t, command: t, parser: parser{options: newOptions(t)}}
	if len(t.Commands) > 0 {
		c.operand = c.choose
	}
	if err := c.parser.parse(args); err != nil {
		return c, err
	}
	if len(t.Commands) > 0 && c.command == t {
		if len(c.operands) > 0 {
			return c, errUnknownCommand(c.operands[0], t.commandNames())
		}
		return c, errCommandMissing(t.commandNames())
	}
	return c, nil
}

// choose takes the first operand as the name of a command, whose flags are known from there on.
func (c *call) choose(name string) (bool, error) {
	if c.command != c.tool {
		return false, nil
	}
	for _, command := range c.tool.Commands {
		if command.Name == name {
			c.command = command
			for _, f := range command.Flags {
				c.options.add(newOption(f, c.tool.EnvPrefix))
			}
			return true, nil
		}
	}
	return false, errUnknownCommand(name, c.tool.commandNames())
}

func (t *Tool) commandNames() []string {
	var names []string
	for _, c := range t.Commands {
		names = append(names, c.Name)
	}
	return names
}

// hinted gives a usage error its one hint.
func (c *call) hinted(err error) error {
	var hint hinter
	if len(flatten(err)) != 1 || codeOf(err) != ExitUsage || errors.As(err, &hint) {
		return err
	}
	return WithHint(err, hintHelp(c.name()))
}

func (c *call) checkOperands() error {
	least, most := c.command.MinArgs, c.command.MaxArgs
	if n := len(c.operands); n < least || most >= 0 && n > most {
		err := errOperands(c.operands, least, most)
		if lines := c.usageLines(); len(lines) == 1 {
			err = WithHint(err, lines[0])
		}
		return err
	}
	return nil
}

// start hands urfave the settings. It sets the values in their order and calls Action, or OnUsageError at the first that
// is refused.
func (c *call) start(ctx context.Context, env *Env, settings []setting) error {
	app := &ucli.App{
		Name: c.name(), Usage: c.command.Usage, UsageText: c.name(),
		Reader: env.Stdin, Writer: io.Discard, ErrWriter: io.Discard, Compiled: time.Unix(0, 0),
		HideHelp: true, HideHelpCommand: true, HideVersion: true, DisableSliceFlagSeparator: true,
		ExitErrHandler: func(*ucli.Context, error) {},
		OnUsageError:   func(_ *ucli.Context, err error, _ bool) error { return c.hinted(c.refused(err)) },
		Action: func(u *ucli.Context) error {
			if c.tool.Check != nil {
				if err := c.tool.Check(); err != nil {
					return c.hinted(err)
				}
			}
			if c.tool.config.print {
				return printed(io.WriteString(env.Stdout, c.printConfig()))
			}
			if err := c.checkOperands(); err != nil {
				return c.hinted(err)
			}
			return c.hinted(c.command.Run(u.Context, env, u.Args().Slice()))
		},
	}
	for _, o := range c.options.list {
		if o.flag != nil {
			app.Flags = append(app.Flags, o.flag)
		}
	}
	args := []string{app.Name}
	for _, s := range settings {
		args = append(args, "--"+s.name()+"="+s.value)
	}
	args = append(args, "--")
	return app.RunContext(ctx, append(args, c.operands...))
}

func (c *call) refused(err error) error {
	for _, o := range c.options.list {
		if o.failed != nil {
			return o.failed
		}
	}
	return WithCode(ExitUsage, err)
}
