"""The prompt hook: an agent runs it for each prompt, and adds what it prints to the prompt.

It prints passages only if a vault surely answers a clause of the prompt, else nothing. It never fails or delays a
prompt: an error, a missing index or MAX_SECONDS without an answer is an empty output and exit code 0.

A vault that `excerpt serve --socket` serves is asked there; only for others the search engine is imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from excerpt.serve.client import LineClient, LineServerError, socket_file
from excerpt.settings import Paths, user_paths
from excerpt.state_files import append_lines, parse_lines, read_limited, read_value, replace_file, write_value

if TYPE_CHECKING:
    from excerpt.serve.results import PassagesForm

MAX_SECONDS = 0.5
"""Seconds after which the process ends without output; with the start of Python a prompt waits at most .6 s."""
_MAX_EVENT_BYTES = 4_000_000
_MAX_LOG_LINES, _MAX_LOG_BYTES = 1_000, 1_000_000
_MAX_SESSIONS, _MAX_SEEN = 50, 500
_CONNECT_SECONDS = 0.05
_SENT_CHARACTERS = 6_000
"""Characters of the beginning and of the end of a prompt that a server gets: excerpt.prompts reads no more."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What an agent tells its prompt hook; the working directory, which it tells too, is not used."""

    prompt: str
    session_id: str


@dataclass(frozen=True, slots=True)
class HookRecord:
    """One line of the log: passages that a prompt got. The prompt itself is not kept."""

    time: str
    agent: str
    vault: str
    sources: tuple[str, ...]
    confidence: str
    tokens: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class SeenPassages:
    """The fragments that each session got, by the digest of its name; the session that asked last is the last."""

    sessions: Mapping[str, tuple[str, ...]]


def run_hook(agent: str, folders: Sequence[Path]) -> None:
    """Read an event from stdin, print the passages for its prompt as JSON on stdout, and end the process with code 0.

    `folders` are the vaults to ask. Does not return.
    """
    timer = threading.Timer(MAX_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()
    with suppress(Exception):  # the agent must get the prompt, whatever happens here
        event = parse_event(sys.stdin.buffer.read(_MAX_EVENT_BYTES + 1))
        text = answer_event(event, agent, folders, user_paths())
        if text:
            timer.cancel()
            output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}
            sys.stdout.buffer.write(json.dumps(output).encode())
            sys.stdout.buffer.flush()
    os._exit(0)


def parse_event(data: bytes) -> HookEvent:
    """Parse the JSON of an event. Raises ValueError if it has no prompt or is too long."""
    if len(data) > _MAX_EVENT_BYTES:
        raise ValueError("the event is too long")
    event = json.loads(data)
    if not isinstance(event, dict) or not isinstance(event.get("prompt"), str):
        raise ValueError("the event has no prompt")  # noqa: TRY004 - what is wrong is the text that was parsed
    return HookEvent(event["prompt"], str(event.get("session_id", "")))


def answer_event(event: HookEvent, agent: str, folders: Sequence[Path], paths: Paths) -> str:
    """Return the text to add to a prompt, "" if no vault surely answers it or the session had the passages before."""
    start = time.perf_counter()
    session = hashlib.sha256(event.session_id.encode("utf-8", "replace")).hexdigest()[:16]
    seen = read_value(paths.prompt_sessions_file, SeenPassages, SeenPassages({}))
    shown_before = frozenset(seen.sessions.get(session, ()) if event.session_id else ())
    for folder in folders:
        passages = _find_passages(folder, event.prompt, shown_before)
        if passages is None:
            continue
        _save_seen(paths, seen, session, passages["fragment_ids"])
        record = HookRecord(
            time=time.strftime("%Y-%m-%dT%H:%M:%S"),
            agent=agent,
            vault=passages["vault"],
            sources=tuple(passages["sources"]),
            confidence=passages["confidence"],
            tokens=passages["tokens"],
            elapsed_ms=round((time.perf_counter() - start) * 1000, 1),
        )
        with suppress(OSError):
            append_record(paths, record)
        return passages["text"]
    return ""


def _find_passages(folder: Path, prompt: str, shown_before: frozenset[str]) -> PassagesForm | None:
    """Return the passages that a vault has for a prompt: from its server, or else from the search engine."""
    try:
        return _ask_server(folder, prompt, shown_before)
    except (LineServerError, KeyError):  # no server, or one of another version
        return _search_vault(folder, prompt, shown_before)


def _ask_server(folder: Path, prompt: str, shown_before: frozenset[str]) -> PassagesForm | None:
    """Ask the server at the vault's socket. Raises LineServerError if there is none, or if it does not answer."""
    if not hasattr(socket, "AF_UNIX"):
        raise LineServerError("unreachable", "There are no sockets of this kind on this system.")
    if len(prompt) > 2 * _SENT_CHARACTERS:
        prompt = f"{prompt[:_SENT_CHARACTERS]}\n{prompt[-_SENT_CHARACTERS:]}"
    with LineClient.connect(socket_file(folder), _CONNECT_SECONDS) as client:
        answer = client.request("passages", {"prompt": prompt, "shown_before": sorted(shown_before)}, MAX_SECONDS)
    return cast("PassagesForm | None", answer["passages"])


def _search_vault(folder: Path, prompt: str, shown_before: frozenset[str]) -> PassagesForm | None:
    import excerpt
    from excerpt.prompts import find_passages

    with suppress(excerpt.ExcerptError), excerpt.open(folder, refresh=False, on_notice=_ignore) as vault:
        passages = find_passages(vault, prompt, shown_before)
        return None if passages is None else cast("PassagesForm", asdict(passages))
    return None


def _ignore(_notice: str) -> None:
    pass


def _save_seen(paths: Paths, seen: SeenPassages, session: str, fragment_ids: Sequence[str]) -> None:
    sessions = dict(seen.sessions)
    had = sessions.pop(session, ())
    sessions[session] = (*had, *fragment_ids)[-_MAX_SEEN:]
    with suppress(OSError):
        write_value(paths.prompt_sessions_file, SeenPassages(dict(list(sessions.items())[-_MAX_SESSIONS:])))


def append_record(paths: Paths, record: HookRecord) -> None:
    """Append a line to the log, and drop its older half if it is long. Raises OSError."""
    file = paths.prompt_log_file
    file.parent.mkdir(parents=True, exist_ok=True)
    if append_lines(file, (record,)) > _MAX_LOG_BYTES:
        lines = read_limited(file, 2 * _MAX_LOG_BYTES).splitlines(keepends=True)
        replace_file(file, b"".join(lines[-_MAX_LOG_LINES:]))


def read_records(paths: Paths) -> tuple[HookRecord, ...]:
    """Return the lines of the log, oldest first. Raises OSError if it cannot be read."""
    try:
        return tuple(parse_lines(read_limited(paths.prompt_log_file, 2 * _MAX_LOG_BYTES), HookRecord))
    except FileNotFoundError:
        return ()
