"""Completions of a query's last word: tags, folders, names, headings, properties, periods and words of the vault.

Every completion is text that the query language parses as exactly that value. The lists are built on first use and
cached as long as the snapshot (at 10,000 notes 2 to 115 ms each, the list of headings 270).
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import Facets, property_name
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.insight.filter_text import (
    format_filter,
    format_folder_filter,
    format_property_filter,
    format_property_name,
    format_tag_filter,
)
from excerpt.insight.results import Completion, Completions
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import flag_allowed_notes
from excerpt.search.query import (
    DATE_KINDS,
    FILTER_KINDS,
    FILTER_OPERATORS,
    REPLACED_VALUE,
    SORT_VALUES,
    parse_alternatives,
)
from excerpt.search.query_word import token_at
from excerpt.text.folding import fold
from excerpt.text.words import analyze

MAX_COMPLETIONS = 50
"""The most completions that are returned."""
MAX_COMPLETING_STEMS, FRAGMENTS_READ_PER_STEM = 12, 4
"""The number of stems that complete a word, and of fragments read per stem to find its spelling."""
MAX_VALUE_CHARS = 80
"""The most characters of a value or heading that is offered; nobody filters by a longer one, a sentence."""
PERIOD_NAMES = (
    "today",
    "yesterday",
    "7d",
    "this-week",
    "last-week",
    "this-month",
    "last-month",
    "this-year",
    "last-year",
)
_ADDRESS_OR_FILE_NAME = lazy_pattern(r"[/\\@]|\.\w+$")
"""Matches addresses and file names, which are not offered as words."""


class _CompletionEntry(Struct, frozen=True):
    """A completion in a list, with its case-folded text for matching; entries of more `weight` come first."""

    folded: str
    completion: Completion
    weight: int


_CompletionLists = dict[str, tuple[_CompletionEntry, ...]]


_CACHED_LISTS: WeakKeyDictionary[Facets, _CompletionLists] = WeakKeyDictionary()


def complete_at(snapshot: Corpus, query: str, cursor: int, today: date) -> Completions:
    """Return completions of the word of `query` that contains or ends at character `cursor`; () within a phrase."""
    token = token_at(query, cursor)
    if token is None:
        return Completions(cursor, cursor, ())
    sign = "-" if token.negated else ""
    found = complete(snapshot, token.operator, token.value, today)
    return Completions(token.start, token.end, tuple(replace(each, text=f"{sign}{each.text}") for each in found))


def complete(snapshot: Corpus, operator: str, typed_text: str, today: date) -> tuple[Completion, ...]:
    """Return completions of `typed_text`, which is the beginning of a filter's value or of a word, the likeliest first.

    `operator` is the text before the colon, "#", or "" for a word; an unknown operator has no completions. Values that
    start with `typed_text` come before values with a later part that starts with it; otherwise, the most frequent value
    comes first.
    """
    if not operator:
        return _complete_word(snapshot, typed_text)
    name = fold(operator)
    if FILTER_KINDS.get(name) in DATE_KINDS:
        return tuple(_complete_period(snapshot, name, typed_text, today))
    prefix = fold(typed_text).lstrip("=/" if name in ("path", "folder", "in") else "=").strip('"')
    return _match_prefix(list_filter_values(snapshot, name), prefix)


def _match_prefix(entries: Sequence[_CompletionEntry], prefix: str) -> tuple[Completion, ...]:
    first = [entry for entry in entries if entry.folded.startswith(prefix)]
    if len(first) < MAX_COMPLETIONS and prefix:
        first += [entry for entry in entries if prefix in entry.folded and _has_part_with_prefix(entry.folded, prefix)]
    return tuple(entry.completion for entry in first[:MAX_COMPLETIONS])


def _has_part_with_prefix(folded: str, prefix: str) -> bool:
    """Return whether a later part of `folded` starts with `prefix`, but `folded` as a whole does not."""
    at = folded.find(prefix, 1)
    while at > 0:
        if not folded[at - 1].isalnum():
            return not folded.startswith(prefix)
        at = folded.find(prefix, at + 1)
    return False


def list_filter_values(snapshot: Corpus, name: str) -> tuple[_CompletionEntry, ...]:
    """Return the values in the vault for the filter or property `name`, the most frequent first; () if unknown."""
    if name in _LIST_BUILDERS:
        return _load_cached_list(snapshot, name, _LIST_BUILDERS[name])
    name = property_name(name)
    if name not in snapshot.facets.properties:
        return ()
    return _load_cached_list(snapshot, name, lambda snapshot: _list_values(snapshot, name))


def _load_cached_list(
    snapshot: Corpus, name: str, build_entries: Callable[[Corpus], Iterable[_CompletionEntry]]
) -> tuple[_CompletionEntry, ...]:
    """Return the cached list `name`, sorted; on first use, `build_entries` builds its entries."""
    lists = _CACHED_LISTS.setdefault(snapshot.facets, {})
    if name not in lists:
        lists[name] = tuple(sorted(build_entries(snapshot), key=lambda entry: (-entry.weight, entry.completion.label)))
    return lists[name]


def _count_spellings(spelled_notes: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield each name case-folded, with its commonest spelling and the number of notes that have it.

    `spelled_notes` are pairs of a name as spelled and the number of a note that has it.
    """
    notes: dict[str, set[int]] = {}
    spellings: dict[str, Counter[str]] = {}
    for name, note in spelled_notes:
        if 0 < len(name) <= MAX_VALUE_CHARS and (folded := " ".join(fold(name).split())):
            notes.setdefault(folded, set()).add(note)
            spellings.setdefault(folded, Counter())[" ".join(name.split())] += 1
    for folded, counts in spellings.items():
        yield folded, min(counts, key=lambda spelling: (-counts[spelling], spelling)), len(notes[folded])


def _build_entries(
    spelled_notes: Iterable[tuple[str, int]], build_filter: Callable[[str], str], *, is_counted: bool = True
) -> Iterator[_CompletionEntry]:
    """Yield an entry for each name in `spelled_notes`, pairs of a name as spelled and a note's number.

    `build_filter` returns the filter for a spelling, or "" to leave the name out. Counts are shown if `is_counted`,
    that is, if the filter finds exactly the counted notes.
    """
    for folded, spelling, notes in _count_spellings(spelled_notes):
        if text := build_filter(spelling):
            yield _CompletionEntry(folded, Completion(text, spelling, notes if is_counted else 0), notes)


def _list_tags(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    spelled_notes = [
        (tag[:end], note)
        for tag, note in ((name.strip("/"), note) for name, note in snapshot.facets.tags_as_written())
        for end in (*(end for end, sign in enumerate(tag) if sign == "/"), len(tag))
    ]
    return _build_entries(spelled_notes, format_tag_filter)


def _list_hashtags(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    for entry in _list_tags(snapshot):
        tag = entry.completion.label
        if not any(sign.isspace() or sign in '#"' for sign in tag) and any(map(str.isalpha, tag)):
            yield _CompletionEntry(entry.folded, Completion(f"#{tag}", tag, entry.completion.count), entry.weight)


def _folder_list_builder(operator: str) -> Callable[[Corpus], Iterator[_CompletionEntry]]:
    def build_filter(folder: str) -> str:
        is_pattern = operator == "path" or "*" in fold(folder)
        return format_folder_filter(folder) if is_pattern else format_filter(operator, f"/{folder}/")

    return lambda snapshot: _list_folders(snapshot, build_filter)


def _list_folders(snapshot: Corpus, build_filter: Callable[[str], str]) -> Iterator[_CompletionEntry]:
    counts: Counter[str] = Counter()
    for path in snapshot.table.paths:
        folder = posixpath.dirname(path)
        while folder:
            counts[folder] += 1
            folder = posixpath.dirname(folder)
    for folder, notes in counts.items():
        yield _CompletionEntry(fold(f"{folder}/"), Completion(build_filter(folder), f"{folder}/", notes), notes)


def _file_list_builder(operator: str) -> Callable[[Corpus], Iterator[_CompletionEntry]]:
    def list_files(snapshot: Corpus) -> Iterator[_CompletionEntry]:
        stems = [
            (posixpath.splitext(posixpath.basename(path))[0], note) for note, path in enumerate(snapshot.table.paths)
        ]
        return _build_entries(stems, lambda stem: format_filter(operator, stem), is_counted=False)

    return list_files


def _list_titles(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    return _build_entries(
        snapshot.facets.titles_as_written(), lambda title: format_filter("title", title), is_counted=False
    )


def _list_headings(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    counts: dict[str, tuple[str, int]] = {}
    for heading, count in snapshot.facets.headings_as_written():
        if len(heading) <= MAX_VALUE_CHARS and (folded := fold(heading)):
            spelling, before = counts.get(folded, (heading, 0))
            counts[folded] = spelling, before + count
    for folded, (spelling, count) in counts.items():
        yield _CompletionEntry(folded, Completion(format_filter("heading", spelling), spelling), count)


def _list_values(snapshot: Corpus, name: str) -> Iterator[_CompletionEntry]:
    return _build_entries(snapshot.facets.values_as_written(name), lambda value: format_property_filter(name, value))


def _list_kinds(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    for kind, notes in snapshot.facets.kinds.items():
        yield _CompletionEntry(kind, Completion(format_filter("kind", kind), kind), len(notes))


def _list_states(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    if count := len(snapshot.facets.replaced):
        yield _CompletionEntry(REPLACED_VALUE, Completion(f"is:{REPLACED_VALUE}", REPLACED_VALUE), count)


def _list_orders(_snapshot: Corpus) -> Iterator[_CompletionEntry]:
    for order in SORT_VALUES:
        yield _CompletionEntry(order, Completion(f"sort:{order}", order), 0)


_LIST_BUILDERS: Mapping[str, Callable[[Corpus], Iterator[_CompletionEntry]]] = {
    "tag": _list_tags,
    "tags": _list_tags,
    "#": _list_hashtags,
    "path": _folder_list_builder("path"),
    "folder": _folder_list_builder("folder"),
    "in": _folder_list_builder("in"),
    "file": _file_list_builder("file"),
    "link": _file_list_builder("link"),
    "from": _file_list_builder("from"),
    "title": _list_titles,
    "alias": _list_titles,
    "aliases": _list_titles,
    "heading": _list_headings,
    "kind": _list_kinds,
    "is": _list_states,
    "sort": _list_orders,
}


def _complete_period(snapshot: Corpus, name: str, typed_text: str, today: date) -> Iterator[Completion]:
    years = [str(today.year - back) for back in range(5)]
    for period in (*PERIOD_NAMES, *years):
        if period.startswith(typed_text.lower()):
            (query,) = parse_alternatives(f"{name}:{period} ")
            notes = flag_allowed_notes(query.filters, snapshot.facets, len(snapshot.table.paths), today)
            yield Completion(f"{name}:{period}", period, int(np.count_nonzero(notes)))


def _complete_word(snapshot: Corpus, typed_text: str) -> tuple[Completion, ...]:
    """Return the words of the vault, filter names and property names that start with `typed_text`."""
    prefix = fold(typed_text)
    names = [Completion(f"{name}:", f"{name}:") for name in sorted(FILTER_OPERATORS - {"tags", "aliases", "alias"})]
    filters = [entry for entry in names if entry.text.startswith(prefix)]
    property_entries = _load_cached_list(snapshot, ":", _list_property_names)
    named = [entry.completion for entry in property_entries if entry.folded.startswith(prefix)]
    properties = [entry for entry in named if entry.text]
    if not prefix:
        return (*filters, *properties[:MAX_COMPLETIONS])
    return (*_complete_from_vocabulary(snapshot, prefix), *filters, *properties)[:MAX_COMPLETIONS]


def _list_property_names(snapshot: Corpus) -> Iterator[_CompletionEntry]:
    spellings_by_name: dict[str, dict[str, int]] = {}
    for name, notes in snapshot.facets.property_names_as_written():
        spellings_by_name.setdefault(property_name(name), {})[name] = notes
    for name, spellings in spellings_by_name.items():
        yield _build_property_entry(snapshot, name, spellings)


def _build_property_entry(snapshot: Corpus, name: str, spellings: Mapping[str, int]) -> _CompletionEntry:
    """Return an entry for the property `name` in its commonest spelling; `spellings` maps spellings to note counts.

    A note with two spellings is counted once.
    """
    spelling = min(spellings, key=lambda variant: (-spellings[variant], variant))
    notes = spellings[spelling]
    if len(spellings) > 1:
        notes = len({note for _, note in snapshot.facets.values_as_written(name)})
    key = format_property_name(spelling)
    return _CompletionEntry(name, Completion(f"{key}:", spelling, notes) if key else Completion("", spelling), notes)


def _complete_from_vocabulary(snapshot: Corpus, typed_text: str) -> list[Completion]:
    """Return the words of the vault that start with `typed_text`; stems with the most fragments come first."""
    analysis = analyze_text(typed_text, snapshot)
    if len(analysis) != 1:
        return []
    reader = snapshot.lexical
    stems = dict.fromkeys((*analysis[0].terms, *reader.completions(typed_text, 10 * MAX_COMPLETING_STEMS)))
    counted = sorted(((reader.count(term), term) for term in stems), key=lambda item: (-item[0], item[1]))
    completions: dict[str, Completion] = {}
    snapshot = prefetch_fragments_with(snapshot, [term for _, term in counted[:MAX_COMPLETING_STEMS]])
    for _, term in counted[:MAX_COMPLETING_STEMS]:
        rows = np.unique(snapshot.lexical.entries(term).rows)
        word = find_spelling(snapshot, term, rows[:FRAGMENTS_READ_PER_STEM].tolist(), typed_text)
        if word and word.casefold() not in completions:
            completions[word.casefold()] = Completion(word, word, snapshot.count_fragments([term]), "fragment")
    return sorted(completions.values(), key=lambda item: (-item.count, item.label))


def prefetch_fragments_with(snapshot: Corpus, terms: Sequence[str]) -> Corpus:
    """Return the corpus with the first fragments loaded that have each of `terms` (index terms)."""
    return snapshot.prefetch(
        lambda _: [CandidateQuery(must=((term,),), scan_limit=FRAGMENTS_READ_PER_STEM) for term in terms]
    )


def find_spelling(snapshot: Corpus, term: str, rows: Sequence[int], typed_text: str) -> str:
    """Return the commonest spelling of the stem `term` in the fragments `rows`; "" if no fragment has the stem.

    Only spellings that start with `typed_text` (case-folded) count.
    """
    spellings = Counter(
        {
            word: count
            for word, count in count_spellings(snapshot, term, rows).items()
            if fold(word).startswith(typed_text)
        }
    )
    if not spellings:
        return ""
    word = min(spellings, key=lambda variant: (-spellings[variant], variant.swapcase()))
    return word if word.isupper() or word.lower() not in spellings else word.lower()


def count_spellings(snapshot: Corpus, term: str, rows: Sequence[int]) -> Counter[str]:
    """Return how often each spelling of the stem `term` is in the fragments `rows`, without file names."""
    table = snapshot.table
    spellings: Counter[str] = Counter()
    for row, fragment in zip(rows, snapshot.fragments(table.keys[list(rows)].tolist()), strict=True):
        text = "\n".join((fragment.text, fragment.title, *fragment.heading_path))
        analysis = analyze(text, table.languages[table.notes[row]])
        for candidate_term, start, end in zip(analysis.terms, analysis.starts, analysis.ends, strict=True):
            word = text[start:end]
            if candidate_term == term and not _ADDRESS_OR_FILE_NAME.search(word):
                spellings[word] += 1
    return spellings
