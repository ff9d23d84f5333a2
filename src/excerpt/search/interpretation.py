"""Interpretation of a query text: which parts are filters or exclusions, and which have no effect.

Every text is a valid query, so nothing here is an error. The warnings explain an unexpected list of hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from excerpt.base.kinds import FilterKind
from excerpt.corpus.interface import Corpus
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import flag_allowed_rows
from excerpt.search.query import (
    DATE_KINDS,
    FILTER_KINDS,
    MAX_ALTERNATIVES,
    STRATEGY_PREFIXES,
    KnownNames,
    Query,
    blank_conditions,
    find_conditions,
    find_unpaired_quotation_mark,
    suggest_filters,
)
from excerpt.search.results import QueryCondition, QueryInterpretation, QueryWarning
from excerpt.search.time_signal import find_notes_in_periods
from excerpt.text.folding import fold
from excerpt.text.periods import find_periods


def interpret_query(snapshot: Corpus, text: str, today: date) -> QueryInterpretation:
    """Return how the search interprets a query text; relative dates count from `today`. Applies each filter."""
    facets = snapshot.facets
    query_conditions = find_conditions(text, facets.properties, facets.tags)
    periods = find_periods(blank_conditions(text, facets.properties, facets.tags), today)
    warnings = (
        *_sign_warnings(snapshot, text),
        *_word_warnings(snapshot, text, query_conditions),
        *_filter_warnings(snapshot, text, query_conditions, today),
        *(
            QueryWarning(period.start, period.end, "no note has a date in this time")
            for period in periods
            if not len(find_notes_in_periods(snapshot, [period]))
        ),
    )
    return QueryInterpretation(query_conditions, tuple(sorted(warnings, key=lambda warning: warning.start)), periods)


_STRATEGY_PREFIX = re.compile(r"\s*(![a-z])(?=\s)", re.IGNORECASE)
_BAR = re.compile(r"(?<=\s)\|(?=\s)")


def _sign_warnings(snapshot: Corpus, text: str) -> Iterator[QueryWarning]:
    """Yield a warning for an unclosed quotation mark, an unknown strategy prefix, and too many bars."""
    at = find_unpaired_quotation_mark(text, snapshot.facets.properties)
    if at >= 0 and (at == 0 or text[at - 1].isspace() or text[at - 1] in ":-"):
        yield QueryWarning(at, at + 1, "a quotation mark is not closed")
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
    """Yield a warning for each part of the query text that looks like a filter but is searched as a word."""
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
                message = f"“{value}” is not a valid value"
            yield QueryWarning(*match.span(), message)
        elif key in snapshot.facets.properties:
            yield QueryWarning(*match.span(), f"{match[1]}: needs a value")
    for hint in suggest_filters(text, KnownNames(snapshot.facets.properties, snapshot.facets.tags, FILTER_KINDS)):
        yield QueryWarning(hint.start, hint.end, hint.message)


def _is_quoted(text: str, at: int) -> bool:
    return text.count('"', 0, at) % 2 == 1


_NO_MATCH = {
    FilterKind.TAG: "no note is tagged {}",
    FilterKind.PATH: "no path contains {}",
    FilterKind.FOLDER: "no folder with notes is named {}",
    FilterKind.FILE: "no file name contains {}",
    FilterKind.TITLE: "no title contains {}",
    FilterKind.HEADING: "no heading contains {}",
    FilterKind.MODIFIED: "no note was changed in {}",
    FilterKind.CREATED: "no note was created in {}",
    FilterKind.LINK: "no note links to {}",
    FilterKind.KIND: "no file is of the kind {}",
    FilterKind.PAGE: "no passage is on a page {}",
    FilterKind.FROM: "no note is linked from {}",
}


def _filter_warnings(
    snapshot: Corpus, text: str, query_conditions: tuple[QueryCondition, ...], today: date
) -> Iterator[QueryWarning]:
    """Yield a warning for each filter, not negated, that no fragment of the vault passes."""
    for condition in query_conditions:
        if condition.filter is None or condition.filter.negated:
            continue
        rows = flag_allowed_rows(
            Query("", filters=(condition.filter,)), snapshot, lambda words: analyze_text(words, snapshot), today
        )
        if rows is not None and not rows.any():
            value = condition.filter.value.lstrip("#")
            if condition.filter.kind is FilterKind.MODIFIED and snapshot.facets.is_copied.any():
                message = "the files have one time, as after a copy, and no note has a date of its own in {}"
                yield QueryWarning(condition.start, condition.end, message.format(f"“{value}”"))
                continue
            message = _NO_MATCH.get(condition.filter.kind, f"no note has {text[condition.start : condition.end]}")
            yield QueryWarning(condition.start, condition.end, message.format(f"“{value}”"))
