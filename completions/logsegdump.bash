# Completions of logsegdump for bash, written from its flags by 'make docs'.

_logsegdump_files()
{
    if [[ $cur == "$replaced" ]]; then
        compopt -o "$1"
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen "$2" -- "$cur")
    fi
}

_logsegdump()
{
    local -a words=()
    local -r replaced=$2 # what readline puts an answer in the place of
    local line=$COMP_LINE rest word glued redirected= option= ended= command= prefix= cur full
    local -r valued='^(--salvage|--offset|--time|--format|--key-delimiter|--delimiter|--max-batch|--max-decompressed|-[crx0vqh]*[oKd])$' attached='^(-[crx0vqh]*([oKd]))(.+)$'
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
        fi
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

    case $option in
        --salvage)
            _logsegdump_files default -f
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--check -c --records -r --hex -x --values --summary --histogram --salvage --repair --dry-run --offset -o --time --json --format --key-delimiter -K --delimiter -d --null -0 --max-batch --max-decompressed --verbose -v --quiet -q --help -h --version' -- "$cur")
            else
                case $operands in
                    *)
                        _logsegdump_files default -f
                        ;;
                esac
            fi
            ;;
    esac

    # Readline replaces only what follows the last = or colon.
    COMPREPLY=("${COMPREPLY[@]/#/"$prefix"}")
    COMPREPLY=("${COMPREPLY[@]#"${full%"$replaced"}"}")
} && complete -F _logsegdump logsegdump
