package cli

import (
	"fmt"
	"strings"
)

// bashCompletion walks the words before the cursor as the tool itself would, to know whether the last one is an option,
// the value of one, or an operand. It needs bash 4.3, and not the bash-completion package.
func bashCompletion(t *Tool) string {
	scopes := t.scopes()
	values := valued(scopes)
	var b strings.Builder
	b.WriteString(completionIntro(t, "bash"))
	t.askers(&b, bashAsker)
	arrays, collect := "", ""
	if t.takes(TopicOperand) || t.takes(GroupOperand) {
		arrays, collect = " logtopic=() logrebalance=() # what they are asked with", bashCollect
	}
	walk := strings.NewReplacer("NAME", t.Name, "VALUED", bashValued(scopes, values), "ARRAYS", arrays, "COLLECT", collect)
	b.WriteString(walk.Replace(bashWalk))
	bashValues(&b, t, values)
	bashOperands(&b, t, scopes)
	fmt.Fprintf(&b, bashEnd, t.Name)
	return b.String()
}

const bashAsker = `
_NAME_KIND()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command ASKS list --quiet --timeout 1s "${ASKS[@]}" 2>/dev/null </dev/null)
}
`

const bashWalk = `
_NAME()
{
    local -a words=()ARRAYS
    local word option= ended= command=
    local -i i operands=0
    COMPREPLY=()

    # Readline takes --name=value and HOST:PORT apart; put together what has no blank between.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $word == [:=]* || ${words[-1]} == *[:=] ]] && [[ $COMP_LINE == *"${words[-1]}$word"* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    local cur=${words[-1]}

    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $ended || $word == - || $word != -* ]]; then
            ((operands++ == 0)) && command=$word
        elif [[ $word == -- ]]; then
            ended=1
        elif [[ $word =~ ^(VALUED)$ ]]; then
            option=$word
            [[ $option == --* ]] || option=-${option: -1}
            i+=1
COLLECT        fi
    done
    if ((i < ${#words[@]})); then
        option=
        if [[ ! $ended && $cur == --*=* ]]; then
            option=${cur%%=*}
            cur=${cur#*=}
        fi
    fi
`

const bashCollect = `            case $option in
                --broker|-b)
                    logtopic+=(--broker "${words[i]}")
                    logrebalance+=(--broker "${words[i]}")
                    ;;
                --zookeeper)
                    logrebalance+=(--zookeeper "${words[i]}")
                    ;;
            esac
        elif [[ $word == --broker=* ]]; then
            logtopic+=("$word")
            logrebalance+=("$word")
        elif [[ $word == --zookeeper=* ]]; then
            logrebalance+=("$word")
`

const bashEnd = `
    # Readline replaces only what follows the last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%%"${cur##*:}"}"}")
    fi
} && complete -F _%[1]s %[1]s
`

// bashValued is a pattern of the words that take the next one as their value: long names, and clusters of switches that
// end with the letter of such an option.
func bashValued(scopes []scope, values []*option) string {
	var long []string
	var letters, switches string
	for _, o := range values {
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
	if letters != "" {
		cluster := "-[" + letters + "]"
		if switches != "" {
			cluster = "-[" + switches + "]*[" + letters + "]"
		}
		long = append(long, cluster)
	}
	if long == nil {
		return "--" // matched above already: nothing takes a value
	}
	return strings.Join(long, "|")
}

func bashValues(b *strings.Builder, t *Tool, values []*option) {
	b.WriteString("\n    case $option in\n")
	for _, o := range values {
		reply := ""
		switch {
		case len(o.choices) > 0:
			reply = bashWords(o.choices)
		case o.files != noFile:
			reply = bashFiles(o.files == directory)
		case o.asked != OtherOperand:
			reply = "_" + t.Name + "_" + askedName(o.asked) + "\n"
		default:
			continue
		}
		var names []string
		for _, name := range o.names {
			names = append(names, dashed(name))
		}
		fmt.Fprintf(b, "        %s)\n%s            ;;\n", strings.Join(names, "|"), indent(reply, 12))
	}
	b.WriteString("        ?*) ;;\n        *)\n")
}

func bashWords(words []string) string {
	return fmt.Sprintf("mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\")\n", quote(strings.Join(words, " ")))
}

func bashFiles(directories bool) string {
	what := "-f"
	if directories {
		what = "-d"
	}
	return "compopt -o filenames 2>/dev/null\n" +
		fmt.Sprintf("mapfile -t COMPREPLY < <(compgen %s -- \"$cur\")\n", what)
}

// bashOperands finishes the case of a word that is no value: an option, the name of a command, or an operand.
func bashOperands(b *strings.Builder, t *Tool, scopes []scope) {
	b.WriteString("            if [[ ! $ended && $cur == -* ]]; then\n")
	common := scopes[0].names(false)
	if len(t.Commands) == 0 {
		b.WriteString(indent(bashWords(common), 16))
	} else {
		b.WriteString("                case $command in\n")
		for _, s := range scopes[1:] {
			words := bashWords(append(common[:len(common):len(common)], s.names(false)...))
			fmt.Fprintf(b, "                    %s)\n%s                        ;;\n", s.tool.Name, indent(words, 24))
		}
		fmt.Fprintf(b, "                    *)\n%s                        ;;\n                esac\n", indent(bashWords(common), 24))
	}
	b.WriteString("            else\n")
	if len(t.Commands) == 0 {
		b.WriteString(indent(bashOperandKinds(t, t, 0), 16))
	} else {
		b.WriteString("                case $command in\n")
		fmt.Fprintf(b, "                    '')\n%s                        ;;\n", indent(bashWords(t.commandNames()), 24))
		for _, s := range scopes[1:] {
			kinds := bashOperandKinds(t, s.tool, 1)
			fmt.Fprintf(b, "                    %s)\n%s                        ;;\n", s.tool.Name, indent(kinds, 24))
		}
		b.WriteString("                esac\n")
	}
	b.WriteString("            fi\n            ;;\n    esac\n")
}

// bashOperandKinds chooses by the number of operands before the cursor, of which skip are not the command's own.
func bashOperandKinds(t, command *Tool, skip int) string {
	var b strings.Builder
	n := len(command.Operands)
	for i := range n {
		reply := ":\n"
		switch kind, _ := command.operand(i); kind {
		case TopicOperand, GroupOperand:
			reply = "_" + t.Name + "_" + askedName(kind) + "\n"
		case FileOperand, DirOperand:
			reply = bashFiles(kind == DirOperand)
		}
		label := fmt.Sprint(i + skip)
		if i == n-1 && (command.MaxArgs < 0 || command.MaxArgs > n) {
			label = "*"
		}
		fmt.Fprintf(&b, "    %s)\n%s        ;;\n", label, indent(reply, 8))
	}
	if n == 0 {
		return ":\n"
	}
	return "case $operands in\n" + b.String() + "esac\n"
}

func indent(s string, n int) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+pad) + "\n"
}
