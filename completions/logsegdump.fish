# Completions of logsegdump for fish, written from its flags by 'make docs'.

function __logsegdump_at
    set -l words (commandline -opc)
    set -l operands
    while set -e words[1]; and set -q words[1]
        if test "$words[1]" = --
            set -a operands $words[2..]
            break
        else if not string match -q -- '-?*' "$words[1]"
            set -a operands "$words[1]"
        else if string match -qr -- '^(--salvage|--offset|--time|--format|--key-delimiter|--delimiter|--max-batch|--max-decompressed|-[crx0vqh]*[oKd])$' "$words[1]"
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

complete -c logsegdump -f
complete -c logsegdump -n '__logsegdump_at \'\' 0 +' -F
complete -c logsegdump -l check -s c -d 'say only what is wrong; with --records, look into every record too'
complete -c logsegdump -l records -s r -d 'print a line for each record'
complete -c logsegdump -l hex -s x -d 'print a line for each record, keys and values in hexadecimal'
complete -c logsegdump -l values -d 'print the values of the records alone, as logtail does'
complete -c logsegdump -l summary -d 'print a line for each file'
complete -c logsegdump -l histogram -d 'print sizes and times of the records as bars'
complete -c logsegdump -l salvage -r -F -d 'write every intact batch to a segment FILE, or into a directory'
complete -c logsegdump -l repair -d 'cut off a torn tail and build wrong indexes again'
complete -c logsegdump -l dry-run -d 'with --repair: say what would be done, and do nothing'
complete -c logsegdump -l offset -s o -x -d 'only ids from A on, and before B'
complete -c logsegdump -l time -x -d 'only times from A on, and before B'
complete -c logsegdump -l json -d 'print JSON, an object a line'
complete -c logsegdump -l format -x -d 'with --values: print what STR says, as in logtail'
complete -c logsegdump -l key-delimiter -s K -x -d 'with --values: print the key and STR before the value'
complete -c logsegdump -l delimiter -s d -x -d 'with --values: print STR after each'
complete -c logsegdump -l null -s 0 -d 'with --values: print a NUL after each'
complete -c logsegdump -l max-batch -x -d 'take no batch for one that is larger'
complete -c logsegdump -l max-decompressed -x -d 'decompress no batch to more'
complete -c logsegdump -l verbose -s v -d 'say more on stderr'
complete -c logsegdump -l quiet -s q -d 'say only what went wrong'
complete -c logsegdump -l help -s h -d 'show this help and exit'
complete -c logsegdump -l version -d 'show the version and exit'
