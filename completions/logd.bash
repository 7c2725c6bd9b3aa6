# Completions of logd for bash, written from its flags by 'make docs'.

_logd()
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
        elif [[ $word =~ ^(--data-dir|--listen|--advertise|--id|--addr-file|--zookeeper|--zookeeper-listen|--zookeeper-session|--partitions|--auto-create|--segment-bytes|--segment-age|--flush-messages|--flush-interval|--retention|--retention-bytes|--retention-check|--max-message-bytes|--max-connections|--max-request-bytes|--memory-limit|--log-level|--config)$ ]]; then
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
        --data-dir)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            ;;
        --addr-file)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        --auto-create)
            mapfile -t COMPREPLY < <(compgen -W 'true false' -- "$cur")
            ;;
        --log-level)
            mapfile -t COMPREPLY < <(compgen -W 'debug info warn error' -- "$cur")
            ;;
        --config)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--data-dir --listen --advertise --id --addr-file --zookeeper --zookeeper-listen --zookeeper-session --adopt --partitions --auto-create --segment-bytes --segment-age --flush-messages --flush-interval --retention --retention-bytes --retention-check --max-message-bytes --max-connections --max-request-bytes --memory-limit --exit-on-disk-error --log-level --verbose -v --quiet -q --config --print-config --help -h --version' -- "$cur")
            else
                :
            fi
            ;;
    esac

    # Readline replaces only what follows the last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
    fi
} && complete -F _logd logd
