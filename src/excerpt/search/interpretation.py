"""How a query was read: which parts choose among notes, and which parts have no effect.

Every text is a valid query, so nothing here is an error. The warnings explain a list that a user may wonder about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from excerpt.corpus.interface import Corpus
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import allowed
from excerpt.search.query import (
    FORCED,
    KINDS,
    MAX_ALTERNATIVES,
    TIMES,
    Condition,
    FilterKind,
    KnownNames,
    Query,
    conditions,
    hints,
    unpaired_quotation_mark,
)
from excerpt.text.words import fold


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """A part of the query, from `start` to `end` (exclusive), that does not do what it looks like, and why."""

    start: int
    end: int
    said: str


@dataclass(frozen=True, slots=True)
class QueryReading:
    """`conditions` are what chooses among notes, in order; `warnings` what does not."""

    conditions: tuple[Condition, ...] = ()
    warnings: tuple[QueryWarning, ...] = ()


def read_query(snapshot: Corpus, text: str, today: date, *, thoroughly: bool) -> QueryReading:
    """Parse a query as the search does.

    `thoroughly` also looks for warnings, which takes as long as the filters do; it is for a query that is complete.
    """
    facets = snapshot.facets
    found = conditions(text, facets.properties, facets.tags)
    if not thoroughly:
        return QueryReading(found)
    warnings = (
        *_of_signs(snapshot, text),
        *_of_words(snapshot, text, found),
        *_of_filters(snapshot, text, found, today),
    )
    return QueryReading(found, tuple(sorted(warnings, key=lambda doubt: doubt.start)))


_FORCING = re.compile(r"\s*(![a-z])(?=\s)", re.IGNORECASE)
_BAR = re.compile(r"(?<=\s)\|(?=\s)")


def _of_signs(snapshot: Corpus, text: str) -> Iterator[QueryWarning]:
    at = unpaired_quotation_mark(text, snapshot.facets.properties)
    if at >= 0 and (at == 0 or text[at - 1].isspace() or text[at - 1] in ":-"):
        yield QueryWarning(at, at + 1, 'a " is not closed')
    forcing = _FORCING.match(text)
    if forcing and forcing[1].lower() not in FORCED:
        yield QueryWarning(*forcing.span(1), f"{forcing[1]} is not a strategy: {' '.join(FORCED)}")
    bars = [bar.start() for bar in _BAR.finditer(text)]
    if len(bars) >= MAX_ALTERNATIVES:
        at = bars[MAX_ALTERNATIVES - 1]
        yield QueryWarning(at, len(text), f"at most {MAX_ALTERNATIVES} queries run at once")


_KEYED = re.compile(r'(?<!\S)-?([^\W\d][\w.-]*):(?![/:\\])("[^"]*"?|\S*)')
_EMPTY = {
    FilterKind.TAG: "needs a tag",
    **dict.fromkeys(TIMES, "needs a time: 7d, 2025-03"),
}


def _of_words(snapshot: Corpus, text: str, found: tuple[Condition, ...]) -> Iterator[QueryWarning]:
    """Of what looks like a filter and was taken for a word."""
    for match in _KEYED.finditer(text):
        if any(one.start <= match.start() < one.end for one in found) or _is_quoted(text, match.start()):
            continue
        key, value = fold(match[1]), match[2].strip('"')
        if kind := KINDS.get(key):
            if not value.strip():
                said = f"{match[1]}: {_EMPTY.get(kind, 'needs a name')}"
            elif kind in TIMES:
                said = f"“{value}” is not a time: 7d, 2025-03"
            else:
                said = f"“{value}” names nothing"
            yield QueryWarning(*match.span(), said)
        elif key in snapshot.facets.properties:
            yield QueryWarning(*match.span(), f"{match[1]}: needs a value")
    for hint in hints(text, KnownNames(snapshot.facets.properties, snapshot.facets.tags, KINDS)):
        yield QueryWarning(hint.start, hint.end, hint.message)


def _is_quoted(text: str, at: int) -> bool:
    return text.count('"', 0, at) % 2 == 1


_LACKING = {
    FilterKind.TAG: "no note is tagged {}",
    FilterKind.PATH: "no path has {} in it",
    FilterKind.FOLDER: "no folder with notes is called {}",
    FilterKind.FILE: "no file name has {} in it",
    FilterKind.TITLE: "no title has {}",
    FilterKind.HEADING: "no heading has {}",
    FilterKind.MODIFIED: "no note was changed in {}",
    FilterKind.CREATED: "no note was created in {}",
    FilterKind.LINK: "no note links to {}",
    FilterKind.KIND: "no file is of the kind {}",
    FilterKind.PAGE: "nothing is on a page {}",
    FilterKind.FROM: "nothing is linked from {}",
}


def _of_filters(snapshot: Corpus, text: str, found: tuple[Condition, ...], today: date) -> Iterator[QueryWarning]:
    """Of filters that let nothing through, whatever else is asked for."""
    for one in found:
        if one.filter is None or one.filter.negated:
            continue
        rows = allowed(Query("", filters=(one.filter,)), snapshot, lambda words: analyze_text(words, snapshot), today)
        if rows is not None and not rows.any():
            value = one.filter.value.lstrip("#")
            said = _LACKING.get(one.filter.kind, f"no note has {text[one.start : one.end]}")
            yield QueryWarning(one.start, one.end, said.format(f"“{value}”"))
