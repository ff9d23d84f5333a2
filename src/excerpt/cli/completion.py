"""`excerpt completion`: install what makes a shell complete commands, options, notes and tags, or print it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from excerpt.base.errors import ExcerptError
from excerpt.base.settings import user_paths
from excerpt.cli.printing import print_line

_BASH = """\
_excerpt_completion() {
    local kind value
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            word) COMPREPLY+=("$value") ;;
            file)
                if [[ ${COMP_WORDS[COMP_CWORD]} != [\\"\\']* ]]; then
                    printf -v value %q "$value"
                    COMPREPLY+=("$value")
                elif [[ $value != *[\\$\\`]* ]]; then
                    compopt -o filenames
                    COMPREPLY+=("$value")
                fi ;;
            files) compopt -o default ;;
            folders) compopt -o dirnames ;;
        esac
    done < <(
        IFS=$'\\n'
        env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" _EXCERPT_COMPLETE=bash "$1" 2>/dev/null
    )
}
complete -o nosort -F _excerpt_completion excerpt
"""
_ZSH = """\
#compdef excerpt
_excerpt_completion() {
    local kind value
    local -a values
    while IFS=$'\\t' read -r kind value; do
        case $kind in
            word|file) values+=("$value") ;;
            files) _path_files -f ;;
            folders) _path_files -/ ;;
        esac
    done < <(
        env COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT - 1)) _EXCERPT_COMPLETE=zsh "${(Q)words[1]}" 2>/dev/null
    )
    (( $#values )) && compadd -V unsorted -a values
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _excerpt_completion excerpt
"""
_FISH = """\
function __excerpt_completion
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -ct)
    _EXCERPT_COMPLETE=fish excerpt 2>/dev/null | while read -l -d \\t kind value
        switch $kind
            case files
                __fish_complete_path (commandline -ct)
            case folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $value
        end
    end
end
complete --command excerpt --no-files --arguments '(__excerpt_completion)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command()
@click.argument("action", type=click.Choice(["install", "print"]))
@click.option("--shell", type=click.Choice(list(_SCRIPTS)), help="The shell.  [default: the one in the variable SHELL]")
def completion_command(*, action: str, shell: str | None) -> None:
    """Make a shell complete commands, options, notes and tags, or print the script that does.

    To install it, writes the script into a file, and for bash and zsh a line that loads it into .bashrc or .zshrc.
    Prints what was written. Installing again changes nothing but a script of another version.
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in _SCRIPTS:
        raise click.UsageError(
            f"Completion is for bash, zsh and fish, and $SHELL is {chosen or 'not set'}. Add --shell."
        )
    script = _SCRIPTS[chosen]
    if action == "print":
        print_line(script, end="")
        return
    home = Path.home()
    if chosen == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        _write_script(config / "fish/completions/excerpt.fish", script)
    else:
        file = user_paths().data / f"completion.{chosen}"
        _write_script(file, script)
        start = home / ".bashrc" if chosen == "bash" else Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
        name = shlex.quote(str(file))
        _add_startup_line(start, f"[ -r {name} ] && . {name}  # completion of excerpt")
    print_line("Open a new shell to use it.")


def _write_script(file: Path, script: str) -> None:
    """Write a script to a file if it differs, and print whether it was written."""
    try:
        if file.is_file() and file.read_text(encoding="utf-8") == script:
            print_line(f"{file} is up to date.")
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _make_error(file, error) from error
    print_line(f"Wrote {file}.")


def _add_startup_line(file: Path, line: str) -> None:
    """Append a line to a file that lacks it, and print whether it was added."""
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
        if line in text.splitlines():
            print_line(f"{file} has the line already: {line}")
            return
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    except OSError as error:
        raise _make_error(file, error) from error
    print_line(f"Added to {file}: {line}")


def _make_error(file: Path, error: Exception) -> ExcerptError:
    reason = getattr(error, "strerror", None) or str(error)
    return ExcerptError(f"{file} cannot be written: {reason}.", "Print the script with `excerpt completion print`.")
