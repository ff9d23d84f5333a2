"""The order of replaced notes in a list: a replaced note stands directly under what replaces it.

The passage of the other note is raised to it, so that both are seen. A question that asks for the older note, by its
name or its time, keeps the order by score.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

import numpy as np

from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY
from excerpt.corpus.interface import Corpus
from excerpt.corpus.replaced import ReplacedNote, find_successors
from excerpt.search.bm25 import Rows
from excerpt.search.filters import Flags
from excerpt.search.list_order import IndexArray
from excerpt.text.folding import fold
from excerpt.text.periods import NamedPeriod

_MAX_COUNT_DIGITS = 3
"""Most digits of a number that may be a count in a question ("3 workers"), and names a note only after its word."""
_YEAR = re.compile(r"(?:19|20)\d\d")


def raise_successors(
    notes: Rows, replaced: Mapping[int, ReplacedNote], is_wanted: Callable[[int, int], bool]
) -> tuple[IndexArray, Flags] | None:
    """Return the order in which each replaced note is under what replaces it, and flags of the raised positions.

    `notes` are the notes of a ranking, best first. The first position of the nearest successor in the ranking is raised
    to that of the replaced note. `is_wanted` says of a replaced note and its successor whether the question asks for
    the older one, so that it keeps its place. Returns None if the order does not change.
    """
    in_list = np.isin(notes, np.fromiter(replaced, np.int32, len(replaced)))
    if not in_list.any():
        return None
    first_positions: dict[int, int] = {}
    for position, note in enumerate(notes.tolist()):
        first_positions.setdefault(note, position)
    is_raised = np.zeros(len(notes), np.bool_)
    above: dict[int, list[int]] = {}  # the raised positions above a position
    for position in np.flatnonzero(in_list).tolist():
        note = int(notes[position])
        successors = [after for after in find_successors(note, replaced) if after in first_positions]
        if not successors or first_positions[note] != position:
            continue
        # Of a chain, the last one first.
        below = position
        for after in _chain(successors, replaced):
            raised = first_positions[after]
            if raised > position and not is_raised[raised] and not is_wanted(note, after):
                above.setdefault(below, []).append(raised)
                is_raised[raised] = True
    if not is_raised.any():
        return None
    order: list[int] = []
    for position in np.flatnonzero(~is_raised).tolist():
        order += [*reversed(above.get(position, ())), position]
    return np.array(order, np.intp), is_raised


def _chain(successors: Sequence[int], replaced: Mapping[int, ReplacedNote]) -> Sequence[int]:
    """Return the successors of a note that are to stand above it, the nearest first: one of each step of a chain."""
    chain: list[int] = []
    for after in successors:
        if not chain or after in find_successors(chain[-1], replaced):
            chain.append(after)
    return chain


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
        """Return whether a period of the question has the note's days, or ends before it was replaced."""
        if not self._periods:
            return False
        own, other = self._days_of(note), self._days_of(successor)
        replaced_on = self._snapshot.facets.replaced[note].day
        since = date.fromisoformat(replaced_on) if replaced_on else min((first for first, _ in other), default=date.min)
        return any(
            not _overlaps(other, period) and (_overlaps(own, period) or period.last < since) for period in self._periods
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
