"""Copying of text to the clipboard by the system's tool, by tmux or by OSC 52, and always to a file.

OSC 52 is an escape sequence that asks the terminal to fill its clipboard. `plan_copy` chooses the routes, `copy` uses
them, and `Copier` does both outside the event loop. The message to the user names the routes that worked; only OSC 52
cannot be verified.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.kinds import Format
from excerpt.base.processes import find_program, program_command
from excerpt.text.display import format_count
from excerpt.tui.picking import runs_in_browser

if TYPE_CHECKING:
    from excerpt.base.model import PackResult
    from excerpt.base.settings import Paths
    from excerpt.tui.messages import CopyRequested

OSC_LIMIT = 74_994
"""Maximum bytes of text for OSC 52: xterm and tmux silently drop more than 100,000 bytes of base64."""

OSC_ROUTE = "the terminal"

MAX_COPIES = 50
"""Maximum number of files in the folder of copies; the oldest are deleted."""

_SCREEN_CHUNK = 760
"""Characters of an escape sequence that GNU screen passes on at once; its buffer holds 768."""

_TOOL_SECONDS = 3.0
"""Maximum seconds that a clipboard tool may run."""


class ClipboardTool(Struct, frozen=True):
    """A program that copies its standard input to a clipboard. `encoding` is the encoding that it expects there."""

    name: str
    argv: tuple[str, ...]
    encoding: str = "utf-8"


class CopyPlan(Struct, frozen=True):
    """The routes by which a text is to be copied.

    `tools` are the programs to run. `osc` is the form of the OSC 52 sequence, which is sent if no program works:
    "plain", "screen" or "tmux" (inside tmux), "" if the text exceeds `OSC_LIMIT`. `too_long`: the text exceeds this
    limit, and at most tmux can copy it.
    """

    tools: tuple[ClipboardTool, ...]
    osc: str
    too_long: bool


class CopyOutcome(Struct, frozen=True):
    """The result of a copy.

    `routes` are the names of the routes that worked. `file` holds the text, None if it could not be written. `size` is
    in bytes. `too_long`: the text exceeds `OSC_LIMIT` and could not be sent to the terminal.
    """

    routes: tuple[str, ...]
    file: Path | None
    size: int
    too_long: bool


FindProgram = Callable[[str], str | None]
"""Function that returns the path of an installed program by its name, None for others."""


def plan_copy(environment: Mapping[str, str], which: FindProgram, platform: str, size: int) -> CopyPlan:
    """Return the routes for copying `size` bytes of text on `platform` (a value of `sys.platform`).

    Over ssh and in a browser the system's tools would fill the clipboard of the machine that runs the app, so only tmux
    and OSC 52 are used there.
    OSC 52 is used only if no other route works, as it cannot be verified: an X server may be gone, for example.
    """
    tools: list[ClipboardTool] = []
    in_browser = runs_in_browser(environment)
    in_tmux = bool(environment.get("TMUX")) and not in_browser
    is_remote = in_browser or any(name in environment for name in ("SSH_CONNECTION", "SSH_TTY"))
    if not is_remote and (tool := _find_system_tool(environment, which, platform)):
        tools.append(tool)
    too_long = not tools and size > OSC_LIMIT
    if in_tmux and which("tmux"):
        tools.append(ClipboardTool("tmux", ("tmux", "load-buffer", "-w", "-")))
    osc = "tmux" if in_tmux else "screen" if environment.get("STY") else "plain"
    return CopyPlan(tuple(tools), osc if size <= OSC_LIMIT else "", too_long)


def _find_system_tool(environment: Mapping[str, str], which: FindProgram, platform: str) -> ClipboardTool | None:
    """Return the first installed clipboard tool for this platform and desktop; None if there is none."""
    candidates: list[ClipboardTool] = []
    if platform == "darwin":
        candidates.append(ClipboardTool("pbcopy", ("pbcopy",)))
    if "com.termux" in environment.get("PREFIX", ""):
        candidates.append(ClipboardTool("termux-clipboard-set", ("termux-clipboard-set",)))
    if environment.get("WAYLAND_DISPLAY"):
        candidates.append(ClipboardTool("wl-copy", ("wl-copy",)))
    if environment.get("DISPLAY") and platform != "darwin":
        candidates.append(ClipboardTool("xclip", ("xclip", "-selection", "clipboard")))
        candidates.append(ClipboardTool("xsel", ("xsel", "--input", "--clipboard")))
    if platform == "win32" or environment.get("WSL_DISTRO_NAME"):
        candidates.append(ClipboardTool("clip.exe", ("clip.exe",), "utf-16"))
    return next((tool for tool in candidates if which(tool.argv[0])), None)


def osc_sequence(text: str, osc: str) -> str:
    """Return the OSC 52 escape sequence that copies `text`, in the form `osc` ("plain", "screen" or "tmux").

    For "tmux" the sequence comes twice: plain for the option `set-clipboard on`, and wrapped for the outer terminal for
    `allow-passthrough`. For "screen" it is split into pieces that fit its buffer.
    """
    sequence = f"\x1b]52;c;{base64.b64encode(encode_text(text)).decode()}\a"
    if osc == "screen":
        pieces = (sequence[at : at + _SCREEN_CHUNK] for at in range(0, len(sequence), _SCREEN_CHUNK))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    wrapped = "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return sequence + wrapped if osc == "tmux" else sequence


def encode_text(text: str) -> bytes:
    """Encode a text for copying: in UTF-8, as `excerpt pack -o` does. Invalid UTF-8 of a path becomes escapes."""
    return text.encode("utf-8", "backslashreplace")


def copy(text: str, copy_plan: CopyPlan, folder: Path, now: datetime, suffix: str = ".md") -> CopyOutcome:
    """Copy `text` by the tools of a plan and to a new file in `folder`, and wait for both.

    `now` names the file. OSC_ROUTE among the routes of the outcome means that the caller must send the sequence.
    """
    routes = [_route_name(tool) for tool in copy_plan.tools if _run_tool(tool, text)]
    if not routes and copy_plan.osc:
        routes.append(OSC_ROUTE)
    file = write_file(text, folder, f"copy-{format_timestamp(now)}{suffix}")
    for old in sorted(folder.glob("copy-*"))[:-MAX_COPIES] if file else ():
        with suppress(OSError):
            old.unlink()
    return CopyOutcome(tuple(routes), file, len(encode_text(text)), copy_plan.too_long)


def _route_name(tool: ClipboardTool) -> str:
    """Return the tool's name for the message to the user.

    For tmux, the name says whether only tmux's own buffer was filled, because the outer terminal has no clipboard
    feature.
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
    return "tmux, its buffer only" if features and "clipboard" not in features.split(",") else tool.name


def _run_tool(tool: ClipboardTool, text: str) -> bool:
    """Run a tool with `text` as its input, and return whether it succeeded.

    The output of the tool is discarded, because xclip stays in the background and would keep a pipe open.
    """
    try:
        result = subprocess.run(
            program_command(tool.argv),
            input=encode_text(text) if tool.encoding == "utf-8" else text.encode(tool.encoding, "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0


def format_timestamp(now: datetime) -> str:
    """Return a time in a form for file names, so that they sort by time."""
    return f"{now:%Y%m%d-%H%M%S-%f}"


def write_file(text: str, folder: Path, name: str) -> Path | None:
    """Write `text` to a file that only its owner may read, and return the file; None if it cannot be written."""
    file = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
            output.write(encode_text(text))
    except OSError:
        return None
    return file


def copy_notice(outcome: CopyOutcome, what: str, tokens: int | None) -> str:
    """Return the notice about a copy to the clipboard.

    It says what was copied and by which routes, and names the file if the clipboard may not have the text. `what` names
    the copied text, such as "Pack". The size is given in tokens, or in bytes if `tokens` is None.
    """
    size = _format_size(what, tokens, outcome.size)
    saved = f" Saved as {_abbreviate_home(outcome.file)}" if outcome.file else " No file could be written either."
    if not outcome.routes:
        reason = "too long for the terminal's clipboard" if outcome.too_long else "no clipboard accepted it"
        return f"{size}, {reason}.{saved}"
    if outcome.routes == (OSC_ROUTE,):
        return f"{size}, copied (if your terminal allows it)." + (saved if outcome.file else "")
    copied = f"{size}, copied by {' and '.join(outcome.routes)}"
    if not outcome.too_long:
        return f"{copied}."
    return f"{copied}, more than many terminals accept." + (saved if outcome.file else "")


def _abbreviate_home(file: Path) -> str:
    home = Path.home()
    return f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)


def file_notice(file: Path | None, size: int, what: str, tokens: int | None) -> str:
    """Return the notice about a text that was written only to `file`, which is None if that failed.

    `size` is in bytes; `what` and `tokens` are as in `copy_notice`.
    """
    where = f", written to {_abbreviate_home(file)}" if file else ". No file could be written."
    return _format_size(what, tokens, size) + where


def _format_size(what: str, tokens: int | None, size: int) -> str:
    return f"{what}: {format_count(tokens, 'token')}" if tokens is not None else f"{what}: {format_count(size, 'byte')}"


class CopyReport(Struct, frozen=True):
    """The message to the user about a copy. `is_copied`: at least one route worked."""

    message: str
    is_copied: bool


class Copier:
    """Copies texts outside the event loop, and adds copied packs to the total of saved tokens.

    `environment` is that of the user's shell. `write_to_terminal` writes an escape sequence to the terminal.
    """

    def __init__(
        self, vault: Path, user_paths: Paths, environment: Mapping[str, str], write_to_terminal: Callable[[str], None]
    ) -> None:
        self._savings_file = user_paths.token_savings_file(vault)
        self._folder = user_paths.copies_folder()
        self._environment = environment
        self._write_to_terminal = write_to_terminal

    async def copy(self, request: CopyRequested) -> CopyReport:
        """Copy a text to the clipboard and a file, or only to a file. A text for stdout is only counted as savings."""
        from excerpt.tui.messages import CopyTarget  # here, because a command uses this module without Textual

        size, now = len(encode_text(request.text)), datetime.now()
        if request.target is CopyTarget.STDOUT:
            report = CopyReport("", is_copied=True)
        elif request.target is CopyTarget.FILE:
            name = f"pack-{format_timestamp(now)}{request.suffix}"
            file = await asyncio.to_thread(write_file, request.text, self._folder, name)
            report = CopyReport(file_notice(file, size, request.what, request.tokens), file is not None)
        else:
            copy_plan = plan_copy(self._environment, find_program, sys.platform, size)
            outcome = await asyncio.to_thread(copy, request.text, copy_plan, self._folder, now, request.suffix)
            if OSC_ROUTE in outcome.routes:
                self._write_to_terminal(osc_sequence(request.text, copy_plan.osc))
            report = CopyReport(copy_notice(outcome, request.what, request.tokens), bool(outcome.routes))
        if request.pack is not None and request.pack.format is not Format.JSON:
            await asyncio.to_thread(_add_to_savings, self._savings_file, request.pack)
        return report


def _add_to_savings(file: Path, pack: PackResult) -> None:
    """Add a pack to the total of saved tokens, as `excerpt pack` does; ignore errors, since the copy is unaffected."""
    from excerpt.pack.savings import SavingsFile

    with suppress(OSError):
        SavingsFile(file).add(pack, date.today())
