package cli

import (
	"fmt"
	"strings"
)

// fishCompletion is a complete command for each flag. Fish walks the words itself, but cannot tell the value of an option
// from an operand: the function that the conditions call does.
func fishCompletion(t *Tool) string {
	scopes := t.scopes()
	words, attached := valuedWords(scopes)
	var b strings.Builder
	b.WriteString(completionIntro(t, "fish"))
	if t.asks() {
		b.WriteString(strings.NewReplacer("NAME", t.Name, "VALUED", words, "ATTACHED", attached).Replace(fishAsked))
	}
	t.askers(&b, fishAsker)
	b.WriteString(strings.NewReplacer("NAME", t.Name, "VALUED", words).Replace(fishWalk))
	fmt.Fprintf(&b, "\ncomplete -c %s -f\n", t.Name)
	for _, s := range scopes {
		condition := ""
		switch {
		case s.tool != t:
			condition = " -n " + fishQuote("__"+t.Name+"_at "+s.tool.Name)
		case len(t.Commands) > 0:
			for _, c := range t.Commands {
				fmt.Fprintf(&b, "complete -c %s -n '__%s_at %s' -a %s -d %s\n", t.Name, t.Name, noCommand, c.Name, fishQuote(c.Usage))
			}
		}
		fishOperands(&b, t, s.tool)
		for _, o := range s.options {
			fishOption(&b, t, o, condition)
		}
	}
	return b.String()
}

// fishAsked repeats what the line says about whom to ask.
const fishAsked = `
function __NAME_asked
    set -l words (commandline -opc)
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            return
        else if string match -q -- '--broker=*' "$words[1]"
            echo -- "$words[1]"
        else if test "$argv[1]" = logrebalance; and string match -q -- '--zookeeper=*' "$words[1]"
            echo -- "$words[1]"
        else if string match -qr -- 'VALUED' "$words[1]"
            if string match -qr -- '^(--broker|-[^-]*b)$' "$words[1]"
                echo -- "--broker=$words[2]"
            else if test "$words[1]" = --zookeeper; and test "$argv[1]" = logrebalance
                echo -- "--zookeeper=$words[2]"
            end
            set -e words[1]
        else
            set -l parts (string match -r -- 'ATTACHED' "$words[1]")
            and test "$parts[3]" = b
            and echo -- "--broker=$parts[4]"
        end
    end
end
`

const fishAsker = `
function __NAME_KIND
    command -q ASKS
    and ASKED (__NAME_asked ASKS) 2>/dev/null </dev/null | string match -r -- 'NAMEABLE'
end
`

// fishWalk is true where the first operand is a certain one, "" for any, and where so many operands, or +: so many or more,
// stand before the cursor.
const fishWalk = `
function __NAME_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- 'VALUED' "$words[1]"
            set -e words[1]
        end
    end
    if test "$argv[1]" = -
        not set -q operands[1]
        return
    end
    test -z "$argv[1]"
    or test "$argv[1]" = "$operands[1]"
    or return
    set -q argv[2]
    or return 0
    if set -q argv[3]
        test (count $operands) -ge $argv[2]
    else
        test (count $operands) -eq $argv[2]
    end
end
`

// noCommand is what fishWalk is asked whether there is no operand yet.
const noCommand = "-"

// fishOperands offers what each operand may be, by how many stand before it.
func fishOperands(b *strings.Builder, t, command *Tool) {
	name, skip := "''", 0
	if command != t {
		name, skip = command.Name, 1
	}
	for i, kind := range command.Operands {
		more := ""
		if i == len(command.Operands)-1 && (command.MaxArgs < 0 || command.MaxArgs > len(command.Operands)) {
			more = " +"
		}
		where := " -n " + fishQuote(fmt.Sprintf("__%s_at %s %d%s", t.Name, name, i+skip, more))
		switch kind {
		case TopicOperand, GroupOperand:
			fmt.Fprintf(b, "complete -c %s%s -a '(__%s_%s)'\n", t.Name, where, t.Name, askedName(kind))
		case FileOperand:
			fmt.Fprintf(b, "complete -c %s%s -F\n", t.Name, where)
		case DirOperand:
			fmt.Fprintf(b, "complete -c %s%s -a '(__fish_complete_directories)'\n", t.Name, where)
		}
	}
}

func fishOption(b *strings.Builder, t *Tool, o *option, condition string) {
	fmt.Fprintf(b, "complete -c %s%s", t.Name, condition)
	for _, name := range o.names {
		if len(name) == 1 {
			fmt.Fprintf(b, " -s %s", name)
		} else {
			fmt.Fprintf(b, " -l %s", name)
		}
	}
	switch {
	case !o.takesValue():
	case o.asked != OtherOperand:
		fmt.Fprintf(b, " -x -a '(__%s_%s)'", t.Name, askedName(o.asked))
	case len(o.choices) > 0: // fish puts no blank behind =
		fmt.Fprintf(b, " -x -a %s", fishQuote(strings.Join(o.choices, " ")))
	case o.files == directory:
		b.WriteString(" -x -a '(__fish_complete_directories)'")
	case o.files == anyFile:
		b.WriteString(" -r -F")
	default:
		b.WriteString(" -x")
	}
	fmt.Fprintf(b, " -d %s\n", fishQuote(o.usage))
}

var fishEscapes = strings.NewReplacer(`\`, `\\`, "'", `\'`)

func fishQuote(s string) string { return "'" + fishEscapes.Replace(s) + "'" }
