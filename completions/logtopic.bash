# Completions of logtopic for bash, written from its flags by 'make docs'.

_logtopic_topics()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logtopic list --quiet --timeout 1s "${logtopic[@]}" 2>/dev/null </dev/null)
}

_logtopic()
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
        elif [[ $word =~ ^(--broker|--timeout|--partitions|--config|--unset|-[vqh]*[b])$ ]]; then
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
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                case $command in
                    list)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    create)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version --partitions --config' -- "$cur")
                        ;;
                    describe)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    alter)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version --partitions --config --unset' -- "$cur")
                        ;;
                    delete)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version --execute' -- "$cur")
                        ;;
                    *)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                esac
            else
                case $command in
                    '')
                        mapfile -t COMPREPLY < <(compgen -W 'list create describe alter delete' -- "$cur")
                        ;;
                    list)
                        :
                        ;;
                    create)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    describe)
                        case $operands in
                            *)
                                _logtopic_topics
                                ;;
                        esac
                        ;;
                    alter)
                        case $operands in
                            1)
                                _logtopic_topics
                                ;;
                        esac
                        ;;
                    delete)
                        case $operands in
                            1)
                                _logtopic_topics
                                ;;
                        esac
                        ;;
                esac
            fi
            ;;
    esac

    # Readline replaces only what follows the last colon.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
    fi
} && complete -F _logtopic logtopic
