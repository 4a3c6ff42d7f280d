# Completion of countersign for fish: keep it as ~/.config/fish/completions/countersign.fish, or source it.

function __countersign_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    test (count $current) -eq 0; and set current ''
    for line in ($program complete -- $words $current 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $current
            case ':folders'
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end

complete -c countersign -f -a '(__countersign_complete)'
