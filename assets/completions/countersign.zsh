#compdef countersign
# Completion of countersign for zsh: keep it as _countersign in a folder of $fpath, or source it after compinit.

_countersign() {
    local -a lines values shown
    local line value kind=''
    lines=("${(@f)$("${words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        case $line in
            :files | :folders) kind=$line ;;
            '') ;;
            *)
                value=${line%%$'\t'*}
                values+=("$value")
                if [[ $line == *$'\t'?* ]]; then
                    shown+=("$value  -- ${line#*$'\t'}")
                else
                    shown+=("$value")
                fi
                ;;
        esac
    done
    (( $#values )) && compadd -l -d shown -a values
    case $kind in
        :files) _files ;;
        :folders) _files -/ ;;
    esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _countersign "$@"
else
    compdef _countersign countersign
fi
