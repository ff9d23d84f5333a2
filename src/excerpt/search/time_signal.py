"""The signal `time`: how near the date of a fragment is to the periods that the query names.

A fragment has the date of the nearest heading above it that has one, or else the date of its note. The times of files
are never used: they say when a file was copied, not what a note is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import reduce

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from excerpt.base.model import QueryPeriod
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import EPOCH_ORDINAL, UNKNOWN_DAY, Ints, Times
from excerpt.corpus.interface import Corpus
from excerpt.search.query import Query, parse_alternatives
from excerpt.text.folding import fold
from excerpt.text.languages import is_function_word, is_question_word
from excerpt.text.periods import NamedPeriod, find_periods

Floats = npt.NDArray[np.float32]

_NEAR_VALUE = 0.5
"""The value on the day before or after a period; inside it is 1."""
_HALF_DISTANCE_SHARE = 0.25
"""The distance at which the value is half of that, as a share of the period's length."""
_OPEN_PERIOD_DAYS = 120
"""The length of a period without a first or last day, such as "since May"."""


def find_query_periods(query: Query, today: date) -> tuple[NamedPeriod, ...]:
    """Return the periods of time that the words of a query (not its phrases) name; positions are in `query.words`."""
    return tuple(
        period
        for period in find_periods(query.words, today)
        if not any(query.words[period.start : period.end] in phrase for phrase in query.phrases)
    )


_WRITING_WORDS = frozenset(
    fold(
        "note noted notes wrote write written entries entry schrieb schreiben geschrieben notiert notizen notiz "
        "einträge écrit noté escribí escrito anoté notas scritto annotato"
    ).split()
)
"""Words of a question for the notes of a period, whether there are any: "what did I write last week"."""
_LISTING_WORDS = _WRITING_WORDS.union(
    fold(
        "did do does done happen happened happens passiert passierte gemacht fait arrivé hice pasó fatto successo"
    ).split()
)
"""Words, beside function words, of a question for all notes of a period."""
_WORD = lazy_pattern(r"[^\W\d_]+|\d+")


def list_period(query: Query, corpus: Corpus, today: date) -> Query:
    """Return a query for all notes of a period of time, such as "last week", as a filter; others stay unchanged.

    Unchanged is also a query of a single date, which may be a title, and a query for a time in which no note is dated:
    unless it asks for what was written, it may be about the time, as in a calendar of chores.
    """
    periods = find_query_periods(query, today)
    if len(periods) != 1 or query.phrases:
        return query
    (period,) = periods
    text = query.words[period.start : period.end]
    others = [fold(word) for word in _WORD.findall(f"{query.words[: period.start]} {query.words[period.end :]}")]
    languages = ("en", *corpus.languages)
    is_listing = all(
        word in _LISTING_WORDS or is_question_word(word) or is_function_word(word, languages) for word in others
    )
    is_date_alone = not others and any(character.isdigit() for character in text)
    if not is_listing or is_date_alone:
        return query
    asks_for_notes = has_dates(corpus) and not _WRITING_WORDS.isdisjoint(others)
    if not asks_for_notes and not len(find_notes_in_periods(corpus, periods)):
        return query
    name = f"date:{period.filter_value}"
    (condition,) = parse_alternatives(f"{name} ")[0].filters
    listed = QueryPeriod(text, *period.bounds, name)
    return replace(query, words="", open_word=False, filters=(*query.filters, condition), listed_periods=(listed,))


def score_time(corpus: Corpus, periods: Sequence[NamedPeriod]) -> Floats | None:
    """Return how near each row's date is to the nearest of some periods of time: 1 inside, 0 for a row without a date.

    Return None without a period, or if no row is near one.
    """
    if not periods:
        return None
    values = _score_nearest(dates_of_rows(corpus), periods)
    return values if values.any() else None


def has_dates(corpus: Corpus) -> bool:
    """Return whether any note, or any heading of one, has a date."""
    return bool(len(corpus.facets.heading_dates.days) or (corpus.facets.dates != UNKNOWN_DAY).any())


def find_notes_in_periods(corpus: Corpus, periods: Sequence[NamedPeriod]) -> Ints:
    """Return the numbers of the notes whose own date, or the date of a heading, is in one of some periods of time."""
    headings = corpus.facets.heading_dates
    own = np.flatnonzero(_score_nearest(corpus.facets.dates, periods) == 1)
    return np.union1d(own, headings.notes[_score_nearest(headings.days, periods) == 1]).astype(np.int32)


def _score_nearest(days: Times, periods: Sequence[NamedPeriod]) -> Floats:
    return reduce(np.maximum, [_score_nearness(days, period) for period in periods])


def sort_by_date(days: Times, sort: str) -> npt.NDArray[np.intp]:
    """Return the positions of `days` in the order `sort` (SORT_VALUES): unknown days last, ties in the given order."""
    is_unknown = days == UNKNOWN_DAY
    known = np.where(is_unknown, 0, days)
    return np.lexsort((-known if sort.startswith("-") else known, is_unknown))


def dates_of_rows(corpus: Corpus) -> Times:
    """Return the day of each row, in days since 1970, or UNKNOWN_DAY."""
    table, headings = corpus.table, corpus.facets.heading_dates
    days: Times = corpus.facets.dates[table.notes]
    if len(headings.days):
        order = np.lexsort((table.lines, table.notes))
        places = _line_sort_keys(table.notes, table.lines)[order]
        begins = np.searchsorted(places, _line_sort_keys(headings.notes, headings.first_lines)).tolist()
        ends = np.searchsorted(places, _line_sort_keys(headings.notes, headings.last_lines), side="right").tolist()
        # An inner section comes after the section around it, and its day replaces that one's.
        for begin, end, day in zip(begins, ends, headings.days.tolist(), strict=True):
            days[order[begin:end]] = day
    return days


def _line_sort_keys(notes: Ints, lines: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return numbers that order lines by note, then by line."""
    return (notes.astype(np.int64) << 32) + lines


def format_dates(days: Times) -> list[str]:
    """Return days since 1970 as ISO 8601; "" for unknown ones."""
    return ["" if day == UNKNOWN_DAY else date.fromordinal(day + EPOCH_ORDINAL).isoformat() for day in days.tolist()]


def _score_nearness(days: Times, period: NamedPeriod) -> Floats:
    first, last = period.first.toordinal() - EPOCH_ORDINAL, period.last.toordinal() - EPOCH_ORDINAL
    is_open = date.min == period.first or date.max == period.last
    length = _OPEN_PERIOD_DAYS if is_open else last - first + 1
    # As floats: the difference to UNKNOWN_DAY would need more than 64 bits.
    distance = np.maximum(np.maximum(first - days.astype(np.float64), days - np.float64(last)), 0)
    near = _NEAR_VALUE * np.exp2(-(distance - 1) / max(1.0, _HALF_DISTANCE_SHARE * length))
    values = np.where(distance == 0, 1.0, near)
    values[days == UNKNOWN_DAY] = 0
    return np.round(values, 6).astype(np.float32)
