# Completions of logcat for bash, written from its flags by 'make docs'.

_logcat_topics()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logtopic list --quiet --timeout 1s "${logtopic[@]}" 2>/dev/null </dev/null)
}

_logcat()
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
        elif [[ $word =~ ^(--broker|--timeout|--partition|--delimiter|--key-delimiter|--key|--header|--compress|--acks|--linger|--batch-bytes|--rate|--progress|--confirm|-[0wnvqh]*[bpdKkHza])$ ]]; then
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
        --compress|-z)
            mapfile -t COMPREPLY < <(compgen -W 'none gzip snappy lz4 zstd' -- "$cur")
            ;;
        --acks|-a)
            mapfile -t COMPREPLY < <(compgen -W 'all 1 0' -- "$cur")
            ;;
        --progress)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        --confirm)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --partition -p --delimiter -d --null -0 --key-delimiter -K --key -k --header -H --tombstones --crlf --whole -w --json --compress -z --acks -a --linger --batch-bytes --rate --tee --progress --confirm --dry-run -n --verbose -v --quiet -q --help -h --version' -- "$cur")
            else
                case $operands in
                    0)
                        _logcat_topics
                        ;;
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
} && complete -F _logcat logcat
