"""Scripts that let a shell ask the program for completions; `word_completion` answers."""

BASH = r"""
_mulligan_completion() {
    local line=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} lead= files= kind value about index
    # Bash takes the word apart at =, : and @, and replaces only what comes after the last of them.
    [[ $word == [=:@] ]] && word=
    [[ ${line%"$word"} == *[=:@] ]] && lead=${line%"$word"} && lead=${lead##*[[:space:]]}
    COMPREPLY=()
    while IFS=$'\t' read -r kind value about; do
        case $kind in
            file) files=-f ;;
            dir) files=-d ;;
            program) files=-c ;;
            command)  # a word of the command that `run` is given: that command's own completion knows it
                files=-f
                for index in _comp_command_offset _command_offset; do
                    declare -F "$index" >/dev/null && about=$index
                done
                [[ $about ]] || continue
                for ((index = 1; index < COMP_CWORD; index++)); do
                    [[ ${COMP_WORDS[index]} == -- ]] && ((index++)) && break
                    [[ ${COMP_WORDS[index]} == "$value" ]] && break
                done
                "$about" "$index"
                return ;;
            plain)
                [[ $value == *[=@] ]] && compopt -o nospace
                COMPREPLY+=("${value#"$lead"}") ;;
        esac
    done < <(_MULLIGAN_COMPLETE=bash _MULLIGAN_LINE=$line "$1" 2>/dev/null)
    if [[ $files ]]; then
        # Readline quotes names of files, which would turn the `tune@` of a plan into `tune\\@`.
        ((${#COMPREPLY[@]})) || compopt -o filenames
        while IFS= read -r value; do
            [[ $files != -c || -d $value ]] || type -P -- "$value" >/dev/null || continue  # no alias, no builtin
            [[ ${value##*/} != .@(mulligan|git) || ${word##*/} == .* ]] || continue
            COMPREPLY+=("$value")
        done < <(compgen $files -- "$word" | sort -u)  # a program may be in several folders
    elif [[ $word != [\"\']* ]]; then
        for kind in "${!COMPREPLY[@]}"; do
            printf -v value %q "${COMPREPLY[kind]}"
            COMPREPLY[kind]=${value//\\,/,}
        done
    fi
}
complete -o nosort -F _mulligan_completion mulligan
"""

ZSH = r"""
#compdef mulligan
_mulligan_completion() {
    local line kind value
    local -a described begun
    for line in "${(@f)$(_MULLIGAN_COMPLETE=zsh _MULLIGAN_LINE="${words[1,CURRENT]}" ${~words[1]} 2>/dev/null)}"; do
        kind=${line%%$'\t'*} line=${line#*$'\t'}
        value=${line%%$'\t'*} line=${line#*$'\t'}
        case $kind in
            file|dir)
                [[ $PREFIX == --*=* ]] && compset -P '*='
                [[ $kind == dir ]] && _files -/ || _files ;;
            program)
                [[ $PREFIX == */* ]] && _files || _command_names -e ;;
            plain)
                if [[ $value == *[=@] ]]; then begun+=("$value")
                else described+=("${value//:/\\:}${line:+:$line}"); fi ;;
        esac
    done
    (( $#described )) && _describe -V word described
    (( $#begun )) && compadd -S '' -a begun
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _mulligan_completion "$@"
else
    compdef _mulligan_completion mulligan
fi
"""

FISH = r"""
function __mulligan_completion
    set -lx _MULLIGAN_COMPLETE fish
    set -lx _MULLIGAN_LINE (commandline -cp | string collect)
    for line in (command mulligan 2>/dev/null)
        set -l field (string split -m 2 \t -- $line)
        switch $field[1]
            case file
                __fish_complete_path (commandline -ct)
            case dir
                __fish_complete_directories (commandline -ct) ''
            case program
                set -l word (commandline -ct)
                complete --do-complete "$word"
            case plain
                printf '%s\t%s\n' $field[2] "$field[3]"
        end
    end
end
complete --no-files --keep-order --command mulligan --arguments '(__mulligan_completion)'
"""

SCRIPTS = {"bash": BASH.strip(), "zsh": ZSH.strip(), "fish": FISH.strip()}
