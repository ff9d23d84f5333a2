"""The user's editor, opened at a line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from excerpt.errors import ExcerptError, SettingsError

_PLUS = "vi vim nvim gvim view nano pico emacs emacsclient micro kak joe jed ne mg jove mcedit gedit xed pluma bbedit"
_COLON = "hx helix subl sublime_text zed zeditor amp"
_GOTO = "code code-insiders codium vscodium cursor windsurf positron"
_DASH_L = "kate mate idea pycharm"
_WINDOWED = f"gvim gedit xed pluma bbedit subl sublime_text zed zeditor {_GOTO} {_DASH_L}"
_FALLBACKS = ("nano", "vim", "vi", "micro", "emacs")


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """What to run. `windowed` editors have their own window and leave the terminal alone."""

    argv: tuple[str, ...]
    windowed: bool


def editor_command(
    setting: str, environment: Mapping[str, str], which: Callable[[str], str | None], file: Path, line: int
) -> EditorCommand:
    """The command that opens `file` at `line`: the setting, else $VISUAL, else $EDITOR, else one that is installed.

    Raises SettingsError for a command line that cannot be read, ExcerptError where there is no editor.
    """
    words = _chosen(setting, environment, which)
    name = os.path.basename(words[0]).removesuffix(".exe")  # noqa: PTH119 - a command word, not a path to resolve
    return EditorCommand((*words, *_place(name, str(file), line)), name in _WINDOWED.split())


def _chosen(setting: str, environment: Mapping[str, str], which: Callable[[str], str | None]) -> list[str]:
    command = setting or environment.get("VISUAL", "") or environment.get("EDITOR", "")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingsError(f"The editor command {command!r} cannot be read: {error}.") from error
    if words:
        if which(words[0]) is None:
            raise ExcerptError(f"There is no program {words[0]} to edit with.", "Set $EDITOR, or screen.editor.")
        return words
    for fallback in _FALLBACKS:
        if which(fallback):
            return [fallback]
    raise ExcerptError("No editor is set.", "Set $EDITOR, or screen.editor in the settings.")


def _place(name: str, file: str, line: int) -> tuple[str, ...]:
    """The arguments that name file and line; an unknown editor gets the file alone."""
    if name in _PLUS.split():
        return (f"+{line}", file)
    if name in _COLON.split():
        return (f"{file}:{line}",)
    if name in _GOTO.split():
        return ("--goto", f"{file}:{line}")
    if name in _DASH_L.split():
        return ("--line", str(line), file)
    return (file,)
