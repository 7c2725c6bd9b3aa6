# Completions of logrebalance for bash, written from its flags by 'make docs'.

_logrebalance_topics()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logtopic list --quiet --timeout 1s "${logtopic[@]}" 2>/dev/null </dev/null)
}

_logrebalance_groups()
{
    local name
    while read -r name; do
        [[ $name == "$cur"* && $name =~ ^[A-Za-z0-9._-]+$ ]] && COMPREPLY+=("$name")
    done < <(command logrebalance list --quiet --timeout 1s "${logrebalance[@]}" 2>/dev/null </dev/null)
}

_logrebalance()
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
        elif [[ $word =~ ^(--broker|--zookeeper|--timeout|--topic|--interval|--members|--strategy|--wait|--to|--shift|--from-file|--wait-empty|--undo-file|--warning|--critical|-[vqh]*[bwc])$ ]]; then
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
        --topic)
            _logrebalance_topics
            ;;
        --strategy)
            mapfile -t COMPREPLY < <(compgen -W 'range sticky' -- "$cur")
            ;;
        --to)
            mapfile -t COMPREPLY < <(compgen -W 'earliest latest' -- "$cur")
            ;;
        --from-file)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        --undo-file)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                case $command in
                    list)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    status)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --all --watch --interval' -- "$cur")
                        ;;
                    plan)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --all --members --strategy' -- "$cur")
                        ;;
                    trigger)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    verify)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --wait' -- "$cur")
                        ;;
                    reset)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --all-topics --to --shift --from-file --execute --all --wait-empty --live --undo-file' -- "$cur")
                        ;;
                    export)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --all-groups' -- "$cur")
                        ;;
                    import)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --execute --all --wait-empty --live --undo-file' -- "$cur")
                        ;;
                    check)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic --warning -w --critical -c --records --batch' -- "$cur")
                        ;;
                    evict)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --execute' -- "$cur")
                        ;;
                    delete)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --execute' -- "$cur")
                        ;;
                    *)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                esac
            else
                case $command in
                    '')
                        mapfile -t COMPREPLY < <(compgen -W 'list status plan trigger verify reset export import check evict delete' -- "$cur")
                        ;;
                    list)
                        :
                        ;;
                    status)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    plan)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    trigger)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    verify)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    reset)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    export)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    import)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                            2)
                                compopt -o filenames 2>/dev/null
                                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                                ;;
                        esac
                        ;;
                    check)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                        esac
                        ;;
                    evict)
                        case $operands in
                            1)
                                _logrebalance_groups
                                ;;
                            2)
                                :
                                ;;
                        esac
                        ;;
                    delete)
                        case $operands in
                            1)
                                _logrebalance_groups
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
} && complete -F _logrebalance logrebalance
