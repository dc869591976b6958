#compdef @NAMES@
# zsh completion for qb.
_qb_complete() {
    local -a answer texts shown
    local line word about
    answer=("${(@f)$(${(Q)words[1]/#\~/$HOME} __complete "${(@)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    for line in "${answer[@]}"; do
        case $line in
        $'\tfiles') _files ;;
        $'\tfolders') _files -/ ;;
        $'\tcommands') _command_names -e ;;
        *$'\t'*)
            word=${line%%$'\t'*} about=${line#*$'\t'}
            texts+=("$word")
            shown+=("${word}${about:+  -- $about}") ;;
        esac
    done
    if ((${#texts})); then compadd -U -l -d shown -- "${texts[@]}"; fi
    return 0
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
if [[ ${funcstack[1]} == _qb* && ${funcstack[1]} != _qb_complete ]]; then
    _qb_complete "$@" # loaded by its name from a folder of fpath
else
    compdef _qb_complete @NAMES@
fi
