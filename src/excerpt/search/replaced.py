"""The order of replaced notes in a list: a replaced note stands directly under what replaces it.

If the older note is sure to answer, or the other one is near in score, the passage of the other one is raised to it, so
that both are seen; else the older one sinks. A question that asks for the older note, by its name or its time, keeps
the order by score.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

import numpy as np
from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY
from excerpt.corpus.interface import Corpus
from excerpt.corpus.replaced import ReplacedNote, find_successors
from excerpt.search.bm25 import Rows
from excerpt.search.filters import Flags
from excerpt.search.list_order import IndexArray
from excerpt.search.ranking import Floats
from excerpt.text.folding import fold
from excerpt.text.periods import NamedPeriod

NEAR_SHARE = 0.5
"""The share of a replaced note's score from which what replaces it is near."""
_MAX_COUNT_DIGITS = 3
"""Most digits of a number that may be a count in a question ("3 workers"), and names a note only after its word."""
_YEAR = lazy_pattern(r"(?:19|20)\d\d")


class MovedPositions(Struct, frozen=True):
    """A changed order of a ranking: positions, best first, and flags of those in it that were raised or lowered."""

    order: IndexArray
    is_raised: Flags
    is_lowered: Flags


def order_replaced(
    notes: Rows,
    replaced: Mapping[int, ReplacedNote],
    keeps_place: Callable[[int, int], bool],
    is_sure: Callable[[int, int], bool],
) -> MovedPositions | None:
    """Return the order in which each replaced note is directly under what replaces it; None if nothing changes.

    `notes` are the notes of a ranking, best first. `keeps_place` says of a replaced note and its successor whether the
    question asks for the older one. `is_sure` says of their first positions whether the successor is raised to the
    replaced note; otherwise the replaced note is lowered to its successor.
    """
    with_successors = [note for note, found in replaced.items() if found.successors]
    in_list = np.isin(notes, np.array(with_successors, np.int32))
    if not in_list.any():
        return None
    notes_by_position: list[int] = notes.tolist()
    first: dict[int, int] = {}
    for position, note in enumerate(notes_by_position):
        first.setdefault(note, position)
    successors = {note: find_successors(note, replaced) for note in dict.fromkeys(notes[in_list].tolist())}
    order = list(range(len(notes)))
    raised: dict[int, list[int]] = {}  # the positions that were raised to a position
    lowered: list[int] = []
    kept: set[int] = set()
    # The last note of a chain comes first, so that others move with it.
    for note in sorted(successors, key=lambda note: len(successors[note])):
        chain = [each for each in successors[note] if each in first and each not in kept]
        if not chain:
            continue
        if keeps_place(note, chain[0]):
            kept.add(note)
            continue
        own, other = first[note], first[chain[0]]
        at, end = order.index(own), order.index(other)
        if at > end:
            continue
        if other not in lowered and is_sure(own, other):
            # With all that replace the other one, the newest first.
            newer = [each for each in find_successors(chain[0], replaced) if each in first and each not in kept]
            below = [first[each] for each in (*reversed(newer), chain[0]) if order.index(first[each]) > at]
            raised[own] = list(dict.fromkeys(each for other in below for each in (*raised.pop(other, ()), other)))
            order[at:] = [*raised[own], *(each for each in order[at:] if each not in raised[own])]
        else:
            moved = [each for each in order[at:end] if notes_by_position[each] == note]
            lowered += moved
            staying = [each for each in order[at:end] if notes_by_position[each] != note]
            order[at : end + 1] = [*staying, other, *moved]
    if order == list(range(len(notes))):
        return None
    positions = np.array(order, np.intp)
    all_raised = [each for group in raised.values() for each in group]
    return MovedPositions(positions, np.isin(positions, all_raised), np.isin(positions, lowered))


SERIES_HITS = 10
"""Number of first hits among which a newer note of a series is raised."""
SERIES_SHARE = 0.8
"""The share of an older note's score from which a newer one of its series answers about equally."""
_EDITION = lazy_pattern(
    r"(?<![a-z\d])((?:19|20)\d\d)(?:-?(q[1-4]|(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12]\d|3[01]))?))?(?!\d)"
)
_EVENTS = frozenset(
    (
        *("meeting", "minutes", "standup", "retro", "call", "sync", "interview", "session", "talk", "trip"),
        *("journal", "diary", "daily", "weekly", "monthly", "log", "changelog", "release", "news", "newsletter"),
        *("notes", "event", "review", "report", "day", "week", "month", "year", "recap", "summary"),
        *("besprechung", "protokoll", "sitzung", "tagebuch", "bericht", "woche", "monat", "jahr"),
        *("reunion", "compte", "proces", "journee", "acta", "diario", "riunione", "verbale", "ata"),
        *("vergadering", "notulen", "dagboek", "mote", "dagbok", "mode", "referat"),
        *("会议", "日记", "周报", "日志", "会議", "日報"),
    )
)
"""Words in a name that tell of one day or period, which no later one replaces."""


def find_newer_editions(notes: Rows, scores: Floats, paths: Sequence[str]) -> dict[int, ReplacedNote]:
    """Return the notes of a series by name and date that have a newer one about as good among the first hits.

    `notes` and `scores` are those of the ranking, best first, `paths` those of all notes. A series are the notes of
    one folder whose file names are the same but for a year or date: `Pricing 2024.md`, `Pricing 2026.md`. Notes of
    events, such as minutes, are none.
    """
    series: dict[tuple[str, str], list[tuple[str, int, float]]] = {}
    best: dict[int, float] = {}
    for note, score in zip(notes[:SERIES_HITS].tolist(), scores[:SERIES_HITS].tolist(), strict=True):
        best.setdefault(note, score)
    for note, score in best.items():
        folder, _, name = paths[note].rpartition("/")
        stem = fold(posixpath.splitext(name)[0])
        found = list(_EDITION.finditer(stem))
        if len(found) != 1:
            continue
        rest = " ".join(re.split(r"[\W_]+", f"{stem[: found[0].start()]} {stem[found[0].end() :]}")).strip()
        if rest and not rest.isdigit() and _EVENTS.isdisjoint(rest.split()):
            day = re.sub(r"-", "", "".join(part or "" for part in found[0].groups()))
            series.setdefault((folder, rest), []).append((day, note, score))
    newer: dict[int, ReplacedNote] = {}
    for editions in series.values():
        editions.sort()
        for day, note, score in editions[:-1]:
            later = [other for other in editions if other[0] > day and other[2] >= SERIES_SHARE * score]
            if later:
                newer[note] = ReplacedNote((later[-1][1],), "")
    return newer


class ReplacedQuestion:
    """Tells whether a question asks for a replaced note, and not for what replaces it."""

    def __init__(self, snapshot: Corpus, question: str, periods: Sequence[NamedPeriod], named: Rows) -> None:
        """Read a question; `periods` are in it, `named` are the numbers of the notes whose name it is."""
        self._snapshot = snapshot
        for period in reversed(periods):
            question = f"{question[: period.start]} {question[period.end :]}"
        self._question = " ".join(fold(question).split())
        self._numbers = frozenset(re.findall(r"\d+", self._question))
        self._periods = periods
        self._named = frozenset(named.tolist())

    def is_wanted(self, note: int, successor: int) -> bool:
        """Return whether the question is the name of a note, has its number or names its time."""
        if note in self._named:
            return successor not in self._named
        return self._has_number(note, successor) or self._names_time(note, successor)

    def _has_number(self, note: int, successor: int) -> bool:
        """Return whether the question has a number of the note's name ("ADR 12", "2024") that the other's has not."""
        if not self._numbers:
            return False
        own = set(self._iterate_numbers(note)) - set(self._iterate_numbers(successor))
        return any(
            number in self._numbers if len(number) > _MAX_COUNT_DIGITS else self._has_numbered_word(word, number)
            for word, number in own
        )

    def _iterate_numbers(self, note: int) -> Iterator[tuple[str, str]]:
        """Yield each number in the file name and title of a note, with the word or folder name before it."""
        path = self._snapshot.table.paths[note]
        folder = fold(posixpath.basename(posixpath.dirname(path))).removesuffix("s")
        for name in (posixpath.splitext(posixpath.basename(path))[0], self._snapshot.note_info(path).title):
            for word, number in re.findall(r"([^\W\d_]*)[-_. ]*0*(\d+)", fold(name)):
                yield word or folder, number

    def _has_numbered_word(self, word: str, number: str) -> bool:
        return bool(word) and re.search(rf"\b{re.escape(word)}[-_. #]*0*{number}\b", self._question) is not None

    def _names_time(self, note: int, successor: int) -> bool:
        """Return whether a period of the question has the note's days, or ends between them and its replacement."""
        if not self._periods:
            return False
        own, other = self._days_of(note), self._days_of(successor)
        found = self._snapshot.facets.replaced.get(note)
        replaced_on = found.day if found is not None else ""
        since = date.fromisoformat(replaced_on) if replaced_on else min((first for first, _ in other), default=date.min)
        begin = min((first for first, _ in own), default=date.min)
        return any(
            not _overlaps(other, period) and (_overlaps(own, period) or begin <= period.last < since)
            for period in self._periods
        )

    def _days_of(self, note: int) -> list[tuple[date, date]]:
        """Return the days that a note is about, and the years in its name, each as first and last day."""
        facets = self._snapshot.facets
        first, last = int(facets.dates[note]), int(facets.last_day_by_note[note])
        numbers = {int(number) for _, number in self._iterate_numbers(note) if _YEAR.fullmatch(number)}
        days = [(date(year, 1, 1), date(year, 12, 31)) for year in numbers]
        if first != UNKNOWN_DAY:
            days.append((date.fromordinal(first + EPOCH_ORDINAL), date.fromordinal(last + EPOCH_ORDINAL)))
        return days


def _overlaps(days: Sequence[tuple[date, date]], period: NamedPeriod) -> bool:
    return any(first <= period.last and period.first <= last for first, last in days)
