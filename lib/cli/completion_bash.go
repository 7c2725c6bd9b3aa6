package cli

import (
	"fmt"
	"strings"
)

// bashCompletion walks the words before the cursor as the tool itself would, to know whether the last one is an option,
// the value of one, or an operand. It needs bash 4.3, and not the bash-completion package.
func bashCompletion(t *Tool) string {
	scopes := t.scopes()
	words, attached := valuedWords(scopes)
	var b strings.Builder
	b.WriteString(completionIntro(t, "bash"))
	t.askers(&b, bashAsker)
	arrays, collect := "", ""
	if t.asks() {
		arrays, collect = " logtopic=() logrebalance=() # what they are asked with", bashCollect
	}
	walk := strings.NewReplacer("NAME", t.Name, "VALUED", words, "ATTACHED", attached, "ARRAYS", arrays, "COLLECT", collect)
	b.WriteString(walk.Replace(bashFiles + bashWalk))
	bashValues(&b, t, valued(scopes))
	bashOperands(&b, t, scopes)
	fmt.Fprintf(&b, bashEnd, t.Name)
	return b.String()
}

const bashAsker = `
_NAME_KIND()
{
    local name names= IFS=$'\n'
    local -r nameable='NAMEABLE'
    while read -r name; do
        [[ $name =~ $nameable ]] && names+=$name$'\n'
    done < <(ASKED "${ASKS[@]}" 2>/dev/null </dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
}
`

// bashFiles leaves files to readline, which knows about tildes and quotes, unless the word holds more than a name of one.
const bashFiles = `
_NAME_files()
{
    if [[ $cur == "$replaced" ]]; then
        compopt -o "$1"
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen "$2" -- "$cur")
    fi
}
`

const bashWalk = `
_NAME()
{
    local -a words=()ARRAYS
    local -r replaced=$2 # what readline puts an answer in the place of
    local line=$COMP_LINE rest word glued redirected= option= ended= command= prefix= cur full
    local -r valued='VALUED' attached='ATTACHED'
    local -i i operands=0 beyond
    COMPREPLY=()

    # Readline takes a word apart at = : @ as well, and the cursor may stand in one. Put together what has no blank between,
    # up to the cursor, and leave out where input and output go.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        rest=${line#"${line%%[![:space:]]*}"}
        glued=
        [[ $i -gt 0 && $word && $rest == "$line" ]] && glued=1
        line=${rest#"$word"}
        beyond=$((${#COMP_LINE} - ${#line} - COMP_POINT))
        ((i == COMP_CWORD && beyond > 0 && beyond <= ${#word})) && word=${word:0:${#word}-beyond}
        if [[ $word == [\<\>]* ]]; then
            [[ $glued && ! $redirected && ${words[-1]} =~ ^[0-9]+$ ]] && unset 'words[-1]'
            redirected=begins
        elif [[ $redirected == begins ]]; then
            redirected=ends
        elif [[ $glued && ! $redirected ]]; then
            words[-1]+=$word
        elif [[ ! $glued ]]; then
            redirected=
            words+=("$word")
        fi
    done
    if [[ $redirected ]]; then
        compopt -o default
        return
    fi
    full=${words[-1]}
    cur=$full

    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $ended || $word == - || $word != -* ]]; then
            ((operands++ == 0)) && command=$word
        elif [[ $word == -- ]]; then
            ended=1
        elif [[ $word =~ $valued ]]; then
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
            prefix=$option=
        elif [[ ! $ended && $cur =~ $attached ]]; then
            option=-${BASH_REMATCH[2]}
            cur=${BASH_REMATCH[3]}
            prefix=${BASH_REMATCH[1]}
        fi
    fi
`

const bashCollect = `            word=${words[i]//[\"\'\\]/}
            case $option in
                --broker|-b)
                    logtopic+=("--broker=$word")
                    logrebalance+=("--broker=$word")
                    ;;
                --zookeeper)
                    logrebalance+=("--zookeeper=$word")
                    ;;
            esac
        elif [[ $word == --broker=* ]]; then
            logtopic+=("$word")
            logrebalance+=("$word")
        elif [[ $word == --zookeeper=* ]]; then
            logrebalance+=("$word")
        elif [[ $word =~ $attached && ${BASH_REMATCH[2]} == b ]]; then
            logtopic+=("--broker=${BASH_REMATCH[3]}")
            logrebalance+=("--broker=${BASH_REMATCH[3]}")
`

const bashEnd = `
    # Readline replaces only what follows the last = or colon.
    COMPREPLY=("${COMPREPLY[@]/#/"$prefix"}")
    COMPREPLY=("${COMPREPLY[@]#"${full%%"$replaced"}"}")
} && complete -F _%[1]s %[1]s
`

func bashValues(b *strings.Builder, t *Tool, values []*option) {
	b.WriteString("\n    case $option in\n")
	for _, o := range values {
		reply := ""
		switch {
		case len(o.choices) > 0:
			reply = bashWords(o.choices)
			if o.keys() {
				reply = "compopt -o nospace\n" + reply
			}
		case o.files != noFile:
			reply = bashFile(t, o.files == directory)
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

func bashFile(t *Tool, directory bool) string {
	how := "default -f"
	if directory {
		how = "dirnames -d"
	}
	return "_" + t.Name + "_files " + how + "\n"
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
			reply = bashFile(t, kind == DirOperand)
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
