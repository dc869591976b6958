# fish completion for qb.
function __qb_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l program $typed[1]
    set -e typed[1]
    for line in (command $program __complete $typed "$current" 2>/dev/null </dev/null)
        switch $line
            case \tfiles \tfolders
                __fish_complete_path "$current"
            case \tcommands
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
for name in @NAMES@
    complete -c $name -f -a '(__qb_complete)'
end
