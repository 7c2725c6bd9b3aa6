# Completions of logrebalance for fish, written from its flags by 'make docs'.

function __logrebalance_asked
    set -l words (commandline -opc)
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            return
        else if string match -q -- '--broker=*' "$words[1]"
            echo -- "$words[1]"
        else if test "$argv[1]" = logrebalance; and string match -q -- '--zookeeper=*' "$words[1]"
            echo -- "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--topic|--interval|--members|--strategy|--wait|--to|--shift|--from-file|--wait-empty|--undo-file|--warning|--critical|-[vqh]*[bwc])$' "$words[1]"
            if string match -qr -- '^(--broker|-[^-]*b)$' "$words[1]"
                echo -- "--broker=$words[2]"
            else if test "$words[1]" = --zookeeper; and test "$argv[1]" = logrebalance
                echo -- "--zookeeper=$words[2]"
            end
            set -e words[1]
        else
            set -l parts (string match -r -- '^(-[vqh]*([bwc]))(.+)$' "$words[1]")
            and test "$parts[3]" = b
            and echo -- "--broker=$parts[4]"
        end
    end
end

function __logrebalance_topics
    command -q logtopic
    and command logtopic list --quiet --once --timeout 300ms (__logrebalance_asked logtopic) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logrebalance_groups
    command -q logrebalance
    and command logrebalance list --quiet --once --timeout 300ms (__logrebalance_asked logrebalance) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logrebalance_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--topic|--interval|--members|--strategy|--wait|--to|--shift|--from-file|--wait-empty|--undo-file|--warning|--critical|-[vqh]*[bwc])$' "$words[1]"
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

complete -c logrebalance -f
complete -c logrebalance -n '__logrebalance_at -' -a list -d 'List all groups, with their kind, members and topics; with --quiet only their names.'
complete -c logrebalance -n '__logrebalance_at -' -a status -d 'Show the members of a group, and each partition: owner, committed offset, log, lag.'
complete -c logrebalance -n '__logrebalance_at -' -a plan -d 'Show who will own which partition, as each member will compute it.'
complete -c logrebalance -n '__logrebalance_at -' -a trigger -d 'Let the members of a group look at it again, as if one had come or gone.'
complete -c logrebalance -n '__logrebalance_at -' -a verify -d 'Fail unless every partition has one live owner.'
complete -c logrebalance -n '__logrebalance_at -' -a reset -d 'Move the offsets of a group; without --execute say what would be done.'
complete -c logrebalance -n '__logrebalance_at -' -a export -d 'Print the offsets of a group, or of all, an object a line.'
complete -c logrebalance -n '__logrebalance_at -' -a import -d 'Set the offsets of a group to what a file says; without --execute say what would be done.'
complete -c logrebalance -n '__logrebalance_at -' -a check -d 'Tell a monitor how far a group is behind: one line, and exit status 0, 1, 2 or 3.'
complete -c logrebalance -n '__logrebalance_at -' -a evict -d 'Take a stuck member out of its group; without --execute say what would be done.'
complete -c logrebalance -n '__logrebalance_at -' -a delete -d 'Delete a group without members, with its offsets; without --execute say what would be done.'
complete -c logrebalance -l broker -s b -x -d 'a broker to ask first; repeatable, commas between several'
complete -c logrebalance -l zookeeper -x -d 'the ZooKeeper ensemble'
complete -c logrebalance -l timeout -x -d 'how long to wait for a broker'
complete -c logrebalance -l json -d 'an object a line instead of columns'
complete -c logrebalance -l verbose -s v -d 'say more on stderr'
complete -c logrebalance -l quiet -s q -d 'say only what went wrong'
complete -c logrebalance -l help -s h -d 'show this help and exit'
complete -c logrebalance -l version -d 'show the version and exit'
complete -c logrebalance -n '__logrebalance_at status 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at status' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at status' -l all -d 'every partition, also where they are more than fit on a screen'
complete -c logrebalance -n '__logrebalance_at status' -l watch -d 'show it again and again, until interrupted'
complete -c logrebalance -n '__logrebalance_at status' -l interval -x -d 'with --watch, how often'
complete -c logrebalance -n '__logrebalance_at plan 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at plan' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at plan' -l all -d 'every partition, also where they are more than fit on a screen'
complete -c logrebalance -n '__logrebalance_at plan' -l members -x -d 'as if the members were NAME,...; repeatable'
complete -c logrebalance -n '__logrebalance_at plan' -l strategy -x -a 'range sticky' -d 'as if the members assigned by it: range, sticky'
complete -c logrebalance -n '__logrebalance_at trigger 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at verify 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at verify' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at verify' -l wait -x -d 'wait so long for it to become true'
complete -c logrebalance -n '__logrebalance_at reset 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at reset' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at reset' -l all-topics -d 'all topics of the group'
complete -c logrebalance -n '__logrebalance_at reset' -l to -x -a 'earliest latest' -d 'to OFFSET: earliest, latest, an id, @TIME or -DURATION ago'
complete -c logrebalance -n '__logrebalance_at reset' -l shift -x -d 'forwards or back by so many ids, which are bytes'
complete -c logrebalance -n '__logrebalance_at reset' -l from-file -r -F -d 'to what FILE says, as export writes it; - is stdin'
complete -c logrebalance -n '__logrebalance_at reset' -l execute -d 'do it'
complete -c logrebalance -n '__logrebalance_at reset' -l all -d 'every partition, also where they are more than fit on a screen'
complete -c logrebalance -n '__logrebalance_at reset' -l wait-empty -x -d 'wait so long for the members to leave'
complete -c logrebalance -n '__logrebalance_at reset' -l live -d 'also while there are members: they go on from the new offsets at once'
complete -c logrebalance -n '__logrebalance_at reset' -l undo-file -r -F -d 'write the old offsets to FILE first, for import; what it held goes to FILE~'
complete -c logrebalance -n '__logrebalance_at export 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at export' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at export' -l all-groups -d 'the offsets of all groups that there are'
complete -c logrebalance -n '__logrebalance_at import 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at import 2' -F
complete -c logrebalance -n '__logrebalance_at import' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at import' -l execute -d 'do it'
complete -c logrebalance -n '__logrebalance_at import' -l all -d 'every partition, also where they are more than fit on a screen'
complete -c logrebalance -n '__logrebalance_at import' -l wait-empty -x -d 'wait so long for the members to leave'
complete -c logrebalance -n '__logrebalance_at import' -l live -d 'also while there are members: they go on from the new offsets at once'
complete -c logrebalance -n '__logrebalance_at import' -l undo-file -r -F -d 'write the old offsets to FILE first, for import; what it held goes to FILE~'
complete -c logrebalance -n '__logrebalance_at check 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at check' -l topic -x -a '(__logrebalance_topics)' -d 'only this topic, or partitions of it; repeatable'
complete -c logrebalance -n '__logrebalance_at check' -l warning -s w -x -d 'warn when the lag is above SIZE'
complete -c logrebalance -n '__logrebalance_at check' -l critical -s c -x -d 'critical when the lag is above SIZE'
complete -c logrebalance -n '__logrebalance_at check' -l records -d 'count the records that are behind, by reading them, instead of bytes'
complete -c logrebalance -n '__logrebalance_at check' -l batch -d 'a group that is behind without members is between two runs of a job'
complete -c logrebalance -n '__logrebalance_at evict 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at evict' -l execute -d 'do it'
complete -c logrebalance -n '__logrebalance_at delete 1' -a '(__logrebalance_groups)'
complete -c logrebalance -n '__logrebalance_at delete' -l execute -d 'do it'
