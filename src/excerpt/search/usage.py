"""Log of the notes that the user opened, marked or copied, with the questions that led to them.

One file per vault in the state folder, one JSON object per line, newest last:

    {"time": "2025-03-01T09:30:00Z", "kind": "opened", "query": "sync conflict", "path": "Guides/Sync.md",
     "fragment": "4be1…", "rank": 3, "share": 1.0, "above": ["Sync.md", "Plugins.md"], "digest": "9c0d…",
     "earlier": ["two versions of one note"]}

The file contains queries, paths and digests, but no text of a note, and may be deleted. Commands write nothing to it.
An event before a note was renamed has the old path, which `update_paths` replaces by the present path; the digest finds
a passage that was moved to another note. Lines of before have neither a digest nor earlier questions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from excerpt.base.state_files import append_lines, encode_line, exclusive_lock, open_regular, parse_lines, replace_file

if TYPE_CHECKING:
    from excerpt.base.model import Hit, PastUse

MAX_EVENTS = 2_000
"""Maximum number of events that remain after a compaction of the log: their queries are analyzed in 0.3 s at start."""
COMPACT_BYTES = 1_500_000
"""Size of the log in bytes at which it is compacted: some 3,000 events.

Of a much larger log, only the end is read.
"""
MAX_QUERY_CHARS = 200
"""Maximum length of a query that is recorded: a longer one may be text pasted from a note."""
MAX_NOTES_ABOVE = 10
"""Maximum number of notes above a hit that are recorded with it."""
MAX_EARLIER = 3
"""Maximum number of earlier questions that are recorded with a hit, the last ones."""
READING_SECONDS = 2.0
"""Seconds for which a list that changes with each letter is shown at least if its query was a question."""
REWORDING_SECONDS = 600.0
"""Seconds after which a question that found nothing sure is given up: a later one is no rewording of it."""


class UseKind(StrEnum):
    """What the user did with a hit: opened it, copied a pack with it among the marks, or copied it alone."""

    OPENED = "opened"
    MARKED = "marked"
    COPIED = "copied"


class UsedHit(Struct, frozen=True):
    """A hit that the user used: its note and fragment, the query, its rank from 1, and the notes of the hits above.

    `digest` is the digest of the fragment's text. `earlier` are earlier questions that found nothing sure and that the
    query rewords, the oldest first.
    """

    query: str
    path: str
    fragment: str
    rank: int
    above: tuple[str, ...] = ()
    digest: str = ""
    earlier: tuple[str, ...] = ()


class UseEvent(Struct, frozen=True):
    """One use of one hit, at `time` (seconds since 1970, UTC); the other fields are those of UsedHit.

    `share` is the note's share of an action, 0 to 1: a pack of four marked notes is one action, with a quarter for each
    note.
    """

    time: float
    kind: UseKind
    query: str
    path: str
    fragment: str = ""
    rank: Annotated[int, msgspec.Meta(ge=1)] = 1
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    above: tuple[str, ...] = ()
    digest: str = ""
    earlier: tuple[str, ...] = ()


def find_used_hit(query: str, hits: Sequence[Hit], fragment: str, earlier: Sequence[str] = ()) -> UsedHit | None:
    """Return the hit whose fragment has the id `fragment`, as a record of its use.

    The notes above are those of the hits above it, without its own. `earlier` are the questions of which `query` is a
    rewording. Return None if the hit is not among the `hits` of `query`, or if the query is empty or too long to be
    recorded.
    """
    query = query.strip()
    if not 0 < len(query) <= MAX_QUERY_CHARS:
        return None
    for row, hit in enumerate(hits):
        if hit.fragment.id == fragment:
            path = hit.fragment.path
            above = dict.fromkeys(each.fragment.path for each in hits[:row] if each.fragment.path != path)
            above_paths = tuple(above)[:MAX_NOTES_ABOVE]
            return UsedHit(query, path, fragment, row + 1, above_paths, hit.fragment.digest, tuple(earlier))
    return None


class UnsureQuestions:
    """The questions of one session that found nothing sure, kept until a hit of a query that rewords them is used.

    Times are in seconds, of any clock that never goes back.
    """

    def __init__(self) -> None:
        """Create an empty list."""
        self._questions: dict[str, float] = {}
        self._query = ""
        self._is_unsure = False
        self._is_used = False
        self._since = 0.0

    def ask(self, query: str, *, is_unsure: bool, now: float, min_seconds: float = 0.0) -> None:
        """Note that the list of `query` is shown from now on; `is_unsure` says that it has nothing sure.

        The previous query counts as unfinished typing, not as a question, if its list was shown for less than
        `min_seconds`, or if `query` continues it.
        """
        query = query.strip()
        is_unsure = is_unsure and 0 < len(query) <= MAX_QUERY_CHARS
        if query == self._query:
            self._is_unsure = is_unsure
            return
        is_typed_on = query.startswith(self._query)
        if self._is_used:
            self._questions.clear()
        elif self._is_unsure and not is_typed_on and now - self._since >= min_seconds:
            self._questions.pop(self._query, None)  # a question asked again is the last one
            recent = [item for item in self._questions.items() if now - item[1] <= REWORDING_SECONDS]
            self._questions = dict([*recent[-MAX_EARLIER:], (self._query, now)])
        self._query, self._is_unsure, self._is_used, self._since = query, is_unsure, False, now

    def use(self, now: float) -> tuple[str, ...]:
        """Return the questions that the present query rewords, because one of its hits is used; then forget them."""
        self._is_used = True
        return self.reworded(now)

    def reworded(self, now: float) -> tuple[str, ...]:
        """Return the questions that the present query rewords, the oldest first."""
        recent = [text for text, time in self._questions.items() if now - time <= REWORDING_SECONDS]
        return tuple(text for text in recent if text != self._query)[-MAX_EARLIER:]


class UseLog:
    """The log of the uses of one vault's notes, in `file`, which is created with the first event.

    Several processes may append to the log. Writing raises OSError if the file cannot be written. Reading never fails,
    and ignores invalid lines.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read_events: tuple[tuple[int, int, int], tuple[UseEvent, ...]] | None = None
        self._query_events: tuple[str, tuple[UseEvent, ...]] | None = None

    def events(self) -> tuple[UseEvent, ...]:
        """Return all events, oldest first. The file is only read again if it has changed."""
        try:
            with open_regular(self.file) as opened:
                stamp = _file_stamp(opened)
                if self._read_events is None or self._read_events[0] != stamp:
                    self._read_events = (stamp, tuple(_parse_events(_read_tail(opened, stamp[0]))))
        except OSError:
            return ()
        return self._read_events[1]

    def events_at_query(self, query: str) -> tuple[UseEvent, ...]:
        """Return the events of the moment when `query` was asked, until another query or `end_list`.

        A list is searched again when the index changes or more hits are loaded: what the user opens in it must not move
        its rows. Events that any process has forgotten since are left out.
        """
        events = self.events()
        if self._query_events is None or self._query_events[0] != query:
            self._query_events = (query, events)
        elif events is not self._query_events[1]:
            remaining = self._query_events[1]
            known = set(events)
            if not known.issuperset(remaining):
                self._query_events = (query, tuple(event for event in remaining if event in known))
        return self._query_events[1]

    def end_list(self) -> None:
        """Return all events at the next query, even if it repeats the last one, because its list is no longer shown."""
        self._query_events = None

    def events_at_last_query(self) -> tuple[UseEvent, ...]:
        """Return the events of the moment when the last query was asked; all events if no query was asked yet."""
        return self._query_events[1] if self._query_events is not None else self.events()

    def record(self, kind: UseKind, hits: Iterable[UsedHit], now: float) -> None:
        """Append one action of the user at the time `now` (seconds since 1970).

        If several hits are of one note, the first counts.
        """
        by_path: dict[str, UsedHit] = {}
        for hit in hits:
            by_path.setdefault(hit.path, hit)
        if not by_path:
            return
        share = round(1 / len(by_path), 4)
        events = [
            UseEvent(
                now,
                kind,
                hit.query,
                hit.path,
                hit.fragment,
                hit.rank,
                share,
                above=tuple(path for path in hit.above if path not in by_path),  # not passed over, if used too
                digest=hit.digest,
                earlier=hit.earlier,
            )
            for hit in by_path.values()
        ]
        with exclusive_lock(self.file):
            if append_lines(self.file, map(_event_to_json, events)) > COMPACT_BYTES:
                self._compact()

    def forget(self, is_forgotten: Callable[[UseEvent], bool] = lambda _event: True) -> int:
        """Delete the events for which `is_forgotten` is true, by default all; return their number."""
        return self._change(lambda event: None if is_forgotten(event) else event)

    def forget_query(self, query: str) -> int:
        """Delete the events of `query`, and `query` from the earlier questions of others; return the sum of both."""
        forgotten = normalize_query(query)

        def change(event: UseEvent) -> UseEvent | None:
            if normalize_query(event.query) == forgotten:
                return None
            earlier = tuple(text for text in event.earlier if normalize_query(text) != forgotten)
            return replace(event, earlier=earlier) if earlier != event.earlier else event

        return self._change(change)

    def forget_uses(self, uses: Collection[PastUse]) -> int:
        """Delete the events of a hit's past uses; return their number."""
        forgotten = {(use.time, use.kind, use.fragment) for use in uses}
        return self.forget(lambda event: (event.time, event.kind.value, event.fragment) in forgotten)

    def _change(self, change: Callable[[UseEvent], UseEvent | None]) -> int:
        """Replace each event by the result of `change` (None deletes it); return the number of changed events."""
        with exclusive_lock(self.file):
            known = self.events()
            changed = [change(event) for event in known]
            remaining = [event for event in changed if event is not None]
            if remaining:
                replace_file(self.file, b"".join(_encode_event(event) for event in remaining))
            else:
                self.file.unlink(missing_ok=True)
            self._query_events = None
        return sum(after is not before for before, after in zip(known, changed, strict=True))

    def _compact(self) -> None:
        lines = [_encode_event(event) for event in self.events()][-MAX_EVENTS:]
        size = 0
        first = len(lines)
        while first and size + len(lines[first - 1]) <= COMPACT_BYTES // 2:
            first -= 1
            size += len(lines[first])
        replace_file(self.file, b"".join(lines[first:]))


def update_paths(
    events: Sequence[UseEvent], paths: Container[str], find_new_path: Callable[[str], str | None]
) -> tuple[UseEvent, ...]:
    """Return the events with the present paths of their notes.

    `paths` are the paths of existing notes. `find_new_path` returns the present path of a note that was moved from the
    given path, None if unknown.
    """
    gone = {path for event in events for path in (event.path, *event.above) if path not in paths}
    now = {path: find_new_path(path) or path for path in gone}
    return tuple(
        replace(event, path=now.get(event.path, event.path), above=tuple(now.get(path, path) for path in event.above))
        if not now.keys().isdisjoint((event.path, *event.above))
        else event
        for event in events
    )


class LearnedNote(Struct, frozen=True):
    """How often, and when last, the user opened, marked and copied one note for one query.

    `last` is in seconds since 1970. `earlier` are the questions that found nothing sure and were reworded as the query.
    """

    query: str
    path: str
    opened: int
    marked: int
    copied: int
    last: float
    earlier: tuple[str, ...] = ()


def summarize_by_query(events: Sequence[UseEvent]) -> list[LearnedNote]:
    """Return what was done with each note for each query, the last used first, ties by query and path."""
    groups: dict[tuple[str, str], list[UseEvent]] = {}
    for event in events:
        groups.setdefault((normalize_query(event.query), event.path), []).append(event)
    notes = [
        LearnedNote(
            query=group[-1].query,
            path=path,
            opened=sum(event.kind is UseKind.OPENED for event in group),
            marked=sum(event.kind is UseKind.MARKED for event in group),
            copied=sum(event.kind is UseKind.COPIED for event in group),
            last=max(event.time for event in group),
            earlier=tuple(dict.fromkeys(text for event in group for text in event.earlier)),
        )
        for (_, path), group in groups.items()
    ]
    return sorted(notes, key=lambda note: (-note.last, note.query, note.path))


def has_question(asked: UseEvent | LearnedNote, query: str) -> bool:
    """Return whether `query` is the query, or an earlier question, of an event or note."""
    return normalize_query(query) in map(normalize_query, (asked.query, *asked.earlier))


def normalize_query(query: str) -> str:
    """Return the query in lower case with single spaces, by which two queries are the same."""
    return " ".join(query.casefold().split())


def format_time(time: float) -> str:
    """Return a time, in seconds since 1970, as ISO 8601 text in UTC with milliseconds."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- lines ------------------------------------------------------------------------------------------------------------


def _event_to_json(event: UseEvent) -> dict[str, Any]:
    return asdict(event) | {"time": format_time(event.time)}


def _encode_event(event: UseEvent) -> bytes:
    return encode_line(_event_to_json(event))


def _parse_events(data: bytes) -> Iterator[UseEvent]:
    """Yield the events in the lines of a log, without invalid lines."""
    for data_line in parse_lines(data, dict[str, Any]):
        with suppress(ValueError, OverflowError):  # msgspec's errors are ValueErrors
            time = datetime.fromisoformat(str(data_line.get("time")))
            if time.tzinfo is not None and 1970 <= time.year < 9999:
                yield msgspec.convert(data_line | {"time": time.timestamp()}, UseEvent)


def _read_tail(opened: FileIO, size: int) -> bytes:
    """Return the content of a file of `size` bytes.

    If it is over 2 * COMPACT_BYTES, only the last whole lines.
    """
    if size <= 2 * COMPACT_BYTES:
        return opened.read()
    opened.seek(size - 2 * COMPACT_BYTES)
    return opened.read().partition(b"\n")[2]


def _file_stamp(opened: FileIO) -> tuple[int, int, int]:
    """Return the size, modification time (ns) and inode of a file, which change together with its content."""
    status = os.fstat(opened.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ino
