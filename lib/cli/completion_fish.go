package cli

import (
	"fmt"
	"strings"
)

// fishCompletion is a complete command for each flag; fish walks the words itself.
func fishCompletion(t *Tool) string {
	var b strings.Builder
	b.WriteString(completionIntro(t, "fish"))
	t.askers(&b, fishAsker)
	fmt.Fprintf(&b, "\ncomplete -c %s -f\n", t.Name)
	for _, s := range t.scopes() {
		condition := ""
		switch {
		case s.tool != t:
			condition = " -n " + fishQuote("__fish_seen_subcommand_from "+s.tool.Name)
		case len(t.Commands) > 0:
			for _, c := range t.Commands {
				fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", t.Name, c.Name, fishQuote(c.Usage))
			}
		}
		fishOperands(&b, t, s.tool, condition)
		for _, o := range s.options {
			fishOption(&b, t, o, condition)
		}
	}
	return b.String()
}

const fishAsker = `
function __NAME_KIND
    command -q ASKS
    and command ASKS list --quiet --timeout 1s 2>/dev/null </dev/null | string match -r '^[A-Za-z0-9._-]+$'
end
`

// fishOperands offers each kind once. Where a topic comes first and others follow, fish tells them apart by whether a word
// that is no switch stands before the cursor; it cannot say more.
func fishOperands(b *strings.Builder, t, command *Tool, condition string) {
	seen := map[Operand]bool{}
	for i, kind := range command.Operands {
		if seen[kind] {
			continue
		}
		seen[kind] = true
		where := condition
		if condition == "" && len(command.Operands) > 1 {
			where = []string{" -n __fish_is_first_token", " -n 'not __fish_is_first_token'"}[min(i, 1)]
		}
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
	case len(o.choices) > 0:
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
