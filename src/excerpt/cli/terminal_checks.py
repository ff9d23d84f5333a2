"""The checks of `excerpt doctor` that concern the terminal and the app in it: keys, editor and clipboard."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from excerpt.base.errors import ExcerptError
from excerpt.base.processes import find_program, program_command
from excerpt.base.settings import ScreenSettings, Settings
from excerpt.service.findings import Finding, FindingGroup, ok, problem, run_checks, warning
from excerpt.text.display import format_count
from excerpt.tui.clipboard import OSC_LIMIT, plan_copy
from excerpt.tui.keymap import find_unreliable_keys, validate_keymap
from excerpt.tui.programs import editor_command

# --- terminal ---------------------------------------------------------------------------------------------------------
# What the terminal reports about itself, and what that means for the app.

RunProgram = Callable[[tuple[str, ...]], str]
"""Runs a command, given as its arguments, and returns its output, "" on failure."""

_MIN_COLUMNS, _MIN_LINES = 60, 12
_COMMANDS_HINT = "`excerpt search` and `excerpt pack` do not need a terminal."
_COMMAND_SECONDS = 2.0


def run_program_for_output(argv: tuple[str, ...]) -> str:
    """Run a command for at most `_COMMAND_SECONDS`, and return its output; "" on failure."""
    try:
        done = subprocess.run(program_command(argv), capture_output=True, timeout=_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def terminal_size() -> tuple[int, int] | None:
    """Return the columns and lines of the terminal, None if there is no terminal."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            return size.columns, size.lines
    return None


def check_terminal(
    environment: Mapping[str, str], platform: str, size: tuple[int, int] | None, encoding: str, run_program: RunProgram
) -> Iterator[Finding]:
    """Check the terminal by its environment variables, its size, and the settings of tmux.

    `size` is columns and lines, None without a terminal; `encoding` is the encoding of the output; `run_program` runs a
    command and returns its output.
    """
    yield _check_terminal_type(environment, platform)
    yield _check_terminal_size(size)
    yield _check_colours(environment)
    yield _check_encoding(environment, platform, encoding)
    if environment.get("TMUX"):
        yield from _check_tmux(run_program)
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        yield ok("You are connected by ssh, so copies go through tmux or the terminal to your own clipboard")
    if environment.get("WT_SESSION"):
        yield ok("Windows Terminal accepts copies by OSC 52. It uses keys with ctrl+shift and alt+enter itself")


def _check_terminal_type(environment: Mapping[str, str], platform: str) -> Finding:
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if term == "dumb":
        return warning(
            "The variable TERM is dumb: the app cannot be drawn here.", f"Use another terminal. {_COMMANDS_HINT}"
        )
    if not term and platform != "win32":
        return warning(
            "The variable TERM is not set: the app may be drawn wrongly.",
            f"Set TERM, for example to xterm. {_COMMANDS_HINT}",
        )
    return ok(f"TERM is {term or 'not set, as usual on Windows'}" + (f", in {program}" if program else ""))


def _check_terminal_size(size: tuple[int, int] | None) -> Finding:
    if size is None:
        return ok(f"The app needs a terminal, and there is none here. {_COMMANDS_HINT[:-1]}")
    columns, lines = size
    if not columns or not lines:
        return ok("The terminal does not report its size")
    if columns < _MIN_COLUMNS or lines < _MIN_LINES:
        return warning(
            f"The terminal is small: it has {columns} columns and {lines} lines.",
            f"To show everything, the app needs {_MIN_COLUMNS} columns and {_MIN_LINES} lines.",
        )
    position = "beside" if columns >= 100 else "below"
    return ok(f"The terminal has {columns} columns and {lines} lines: the side panel is {position} the list")


def _check_colours(environment: Mapping[str, str]) -> Finding:
    if environment.get("NO_COLOR"):
        return ok("NO_COLOR is set: the app is drawn without colours")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return ok("The terminal has 16 million colours: themes look as designed")
    term = environment.get("TERM", "")
    if "256color" in term or environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return ok(
            "The terminal reports 256 colours: themes look almost as designed (set COLORTERM=truecolor if it has more)"
        )
    return ok("The terminal reports 16 colours: themes are coarse (set COLORTERM=truecolor if it has more)")


def _check_encoding(environment: Mapping[str, str], platform: str, encoding: str) -> Finding:
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if platform == "win32" or "utf-8" in locale.lower() or "utf8" in locale.lower():
        return ok(f"The locale is {locale}: it supports every script" if locale else "Text is written as UTF-8")
    problem_text = f"The locale is {locale}, which is not UTF-8" if locale else "The locale is not set"
    return warning(
        f"{problem_text}: text is written as {encoding}, and symbols and other scripts may be garbled.",
        "Set LANG to a UTF-8 locale, for example C.UTF-8.",
    )


def _check_tmux(run_program: RunProgram) -> Iterator[Finding]:
    clipboard = run_program(("tmux", "show-options", "-sv", "set-clipboard")) or run_program(
        ("tmux", "show", "-gv", "set-clipboard")
    )
    passthrough = run_program(("tmux", "show-options", "-gv", "allow-passthrough"))
    options = f"set-clipboard {clipboard or 'unknown'}, allow-passthrough {passthrough or 'off'}"
    if clipboard == "off":
        yield warning(
            f"tmux keeps copies in its own buffer ({options}).", "Put `set -s set-clipboard on` into ~/.tmux.conf."
        )
    else:
        yield ok(f"tmux passes copies on to the terminal, if the terminal accepts them ({options})")


# --- clipboard, keys, editor ------------------------------------------------------------------------------------------
# The clipboard, the user's key bindings and the editor.

FindProgram = Callable[[str], str | None]

_CLIPBOARD_HINT = "Install a tool that fills the clipboard (wl-clipboard, xclip or xsel)"


def check_clipboard(
    environment: Mapping[str, str], find_program: FindProgram, platform: str, copies: Path
) -> Iterator[Finding]:
    """Check how copied text reaches the clipboard, and up to which size; it is also saved in the folder `copies`."""
    chosen = plan_copy(environment, find_program, platform, 0)
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    for tool in chosen.tools:
        if tool.name == "tmux":
            yield ok("Copies of any length go to tmux, which passes them on if its options and the terminal allow that")
        else:
            yield ok(f"Copies of any length go to the clipboard by {tool.name}")
    if chosen.osc and not chosen.tools:
        route = "the terminal by OSC 52" + (" through tmux" if chosen.osc == "tmux" else "")
        limit = f"with up to {OSC_LIMIT:,} bytes; excerpt cannot check whether the terminal accepts them"
        if remote:
            yield ok(f"Copies go to {route}, {limit}")
        else:
            yield warning(f"Copies go to {route}, {limit}.", f"{_CLIPBOARD_HINT}, if `ctrl+y` seems to do nothing.")
    yield ok(f"Every copy is also saved as a file in {copies}")


def check_keys(screen: ScreenSettings) -> Iterator[Finding]:
    """Check the key bindings of the settings."""
    keymap, problems = validate_keymap(screen.keys)
    todo = "Change the key under [screen.keys] in the settings: `excerpt config --edit`."
    for sentence in problems:
        yield problem(sentence, todo)
    for sentence in find_unreliable_keys(keymap):
        yield warning(sentence, todo)
    if not problems:
        changed = f"The settings change {format_count(len(keymap), 'key')}" if keymap else "All keys are the defaults"
        yield ok(f"{changed}; no keys conflict")


def check_editor(setting: str, environment: Mapping[str, str], find_program: FindProgram) -> Iterator[Finding]:
    """Check which editor opens a note, and whether excerpt can open it at a line; `setting` is `screen.editor`."""
    is_set = bool(setting or environment.get("VISUAL") or environment.get("EDITOR"))
    try:
        first, second = (editor_command(setting, environment, find_program, Path("note.md"), line) for line in (1, 2))
    except ExcerptError as error:
        yield problem(error.message, error.hint) if is_set else warning(error.message, error.hint)
        return
    from_where = "screen.editor" if setting else "$VISUAL" if environment.get("VISUAL") else "$EDITOR"
    if not is_set:
        from_where = "no editor is set, and this one is installed"
    program = find_program(first.argv[0]) or first.argv[0]
    if first.argv == second.argv:
        todo = "To open notes at the line, choose an editor that the guide's page Open a note elsewhere lists."
        yield warning(
            f"The editor is {program} ({from_where}). It opens notes at the top: no line option is known for it.", todo
        )
    else:
        yield ok(f"The editor is {program} ({from_where}). It opens notes at the line of the hit")


# --- all of them ------------------------------------------------------------------------------------------------------


def check_terminal_and_tools(settings: Settings, copies: Path) -> Iterator[FindingGroup]:
    """Run the checks of this module, in the order of the report. The app saves what it copies in `copies`."""
    environment = dict(os.environ)
    encoding = getattr(sys.__stdout__, "encoding", None) or "unknown"
    size = terminal_size()
    yield run_checks(
        "terminal", lambda: check_terminal(environment, sys.platform, size, encoding, run_program_for_output)
    )
    yield run_checks("keys", lambda: check_keys(settings.screen))
    yield run_checks("editor", lambda: check_editor(settings.screen.editor, environment, find_program))
    yield run_checks("clipboard", lambda: check_clipboard(environment, find_program, sys.platform, copies))
