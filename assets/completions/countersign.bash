# Completion of countersign for bash: source it, or keep it in ~/.local/share/bash-completion/completions/countersign.

_countersign() {
    local -a words=() new=()
    local i word n=0 glued=0 cur raw line kind='' value head=''
    # Readline takes --flag=value for three words.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == '=' && $n -gt 0 && ${words[n - 1]} == --* ]]; then
            words[n - 1]+='='
            glued=1
        elif [[ $glued == 1 ]]; then
            words[n - 1]+=$word
            glued=0
        else
            words[n++]=$word
        fi
    done
    for ((i = 0; i < n; i++)); do
        word=${words[i]}
        case $word in
        \"* | \'*) word=${word#?}; [[ $i -lt $((n - 1)) ]] && word=${word%?} ;;
        *) word=${word//\\/} ;;
        esac
        words[i]=$word
    done
    raw=${COMP_WORDS[COMP_CWORD]}
    cur=${words[n - 1]}
    [[ $cur == --*=* ]] && head=${cur%%=*}=
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files | :folders) kind=$line ;;
        *)
            value=${line%%$'\t'*}
            value=${value#"$head"}
            case $raw in
            \"* | \'*) new+=("$value") ;;
            *) new+=("$(printf '%q' "$value")") ;;
            esac
            ;;
        esac
    done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
    COMPREPLY=("${new[@]}")
    case $kind in
    :files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${cur#"$head"}") ;;
    :folders) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "${cur#"$head"}") ;;
    esac
}

complete -F _countersign countersign
