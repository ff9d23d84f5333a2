"""Evaluation of a query's filters: the rows that may be hits.

Filters apply before ranking, so a filtered list is complete. Names and values are compared folded: without case,
accents and width. The value of the last filter may be unfinished: if no name equals it, names that begin with it match.
A negated filter matches the whole value alone.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import reduce

import numpy as np
import numpy.typing as npt

from excerpt.corpus.facets import UNKNOWN_DAY, Facets, Ints
from excerpt.corpus.interface import Corpus
from excerpt.locations import first_page_of
from excerpt.search.bm25 import NO_ROWS, Rows
from excerpt.search.proximity import ParseWords, phrase_rows, rows_with_words
from excerpt.search.query import Filter, FilterKind, Query, page_range
from excerpt.text.dates import Period, parse_date, parse_period
from excerpt.text.words import WIDE_CHARACTERS, QueryWord, fold

Flags = npt.NDArray[np.bool_]

_EPOCH = date(1970, 1, 1)


def allowed(query: Query, snapshot: Corpus, parse_words: ParseWords, today: date) -> Flags | None:
    """Return flags of the rows that satisfy all filters, phrases and exclusions; None if all rows do.

    `parse_words` analyzes a text in the languages of the vault; dates are local, and `today` is the local day.
    """
    is_answer_row = snapshot.is_answer_row
    rows = np.ones(snapshot.lexical.doc_count, np.bool_) if is_answer_row is None else is_answer_row.copy()
    for filter_ in query.filters:
        if filter_.kind in FIELDS:
            _narrow(rows, _rows_with_text(filter_, snapshot, parse_words), filter_)
        elif filter_.kind is FilterKind.PAGE:
            _narrow(rows, _rows_on_pages(filter_, snapshot), filter_)
    for phrase in query.phrases:
        # If it is found nowhere, no row matches, and the rest need not be searched.
        if not rows.any():
            return rows
        rows &= _flags(phrase_rows(snapshot, phrase, parse_words), len(rows))
    for word in query.excluded:
        words = parse_words(word)
        rows[rows_with_words(snapshot.lexical, words) if words else NO_ROWS] = False
    for phrase in query.excluded_phrases:
        rows[phrase_rows(snapshot, phrase, parse_words)] = False
    if query.filters:
        rows &= notes_allowed(query.filters, snapshot.facets, len(snapshot.table.paths), today)[snapshot.table.notes]
    return rows if query.filters or query.phrases or query.excluded or query.excluded_phrases else None


def notes_allowed(filters: Iterable[Filter], facets: Facets, count: int, today: date) -> Flags:
    """Return flags of those of `count` notes that satisfy all filters of notes. Filters of fragments are ignored."""
    notes = np.ones(count, np.bool_)
    for filter_ in filters:
        if filter_.kind not in FIELDS and filter_.kind is not FilterKind.PAGE:
            _narrow(notes, _filter_notes(filter_, facets, today), filter_)
    return notes


def _narrow(flags: Flags, matches: Ints | Flags, filter_: Filter) -> None:
    """Clear the flags of `flags` outside of `matches`, or for a negated filter inside."""
    keeps = _flags(matches, len(flags)) ^ filter_.negated
    # `-path:d` may become `-path:diary`: a filter that would exclude everything is ignored while it is typed.
    if keeps.any() or not (filter_.open and filter_.negated):
        flags &= keeps


def newest_first(flags: Flags, snapshot: Corpus) -> Rows:
    """Return the set rows in the order of a query of filters alone.

    That is the first row of each note, most recently changed note first (ties by path), then the second ones, and so
    on.
    """
    rows = np.flatnonzero(flags).astype(np.int32)
    notes = snapshot.table.notes[rows]
    order = np.lexsort((snapshot.table.lines[rows], notes))
    rows, notes = rows[order], notes[order]
    begins = np.flatnonzero(np.diff(notes, prepend=-1))
    ranks = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    return rows[np.lexsort((notes, -snapshot.facets.modified[notes], ranks))]


def _flags(numbers: Ints | Flags, count: int) -> Flags:
    flags = np.zeros(count, np.bool_)
    flags[numbers] = True
    return flags


# --- words of names ---------------------------------------------------------------------------------------------------

FIELDS = {FilterKind.TITLE: ("title", "alias"), FilterKind.HEADING: ("heading", "above")}
"""The fields in which filters of single fragments search words."""


def _rows_with_text(filter_: Filter, snapshot: Corpus, parse_words: ParseWords) -> Rows:
    """Return the rows that have every word of a filter in its fields, in any order."""
    words = parse_words(filter_.value)
    words = [word for word in words if not word.is_compound] or words
    fields = FIELDS[filter_.kind]
    continues = filter_.open and not filter_.negated
    row_sets = [
        _rows_with_word(word, snapshot, fields, continues=continues and number == len(words) - 1)
        for number, word in enumerate(words)
    ]
    return reduce(np.intersect1d, row_sets) if row_sets else NO_ROWS


def _rows_on_pages(filter_: Filter, snapshot: Corpus) -> Rows:
    """Return the rows on the pages, slides or chapters of a filter."""
    first, last = page_range(filter_.value) or (0, -1)
    keys = [
        key for key, location in snapshot.facets.fragment_places() if first <= (first_page_of(location) or -1) <= last
    ]
    return np.flatnonzero(np.isin(snapshot.lexical.keys, np.array(keys, np.int64))).astype(np.int32)


def _rows_with_word(word: QueryWord, snapshot: Corpus, fields: Sequence[str], *, continues: bool) -> Rows:
    reader = snapshot.lexical
    # Also as typed: a word with accents may be indexed with another stem ("résumé", "resume").
    prefix = fold(word.surface)
    row_sets = [reader.postings(field, term).rows for field in fields for term in {*word.terms, prefix}]
    if continues and not any(map(len, row_sets)):
        row_sets = [reader.postings(field, term).rows for field in fields for term in reader.terms(field, prefix)]
    return np.unique(np.concatenate([NO_ROWS, *row_sets]))


# --- notes ------------------------------------------------------------------------------------------------------------


def _filter_notes(filter_: Filter, facets: Facets, today: date) -> Ints | Flags:
    """Return the notes that a filter matches, as numbers or flags, regardless of negation."""
    value, continues = filter_.value, filter_.open and not filter_.negated
    lookups: Mapping[FilterKind, Callable[[], Ints | Flags]] = {
        FilterKind.TAG: lambda: _notes_by_name(facets.tags, fold(value.lstrip("#")).strip("/"), continues=continues),
        FilterKind.PATH: lambda: _at_path(facets.paths, value, continues=continues),
        FilterKind.FOLDER: lambda: _in_folder(facets.paths, value, continues=continues),
        FilterKind.FILE: lambda: _names_matching((path[path.rfind("/") + 1 :] for path in facets.paths), value),
        FilterKind.MODIFIED: lambda: _in_time(facets.modified, parse_period(value, today)),
        FilterKind.CREATED: lambda: _in_days(facets.created, parse_period(value, today)),
        FilterKind.DATE: lambda: _dated(facets, parse_period(value, today)),
        FilterKind.PROPERTY: lambda: _with_value(
            facets.properties.get(filter_.name, {}), value, today, continues=continues
        ),
        FilterKind.LINK: lambda: _linking_notes(facets, _notes_of_target(facets, value, continues=continues)),
        FilterKind.FROM: lambda: _linked_notes(facets, _notes_of_target(facets, value, continues=continues)),
        FilterKind.KIND: lambda: _notes_by_name(facets.kinds, fold(value), continues=continues),
        FilterKind.SOURCE: lambda: _from_source(facets.paths, value, continues=continues),
        # Only the sources show which memories are stale.
        FilterKind.IS: lambda: np.ones(len(facets.paths), np.bool_),
    }
    return lookups[filter_.kind]()


def _linking_notes(facets: Facets, notes: Ints) -> Ints:
    sources, targets = facets.links
    return sources[np.isin(targets, notes)]


def _linked_notes(facets: Facets, notes: Ints) -> Ints:
    sources, targets = facets.links
    return targets[np.isin(sources, notes)]


def _notes_by_name(names: Mapping[str, Ints], name: str, *, continues: bool) -> Ints:
    numbers = names.get(name)
    if numbers is not None or not continues:
        return NO_ROWS if numbers is None else numbers
    return _union(notes for known, notes in names.items() if known.startswith(name))


def _union(number_sets: Iterable[Ints]) -> Ints:
    return np.concatenate([NO_ROWS, *number_sets])


def _at_path(paths: Sequence[str], pattern: str, *, continues: bool) -> Flags:
    """Return flags of the paths that match `filter_`, like `_names_matching`; a leading slash is the vault's root.

    After `=` follows a whole path, or that of a folder with a final slash, in which an asterisk is literal.
    """
    if not pattern.startswith("="):
        return _names_matching(paths, pattern)
    path_prefix = fold(pattern[1:])
    if path_prefix.endswith("/") or continues:
        return np.array([path.startswith(path_prefix) for path in paths], np.bool_)
    return np.array([path == path_prefix for path in paths], np.bool_)


def _in_folder(paths: Sequence[str], pattern: str, *, continues: bool) -> Flags:
    """Return flags of the folded paths that are in a folder with this name, or below one.

    A leading slash is the vault's root, and an asterisk matches anything.
    """
    folded = fold(pattern).rstrip("/")
    is_rooted = folded.startswith("/")
    name = folded if is_rooted else f"/{folded}"
    folders = [path[: path.rfind("/") + 1] for path in paths]

    def in_folder(name: str) -> Flags:
        parts = name.split("*")
        known = {
            folder: _in_order(folder, parts) and (not is_rooted or folder.startswith(parts[0]))
            for folder in set(folders)
        }
        return np.array([known[folder] for folder in folders], np.bool_)

    whole = in_folder(f"{name}/")
    return in_folder(name) if continues and not whole.any() else whole


def _from_source(paths: Sequence[str], source: str, *, continues: bool) -> Flags:
    """Return flags of the folded paths that `is_from` accepts, with a prefix of the path while it is being typed."""
    folded = fold(source.strip().removeprefix("./").strip("/"))
    whole = np.array([is_from(path[1:], folded) for path in paths], np.bool_)
    return np.array([f"/{folded}" in path for path in paths], np.bool_) if continues and not whole.any() else whole


def is_from(path: str, source: str) -> bool:
    """Return whether a folded path is that of a note, named as in links, or is in a folder, named by its path."""
    stem, name = posixpath.splitext(path)[0], posixpath.basename(path)
    return path.startswith(f"{source}/") or source in (path, stem, name, posixpath.basename(stem))


def _names_matching(names: Iterable[str], pattern: str) -> Flags:
    """Return flags of the folded names that contain the parts of `filter_`, separated by asterisks, in order.

    A leading slash anchors the first part. The file suffix counts only if `filter_` has a dot.
    """
    parts = [part for part in fold(pattern).split("*") if part]
    if "." not in pattern:
        names = [posixpath.splitext(name)[0] for name in names]
    if parts and parts[0].startswith("/"):
        names = [name if name.startswith(parts[0]) else "" for name in names]
    if len(parts) == 1:
        return np.array([parts[0] in name for name in names], np.bool_)
    return np.array([_in_order(name, parts) for name in names], np.bool_)


def _in_order(name: str, parts: Sequence[str]) -> bool:
    at = 0
    for part in parts:
        at = name.find(part, at) + len(part)
        if at < len(part):
            return False
    return True


def _notes_of_target(facets: Facets, value: str, *, continues: bool) -> Ints:
    """Return the target note of a link to `value` from the vault's root, else the notes with this title or alias."""
    target = value.strip()
    if target.startswith("[["):
        target = re.split(r"[|#\]]", target[2:], maxsplit=1)[0].strip()
    path = facets.targets.resolve(target, "") if target else None
    if path:
        return np.array([facets.numbers[path]], np.int32)
    return _notes_by_name(facets.names, " ".join(fold(target).split()), continues=continues)


# --- times ------------------------------------------------------------------------------------------------------------

# Days that the clock functions of every system accept; no file is older or newer.
FIRST, LAST = date(1970, 1, 3), date(2200, 1, 1)
"""The days within which times are compared.

Earlier and later times are in any period that reaches beyond these days.
"""


def _in_time(times: npt.NDArray[np.int64], period: Period | None) -> Flags:
    """Return flags of the times in a period of local days."""
    inside = np.full(len(times), period is not None)
    if period and period[0] >= FIRST:
        inside &= times >= midnight(min(period[0], LAST))
    if period and period[1] < LAST:
        inside &= times < midnight(max(period[1], FIRST) + timedelta(1))
    return inside


def midnight(day: date) -> int:
    """Return the local begin of a day, in nanoseconds since 1970."""
    return int(datetime.combine(day, time.min).timestamp()) * 1_000_000_000


def _dated(facets: Facets, period: Period | None) -> Flags:
    """Return flags of the notes in a period, by their property `date`, else by their last change."""
    inside = _in_time(facets.modified, period)
    dates = facets.properties.get("date", {})
    inside[_matching_values(dates, lambda value: parse_date(value) is not None)] = False
    inside[_matching_values(dates, lambda value: period is not None and _day_in(value, period))] = True
    return inside


def _in_days(days: npt.NDArray[np.int64], period: Period | None) -> Flags:
    if period is None:
        return np.zeros(len(days), np.bool_)
    first, last = ((day - _EPOCH).days for day in period)
    inside: Flags = (days >= first) & (days <= last) & (days != UNKNOWN_DAY)
    return inside


# --- values of properties ---------------------------------------------------------------------------------------------

_COMPARED = re.compile(r"(>=|<=|>|<|=)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_YEAR = re.compile(r"\d{4}", re.ASCII)
_LETTER = rf"[^\W_{WIDE_CHARACTERS}]"

ValueTest = Callable[[str], bool]


def _with_value(values: Mapping[str, Ints], text: str, today: date, *, continues: bool) -> Ints:
    """Return the notes whose values contain `filter_` as whole words, or are dates in the period that it names.

    After `>`, `>=`, `<` and `<=`, or around `..`, it is a number or date to compare with; after `=` it is the whole
    value. `*` is any value.
    """
    pattern = " ".join(fold(text).split())
    if pattern == "*":
        return _union(values.values())
    if compared := _COMPARED.fullmatch(pattern):
        sign, bound = compared[1], compared[2].strip()
        return _matching_values(values, _equals(bound) if sign == "=" else _compares(sign, bound, today))
    if ".." in pattern and (is_in_range := _in_range(pattern, today)):
        return _matching_values(values, is_in_range)
    exact = _matching_values(values, _contains_word(pattern, whole=True))
    if period := parse_period(pattern, today):
        return np.union1d(exact, _matching_values(values, lambda value: _day_in(value, period)))
    return exact if len(exact) or not continues else _matching_values(values, _contains_word(pattern, whole=False))


def _matching_values(values: Mapping[str, Ints], is_match: ValueTest) -> Ints:
    return _union(notes for value, notes in values.items() if is_match(value))


def _equals(text: str) -> ValueTest:
    return lambda value: value == text


def _contains_word(text: str, *, whole: bool) -> ValueTest:
    """Return a test whether a value contains `filter_` from the beginning of a word, and with `whole` to its end."""
    before, after = f"(?<!{_LETTER})" if re.match(_LETTER, text) else "", f"(?!{_LETTER})"
    ends = whole and re.match(_LETTER, text[-1:])
    pattern = re.compile(f"{before}{re.escape(text)}{after if ends else ''}")
    return lambda value: text in value and pattern.search(value) is not None


def _compares(sign: str, bound: str, today: date) -> ValueTest:
    """Return a test that compares a value with a bound: as a number if both are numbers, else as a date."""
    period = parse_period(sign + bound, today)
    limit = float(bound) if _NUMBER.fullmatch(bound) else None
    is_year = bool(_YEAR.fullmatch(bound))

    def is_match(value: str) -> bool:
        if limit is not None and _is_number(value, is_year=is_year):
            return _SIGNS[sign](float(value), limit)
        return period is not None and _day_in(value, period)

    return is_match


_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def _in_range(text: str, today: date) -> ValueTest | None:
    """Return a test whether a value is between two numbers or dates; None if `filter_` has neither."""
    bounds = [bound.strip() for bound in text.split("..", 1)]
    if not all(_NUMBER.fullmatch(bound) for bound in bounds if bound) or not any(bounds):
        period = parse_period(text, today)
        return None if period is None else lambda value: _day_in(value, period)
    checks = [_compares(sign, bound, today) for sign, bound in zip((">=", "<="), bounds, strict=True) if bound]
    return lambda value: all(is_match(value) for is_match in checks)


def _is_number(value: str, *, is_year: bool) -> bool:
    """Return whether a value is a number to compare; if the bound is a year, a long number is a point in time."""
    return bool(_NUMBER.fullmatch(value)) and not (is_year and len(value) >= 8)


def _day_in(value: str, period: Period) -> bool:
    day = parse_date(value)
    return day is not None and period[0] <= day <= period[1]
