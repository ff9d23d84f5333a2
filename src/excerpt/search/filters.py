"""Evaluation of a query's filters, which select the rows that may be hits.

A row is the position of a fragment in the arrays of a snapshot; a note number is the position of a note in
`table.paths`. Functions return either numbers, or an array with a flag for each row or note. `FilterKind` names the
filters.

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

from excerpt.base.kinds import FilterKind
from excerpt.base.locations import first_page_of
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import UNKNOWN_DAY, Facets, Ints
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import run_starts, sorted_unique
from excerpt.search.bm25 import NO_ROWS, Rows
from excerpt.search.proximity import AnalyzeWords, find_phrase_rows, find_word_sequence
from excerpt.search.query import REPLACED_VALUE, Query, page_range
from excerpt.search.results import Filter
from excerpt.text.dates import Period, parse_date, parse_period
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.words import QueryWord

Flags = npt.NDArray[np.bool_]

_EPOCH = date(1970, 1, 1)


def flag_allowed_rows(query: Query, snapshot: Corpus, analyze_words: AnalyzeWords, today: date) -> Flags | None:
    """Return a flag for each row: whether it passes all filters, phrases and exclusions of a query.

    Return None if the query has words and no filters, phrases or exclusions. `analyze_words` splits a text into words
    with their stems; relative dates count from `today`, the local day.
    """
    is_possible_result = snapshot.is_possible_result
    rows = np.ones(snapshot.lexical.doc_count, np.bool_) if is_possible_result is None else is_possible_result.copy()
    for filter_ in query.filters:
        if filter_.kind in FILTER_FIELDS:
            _apply_filter(rows, _find_rows_with_text(filter_, snapshot, analyze_words), filter_)
        elif filter_.kind is FilterKind.PAGE:
            _apply_filter(rows, _find_rows_on_pages(filter_, snapshot), filter_)
        elif filter_.kind is FilterKind.LINK and not filter_.negated:
            _apply_filter(rows, _find_rows_with_link(filter_, snapshot), filter_)
    for phrase in query.phrases:
        # If no row is left, the other phrases need not be searched.
        if not rows.any():
            return rows
        rows &= _to_flags(find_phrase_rows(snapshot, phrase, analyze_words), len(rows))
    for word in query.excluded:
        words = analyze_words(word)
        rows[find_word_sequence(snapshot.lexical, words) if words else NO_ROWS] = False
    for phrase in query.excluded_phrases:
        rows[find_phrase_rows(snapshot, phrase, analyze_words)] = False
    if query.filters:
        rows &= flag_allowed_notes(query.filters, snapshot.facets, len(snapshot.table.paths), today)[
            snapshot.table.notes
        ]
    has_conditions = query.filters or query.phrases or query.excluded or query.excluded_phrases
    return rows if has_conditions or query.is_filter_only else None


def flag_allowed_notes(filters: Iterable[Filter], facets: Facets, count: int, today: date) -> Flags:
    """Return a flag for each of `count` notes: whether it passes all `filters` that test notes.

    Filters that test single fragments (title, heading, page) are ignored. Relative dates count from `today`.
    """
    notes = np.ones(count, np.bool_)
    for filter_ in filters:
        if filter_.kind not in FILTER_FIELDS and filter_.kind is not FilterKind.PAGE:
            _apply_filter(notes, _match_notes(filter_, facets, today), filter_)
    return notes


def _apply_filter(flags: Flags, matches: Ints | Flags, filter_: Filter) -> None:
    """Clear the flags of the rows or notes that `filter_` excludes.

    `matches` are those that have its value.
    """
    keeps = _to_flags(matches, len(flags)) ^ filter_.negated
    # `-path:d` may become `-path:diary`: a filter that would exclude everything is ignored while it is typed.
    if keeps.any() or not (filter_.open and filter_.negated):
        flags &= keeps


def sort_newest_first(flags: Flags, snapshot: Corpus) -> Rows:
    """Return the rows whose flags are set, in the order in which a query of filters alone lists them.

    The first selected row of each note comes first, most recently changed note first (ties by path), then the second
    row of each note, and so on.
    """
    rows = np.flatnonzero(flags).astype(np.int32)
    notes = snapshot.table.notes[rows]
    order = np.lexsort((snapshot.table.lines[rows], notes))
    rows, notes = rows[order], notes[order]
    begins = run_starts(notes)
    ranks = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    return rows[np.lexsort((notes, -snapshot.facets.modified[notes], ranks))]


def _to_flags(numbers: Ints | Flags, count: int) -> Flags:
    """Return an array of `count` flags, set at the indices `numbers`; an array of flags is copied."""
    flags = np.zeros(count, np.bool_)
    flags[numbers] = True
    return flags


FILTER_FIELDS = {FilterKind.TITLE: ("title", "alias"), FilterKind.HEADING: ("heading", "above")}
"""The index fields in which each filter that tests the words of single fragments searches."""


def _find_rows_with_text(filter_: Filter, snapshot: Corpus, analyze_words: AnalyzeWords) -> Rows:
    """Return the rows, ascending, that have all words of a title or heading filter in any order."""
    words = analyze_words(filter_.value)
    words = [word for word in words if not word.is_compound] or words
    fields = FILTER_FIELDS[filter_.kind]
    is_prefix = filter_.open and not filter_.negated
    row_sets = [
        _find_rows_with_word(word, snapshot, fields, is_prefix=is_prefix and number == len(words) - 1)
        for number, word in enumerate(words)
    ]
    return reduce(np.intersect1d, row_sets) if row_sets else NO_ROWS


def _find_rows_on_pages(filter_: Filter, snapshot: Corpus) -> Rows:
    """Return the rows of fragments on the pages, slides or chapters that a filter names, ascending."""
    first, last = page_range(filter_.value) or (0, -1)
    keys = [
        key for key, location in snapshot.facets.fragment_places() if first <= (first_page_of(location) or -1) <= last
    ]
    return np.flatnonzero(np.isin(snapshot.lexical.keys, np.array(keys, np.int64))).astype(np.int32)


def _find_rows_with_link(filter_: Filter, snapshot: Corpus) -> Rows:
    """Return the rows of the fragments with a link to the note that a filter names, ascending.

    Only a filter that is not negated tests fragments: `-link:x` asks for notes that lack the link. A link in the
    frontmatter counts for the first fragment, a link in a heading for the fragment under it.
    """
    facets, table = snapshot.facets, snapshot.table
    wanted = set(_find_link_targets(facets, filter_.value, is_prefix=filter_.open).tolist())
    sources = sorted_unique(_find_linking_notes(facets, np.array(sorted(wanted), np.int32)))
    rows = np.flatnonzero(np.isin(table.notes, sources)).astype(np.int32)
    rows = rows[np.lexsort((table.lines[rows], table.notes[rows]))]
    begins = np.searchsorted(table.notes[rows], sources).tolist()
    ends = np.searchsorted(table.notes[rows], sources, side="right").tolist()
    rows_by_note = {note: rows[begin:end] for note, begin, end in zip(sources.tolist(), begins, ends, strict=True)}
    keys = snapshot.lexical.keys
    links: list[
        tuple[Rows, int, int]
    ] = []  # the rows of a note, the last of them that begins above its link, and the line
    for link in facets.written_links(sources):
        own = rows_by_note[link.note]
        if len(own) and facets.resolve_link(link) in wanted:
            above = max(int(np.searchsorted(table.lines[own], link.line, side="right")) - 1, 0)
            links.append((own, above, link.line))
    needed = sorted({int(keys[own[above]]) for own, above, _ in links})
    last_lines = {fragment.key: fragment.line_end for fragment in snapshot.fragments(needed)}
    found = {
        int(own[min(above + (last_lines[int(keys[own[above]])] < line), len(own) - 1)]) for own, above, line in links
    }
    return np.array(sorted(found), np.int32)


def _find_rows_with_word(word: QueryWord, snapshot: Corpus, fields: Sequence[str], *, is_prefix: bool) -> Rows:
    """Return the rows that have a word in one of `fields`, ascending.

    If no row has the word and `is_prefix` is true, return the rows with a word that begins with the given word.
    """
    reader = snapshot.lexical
    # The unstemmed word is searched too: a word with accents may be indexed with another stem ("résumé", "resume").
    prefix = fold(word.surface)
    row_sets = [reader.postings(field, term).rows for field in fields for term in {*word.terms, prefix}]
    if is_prefix and not any(map(len, row_sets)):
        row_sets = [reader.postings(field, term).rows for field in fields for term in reader.terms(field, prefix)]
    return sorted_unique(np.concatenate([NO_ROWS, *row_sets]))


def _match_notes(filter_: Filter, facets: Facets, today: date) -> Ints | Flags:
    """Return the notes that have the value of a filter: note numbers, or a flag for each note.

    Whether the filter is negated makes no difference here.
    """
    value, is_prefix = filter_.value, filter_.open and not filter_.negated
    lookups: Mapping[FilterKind, Callable[[], Ints | Flags]] = {
        FilterKind.TAG: lambda: _match_names_exactly(
            facets.tags, fold(value.lstrip("#")).strip("/"), is_prefix=is_prefix
        ),
        FilterKind.PATH: lambda: _match_paths(facets.paths, value, is_prefix=is_prefix),
        FilterKind.FOLDER: lambda: _match_folders(facets.paths, value, is_prefix=is_prefix),
        FilterKind.FILE: lambda: _match_names((path[path.rfind("/") + 1 :] for path in facets.paths), value),
        FilterKind.MODIFIED: lambda: _match_changes(facets, parse_period(value, today)),
        FilterKind.CREATED: lambda: _match_days(facets.created, parse_period(value, today)),
        FilterKind.DATE: lambda: _match_dates(facets, parse_period(value, today)),
        FilterKind.PROPERTY: lambda: _match_property(
            facets.properties.get(filter_.name, {}), value, today, is_prefix=is_prefix
        ),
        FilterKind.LINK: lambda: _find_linking_notes(facets, _find_link_targets(facets, value, is_prefix=is_prefix)),
        FilterKind.FROM: lambda: _find_linked_notes(facets, _find_link_targets(facets, value, is_prefix=is_prefix)),
        FilterKind.KIND: lambda: _match_names_exactly(facets.kinds, fold(value), is_prefix=is_prefix),
        FilterKind.SOURCE: lambda: _match_sources(facets.paths, value, is_prefix=is_prefix),
        FilterKind.IS: lambda: _match_state(facets, value),
        # It is an order, not a filter.
        FilterKind.SORT: lambda: np.ones(len(facets.paths), np.bool_),
    }
    return lookups[filter_.kind]()


def _match_state(facets: Facets, value: str) -> Ints | Flags:
    """Return the replaced notes, or all for another state.

    Which memories are stale only appears when their sources are read.
    """
    if fold(value) == REPLACED_VALUE:
        return np.array(sorted(facets.replaced), np.int32)
    return np.ones(len(facets.paths), np.bool_)


def _find_linking_notes(facets: Facets, notes: Ints) -> Ints:
    sources, targets = facets.links
    return sources[np.isin(targets, notes)]


def _find_linked_notes(facets: Facets, notes: Ints) -> Ints:
    sources, targets = facets.links
    return targets[np.isin(sources, notes)]


def _match_names_exactly(names: Mapping[str, Ints], name: str, *, is_prefix: bool) -> Ints:
    numbers = names.get(name)
    if numbers is not None or not is_prefix:
        return NO_ROWS if numbers is None else numbers
    return _concatenate(notes for known, notes in names.items() if known.startswith(name))


def _concatenate(number_sets: Iterable[Ints]) -> Ints:
    return np.concatenate([NO_ROWS, *number_sets])


def _match_paths(paths: Sequence[str], pattern: str, *, is_prefix: bool) -> Flags:
    """Return a flag for each folded path: whether it matches `pattern` as in `_match_names`.

    A pattern with a leading `=` is the whole path of a note, or, with a final slash, of a folder; `*` in it is literal.
    If `is_prefix`, the pattern may be unfinished.
    """
    if not pattern.startswith("="):
        return _match_names(paths, pattern)
    path_prefix = fold(pattern[1:])
    if path_prefix.endswith("/") or is_prefix:
        return np.array([path.startswith(path_prefix) for path in paths], np.bool_)
    return np.array([path == path_prefix for path in paths], np.bool_)


def _match_folders(paths: Sequence[str], pattern: str, *, is_prefix: bool) -> Flags:
    """Return a flag for each folded path: whether one of its folders is named `pattern`.

    A leading slash stands for the vault's root, and `*` for any text. If no path matches and `is_prefix` is true,
    folders match whose names begin with the pattern.
    """
    folded = fold(pattern).rstrip("/")
    is_rooted = folded.startswith("/")
    name = folded if is_rooted else f"/{folded}"
    folders = [path[: path.rfind("/") + 1] for path in paths]

    def in_folder(name: str) -> Flags:
        parts = name.split("*")
        known = {
            folder: _contains_in_order(folder, parts) and (not is_rooted or folder.startswith(parts[0]))
            for folder in set(folders)
        }
        return np.array([known[folder] for folder in folders], np.bool_)

    whole_matches = in_folder(f"{name}/")
    return in_folder(name) if is_prefix and not whole_matches.any() else whole_matches


def _match_sources(paths: Sequence[str], source: str, *, is_prefix: bool) -> Flags:
    """Return a flag for each folded path: whether it is, or is in, `source` by `is_source_path`.

    If no path is such and `is_prefix` is true, paths match that have a part which begins with `source`.
    """
    folded = fold(source.strip().removeprefix("./").strip("/"))
    whole_matches = np.array([is_source_path(path[1:], folded) for path in paths], np.bool_)
    return (
        np.array([f"/{folded}" in path for path in paths], np.bool_)
        if is_prefix and not whole_matches.any()
        else whole_matches
    )


def is_source_path(path: str, source: str) -> bool:
    """Return whether `source` is the path or name of the note at `path`, or the path of a folder above.

    The suffix of the file may be left out, as in links.
    """
    stem, name = posixpath.splitext(path)[0], posixpath.basename(path)
    return path.startswith(f"{source}/") or source in (path, stem, name, posixpath.basename(stem))


def _match_names(names: Iterable[str], pattern: str) -> Flags:
    """Return a flag for each folded name: whether it has the parts of `pattern` (split at `*`) in order.

    If the pattern begins with a slash, the name must begin with its first part. The file suffix is only compared if the
    pattern has a dot.
    """
    parts = [part for part in fold(pattern).split("*") if part]
    if "." not in pattern:
        names = [posixpath.splitext(name)[0] for name in names]
    if parts and parts[0].startswith("/"):
        names = [name if name.startswith(parts[0]) else "" for name in names]
    if len(parts) == 1:
        return np.array([parts[0] in name for name in names], np.bool_)
    return np.array([_contains_in_order(name, parts) for name in names], np.bool_)


def _contains_in_order(name: str, parts: Sequence[str]) -> bool:
    """Return whether `name` contains all `parts`, one after the other."""
    at = 0
    for part in parts:
        at = name.find(part, at) + len(part)
        if at < len(part):
            return False
    return True


def _find_link_targets(facets: Facets, value: str, *, is_prefix: bool) -> Ints:
    """Return the numbers of the notes that `value` names: a link target, else a title or alias.

    A link is resolved from the vault's root.
    """
    target = value.strip()
    if target.startswith("[["):
        target = re.split(r"[|#\]]", target[2:], maxsplit=1)[0].strip()
    notes = facets.find_targets(target)
    if len(notes):
        return notes
    return _match_names_exactly(facets.names, " ".join(fold(target).split()), is_prefix=is_prefix)


# Days that the clock functions of every system accept; no file is older or newer.
FIRST_DAY, LAST_DAY = date(1970, 1, 3), date(2200, 1, 1)
"""The first and last day with which file times are compared.

A period that reaches beyond them has no limit there.
"""


def _match_times(times: npt.NDArray[np.int64], period: Period | None) -> Flags:
    """Return a flag for each of `times` (nanoseconds since 1970): whether it is in a period of local days.

    No time is in the period None.
    """
    inside = np.full(len(times), period is not None)
    if period and period[0] >= FIRST_DAY:
        inside &= times >= midnight_ns(min(period[0], LAST_DAY))
    if period and period[1] < LAST_DAY:
        inside &= times < midnight_ns(max(period[1], FIRST_DAY) + timedelta(1))
    return inside


def midnight_ns(day: date) -> int:
    """Return the time at which a local day begins, in nanoseconds since 1970."""
    return int(datetime.combine(day, time.min).timestamp()) * 1_000_000_000


def _match_changes(facets: Facets, period: Period | None) -> Flags:
    """Return a flag for each note: whether it was last changed in a period, by its own date or else by its file."""
    days = facets.change_days
    return np.where(days != UNKNOWN_DAY, _match_days(days, period), _match_file_times(facets, period))


def _match_file_times(facets: Facets, period: Period | None) -> Flags:
    """Return a flag for each note: whether its file was last changed in a period, and was not copied."""
    return _match_times(facets.modified, period) & ~facets.is_copied


def _match_dates(facets: Facets, period: Period | None) -> Flags:
    """Return a flag for each note: whether its date or the date of one of its headings is in a period.

    For a note without any date, the last change of its file counts.
    """
    headings = facets.heading_dates
    is_dated = facets.dates != UNKNOWN_DAY
    is_dated[headings.notes] = True
    in_days = _match_days(facets.dates, period, facets.last_day_by_note)
    inside = np.where(is_dated, in_days, _match_file_times(facets, period))
    inside[headings.notes[_match_days(headings.days, period)]] = True
    return inside


def _match_days(
    days: npt.NDArray[np.int64], period: Period | None, last_days: npt.NDArray[np.int64] | None = None
) -> Flags:
    """Return a flag for each of `days` (days since 1970): whether it is known and in a period.

    With `last_days`, each item is a range of days, and one day of it must be in the period.
    """
    if period is None:
        return np.zeros(len(days), np.bool_)
    first, last = ((day - _EPOCH).days for day in period)
    inside: Flags = ((days if last_days is None else last_days) >= first) & (days <= last) & (days != UNKNOWN_DAY)
    return inside


_COMPARISON = lazy_pattern(r"(>=|<=|>|<|=)(.+)", re.DOTALL)
_NUMBER = lazy_pattern(r"[+-]?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_YEAR = lazy_pattern(r"\d{4}", re.ASCII)
_LETTER = rf"[^\W_{WIDE_CHARACTERS}]"

ValueTest = Callable[[str], bool]
"""A function that tests a folded value of a property."""


def _match_property(values: Mapping[str, Ints], text: str, today: date, *, is_prefix: bool) -> Ints:
    """Return the numbers of the notes whose values of a property match the filter value `text`.

    `values` has the note numbers by folded value. A value matches if it contains the text as whole words, or is a date
    in the period that the text names. A text such as `>5`, `<=2025` or `1..5` compares numbers or dates; after `=` the
    value must be equal; `*` matches any value. If nothing matches and `is_prefix` is true, the last word of the text
    may be unfinished.
    """
    pattern = " ".join(fold(text).split())
    if pattern == "*":
        return _concatenate(values.values())
    if compared := _COMPARISON.fullmatch(pattern):
        sign, bound = compared[1], compared[2].strip()
        return _match_values(values, _test_equality(bound) if sign == "=" else _test_comparison(sign, bound, today))
    if ".." in pattern and (is_in_range := _test_range(pattern, today)):
        return _match_values(values, is_in_range)
    exact = _match_values(values, _test_word(pattern, whole=True))
    if period := parse_period(pattern, today):
        return np.union1d(exact, _match_values(values, lambda value: _is_day_in(value, period)))
    return exact if len(exact) or not is_prefix else _match_values(values, _test_word(pattern, whole=False))


def _match_values(values: Mapping[str, Ints], is_match: ValueTest) -> Ints:
    return _concatenate(notes for value, notes in values.items() if is_match(value))


def _test_equality(text: str) -> ValueTest:
    return lambda value: value == text


def _test_word(text: str, *, whole: bool) -> ValueTest:
    """Return a test whether a value contains `text` at the beginning of a word.

    If `whole` is true, the text must also end where a word ends.
    """
    before, after = f"(?<!{_LETTER})" if re.match(_LETTER, text) else "", f"(?!{_LETTER})"
    ends = whole and re.match(_LETTER, text[-1:])
    pattern = re.compile(f"{before}{re.escape(text)}{after if ends else ''}")
    return lambda value: text in value and pattern.search(value) is not None


def _test_comparison(sign: str, bound: str, today: date) -> ValueTest:
    """Return a test whether a value is, for example, greater than a bound.

    `sign` is `>`, `>=`, `<` or `<=`. Value and bound are compared as numbers if both are numbers, else as dates.
    """
    period = parse_period(sign + bound, today)
    limit = float(bound) if _NUMBER.fullmatch(bound) else None
    is_year = bool(_YEAR.fullmatch(bound))

    def is_match(value: str) -> bool:
        if limit is not None and _is_number(value, is_year=is_year):
            return _COMPARISON_FUNCTIONS[sign](float(value), limit)
        return period is not None and _is_day_in(value, period)

    return is_match


_COMPARISON_FUNCTIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def _test_range(text: str, today: date) -> ValueTest | None:
    """Return a test whether a value is in the range `text`, such as `1..5` or `2024..`.

    Return None if it is not a range.
    """
    bounds = [bound.strip() for bound in text.split("..", 1)]
    if not all(_NUMBER.fullmatch(bound) for bound in bounds if bound) or not any(bounds):
        period = parse_period(text, today)
        return None if period is None else lambda value: _is_day_in(value, period)
    checks = [_test_comparison(sign, bound, today) for sign, bound in zip((">=", "<="), bounds, strict=True) if bound]
    return lambda value: all(is_match(value) for is_match in checks)


def _is_number(value: str, *, is_year: bool) -> bool:
    """Return whether a value is compared as a number.

    If the bound is a year (`is_year`), a number of 8 or more characters is a date such as 20250301 instead.
    """
    return bool(_NUMBER.fullmatch(value)) and not (is_year and len(value) >= 8)


def _is_day_in(value: str, period: Period) -> bool:
    day = parse_date(value)
    return day is not None and period[0] <= day <= period[1]
