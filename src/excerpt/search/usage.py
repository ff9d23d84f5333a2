"""Log of the notes that the user opened or packed, which are ranked a little higher.

One file per vault in the state folder, one JSON object per line, newest last:

    {"time": "2025-03-01T09:30:00Z", "kind": "open", "path": "Guides/Sync.md", "fragment": "4be1…", "share": 1.0}

The file contains paths, but no text and no query, and may be deleted. An event before a note was renamed has the old
path, which `update_paths` replaces by the present path.
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

from excerpt.state_files import append_lines, encode_line, exclusive_lock, parse_lines, replace_file

Floats = npt.NDArray[np.float32]

HALF_LIFE_DAYS = 30.0
"""Days after which a use counts half: the exponential decay that Mozilla chose for the address bar's frecency."""
HALF_SCORE_USES = 1.0
"""Number of uses today that give a note half of the maximum score; each further use adds less."""
MAX_EVENTS = 5_000
"""Maximum number of events that remain after a compaction of the log."""
MAX_AGE_DAYS = 365.0
"""Age in days above which a compaction of the log removes events: twelve half-lives."""
COMPACT_BYTES = 2_000_000
"""Size of the log in bytes at which it is compacted: some 12,000 events.

Of a much larger log, only the end is read.
"""

_DAY_SECONDS = 86_400.0


class UseKind(StrEnum):
    """What the user did with a note: opened it, or copied it in a pack."""

    OPEN = "open"
    PACK = "pack"


@dataclass(frozen=True, slots=True)
class UseEvent:
    """One use of one note, at `time` (seconds since 1970, UTC).

    `share` is the note's share of an action, 0 to 1: a pack of four notes is one action, with a quarter for each note.
    `fragment` is the id of the fragment used, "" if unknown.
    """

    time: float
    kind: UseKind
    path: str
    fragment: str = ""
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


class UseLog:
    """The log of the uses of one vault's notes, in `file`, which is created with the first event.

    Several processes may append to the log. Writing raises OSError if the file cannot be written. Reading never fails,
    and ignores invalid lines.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read_events: tuple[tuple[int, int, int], tuple[UseEvent, ...]] | None = None

    def events(self) -> tuple[UseEvent, ...]:
        """Return all events, oldest first. The file is only read again if it has changed."""
        try:
            with self.file.open("rb") as opened:
                stamp = _file_stamp(opened)
                if self._read_events is None or self._read_events[0] != stamp:
                    self._read_events = (stamp, tuple(_parse_events(_read_tail(opened, stamp[0]))))
        except OSError:
            return ()
        return self._read_events[1]

    def record(self, kind: UseKind, notes: Iterable[tuple[str, str]], now: float) -> None:
        """Append one action of the user at the time `now` (seconds since 1970).

        `notes` are pairs of a note's path and the id of the fragment used ("" if unknown).

        A note that occurs several times counts once.
        """
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
        lines = [encode_line(_event_to_json(event)) for event in self.events() if event.time >= oldest][-MAX_EVENTS:]
        sizes = np.cumsum([len(line) for line in reversed(lines)])
        recent = lines[len(lines) - int(np.searchsorted(sizes, COMPACT_BYTES // 2, side="right")) :]
        replace_file(self.file, b"".join(recent))


def update_paths(
    events: Sequence[UseEvent], paths: Container[str], find_new_path: Callable[[str], str | None]
) -> tuple[UseEvent, ...]:
    """Return the events with the present paths of their notes.

    `paths` are the paths of existing notes. `find_new_path` returns the present path of a note that was moved from the
    given path, None if unknown.
    """
    now = {path: find_new_path(path) or path for path in {event.path for event in events} if path not in paths}
    return tuple(replace(event, path=now[event.path]) if event.path in now else event for event in events)


def score_notes(events: Sequence[UseEvent], paths: Sequence[str], now: float) -> Floats:
    """Return how much each of the notes at `paths` is used, from 0 to 1.

    An event counts with its share, halved for each half-life of its age at `now` (seconds since 1970); this is J.
    Ruderman's frecency by exponential decay, proposed for Firefox. The sum s becomes s / (s + HALF_SCORE_USES). Events
    after `now` have age 0.
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
    """The use of one note: how often it was opened and packed, the time of its last use, and its score.

    `last` is in seconds since 1970; `score` is the result of `score_notes`, 0 to 1.
    """

    path: str
    opens: int
    packs: int
    last: float
    score: float


def latest_time(events: Sequence[UseEvent]) -> float:
    """Return the time of the newest event (seconds since 1970), 0 without events.

    Ages count from this time. If ages counted from the present time, the same query would list hits in another order
    from day to day.
    """
    return max((event.time for event in events), default=0.0)


def summarize_by_note(events: Sequence[UseEvent]) -> list[NoteUse]:
    """Return the use of each note in `events`, most used first, ties by path."""
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
    """Return a time, in seconds since 1970, as ISO 8601 text in UTC with milliseconds."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- lines ------------------------------------------------------------------------------------------------------------


def _event_to_json(event: UseEvent) -> dict[str, Any]:
    return asdict(event) | {"time": format_time(event.time)}


def _parse_events(data: bytes) -> Iterator[UseEvent]:
    """Yield the events in the lines of a log, without invalid lines."""
    for data_line in parse_lines(data, dict[str, Any]):
        with suppress(ValueError, OverflowError):  # msgspec's errors are ValueErrors
            time = datetime.fromisoformat(str(data_line.get("time")))
            if time.tzinfo is not None and 1970 <= time.year < 9999:
                yield msgspec.convert(data_line | {"time": time.timestamp()}, UseEvent)


def _read_tail(opened: BinaryIO, size: int) -> bytes:
    """Return the content of a file of `size` bytes.

    If it is over 2 * COMPACT_BYTES, only the last whole lines.
    """
    if size <= 2 * COMPACT_BYTES:
        return opened.read()
    opened.seek(size - 2 * COMPACT_BYTES)
    return opened.read().partition(b"\n")[2]


def _file_stamp(opened: BinaryIO) -> tuple[int, int, int]:
    """Return the size, modification time (ns) and inode of a file, which change together with its content."""
    status = os.fstat(opened.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ino
