package cli

import (
	"fmt"
	"strings"
)

// zshCompletion leaves the walk over the words to _arguments, but for what the line says about whom to ask, and which
// command it is.
func zshCompletion(t *Tool) string {
	scopes := t.scopes()
	words, attached := valuedWords(scopes)
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n%s", t.Name, completionIntro(t, "zsh"))
	all := ""
	if t.asks() {
		all = "    local -a all=(\"${(@)words[1,CURRENT-1]}\")\n"
		b.WriteString(strings.NewReplacer("NAME", t.Name, "VALUED", words, "ATTACHED", attached).Replace(zshAsked))
	}
	t.askers(&b, zshAsker)
	if len(t.Commands) > 0 {
		b.WriteString(strings.NewReplacer("NAME", t.Name, "VALUED", words).Replace(zshCommand))
	}
	fmt.Fprintf(&b, "\n_%s() {\n%s", t.Name, all)
	if len(t.Commands) == 0 {
		b.WriteString("    _arguments -s -S")
		zshSpecs(&b, t, scopes[0].options, 8)
		zshOperands(&b, t, t, 8)
		b.WriteString("\n")
	} else {
		zshCommands(&b, t, scopes)
	}
	fmt.Fprintf(&b, "}\n\n_%s \"$@\"\n", t.Name)
	return b.String()
}

const zshAsked = `
_NAME_asked() {
    local valued='VALUED' attached='ATTACHED' word
    local -a match mbegin mend
    local -i i
    reply=()
    for ((i = 2; i <= $#all; i++)); do
        word=${(Q)all[i]}
        if [[ $word == -- ]]; then
            return
        elif [[ $word == --broker=* || $1 == logrebalance && $word == --zookeeper=* ]]; then
            reply+=("$word")
        elif [[ $word =~ $valued ]]; then
            ((i++))
            if [[ $word == (--broker|-[^-]#b) ]]; then
                reply+=("--broker=${(Q)all[i]}")
            elif [[ $word == --zookeeper && $1 == logrebalance ]]; then
                reply+=("--zookeeper=${(Q)all[i]}")
            fi
        elif [[ $word =~ $attached && $match[2] == b ]]; then
            reply+=("--broker=$match[3]")
        fi
    done
}
`

const zshAsker = `
_NAME_KIND() {
    setopt localoptions extendedglob
    local nameable='NAMEABLE' name
    local -a reply names
    _NAME_asked ASKS
    for name in ${(f)"$(ASKED $reply 2>/dev/null </dev/null)"}; do
        [[ $name =~ $nameable ]] && names+=("$name")
    done
    compadd "$@" -a names
}
`

// zshCommand finds the first operand before the cursor. With a state for what follows a command, as _arguments has it,
// options between the command and its operands would be taken for these.
const zshCommand = `
_NAME_command() {
    local valued='VALUED' word
    local -i i
    for ((i = 2; i < CURRENT; i++)); do
        word=${(Q)words[i]}
        if [[ $word == -- ]]; then
            ((i + 1 < CURRENT)) && REPLY=${(Q)words[i+1]}
            return
        elif [[ $word =~ $valued ]]; then
            ((i++))
        elif [[ $word != -?* ]]; then
            REPLY=$word
            return
        fi
    done
}
`

func zshCommands(b *strings.Builder, t *Tool, scopes []scope) {
	b.WriteString("    local REPLY\n    local -A opt_args\n    local -a common commands\n    common=(")
	zshSpecs(b, t, scopes[0].options, 8)
	b.WriteString("\n    )\n    commands=(\n")
	for _, c := range t.Commands {
		fmt.Fprintf(b, "        %s\n", quote(strings.ReplaceAll(c.Name, ":", `\:`)+":"+c.Usage))
	}
	fmt.Fprintf(b, "    )\n    _%s_command\n    case $REPLY in\n", t.Name)
	for _, s := range scopes[1:] {
		fmt.Fprintf(b, "        %s)\n            _arguments -s -S $common", s.tool.Name)
		zshSpecs(b, t, s.options, 16)
		b.WriteString(" \\\n                '1: : '")
		zshOperands(b, t, s.tool, 16)
		b.WriteString("\n            ;;\n")
	}
	b.WriteString("        *)\n            _arguments -s -S $common '1: :{_describe command commands}'\n            ;;\n    esac\n")
}

// zshSpecs writes an _arguments specification for each option, on lines of their own.
func zshSpecs(b *strings.Builder, t *Tool, options []*option, pad int) {
	between := " \\\n" + strings.Repeat(" ", pad)
	if pad == 8 && len(t.Commands) > 0 {
		between = "\n" + strings.Repeat(" ", pad) // inside an array
	}
	for _, o := range options {
		var names, spelled []string
		for _, name := range o.names {
			names = append(names, dashed(name))
			switch {
			case !o.takesValue():
				spelled = append(spelled, dashed(name))
			case len(name) == 1:
				spelled = append(spelled, dashed(name)+"+")
			default:
				spelled = append(spelled, dashed(name)+"=")
			}
		}
		prefix := quote("(" + strings.Join(names, " ") + ")")
		switch {
		case o.repeatable:
			prefix = "'*'"
		case o.flag == nil:
			prefix = "'(- *)'"
		case len(names) == 1:
			prefix = ""
		}
		spelling := spelled[0]
		if len(spelled) > 1 {
			spelling = "{" + strings.Join(spelled, ",") + "}"
		}
		text := "[" + zshText(o.usage) + "]"
		if o.takesValue() {
			text += ":" + zshText(o.placeholder) + ":" + zshAction(t, o)
		}
		b.WriteString(between + prefix + spelling + quote(text))
	}
}

func zshAction(t *Tool, o *option) string {
	switch {
	case o.asked != OtherOperand:
		return "_" + t.Name + "_" + askedName(o.asked)
	case o.keys():
		return "{compadd -S = -- " + strings.ReplaceAll(strings.Join(o.choices, " "), "=", "") + "}"
	case len(o.choices) > 0:
		return "(" + strings.Join(o.choices, " ") + ")"
	case o.files == directory:
		return "_files -/"
	case o.files == anyFile:
		return "_files"
	}
	return " "
}

func zshOperands(b *strings.Builder, t, command *Tool, pad int) {
	n, skip := max(1, len(command.Operands)), 0
	if command != t {
		skip = 1 // its own name
	}
	for i := range n {
		kind, ok := command.operand(i)
		if !ok {
			return
		}
		position := fmt.Sprint(i + 1 + skip)
		if i == n-1 && (command.MaxArgs < 0 || command.MaxArgs > n) {
			position = "*"
		}
		action := map[Operand]string{
			OtherOperand: "operand: ", TopicOperand: "topic:_" + t.Name + "_topics", GroupOperand: "group:_" + t.Name + "_groups", FileOperand: "file:_files", DirOperand: "directory:_files -/",
		}[kind]
		b.WriteString(" \\\n" + strings.Repeat(" ", pad) + quote(position+":"+action))
	}
}

var zshEscapes = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)

func zshText(s string) string { return zshEscapes.Replace(s) }
