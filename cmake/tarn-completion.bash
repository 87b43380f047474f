# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion for bash of tarn's programs: their commands and options are those of their own help, so that it always
# suits the program that is there. Installed for bash-completion, once for each program's name.

# _tarn_help PROGRAM [COMMAND]: its help.
_tarn_help() {
    "$@" --help 2>/dev/null </dev/null
}

_tarn() {
    local program=$1 word=$2 before=$3 commands command="" words=""
    commands=$(_tarn_help "$program" | sed -nE 's/^ {2,4}([a-z]+)( [A-Z[][^ ]*)?( \([a-z]+\))?(  .*|$)/\1/p')
    if [ "$COMP_CWORD" -gt 1 ] && grep -qxF -e "${COMP_WORDS[1]}" <<<"$commands"; then
        command=${COMP_WORDS[1]}
    fi
    COMPREPLY=()
    if [ "$before" = --color ]; then
        words="state label stream age"
    elif [[ $word == -* ]]; then
        # The lines that begin with an option, up to its description.
        words=$(_tarn_help "$program" ${command:+"$command"} | sed -nE 's/^ {2,6}(-.*)/\1/p' | sed 's/  .*//' |
            grep -oE -- '--[a-z][a-z-]*' | sort -u)
    elif [ "$COMP_CWORD" -eq 1 ]; then
        words=$commands
    fi
    # shellcheck disable=SC2207  # the words have no spaces
    [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}

complete -o default -F _tarn tarn-bench tarn-map tarn-record tarn-report tarn-run tarn-trace
