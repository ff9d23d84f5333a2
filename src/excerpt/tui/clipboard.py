"""Copying text out of the terminal: by the system's tool, by tmux, by OSC 52, and always to a file.

`plan` decides, `copy` executes, and `Copier` does both outside the event loop. Every route that can be verified is
verified, and the message to the user names those that worked.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.kinds import Format
from excerpt.processes import find_program, program_command
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt.model import PackResult
    from excerpt.settings import Paths
    from excerpt.tui.messages import CopyRequested

OSC_LIMIT = 74_994
"""Maximum bytes of text for OSC 52: xterm and tmux silently drop more than 100,000 bytes of base64."""

OSC_ROUTE = "the terminal (OSC 52)"

MAX_COPIES = 50
"""Number of files kept in the copies folder; older ones are deleted."""

_SCREEN_CHUNK = 760
"""Characters of a sequence that GNU screen passes on at once; its buffer holds 768."""

_TOOL_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that takes the text on its standard input."""

    name: str
    argv: tuple[str, ...]
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Plan:
    """The routes to try.

    `osc` is "", "plain", "screen", or "tmux" (for tmux when its program is not found). `too_long`: the text needs the
    terminal and exceeds `OSC_LIMIT`.
    """

    tools: tuple[Tool, ...]
    osc: str
    too_long: bool


@dataclass(frozen=True, slots=True)
class CopyOutcome:
    """The result of a copy: the names of the routes that worked, and the file."""

    routes: tuple[str, ...]
    file: Path | None
    size: int
    too_long: bool


FindProgram = Callable[[str], str | None]


def plan(environment: Mapping[str, str], which: FindProgram, platform: str, size: int) -> Plan:
    """Return the routes for `size` bytes of text on `platform` (as `sys.platform`); `which` finds programs.

    Over ssh the system's tools would fill the clipboard of the wrong machine, so only tmux and the terminal are used.
    OSC 52 is used only if there is nothing else, since it cannot be verified.
    """
    tools: list[Tool] = []
    in_tmux = bool(environment.get("TMUX"))
    remote = "SSH_CONNECTION" in environment or "SSH_TTY" in environment
    if not remote and (tool := _system_tool(environment, which, platform)):
        tools.append(tool)
    too_long = not tools and size > OSC_LIMIT
    if in_tmux and which("tmux"):
        tools.append(Tool("tmux", ("tmux", "load-buffer", "-w", "-")))
    osc = "tmux" if in_tmux else "screen" if environment.get("STY") else "plain"
    return Plan(tuple(tools), "" if tools or too_long else osc, too_long)


def _system_tool(environment: Mapping[str, str], which: FindProgram, platform: str) -> Tool | None:
    candidates: list[Tool] = []
    if platform == "darwin":
        candidates.append(Tool("pbcopy", ("pbcopy",)))
    if "com.termux" in environment.get("PREFIX", ""):
        candidates.append(Tool("termux-clipboard-set", ("termux-clipboard-set",)))
    if environment.get("WAYLAND_DISPLAY"):
        candidates.append(Tool("wl-copy", ("wl-copy",)))
    if environment.get("DISPLAY") and platform != "darwin":
        candidates.append(Tool("xclip", ("xclip", "-selection", "clipboard")))
        candidates.append(Tool("xsel", ("xsel", "--input", "--clipboard")))
    if platform == "win32" or environment.get("WSL_DISTRO_NAME"):
        candidates.append(Tool("clip.exe", ("clip.exe",), "utf-16"))
    return next((tool for tool in candidates if which(tool.argv[0])), None)


def osc_sequence(text: str, osc: str) -> str:
    """Return the OSC 52 sequence for `text`.

    For "tmux" it is sent in two ways: as it is, for `set-clipboard on`, and wrapped for the outer terminal, for
    `allow-passthrough`. For "screen" it is split into pieces.
    """
    sequence = f"\x1b]52;c;{base64.b64encode(bytes_of(text)).decode()}\a"
    if osc == "screen":
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    wrapped = "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return sequence + wrapped if osc == "tmux" else sequence


def bytes_of(text: str) -> bytes:
    """Return the bytes of a copy: UTF-8, as `excerpt pack -o` writes them. Invalid UTF-8 in a path becomes escapes."""
    return text.encode("utf-8", "backslashreplace")


def copy(text: str, chosen: Plan, folder: Path, now: datetime, suffix: str = ".md") -> CopyOutcome:
    """Send `text` to the tools of a plan and to a file, and wait for them.

    OSC 52 is only listed as a route: the caller sends it.
    """
    routes = [_route(tool) for tool in chosen.tools if _run(tool, text)]
    if chosen.osc:
        routes.append(OSC_ROUTE)
    file = write_file(text, folder, f"copy-{timestamp(now)}{suffix}")
    for old in sorted(folder.glob("copy-*"))[:-MAX_COPIES] if file else ():
        with suppress(OSError):
            old.unlink()
    return CopyOutcome(tuple(routes), file, len(bytes_of(text)), chosen.too_long)


def _route(tool: Tool) -> str:
    """Return the tool's name; for tmux also whether only its own buffer was filled.

    That is the case if tmux knows no clipboard of the outer terminal.
    """
    if tool.name != "tmux":
        return tool.name
    try:
        result = subprocess.run(
            program_command(("tmux", "display-message", "-p", "#{client_termfeatures}")),
            capture_output=True,
            timeout=_TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return tool.name
    features = result.stdout.decode(errors="replace").strip()
    return "tmux, its own buffer only" if features and "clipboard" not in features.split(",") else tool.name


def _run(tool: Tool, text: str) -> bool:
    """Run a tool and return whether it took the text.

    Its output is discarded, because xclip stays in the background and would keep a pipe open.
    """
    try:
        result = subprocess.run(
            program_command(tool.argv),
            input=bytes_of(text) if tool.encoding == "utf-8" else text.encode(tool.encoding, "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0


def timestamp(now: datetime) -> str:
    """Return a time as part of a file name that sorts by time."""
    return f"{now:%Y%m%d-%H%M%S-%f}"


def write_file(text: str, folder: Path, name: str) -> Path | None:
    """Write `text` to a file that only its owner may read; return None if that fails."""
    file = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
            output.write(bytes_of(text))
    except OSError:
        return None
    return file


def copy_toast(outcome: CopyOutcome, what: str, tokens: int | None) -> str:
    """Return the toast of a copy: what was copied by which routes, and the file.

    Two short lines, because the toast covers what is read. The size is in tokens, or in bytes if `tokens` is None.
    """
    size = _size(what, tokens, outcome.size)
    if outcome.routes:
        saved = f"\nSaved as {_short(outcome.file)}" if outcome.file else ""
        if outcome.routes == (OSC_ROUTE,):
            return f"{size}, sent to {OSC_ROUTE}, unconfirmed{saved}"
        caveat = ", more than many terminals accept" if outcome.too_long else ""
        return f"{size}, copied by {' and '.join(outcome.routes)}{caveat}{saved}"
    reason = "too long for the terminal's clipboard" if outcome.too_long else "no clipboard accepted it"
    where = f"It is in {_short(outcome.file)}" if outcome.file else "No file could be written either"
    return f"{size}, {reason}\n{where}"


def _short(file: Path) -> str:
    home = Path.home()
    return f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)


def file_toast(file: Path | None, size: int, what: str, tokens: int | None) -> str:
    """Return the toast of a copy that was written only to a file."""
    where = f", written\n{_short(file)}" if file else ". No file could be written."
    return _size(what, tokens, size) + where


def _size(what: str, tokens: int | None, size: int) -> str:
    return f"{what}: {format_count(tokens, 'token')}" if tokens is not None else f"{what}: {format_count(size, 'byte')}"


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The message about a copy, and whether any route took it."""

    message: str
    is_copied: bool


class Copier:
    """Copying outside the event loop; copied packs are added to the savings.

    `environment` is that of the user's shell, `send` writes to the terminal.
    """

    def __init__(
        self, vault: Path, user_paths: Paths, environment: Mapping[str, str], send: Callable[[str], None]
    ) -> None:
        self._savings_file = user_paths.savings_file(vault)
        self._folder = user_paths.copies_folder()
        self._environment = environment
        self._send = send

    async def copy(self, request: CopyRequested) -> CopyReport:
        """Copy to the clipboard and a file, or only to a file of the user's own."""
        size, now = len(bytes_of(request.text)), datetime.now()
        if request.to_file:
            name = f"pack-{timestamp(now)}{request.suffix}"
            file = await asyncio.to_thread(write_file, request.text, self._folder, name)
            report = CopyReport(file_toast(file, size, request.what, request.tokens), file is not None)
        else:
            chosen = plan(self._environment, find_program, sys.platform, size)
            outcome = await asyncio.to_thread(copy, request.text, chosen, self._folder, now, request.suffix)
            if chosen.osc:
                self._send(osc_sequence(request.text, chosen.osc))
            report = CopyReport(copy_toast(outcome, request.what, request.tokens), bool(outcome.routes))
        if request.pack is not None and request.pack.format is not Format.JSON:
            await asyncio.to_thread(_add_to_savings, self._savings_file, request.pack)
        return report


def _add_to_savings(file: Path, pack: PackResult) -> None:
    """Add a pack to the running total, as `excerpt pack` does. Ignores write errors, which do not affect the copy."""
    from excerpt.pack.savings import SavingsFile

    with suppress(OSError):
        SavingsFile(file).add(pack, date.today())
