# Completions of logtail for fish, written from its flags by 'make docs'.

function __logtail_asked
    set -l words (commandline -opc)
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            return
        else if string match -q -- '--broker=*' "$words[1]"
            echo -- "$words[1]"
        else if test "$argv[1]" = logrebalance; and string match -q -- '--zookeeper=*' "$words[1]"
            echo -- "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--lines|--offset|--until|--partition|--count|--idle|--cursor|--group|--from|--confirm|--strategy|--session-timeout|--format|--key-delimiter|--delimiter|-[fFe0qvh]*[bnopcgKd])$' "$words[1]"
            if string match -qr -- '^(--broker|-[^-]*b)$' "$words[1]"
                echo -- "--broker=$words[2]"
            else if test "$words[1]" = --zookeeper; and test "$argv[1]" = logrebalance
                echo -- "--zookeeper=$words[2]"
            end
            set -e words[1]
        else
            set -l parts (string match -r -- '^(-[fFe0qvh]*([bnopcgKd]))(.+)$' "$words[1]")
            and test "$parts[3]" = b
            and echo -- "--broker=$parts[4]"
        end
    end
end

function __logtail_topics
    command -q logtopic
    and command logtopic list --quiet --once --timeout 300ms (__logtail_asked logtopic) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logtail_groups
    command -q logrebalance
    and command logrebalance list --quiet --once --timeout 300ms (__logtail_asked logrebalance) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logtail_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--lines|--offset|--until|--partition|--count|--idle|--cursor|--group|--from|--confirm|--strategy|--session-timeout|--format|--key-delimiter|--delimiter|-[fFe0qvh]*[bnopcgKd])$' "$words[1]"
            set -e words[1]
        end
    end
    if test "$argv[1]" = -
        not set -q operands[1]
        return
    end
    test -z "$argv[1]"
    or test "$argv[1]" = "$operands[1]"
    or return
    set -q argv[2]
    or return 0
    if set -q argv[3]
        test (count $operands) -ge $argv[2]
    else
        test (count $operands) -eq $argv[2]
    end
end

complete -c logtail -f
complete -c logtail -n '__logtail_at \'\' 0 +' -a '(__logtail_topics)'
complete -c logtail -l broker -s b -x -d 'a broker to ask first; repeatable, commas between several'
complete -c logtail -l zookeeper -x -d 'the ZooKeeper ensemble'
complete -c logtail -l timeout -x -d 'how long to wait for a broker'
complete -c logtail -l lines -s n -x -d 'the last N messages; +N: from the N-th retained one on'
complete -c logtail -l offset -s o -x -a 'earliest latest' -d 'start at OFFSET instead, in each partition'
complete -c logtail -l until -x -a 'earliest latest' -d 'end before OFFSET, in each partition'
complete -c logtail -l follow -s f -d 'go on with what comes, in new partitions too'
complete -c logtail -l retry -s F -d 'follow, and wait for topics that do not exist yet'
complete -c logtail -l exit-at-end -s e -d 'end at the end: what happens without -f anyway'
complete -c logtail -l partition -s p -x -d 'only partition N; repeatable'
complete -c logtail -l count -s c -x -d 'end after N messages'
complete -c logtail -l idle -x -d 'end when nothing came for so long'
complete -c logtail -l cursor -r -F -d 'start from, and keep, the position in FILE'
complete -c logtail -l group -s g -x -a '(__logtail_groups)' -d 'as a member of group G, which shares the partitions and keeps the position'
complete -c logtail -l from -x -a 'earliest latest' -d 'with -g, where to start when the group has no position'
complete -c logtail -l confirm -r -F -d 'with -g, commit only positions that are read back from FILE, a FIFO'
complete -c logtail -l strategy -x -a 'range sticky' -d 'with -g, how the members share the partitions: range, sticky'
complete -c logtail -l session-timeout -x -d 'with -g, how long a member may be silent before others take over'
complete -c logtail -l format -x -d 'print what STR says: %t %p %o %k %K %s %S %h %T %R %%, and escapes'
complete -c logtail -l json -d 'print each message as a JSON object on a line'
complete -c logtail -l key-delimiter -s K -x -d 'print the key and STR before the value'
complete -c logtail -l delimiter -s d -x -d 'print STR, with escapes, after each message'
complete -c logtail -l null -s 0 -d 'print a NUL after each message'
complete -c logtail -l raw -d 'print nothing after a message, and all bytes as they are even on a terminal'
complete -c logtail -l no-headers -s q -d 'never print ==> topic <== lines'
complete -c logtail -l headers -s v -d 'always print ==> topic <== lines'
complete -c logtail -l verbose -d 'say at the end how many messages were printed'
complete -c logtail -l quiet -d 'do not tell when a broker goes away or comes back'
complete -c logtail -l help -s h -d 'show this help and exit'
complete -c logtail -l version -d 'show the version and exit'
