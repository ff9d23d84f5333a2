"""How a query is interpreted: which parts choose among notes, and which parts have no effect.

Every text is a valid query, so nothing here is an error. The warnings explain an unexpected list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from excerpt.corpus.interface import Corpus
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import flag_allowed_rows
from excerpt.search.query import (
    DATE_KINDS,
    FILTER_KINDS,
    MAX_ALTERNATIVES,
    STRATEGY_PREFIXES,
    FilterKind,
    KnownNames,
    Query,
    QueryCondition,
    find_conditions,
    find_unpaired_quotation_mark,
    suggest_filters,
)
from excerpt.text.words import fold


@dataclass(frozen=True, slots=True)
class QueryWarning:
    """A part of the query, from `start` to `end` (exclusive), that does not do what it looks like, with the reason."""

    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class QueryInterpretation:
    """`find_conditions` are the parts that choose among notes, in order; `warnings` are those without effect."""

    conditions: tuple[QueryCondition, ...] = ()
    warnings: tuple[QueryWarning, ...] = ()


def interpret_query(snapshot: Corpus, text: str, today: date, *, is_thorough: bool) -> QueryInterpretation:
    """Parse a query as the search does.

    `is_thorough` also looks for warnings, which takes as long as the filters do; it is for a query that is complete.
    """
    facets = snapshot.facets
    query_conditions = find_conditions(text, facets.properties, facets.tags)
    if not is_thorough:
        return QueryInterpretation(query_conditions)
    warnings = (
        *_sign_warnings(snapshot, text),
        *_word_warnings(snapshot, text, query_conditions),
        *_filter_warnings(snapshot, text, query_conditions, today),
    )
    return QueryInterpretation(query_conditions, tuple(sorted(warnings, key=lambda warning: warning.start)))


_STRATEGY_PREFIX = re.compile(r"\s*(![a-z])(?=\s)", re.IGNORECASE)
_BAR = re.compile(r"(?<=\s)\|(?=\s)")


def _sign_warnings(snapshot: Corpus, text: str) -> Iterator[QueryWarning]:
    at = find_unpaired_quotation_mark(text, snapshot.facets.properties)
    if at >= 0 and (at == 0 or text[at - 1].isspace() or text[at - 1] in ":-"):
        yield QueryWarning(at, at + 1, 'a " is not closed')
    forcing = _STRATEGY_PREFIX.match(text)
    if forcing and forcing[1].lower() not in STRATEGY_PREFIXES:
        yield QueryWarning(*forcing.span(1), f"{forcing[1]} is not a strategy: {' '.join(STRATEGY_PREFIXES)}")
    bars = [bar.start() for bar in _BAR.finditer(text)]
    if len(bars) >= MAX_ALTERNATIVES:
        at = bars[MAX_ALTERNATIVES - 1]
        yield QueryWarning(at, len(text), f"at most {MAX_ALTERNATIVES} queries run at once")


_FILTER_LIKE = re.compile(r'(?<!\S)-?([^\W\d][\w.-]*):(?![/:\\])("[^"]*"?|\S*)')
_MISSING_VALUE = {
    FilterKind.TAG: "needs a tag",
    **dict.fromkeys(DATE_KINDS, "needs a time: 7d, 2025-03"),
}


def _word_warnings(snapshot: Corpus, text: str, query_conditions: tuple[QueryCondition, ...]) -> Iterator[QueryWarning]:
    """Yield a warning for each text that looks like a filter but is searched as a word."""
    for match in _FILTER_LIKE.finditer(text):
        if any(condition.start <= match.start() < condition.end for condition in query_conditions) or _is_quoted(
            text, match.start()
        ):
            continue
        key, value = fold(match[1]), match[2].strip('"')
        if kind := FILTER_KINDS.get(key):
            if not value.strip():
                message = f"{match[1]}: {_MISSING_VALUE.get(kind, 'needs a name')}"
            elif kind in DATE_KINDS:
                message = f"“{value}” is not a time: 7d, 2025-03"
            else:
                message = f"“{value}” names nothing"
            yield QueryWarning(*match.span(), message)
        elif key in snapshot.facets.properties:
            yield QueryWarning(*match.span(), f"{match[1]}: needs a value")
    for hint in suggest_filters(text, KnownNames(snapshot.facets.properties, snapshot.facets.tags, FILTER_KINDS)):
        yield QueryWarning(hint.start, hint.end, hint.message)


def _is_quoted(text: str, at: int) -> bool:
    return text.count('"', 0, at) % 2 == 1


_NO_MATCH = {
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


def _filter_warnings(
    snapshot: Corpus, text: str, query_conditions: tuple[QueryCondition, ...], today: date
) -> Iterator[QueryWarning]:
    """Yield a warning for each filter that no note passes."""
    for condition in query_conditions:
        if condition.filter is None or condition.filter.negated:
            continue
        rows = flag_allowed_rows(
            Query("", filters=(condition.filter,)), snapshot, lambda words: analyze_text(words, snapshot), today
        )
        if rows is not None and not rows.any():
            value = condition.filter.value.lstrip("#")
            message = _NO_MATCH.get(condition.filter.kind, f"no note has {text[condition.start : condition.end]}")
            yield QueryWarning(condition.start, condition.end, message.format(f"“{value}”"))
