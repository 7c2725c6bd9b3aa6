# Completions of logtopic for bash, written from its flags by 'make docs'.

_logtopic_topics()
{
    local name names= IFS=$'\n'
    local -r nameable='^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
    while read -r name; do
        [[ $name =~ $nameable ]] && names+=$name$'\n'
    done < <(command logtopic list --quiet --once --timeout 300ms "${logtopic[@]}" 2>/dev/null </dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
}

_logtopic_files()
{
    if [[ $cur == "$replaced" ]]; then
        compopt -o "$1"
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen "$2" -- "$cur")
    fi
}

_logtopic()
{
    local -a words=() logtopic=() logrebalance=() # what they are asked with
    local -r replaced=$2 # what readline puts an answer in the place of
    local line=$COMP_LINE rest word glued redirected= option= ended= command= prefix= cur full
    local -r valued='^(--broker|--zookeeper|--timeout|--partitions|--config|--unset|-[vqh]*[b])$' attached='^(-[vqh]*([b]))(.+)$'
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
            word=${words[i]//[\"\'\\]/}
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
        --config)
            compopt -o nospace
            mapfile -t COMPREPLY < <(compgen -W 'flush.messages= flush.ms= max.message.bytes= retention.bytes= retention.ms= segment.bytes= segment.ms=' -- "$cur")
            ;;
        --unset)
            mapfile -t COMPREPLY < <(compgen -W 'flush.messages flush.ms max.message.bytes retention.bytes retention.ms segment.bytes segment.ms' -- "$cur")
            ;;
        ?*) ;;
        *)
            if [[ ! $ended && $cur == -* ]]; then
                case $command in
                    list)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    create)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --partitions --config' -- "$cur")
                        ;;
                    describe)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version' -- "$cur")
                        ;;
                    alter)
                        mapfile -t COMPREPLY < <(compgen -W '--broker -b --zookeeper --timeout --json --verbose -v --quiet -q --help -h --version --partitions --config --unset' -- "$cur")
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

    # Readline replaces only what follows the last = or colon.
    COMPREPLY=("${COMPREPLY[@]/#/"$prefix"}")
    COMPREPLY=("${COMPREPLY[@]#"${full%"$replaced"}"}")
} && complete -F _logtopic logtopic
