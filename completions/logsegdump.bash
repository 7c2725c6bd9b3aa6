# Completions of logsegdump for bash, written from its flags by 'make docs'.

_logsegdump()
{
    local -a words=()
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
        elif [[ $word =~ ^(--salvage|--offset|--time|--format|--key-delimiter|--delimiter|--max-batch|--max-decompressed|-[crx0vqh]*[oKd])$ ]]; then
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
        fi
    fi

    case $option in
        --salvage)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--check -c --records -r --hex -x --values --summary --histogram --salvage --repair --dry-run --offset -o --time --json --format --key-delimiter -K --delimiter -d --null -0 --max-batch --max-decompressed --verbose -v --quiet -q --help -h --version' -- "$cur")
            else
                case $operands in
                    *)
                        compopt -o filenames 2>/dev/null
                        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                        ;;
                esac
            fi
            ;;
    esac

    # Readline replaces only what follows the last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
    fi
} && complete -F _logsegdump logsegdump
