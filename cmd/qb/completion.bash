# bash completion for qb; needs bash only.
_qb_complete() {
    local rest=${COMP_LINE:0:COMP_POINT} typed=() part trimmed i
    # bash cuts words at : and = too; words that no blank separates are put together again.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        part=${COMP_WORDS[i]}
        if ((${#part} > ${#trimmed})); then part=$trimmed; fi # the rest is behind the cursor
        if ((i == 0)) || [[ $trimmed != "$rest" ]]; then
            typed+=("$part")
        else
            typed[${#typed[@]} - 1]+=$part
        fi
        rest=${trimmed#"$part"}
    done
    local program=${typed[0]/#\~/$HOME} current=${typed[${#typed[@]} - 1]} answer word about shown=() cut=
    # Only what stands behind the last : or = is replaced.
    if [[ $COMP_WORDBREAKS == *:* && $current == *:* ]]; then cut=${current%"${current##*:}"}; fi
    if [[ $COMP_WORDBREAKS == *=* && ${current#"$cut"} == *=* ]]; then cut=${current%"${current##*=}"}; fi
    answer=$("$program" __complete "${typed[@]:1}" 2>/dev/null </dev/null) || return 0
    answer=$'\n'$answer # a tab behind a line end asks for words of the shell's own
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        [[ -n $word ]] || continue
        COMPREPLY+=("${word#"$cut"}")
        shown+=("${word#"$cut"}${about:+  ($about)}")
    done <<<"${answer%%$'\n\t'*}"
    # A list to look at may say more. Of a list of one, bash inserts what it holds, and users wrote that.
    if ((COMP_TYPE == 63 && ${#shown[@]} > 1)); then COMPREPLY=("${shown[@]}"); fi
    current=${current#"$cut"}
    case $answer in
    *$'\n\tfiles'*) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current") ;;
    *$'\n\tfolders'*) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current") ;;
    *$'\n\tcommands'*) while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$current") ;;
    esac
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:,] ]]; then compopt -o nospace 2>/dev/null; fi
    return 0
}
complete -F _qb_complete @NAMES@
