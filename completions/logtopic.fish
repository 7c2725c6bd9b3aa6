# Completions of logtopic for fish, written from its flags by 'make docs'.

function __logtopic_asked
    set -l words (commandline -opc)
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            return
        else if string match -q -- '--broker=*' "$words[1]"
            echo -- "$words[1]"
        else if test "$argv[1]" = logrebalance; and string match -q -- '--zookeeper=*' "$words[1]"
            echo -- "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--partitions|--config|--unset|-[vqh]*[b])$' "$words[1]"
            if string match -qr -- '^(--broker|-[^-]*b)$' "$words[1]"
                echo -- "--broker=$words[2]"
            else if test "$words[1]" = --zookeeper; and test "$argv[1]" = logrebalance
                echo -- "--zookeeper=$words[2]"
            end
            set -e words[1]
        else
            set -l parts (string match -r -- '^(-[vqh]*([b]))(.+)$' "$words[1]")
            and test "$parts[3]" = b
            and echo -- "--broker=$parts[4]"
        end
    end
end

function __logtopic_topics
    command -q logtopic
    and command logtopic list --quiet --once --timeout 300ms (__logtopic_asked logtopic) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logtopic_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--partitions|--config|--unset|-[vqh]*[b])$' "$words[1]"
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

complete -c logtopic -f
complete -c logtopic -n '__logtopic_at -' -a list -d 'List all topics, with the number of their partitions; with --quiet only their names.'
complete -c logtopic -n '__logtopic_at -' -a create -d 'Make a topic.'
complete -c logtopic -n '__logtopic_at -' -a describe -d 'Show the partitions of topics, or of all: leader, ids, size on disk, and what is set.'
complete -c logtopic -n '__logtopic_at -' -a alter -d 'Give a topic more partitions, and change what is set for it.'
complete -c logtopic -n '__logtopic_at -' -a delete -d 'Delete a topic with all its records; without --execute say what would be deleted.'
complete -c logtopic -l broker -s b -x -d 'a broker to ask first; repeatable, commas between several'
complete -c logtopic -l zookeeper -x -d 'taken, and without effect: this tool asks brokers only'
complete -c logtopic -l timeout -x -d 'how long to wait for a broker'
complete -c logtopic -l json -d 'an object a line instead of columns'
complete -c logtopic -l verbose -s v -d 'say more on stderr'
complete -c logtopic -l quiet -s q -d 'say only what went wrong'
complete -c logtopic -l help -s h -d 'show this help and exit'
complete -c logtopic -l version -d 'show the version and exit'
complete -c logtopic -n '__logtopic_at create' -l partitions -x -d 'make N partitions'
complete -c logtopic -n '__logtopic_at create' -l config -x -a 'flush.messages= flush.ms= max.message.bytes= retention.bytes= retention.ms= segment.bytes= segment.ms=' -d 'set KEY=VALUE for the topic; repeatable'
complete -c logtopic -n '__logtopic_at describe 1 +' -a '(__logtopic_topics)'
complete -c logtopic -n '__logtopic_at alter 1' -a '(__logtopic_topics)'
complete -c logtopic -n '__logtopic_at alter' -l partitions -x -d 'have N partitions afterwards, never fewer than before'
complete -c logtopic -n '__logtopic_at alter' -l config -x -a 'flush.messages= flush.ms= max.message.bytes= retention.bytes= retention.ms= segment.bytes= segment.ms=' -d 'set KEY=VALUE for the topic; repeatable'
complete -c logtopic -n '__logtopic_at alter' -l unset -x -a 'flush.messages flush.ms max.message.bytes retention.bytes retention.ms segment.bytes segment.ms' -d 'let the setting KEY follow the broker again; repeatable'
complete -c logtopic -n '__logtopic_at delete 1' -a '(__logtopic_topics)'
complete -c logtopic -n '__logtopic_at delete' -l execute -d 'do it'
