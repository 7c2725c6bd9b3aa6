package cli

import (
	"slices"
	"strings"
)

// Completion returns the completion script of a tool for "bash", "zsh" or "fish"; another shell panics.
//
// The scripts are static: they know flags, fixed values and which values are files, and never run the tool. Topics are
// asked from logtopic list and groups from logrebalance list, of the brokers that the line names, silently, and for at most
// 300 ms. Only names of letters, digits and ._:/@+,%=- that no option begins like are offered: nothing that came over the
// network is evaluated, and none of it needs quotes.
func Completion(t *Tool, shell string) string {
	switch shell {
	case "bash":
		return bashCompletion(t)
	case "zsh":
		return zshCompletion(t)
	case "fish":
		return fishCompletion(t)
	}
	panic("cli: no completions for shell " + shell)
}

const completionHeader = "# Completions of NAME for SHELL, written from its flags by 'make docs'.\n"

func completionIntro(t *Tool, shell string) string {
	return strings.NewReplacer("NAME", t.Name, "SHELL", shell).Replace(completionHeader)
}

func (s scope) names(long bool) []string {
	var names []string
	for _, o := range s.options {
		for _, name := range o.names {
			if !long || len(name) > 1 {
				names = append(names, dashed(name))
			}
		}
	}
	return names
}

// operand is the kind of the n-th operand, and false when there may be none.
func (t *Tool) operand(n int) (Operand, bool) {
	if t.MaxArgs >= 0 && n >= t.MaxArgs {
		return OtherOperand, false
	}
	if len(t.Operands) == 0 {
		return OtherOperand, true
	}
	return t.Operands[min(n, len(t.Operands)-1)], true
}

// takes reports whether an operand of the tool or of one of its commands, or the value of an option, is of that kind.
func (t *Tool) takes(kind Operand) bool {
	for _, s := range t.scopes() {
		if slices.Contains(s.tool.Operands, kind) || slices.ContainsFunc(s.options, func(o *option) bool { return o.asked == kind }) {
			return true
		}
	}
	return false
}

// asked are the kinds of names that a broker is asked for, what their functions are called, and who asks.
var asked = []struct {
	kind       Operand
	name, asks string
}{
	{TopicOperand, "topics", "logtopic"},
	{GroupOperand, "groups", "logrebalance"},
}

// askedName is what the function for a kind of names is called, or empty.
func askedName(kind Operand) string {
	for _, a := range asked {
		if a.kind == kind {
			return a.name
		}
	}
	return ""
}

// asks reports whether the completions of the tool ask a broker for anything.
func (t *Tool) asks() bool { return t.takes(TopicOperand) || t.takes(GroupOperand) }

// nameable is a pattern of the names that are offered.
const nameable = `^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$`

// askers writes the functions that the tool needs, of a template with NAME, KIND, ASKS and ASKED, the command.
func (t *Tool) askers(b *strings.Builder, template string) {
	for _, a := range asked {
		if t.takes(a.kind) {
			command := "command ASKS list --quiet --once --timeout 300ms"
			b.WriteString(strings.NewReplacer("NAMEABLE", nameable, "NAME", t.Name, "KIND", a.name,
				"ASKED", strings.ReplaceAll(command, "ASKS", a.asks), "ASKS", a.asks).Replace(template))
		}
	}
}

// valuedWords is a pattern of the words that take the next one as their value: long names, and clusters of switches that
// end with the letter of such an option. attached is one of clusters that go on with the value; its parts are what comes
// before the value, that letter, and the value.
func valuedWords(scopes []scope) (words, attached string) {
	var long []string
	var letters, switches string
	for _, o := range valued(scopes) {
		for _, name := range o.names {
			if len(name) > 1 {
				long = append(long, dashed(name))
			} else {
				letters += name
			}
		}
	}
	for _, s := range scopes {
		for _, o := range s.options {
			for _, name := range o.names {
				if len(name) == 1 && !strings.Contains(letters+switches, name) {
					switches += name
				}
			}
		}
	}
	const never = "^$" // no word that a shell asks about is empty here
	if letters == "" {
		attached = never
	} else {
		cluster := "-"
		if switches != "" {
			cluster = "-[" + switches + "]*"
		}
		long = append(long, cluster+"["+letters+"]")
		attached = "^(" + cluster + "([" + letters + "]))(.+)$"
	}
	if long == nil {
		return never, attached
	}
	return "^(" + strings.Join(long, "|") + ")$", attached
}

// keys are choices that a value follows: retention.ms=. They end in =, which no other choice does.
func (o *option) keys() bool {
	return len(o.choices) > 0 && strings.HasSuffix(o.choices[0], "=")
}

// valued returns the options of all scopes that take values; of two with the same name the first counts.
func valued(scopes []scope) []*option {
	var list []*option
	seen := map[string]bool{}
	for _, s := range scopes {
		for _, o := range s.options {
			if o.takesValue() && !seen[o.name()] {
				list = append(list, o)
			}
			seen[o.name()] = true
		}
	}
	return list
}

// quote makes a word of a shell that takes single quotes literally, as bash and zsh do.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
