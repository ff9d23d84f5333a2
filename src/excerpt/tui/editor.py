"""The user's editor, opened at a line."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from excerpt.errors import ExcerptError, SettingsError

_PLUS = (
    "vi vim nvim vis vile elvis view ex nano pico emacs emacsclient micro kak joe ne mg jove mcedit dte "
    "gvim mvim gedit xed pluma bbedit"
)
"""+12 before the file."""
_COLON = "hx helix subl sublime_text zed zeditor zedit atom pulsar"
"""The file, a colon and the line. After the colon of a Windows drive that is still the last one."""
_GOTO = "code code-insiders code-oss codium vscodium cursor windsurf positron kiro trae"
"""VS Code and what is made of it: --goto before that."""
_JETBRAINS = "idea pycharm charm phpstorm webstorm rubymine goland clion rustrover rider datagrip appcode studio"
_DASH_LINE = f"kate kwrite mate rmate geany {_JETBRAINS}"
"""--line 12 before the file."""
_WINDOWED = (
    f"gvim mvim gedit xed pluma bbedit subl sublime_text zed zeditor zedit atom pulsar notepad++ {_GOTO} {_DASH_LINE}"
)
_FALLBACKS = ("nano", "vim", "vi", "micro", "emacs")


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """What to run. `windowed` editors have their own window and leave the terminal alone."""

    argv: tuple[str, ...]
    windowed: bool


def editor_command(
    setting: str,
    environment: Mapping[str, str],
    which: Callable[[str], str | None],
    file: Path,
    line: int,
    *,
    platform: str = sys.platform,
) -> EditorCommand:
    """The command that opens `file` at `line`: the setting, else $VISUAL, else $EDITOR, else one that is installed.

    Raises SettingsError for a command line that cannot be read, ExcerptError where there is no editor.
    """
    words = _chosen(setting, environment, which, platform)
    name = _name(words[0])
    return EditorCommand((*words, *_place(name, str(file), line, platform)), name in _WINDOWED.split())


def _name(program: str) -> str:
    """What a program is called, without its folder, the ending that Windows gives it, and the 64 that JetBrains do."""
    name = re.sub(r"\.(exe|cmd|bat|sh)$", "", re.split(r"[/\\]", program)[-1].lower())
    return name.removesuffix("64") if name.removesuffix("64") in _JETBRAINS.split() else name


def _chosen(
    setting: str, environment: Mapping[str, str], which: Callable[[str], str | None], platform: str
) -> list[str]:
    command = setting or environment.get("VISUAL", "") or environment.get("EDITOR", "")
    words = [command] if command and which(command) is not None else _words(command, platform)
    if words:
        if which(words[0]) is None:
            raise ExcerptError(f"There is no program {words[0]} to edit with.", "Set $EDITOR, or screen.editor.")
        return words
    for fallback in _FALLBACKS:
        if which(fallback):
            return [fallback]
    raise ExcerptError("No editor is set.", "Set $EDITOR, or screen.editor in the settings.")


def _words(command: str, platform: str) -> list[str]:
    """A command line's words. On Windows a backslash is part of a path."""
    try:
        if platform != "win32":
            return shlex.split(command)
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    except ValueError as error:
        raise SettingsError(f"The editor command {command!r} cannot be read: {error}.") from error


def _place(name: str, file: str, line: int, platform: str) -> tuple[str, ...]:
    """The arguments that name file and line; an unknown editor gets the file alone."""
    if name == "xed" and platform == "darwin":
        return ("--line", str(line), file)  # Xcode's, which is no kin of the one on Linux
    if name in _PLUS.split():
        return (f"+{line}", file)
    if name in _COLON.split():
        return (f"{file}:{line}",)
    if name in _GOTO.split():
        return ("--goto", f"{file}:{line}")
    if name in _DASH_LINE.split():
        return ("--line", str(line), file)
    return {"jed": (file, "-g", str(line)), "notepad++": (f"-n{line}", file)}.get(name, (file,))
