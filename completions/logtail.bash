# Completions of logtail for bash, written from its flags by 'make docs'.

_logtail_topics()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logtopic list --quiet --timeout 1s "${logtopic[@]}" 2>/dev/null </dev/null)
}

_logtail_groups()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logrebalance list --quiet --timeout 1s "${logrebalance[@]}" 2>/dev/null </dev/null)
}

_logtail()
{
    local -a words=() logtopic=() logrebalance=() # what they are asked with
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
        elif [[ $word =~ ^(--broker|--zookeeper|--timeout|--lines|--offset|--until|--partition|--count|--idle|--cursor|--group|--from|--confirm|--strategy|--session-timeout|--format|--key-delimiter|--delimiter|-[fFe0qvh]*[bnopcgKd])$ ]]; then
            option=$word
            [[ $option == --* ]] || option=-${option: -1}
            i+=1
            case $option in
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
        --offset|-o)
            mapfile -t COMPREPLY < <(compgen -W 'earliest latest' -- "$cur")
            ;;
        --until)
            mapfile -t COMPREPLY < <(compgen -W 'earliest latest' -- "$cur")
            ;;
        --cursor)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        --group|-g)
            _logtail_groups
            ;;
        --from)
            mapfile -t COMPREPLY < <(compgen -W 'earliest latest' -- "$cur")
            ;;
        --confirm)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        --strategy)
            mapfile -t COMPREPLY < <(compgen -W 'range sticky' -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --lines -n --offset -o --until --follow -f --retry -F --exit-at-end -e --partition -p --count -c --idle --cursor --group -g --from --confirm --strategy --session-timeout --format --json --key-delimiter -K --delimiter -d --null -0 --raw --no-headers -q --headers -v --verbose --quiet --help -h --version' -- "$cur")
            else
                case $operands in
                    *)
                        _logtail_topics
                        ;;
                esac
            fi
            ;;
    esac

    # Readline replaces only what follows the last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
    fi
} && complete -F _logtail logtail
