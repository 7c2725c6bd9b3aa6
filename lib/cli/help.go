package cli

import (
	"fmt"
	"slices"
	"strings"
)

const (
	helpWidth  = 80 // columns
	helpIndent = 26 // where the texts of options begin
	exitIndent = 7  // where those of exit statuses do
)

func (c *call) usageLines() []string {
	synopsis := c.command.Synopsis
	if len(synopsis) == 0 {
		synopsis = []string{"[OPTION]..."}
	}
	var lines []string
	for _, s := range synopsis {
		lines = append(lines, c.name()+" "+s)
	}
	return lines
}

// help is what --help shows: usage, options with their defaults and variables, description, exit statuses.
func (c *call) help() string {
	var b strings.Builder
	for i, line := range c.usageLines() {
		b.WriteString([]string{"Usage: ", "       "}[min(i, 1)] + line + "\n")
	}
	if c.command.Usage != "" {
		fmt.Fprintf(&b, "%s\n", wrap(c.command.Usage, 0))
	}
	if c.command == c.tool && len(c.tool.Commands) > 0 {
		b.WriteString("\nCommands:\n")
		for _, command := range c.tool.Commands {
			entry(&b, helpIndent, "  "+command.Name, command.Usage)
		}
	}
	b.WriteString("\nOptions:\n")
	for _, o := range c.options.list {
		if !o.hidden {
			entry(&b, helpIndent, o.heading(), o.text(c.tool.EnvPrefix == ""))
		}
	}
	if prefix := c.tool.EnvPrefix; prefix != "" {
		text := "Each option is also read from the environment: " + prefix + "_ and its name in capitals, _ for -."
		fmt.Fprintf(&b, "\n%s\n", wrap(text, 0))
	}
	if c.command.Description != "" {
		for _, paragraph := range strings.Split(strings.TrimSpace(c.command.Description), "\n\n") {
			fmt.Fprintf(&b, "\n%s\n", wrap(paragraph, 0))
		}
	}
	exitStatus(&b, "Exit status", c.exitTable())
	if c.command == c.tool {
		for _, command := range c.tool.Commands {
			own := slices.DeleteFunc(slices.Clone(command.Exits), func(e Exit) bool { return slices.Contains(c.exitTable(), e) })
			if len(own) > 0 {
				exitStatus(&b, "Exit status of "+command.Name, own)
			}
		}
	}
	return b.String()
}

func exitStatus(b *strings.Builder, title string, table []Exit) {
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, exit := range table {
		entry(b, exitIndent, fmt.Sprintf("  %d", exit.Code), exit.Meaning)
	}
}

func (c *call) exitTable() []Exit {
	if c.command.Exits != nil {
		return c.command.Exits
	}
	return c.tool.ExitTable()
}

// heading is "  -n, --lines N", the short name first and its column kept free where there is none.
func (o *option) heading() string {
	var short, long []string
	for _, name := range o.names {
		if len(name) == 1 {
			short = append(short, dashed(name))
		} else {
			long = append(long, dashed(name))
		}
	}
	heading := "  " + strings.Join(append(short, long...), ", ")
	if len(short) == 0 {
		heading = "      " + strings.Join(long, ", ")
	}
	if o.takesValue() {
		heading += " " + o.placeholder
	}
	return heading
}

func (o *option) text(withVariable bool) string {
	text := o.usage
	if o.def != "" {
		text += " (default " + printable(o.def) + ")"
	}
	if withVariable && len(o.env) > 0 {
		text += " [" + strings.Join(o.env, ", ") + "]"
	}
	return text
}

func entry(b *strings.Builder, indent int, heading, text string) {
	if len(heading) > indent-2 {
		b.WriteString(heading + "\n")
		heading = ""
	}
	fmt.Fprintf(b, "%-*s%s\n", indent, heading, wrap(text, indent))
}

// wrap breaks text at blanks and indents all lines but the first.
func wrap(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > helpWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
