"""The prompt hook: an agent runs it for each prompt, and adds what it prints to the prompt.

It prints passages only if a vault surely answers a clause of the prompt, else nothing. It never fails or delays a
prompt: an error, a missing index or no answer in time is an empty output and exit code 0; the log says which.

A server of the vault is asked, by what the standard library has; only without one the search engine is imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from excerpt.base.state_files import append_lines, parse_lines, read_limited, replace_file, set_private_umask
from excerpt.servers.line_server.client import (
    LineClient,
    LineServerError,
    prompt_socket_file,
    socket_file,
    state_folder,
    vault_name,
)
from excerpt.service.inputs import parse_json

if TYPE_CHECKING:
    from excerpt.servers.line_server.results import PassagesForm

SERVER_SECONDS = 2.0
"""Seconds after which the process ends in any case. A server answers in some milliseconds: it is late if the machine is
busy, and then starting a search would take even longer."""
SEARCH_SECONDS = 0.5
"""Seconds after which the process ends if it has to start a search itself."""
_MAX_EVENT_BYTES = 4_000_000
_MAX_LOG_LINES, _MAX_LOG_BYTES = 1_000, 1_000_000
_MAX_SESSIONS, _MAX_SEEN, _MAX_SESSIONS_BYTES = 50, 500, 10_000_000
_CONNECT_SECONDS = 0.2
_LOG_SECONDS = 0.1  # to log that there was no answer; the disk may be slow too
_RECENT_SECONDS = 7 * 86_400
_SENT_CHARACTERS = 6_000
"""Characters of the beginning and of the end of a prompt that a server gets: excerpt.servers.prompts reads no more."""
HAS_SOCKETS = hasattr(socket, "AF_UNIX")
"""Whether Python has Unix sockets on this system; on Windows it has none, and each prompt starts a search."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """The event that an agent sends to its prompt hook; the working directory in it is not used."""

    prompt: str
    session_id: str


@dataclass(frozen=True, slots=True)
class HookRecord:
    """One line of the log: a prompt that got passages or reached the time limit. The prompt itself is not saved.

    `outcome` is "passages" or "timeout", `asked` is "server" or "index" (a search that the hook itself started).
    """

    time: str
    agent: str
    vault: str
    sources: Sequence[str]
    confidence: str
    tokens: int
    elapsed_ms: float
    outcome: str = "passages"
    asked: str = "index"


@dataclass(frozen=True, slots=True)
class HookState:
    """The state of the hook: whether Unix sockets and servers are available, and its timeouts in the last week.

    `served` are the vaults for which a server runs, `unserved` the others; `last_timeout` is a local time.
    """

    sockets: bool
    served: Sequence[str]
    unserved: Sequence[str]
    timeouts: int
    last_timeout: str


Begin = Callable[[str, str], object]
"""Called before a vault is asked, with the vault and who is asked: "server" or "index"."""


class TimeLimit:
    """Ends the process when its time is up, with a line in the log."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._start = time.perf_counter()
        self._timers: list[threading.Timer] = []
        self._vault, self._asked = "", ""
        self._add_timer(SERVER_SECONDS)

    def begin(self, vault: str, asked: str) -> None:
        """Set the vault, and whether a server or this process is asked, for the log.

        The first search in this process starts a shorter time limit.
        """
        if asked == "index" and self._asked != "index":
            self._add_timer(SEARCH_SECONDS)
        self._vault, self._asked = vault, asked

    def cancel(self) -> None:
        """Cancel the timer, so that the process continues."""
        for timer in self._timers:
            timer.cancel()

    def _add_timer(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.give_up)
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def give_up(self) -> None:
        """Log that there was no answer in time, and end the process; does not wait long for the log."""
        at_last = threading.Timer(_LOG_SECONDS, os._exit, (0,))
        at_last.daemon = True
        at_last.start()
        with suppress(Exception):
            record = HookRecord(
                _format_now(),
                self._agent,
                Path(self._vault).name,
                (),
                "",
                0,
                _elapsed_ms(self._start),
                "timeout",
                self._asked,
            )
            append_record(hook_folder(), record)
        os._exit(0)


def run_hook(agent: str, vaults: Sequence[str]) -> None:
    """Read an event from stdin, print the passages for its prompt as JSON on stdout, and end the process with code 0.

    `vaults` are the folders or addresses to ask. Does not return.
    """
    limit = TimeLimit(agent)
    set_private_umask()
    warnings.simplefilter("ignore")  # of libraries: an agent may show them to its user
    with suppress(Exception):  # the agent must get the prompt, whatever happens here
        event = parse_event(sys.stdin.buffer.read(_MAX_EVENT_BYTES + 1))
        text = answer_event(event, agent, vaults, hook_folder(), limit.begin)
        if text:
            limit.cancel()
            output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}
            sys.stdout.buffer.write(json.dumps(output).encode())
            sys.stdout.buffer.flush()
    os._exit(0)


def hook_folder() -> Path:
    """Return `Paths.hook_folder` of `user_paths()`, if possible without the time to import them."""
    if HAS_SOCKETS:
        return state_folder() / "agents"
    from excerpt.base.settings import user_paths

    return user_paths().hook_folder


def parse_event(data: bytes) -> HookEvent:
    """Parse the JSON of an event. Raises ValueError if it has no prompt or is too long."""
    if len(data) > _MAX_EVENT_BYTES:
        raise ValueError("the event is too long")
    event = parse_json(data)
    if not isinstance(event, dict) or not isinstance(event.get("prompt"), str):
        raise ValueError("the event has no prompt")  # noqa: TRY004 - what is wrong is the text that was parsed
    return HookEvent(event["prompt"], str(event.get("session_id", "")))


def _ignore(*_: object) -> None:
    pass


def answer_event(
    event: HookEvent, agent: str, vaults: Sequence[str | Path], folder: Path, begin: Begin = _ignore
) -> str:
    """Return the text to add to a prompt; "" if no vault surely answers it or the session got the passages before.

    `folder` has the log, and the record of which passages each session got.
    """
    start = time.perf_counter()
    session = hashlib.sha256(event.session_id.encode("utf-8", "replace")).hexdigest()[:16]
    sessions = _read_sessions(folder)
    shown_before = frozenset(sessions.get(session, ()) if event.session_id else ())
    for vault in map(str, vaults):
        passages, asked = _find_passages(vault, event.prompt, shown_before, begin)
        if passages is None:
            continue
        _save_seen(folder, sessions, session, passages["fragment_ids"])
        record = HookRecord(
            time=_format_now(),
            agent=agent,
            vault=passages["vault"],
            sources=passages["sources"],
            confidence=passages["confidence"],
            tokens=passages["tokens"],
            elapsed_ms=_elapsed_ms(start),
            asked=asked,
        )
        with suppress(OSError):
            append_record(folder, record)
        return passages["text"]
    return ""


def _format_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S")


def _elapsed_ms(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 1)


# --- asking -----------------------------------------------------------------------------------------------------------


def _find_passages(
    vault: str, prompt: str, shown_before: frozenset[str], begin: Begin
) -> tuple[PassagesForm | None, str]:
    """Return the passages of a vault for a prompt, and whether a server or this process's own search found them."""
    for file in (prompt_socket_file(vault), socket_file(vault)) if HAS_SOCKETS else ():
        begin(vault, "server")
        try:
            return _ask_server(file, vault, prompt, shown_before), "server"
        except LineServerError as error:
            if error.kind in ("not_indexed_yet", "busy"):
                return None, "server"
        except (KeyError, TypeError):  # of another version
            pass
    begin(vault, "index")
    return _search_vault(vault, prompt, shown_before), "index"


def _ask_server(file: Path, vault: str, prompt: str, shown_before: frozenset[str]) -> PassagesForm | None:
    """Ask the server that listens at `file`. Raises LineServerError if no server listens, or it does not answer."""
    if len(prompt) > 2 * _SENT_CHARACTERS:
        prompt = f"{prompt[:_SENT_CHARACTERS]}\n{prompt[-_SENT_CHARACTERS:]}"
    params = {"vault": vault_name(vault), "prompt": prompt, "shown_before": sorted(shown_before)}
    with LineClient.connect(file, _CONNECT_SECONDS) as client:
        answer = client.request("passages", params, 2 * SERVER_SECONDS)  # TimeLimit ends the process before
    return cast("PassagesForm | None", answer["passages"])


def _search_vault(vault: str, prompt: str, shown_before: frozenset[str]) -> PassagesForm | None:
    from msgspec import structs

    import excerpt
    from excerpt.servers.prompts import find_passages

    with suppress(excerpt.ExcerptError), excerpt.open(vault, refresh=False, on_notice=_ignore) as opened:
        passages = find_passages(opened, prompt, shown_before)
        return None if passages is None else cast("PassagesForm", structs.asdict(passages))
    return None


# --- what sessions got ------------------------------------------------------------------------------------------------


def _read_sessions(folder: Path) -> dict[str, Sequence[str]]:
    """Return the ids of the fragments that each session got, by the digest of its name; the newest session is last."""
    try:
        sessions = json.loads(read_limited(folder / "sessions.json", _MAX_SESSIONS_BYTES))["sessions"]
        return {name: [str(each) for each in ids] for name, ids in sessions.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _save_seen(folder: Path, sessions: Mapping[str, Sequence[str]], session: str, fragment_ids: Sequence[str]) -> None:
    seen = dict(sessions)
    had = seen.pop(session, ())
    seen[session] = [*had, *fragment_ids][-_MAX_SEEN:]
    text = json.dumps({"sessions": dict(list(seen.items())[-_MAX_SESSIONS:])})
    with suppress(OSError):
        replace_file(folder / "sessions.json", text.encode())


# --- log and state ----------------------------------------------------------------------------------------------------


def append_record(folder: Path, record: HookRecord) -> None:
    """Append a line to the log, and drop its older half if it is long. Raises OSError."""
    file = folder / "prompts.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    if append_lines(file, (asdict(record),)) > _MAX_LOG_BYTES:
        lines = read_limited(file, 2 * _MAX_LOG_BYTES).splitlines(keepends=True)
        replace_file(file, b"".join(lines[-_MAX_LOG_LINES:]))


def read_records(folder: Path) -> tuple[HookRecord, ...]:
    """Return the lines of the log, oldest first. Raises OSError if it cannot be read."""
    try:
        return tuple(parse_lines(read_limited(folder / "prompts.jsonl", 2 * _MAX_LOG_BYTES), HookRecord))
    except FileNotFoundError:
        return ()


def read_state(folder: Path, vaults: Sequence[str]) -> HookState:
    """Return the state of a hook that asks `vaults`. Raises OSError if the log cannot be read."""
    served = [vault for vault in vaults if _is_served(vault)]
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - _RECENT_SECONDS))
    late = [each.time for each in read_records(folder) if each.outcome == "timeout" and each.time >= since]
    unserved = [vault for vault in vaults if vault not in served]
    return HookState(HAS_SOCKETS, served, unserved, len(late), late[-1] if late else "")


def _is_served(vault: str) -> bool:
    """Return whether a server listens for the hook of a vault."""
    for file in (prompt_socket_file(vault), socket_file(vault)) if HAS_SOCKETS else ():
        with suppress(LineServerError):
            LineClient.connect(file).close()
            return True
    return False
