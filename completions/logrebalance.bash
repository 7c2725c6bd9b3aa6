# Completions of logrebalance for bash, written from its flags by 'make docs'.

_logrebalance()
{
    local -a words=() broker=()
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
            [[ $option == --broker ]] || [[ $option == -b ]] && broker+=(--broker "${words[i]}")
        elif [[ $word == --broker=* ]]; then
            broker+=("$word")
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
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --topic' -- "$cur")
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
                                :
                                ;;
                        esac
                        ;;
                    plan)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    trigger)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    verify)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    reset)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    export)
                        case $operands in
                            1)
                                :
                                ;;
                        esac
                        ;;
                    import)
                        case $operands in
                            1)
                                :
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
                                :
                                ;;
                        esac
                        ;;
                    evict)
                        case $operands in
                            *)
                                :
                                ;;
                        esac
                        ;;
                    delete)
                        case $operands in
                            1)
                                :
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
