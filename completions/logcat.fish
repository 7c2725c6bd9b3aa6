# Completions of logcat for fish, written from its flags by 'make docs'.

function __logcat_asked
    set -l words (commandline -opc)
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            return
        else if string match -q -- '--broker=*' "$words[1]"
            echo -- "$words[1]"
        else if test "$argv[1]" = logrebalance; and string match -q -- '--zookeeper=*' "$words[1]"
            echo -- "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--partition|--delimiter|--key-delimiter|--key|--header|--compress|--acks|--linger|--batch-bytes|--rate|--progress|--confirm|-[0wnvqh]*[bpdKkHza])$' "$words[1]"
            if string match -qr -- '^(--broker|-[^-]*b)$' "$words[1]"
                echo -- "--broker=$words[2]"
            else if test "$words[1]" = --zookeeper; and test "$argv[1]" = logrebalance
                echo -- "--zookeeper=$words[2]"
            end
            set -e words[1]
        else
            set -l parts (string match -r -- '^(-[0wnvqh]*([bpdKkHza]))(.+)$' "$words[1]")
            and test "$parts[3]" = b
            and echo -- "--broker=$parts[4]"
        end
    end
end

function __logcat_topics
    command -q logtopic
    and command logtopic list --quiet --once --timeout 300ms (__logcat_asked logtopic) 2>/dev/null </dev/null | string match -r -- '^[A-Za-z0-9._][A-Za-z0-9._:/@+,%=-]*$'
end

function __logcat_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--broker|--zookeeper|--timeout|--partition|--delimiter|--key-delimiter|--key|--header|--compress|--acks|--linger|--batch-bytes|--rate|--progress|--confirm|-[0wnvqh]*[bpdKkHza])$' "$words[1]"
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

complete -c logcat -f
complete -c logcat -n '__logcat_at \'\' 0' -a '(__logcat_topics)'
complete -c logcat -n '__logcat_at \'\' 1 +' -F
complete -c logcat -l broker -s b -x -d 'a broker to ask first; repeatable, commas between several'
complete -c logcat -l zookeeper -x -d 'taken, and without effect: this tool asks brokers only'
complete -c logcat -l timeout -x -d 'how long to wait for a broker'
complete -c logcat -l partition -s p -x -d 'send to partition N'
complete -c logcat -l delimiter -s d -x -d 'what ends a message, with escapes such as \\n \\t \\0 \\x1e'
complete -c logcat -l null -s 0 -d 'a NUL ends a message'
complete -c logcat -l key-delimiter -s K -x -d 'what is before the first STR of a line is its key'
complete -c logcat -l key -s k -x -d 'the key of every message'
complete -c logcat -l header -s H -x -d 'add the header NAME=VALUE to every message; repeatable'
complete -c logcat -l tombstones -d 'an empty value beside a key is null'
complete -c logcat -l crlf -d 'strip one carriage return before the delimiter'
complete -c logcat -l whole -s w -d 'each file is one message'
complete -c logcat -l json -d 'the input is what logtail --json writes'
complete -c logcat -l compress -s z -x -a 'none gzip snappy lz4 zstd' -d 'compress batches with CODEC: none, gzip, snappy, lz4, zstd'
complete -c logcat -l acks -s a -x -a 'all 1 0' -d 'wait for ACKS, that it is on disk, appended, or nothing: all, 1, 0'
complete -c logcat -l linger -x -d 'how long a line waits for others'
complete -c logcat -l batch-bytes -x -d 'the largest batch before compression'
complete -c logcat -l rate -x -d 'send at most N messages a second'
complete -c logcat -l tee -d 'copy the input to standard output as it is acknowledged'
complete -c logcat -l progress -r -F -d 'keep in FILE how much of the input is acknowledged, and go on from there'
complete -c logcat -l confirm -r -F -d 'with --json: write to FILE the source of each message that is acknowledged, TOPIC PARTITION NEXT-ID'
complete -c logcat -l dry-run -s n -d 'send nothing, say what would be sent'
complete -c logcat -l summary -d 'say at the end how many messages were acknowledged, their bytes, and the time'
complete -c logcat -l verbose -s v -d 'the summary, and a receipt for each batch: PARTITION FIRST-ID COUNT'
complete -c logcat -l quiet -s q -d 'no hints, no progress, no counts when it is interrupted'
complete -c logcat -l help -s h -d 'show this help and exit'
complete -c logcat -l version -d 'show the version and exit'
