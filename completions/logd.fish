# Completions of logd for fish, written from its flags by 'make docs'.

function __logd_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--data-dir|--listen|--advertise|--id|--addr-file|--zookeeper|--zookeeper-listen|--zookeeper-session|--partitions|--auto-create|--segment-bytes|--segment-age|--flush-messages|--flush-interval|--retention|--retention-bytes|--retention-check|--max-message-bytes|--max-connections|--max-request-bytes|--memory-limit|--log-level|--config)$' "$words[1]"
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

complete -c logd -f
complete -c logd -l data-dir -x -a '(__fish_complete_directories)' -d 'DIR that holds the logs; it is made, and locked'
complete -c logd -l listen -x -d 'address to accept clients on; port 0 picks one'
complete -c logd -l advertise -x -d 'address that clients are told'
complete -c logd -l id -x -d 'broker id'
complete -c logd -l addr-file -r -F -d 'FILE to write the addresses to once clients are served'
complete -c logd -l zookeeper -x -d 'ZooKeeper that coordinates the cluster'
complete -c logd -l zookeeper-listen -x -d 'address of the embedded ZooKeeper; port 0 picks one'
complete -c logd -l zookeeper-session -x -d 'after which silence ZooKeeper takes this broker for gone'
complete -c logd -l adopt -d 'make topics of partitions that ZooKeeper does not know, and move the data directory into its cluster'
complete -c logd -l partitions -x -d 'partitions of a topic created on first use'
complete -c logd -l auto-create -x -a 'true false' -d 'create a topic when a client\'s metadata request asks for it'
complete -c logd -l segment-bytes -x -d 'size at which a log goes on in another file'
complete -c logd -l segment-age -x -d 'age at which it does'
complete -c logd -l flush-messages -x -d 'records that may wait for a flush when no producer waits; 0: any number'
complete -c logd -l flush-interval -x -d 'how long they may'
complete -c logd -l retention -x -d 'age at which records are deleted; 0: never'
complete -c logd -l retention-bytes -x -d 'size of a partition above which its oldest records are deleted; 0: never'
complete -c logd -l retention-check -x -d 'how often both are looked at'
complete -c logd -l max-message-bytes -x -d 'largest batch of records'
complete -c logd -l max-connections -x -d 'clients served at the same time'
complete -c logd -l max-request-bytes -x -d 'largest request'
complete -c logd -l memory-limit -x -d 'memory for all requests that are being read and answered'
complete -c logd -l exit-on-disk-error -d 'end with 1 when a log can take no more records'
complete -c logd -l log-level -x -a 'debug info warn error' -d 'least level that is logged: debug, info, warn, error'
complete -c logd -l verbose -s v -d 'say more on stderr'
complete -c logd -l quiet -s q -d 'say only what went wrong'
complete -c logd -l config -r -F -d 'read options from FILE, lines of name = value'
complete -c logd -l print-config -d 'show the options in force and where each comes from, and exit'
complete -c logd -l help -s h -d 'show this help and exit'
complete -c logd -l version -d 'show the version and exit'
