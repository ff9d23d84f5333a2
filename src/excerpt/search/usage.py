"""Log of what the user did with notes (opened, copied in a pack), to rank used notes a little higher.

One file per vault in the state folder, one JSON object per line, newest last:

    {"time": "2025-03-01T09:30:00Z", "kind": "open", "path": "Guides/Sync.md", "fragment": "4be1…", "share": 1.0}

It contains paths, no text and no query, and may be deleted. Events before a note was renamed have its old path;
`update_paths` maps them to the present path.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from excerpt.state_files import append_lines, exclusive_lock, line_of, read_lines, replace_file

Floats = npt.NDArray[np.float32]

HALF_LIFE_DAYS = 30.0
"""Days after which a use counts half: the exponential decay that Mozilla chose for the address bar's frecency."""
HALF_SCORE_USES = 1.0
"""Number of uses today with half of the maximum score; each further one adds less."""
MAX_EVENTS = 5_000
MAX_AGE_DAYS = 365.0
"""Age in days up to which a compaction keeps events: twelve half-lives, and at most MAX_EVENTS."""
COMPACT_BYTES = 2_000_000
"""The size in bytes at which the log is compacted: some 12,000 events. Only the end of a larger log is read."""

_DAY_SECONDS = 86_400.0


class UseKind(StrEnum):
    """What was done with a note."""

    OPEN = "open"
    PACK = "pack"


@dataclass(frozen=True, slots=True)
class UseEvent:
    """One use of one note, at `time` (seconds since 1970, UTC).

    `share` is the note's part of the action: a pack of four notes is one action, a quarter for each. `fragment` is the
    id of the fragment used, "" if unknown.
    """

    time: float
    kind: UseKind
    path: str
    fragment: str = ""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


class UseLog:
    """The log of one vault, in `file`, which is created with the first event.

    Several processes may append to it. Writing raises OSError if the file cannot be written; reading never does, and
    ignores invalid lines.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read_events: tuple[tuple[int, int, int], tuple[UseEvent, ...]] | None = None

    def events(self) -> tuple[UseEvent, ...]:
        """Return all events in the order of writing. The file is read again only when it has changed."""
        try:
            with self.file.open("rb") as opened:
                stamp = _file_stamp(opened)
                if self._read_events is None or self._read_events[0] != stamp:
                    self._read_events = (stamp, tuple(_parse_events(_read_tail(opened, stamp[0]))))
        except OSError:
            return ()
        return self._read_events[1]

    def record(self, kind: UseKind, notes: Iterable[tuple[str, str]], now: float) -> None:
        """Append one action with its notes (path, fragment id or ""). Each note counts once."""
        fragments = dict(reversed(list(notes)))  # the first of several fragments of a note
        paths = list(reversed(fragments))
        events = [UseEvent(now, kind, path, fragments[path], round(1 / len(paths), 4)) for path in paths]
        if not events:
            return
        with exclusive_lock(self.file):
            if append_lines(self.file, map(_event_to_json, events)) > COMPACT_BYTES:
                self._compact(now)

    def clear(self) -> int:
        """Delete all events; return their number."""
        with exclusive_lock(self.file):
            count = len(self.events())
            self.file.unlink(missing_ok=True)
        return count

    def _compact(self, now: float) -> None:
        oldest = now - MAX_AGE_DAYS * _DAY_SECONDS
        lines = [line_of(_event_to_json(event)) for event in self.events() if event.time >= oldest][-MAX_EVENTS:]
        sizes = np.cumsum([len(line) for line in reversed(lines)])
        recent = lines[len(lines) - int(np.searchsorted(sizes, COMPACT_BYTES // 2, side="right")) :]
        replace_file(self.file, b"".join(recent))


def update_paths(
    events: Sequence[UseEvent], paths: Container[str], find_new_path: Callable[[str], str | None]
) -> tuple[UseEvent, ...]:
    """Return the events with the present paths of their notes.

    `paths` are the existing ones, and `find_new_path` returns the new path of another note.
    """
    now = {path: find_new_path(path) or path for path in {event.path for event in events} if path not in paths}
    return tuple(replace(event, path=now[event.path]) if event.path in now else event for event in events)


def score_notes(events: Sequence[UseEvent], paths: Sequence[str], now: float) -> Floats:
    """Return how much each note is used, from 0 to 1, in the order of `paths`.

    An event counts its share, half of it a half-life ago (J. Ruderman's frecency by exponential decay, proposed for
    Firefox); the sum s becomes s / (s + HALF_AT). Events after `now` count as now.
    """
    number = {path: position for position, path in enumerate(paths)}
    known = [event for event in events if event.path in number]
    if not known:
        return np.zeros(len(paths), np.float32)
    age = np.maximum(now - np.array([event.time for event in known]), 0) / (HALF_LIFE_DAYS * _DAY_SECONDS)
    share = np.array([event.share for event in known])
    used = np.bincount([number[event.path] for event in known], share * np.exp2(-age), len(paths))
    return (used / (used + HALF_SCORE_USES)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class NoteUse:
    """The use of one note: how often it was opened and packed, when last (as `Event.time`), and its score."""

    path: str
    opens: int
    packs: int
    last: float
    score: float


def latest_time(events: Sequence[UseEvent]) -> float:
    """Return the time of the newest event, from which a search counts ages.

    Ages by the clock would change the list from day to day for the same index, query and use.
    """
    return max((event.time for event in events), default=0.0)


def summarize_by_note(events: Sequence[UseEvent]) -> list[NoteUse]:
    """Return the use of each note, most used first, ties by path."""
    events_by_path: dict[str, list[UseEvent]] = {}
    for event in events:
        events_by_path.setdefault(event.path, []).append(event)
    paths = sorted(events_by_path)
    notes = [
        NoteUse(
            path=path,
            opens=sum(event.kind is UseKind.OPEN for event in events_by_path[path]),
            packs=sum(event.kind is UseKind.PACK for event in events_by_path[path]),
            last=max(event.time for event in events_by_path[path]),
            score=round(float(score), 4),
        )
        for path, score in zip(paths, score_notes(events, paths, latest_time(events)), strict=True)
    ]
    return sorted(notes, key=lambda note: (-note.score, note.path))


def format_time(time: float) -> str:
    """Return seconds since 1970 as ISO 8601, in UTC."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- lines ------------------------------------------------------------------------------------------------------------


def _event_to_json(event: UseEvent) -> dict[str, Any]:
    return asdict(event) | {"time": format_time(event.time)}


def _parse_events(data: bytes) -> Iterator[UseEvent]:
    for data_line in read_lines(data, dict[str, Any]):
        with suppress(ValueError, OverflowError):  # msgspec's errors are ValueErrors
            time = datetime.fromisoformat(str(data_line.get("time")))
            if time.tzinfo is not None and 1970 <= time.year < 9999:
                yield msgspec.convert(data_line | {"time": time.timestamp()}, UseEvent)


def _read_tail(opened: BinaryIO, size: int) -> bytes:
    """Return the file's bytes; of a file larger than any log, only whole lines at its end."""
    if size <= 2 * COMPACT_BYTES:
        return opened.read()
    opened.seek(size - 2 * COMPACT_BYTES)
    return opened.read().partition(b"\n")[2]


def _file_stamp(opened: BinaryIO) -> tuple[int, int, int]:
    status = os.fstat(opened.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ino
