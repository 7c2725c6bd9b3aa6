# Completions of logtopic for fish, written from its flags by 'make docs'.

function __logtopic_topics
    command -q logtopic
    and command logtopic list --quiet --timeout 1s 2>/dev/null </dev/null | string match -r '^[A-Za-z0-9._-]+$'
end

complete -c logtopic -f
complete -c logtopic -n __fish_use_subcommand -a list -d 'All topics, with the number of their partitions; with --quiet only their names.'
complete -c logtopic -n __fish_use_subcommand -a create -d 'Make a topic.'
complete -c logtopic -n __fish_use_subcommand -a describe -d 'The partitions of topics, or of all: leader, ids, size on disk, and what is set.'
complete -c logtopic -n __fish_use_subcommand -a alter -d 'Give a topic more partitions, and change what is set for it.'
complete -c logtopic -n __fish_use_subcommand -a delete -d 'Delete a topic with all its records; without --execute say what would be deleted.'
complete -c logtopic -l broker -s b -x -d 'a broker to ask first, HOST:PORT; repeatable, commas between several'
complete -c logtopic -l timeout -x -d 'how long to wait for a broker'
complete -c logtopic -l json -d 'an object a line instead of columns'
complete -c logtopic -l verbose -s v -d 'say more on stderr'
complete -c logtopic -l quiet -s q -d 'say only what went wrong'
complete -c logtopic -l help -s h -d 'show this help and exit'
complete -c logtopic -l version -d 'show the version and exit'
complete -c logtopic -n '__fish_seen_subcommand_from create' -l partitions -x -d 'make N partitions'
complete -c logtopic -n '__fish_seen_subcommand_from create' -l config -x -d 'set KEY=VALUE for the topic; repeatable'
complete -c logtopic -n '__fish_seen_subcommand_from describe' -a '(__logtopic_topics)'
complete -c logtopic -n '__fish_seen_subcommand_from alter' -a '(__logtopic_topics)'
complete -c logtopic -n '__fish_seen_subcommand_from alter' -l partitions -x -d 'have N partitions afterwards, never fewer than before'
complete -c logtopic -n '__fish_seen_subcommand_from alter' -l config -x -d 'set KEY=VALUE for the topic; repeatable'
complete -c logtopic -n '__fish_seen_subcommand_from alter' -l unset -x -d 'let the setting KEY follow the broker again; repeatable'
complete -c logtopic -n '__fish_seen_subcommand_from delete' -a '(__logtopic_topics)'
complete -c logtopic -n '__fish_seen_subcommand_from delete' -l execute -d 'do it'
