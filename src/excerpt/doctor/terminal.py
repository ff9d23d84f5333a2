"""What the terminal says of itself, and what that means for the app."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from excerpt.doctor.finding import Finding, ok, warning

Ask = Callable[[tuple[str, ...]], str]
"""Runs a program and gives what it prints, "" where that fails."""

_NARROW, _SHORT = 60, 12
_IN_PIPES = "`excerpt search` and `excerpt pack` need no terminal."
_ASK_SECONDS = 2.0


def ask(argv: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=_ASK_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def terminal_size() -> tuple[int, int] | None:
    """Columns and lines, None without a terminal."""
    for stream in (sys.__stdout__, sys.__stderr__, sys.__stdin__):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            return size.columns, size.lines
    return None


def terminal(
    environment: Mapping[str, str], platform: str, size: tuple[int, int] | None, encoding: str, ask: Ask
) -> Iterator[Finding]:
    """`size` is that of the terminal, None without one; `encoding` what it is written to in."""
    yield _kind(environment, platform)
    yield _size(size)
    yield _colours(environment)
    yield _encoding(environment, platform, encoding)
    if environment.get("TMUX"):
        yield from _tmux(ask)
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        yield ok("Over ssh: copies go by tmux or the terminal, as the tools here fill this machine's clipboard")
    if environment.get("WT_SESSION"):
        yield ok("Windows Terminal: it takes copies by OSC 52; ctrl+shift and alt+enter keys are its own")


def _kind(environment: Mapping[str, str], platform: str) -> Finding:
    term = environment.get("TERM", "")
    program = environment.get("TERM_PROGRAM", "")
    if term == "dumb":
        return warning("TERM is dumb: the app cannot be drawn here.", f"Use another terminal; {_IN_PIPES}")
    if not term and platform != "win32":
        return warning("TERM is not set: the app may be drawn wrongly.", f"Set it, as in TERM=xterm; {_IN_PIPES}")
    return ok(f"TERM is {term or 'not set, as usual on Windows'}" + (f", in {program}" if program else ""))


def _size(size: tuple[int, int] | None) -> Finding:
    if size is None:
        return ok(f"There is no terminal here: the app needs one, {_IN_PIPES[:-1]}")
    columns, lines = size
    if not columns or not lines:
        return ok("The terminal does not say how large it is")
    if columns < _NARROW or lines < _SHORT:
        return warning(f"{columns} columns and {lines} lines are few.", f"From {_NARROW} by {_SHORT} on all is seen.")
    beside = "beside" if columns >= 100 else "below"
    return ok(f"{columns} columns and {lines} lines: the context stands {beside} the list")


def _colours(environment: Mapping[str, str]) -> Finding:
    if environment.get("NO_COLOR"):
        return ok("NO_COLOR is set: the app is drawn without colours")
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit") or environment.get("WT_SESSION"):
        return ok("16 million colours: themes look as they are meant")
    term = environment.get("TERM", "")
    if "256color" in term or environment.get("TERM_PROGRAM") == "Apple_Terminal":
        return ok("256 colours: themes are nearly as they are meant (COLORTERM=truecolor if it can do more)")
    return ok("16 colours, as far as the terminal says: themes are coarse (COLORTERM=truecolor if it can do more)")


def _encoding(environment: Mapping[str, str], platform: str, encoding: str) -> Finding:
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    if platform == "win32" or "utf-8" in locale.lower() or "utf8" in locale.lower():
        return ok(f"The locale is {locale}: every script is shown" if locale else "Text is written as UTF-8")
    shown = f"The locale is {locale or 'not set'}, which is not UTF-8 (text is written as {encoding})"
    return warning(f"{shown}: signs and other scripts may be garbled.", "Set LANG, as in LANG=C.UTF-8.")


def _tmux(ask: Ask) -> Iterator[Finding]:
    clipboard = ask(("tmux", "show-options", "-sv", "set-clipboard")) or ask(("tmux", "show", "-gv", "set-clipboard"))
    through = ask(("tmux", "show-options", "-gv", "allow-passthrough"))
    said = f"tmux: set-clipboard {clipboard or 'unknown'}, allow-passthrough {through or 'off'}"
    if clipboard == "off":
        yield warning(f"{said}: copies stay in tmux's own buffer.", "Put `set -s set-clipboard on` into ~/.tmux.conf.")
    else:
        yield ok(f"{said}: copies are handed on to the terminal, if that takes them")
