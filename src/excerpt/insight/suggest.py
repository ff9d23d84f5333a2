"""Suggestions for a query: completions, corrections, and narrower or wider queries."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from rapidfuzz import process
from rapidfuzz.distance import OSA

from excerpt.base.kinds import FilterKind
from excerpt.corpus.facets import Facets, property_name
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.insight.facet_map import (
    MATCH_ALL_QUERY,
    FilterTree,
    format_filter,
    format_folder_filter,
    format_property_filter,
    format_property_name,
    format_tag_filter,
    load_branches,
)
from excerpt.insight.results import Completion, Completions, Direction, Suggestion
from excerpt.insight.significant import log_likelihood
from excerpt.insight.themes import Phrases, extract_phrases
from excerpt.insight.topic import Topic, find_topic
from excerpt.search.engine import Engine
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import flag_allowed_notes, flag_allowed_rows
from excerpt.search.query import (
    DATE_KINDS,
    FILTER_KINDS,
    FILTER_OPERATORS,
    SORT_VALUES,
    KnownNames,
    Query,
    find_conditions,
    parse_alternatives,
    suggest_filters,
)
from excerpt.search.query_word import token_at
from excerpt.search.results import Filter
from excerpt.text.dates import parse_date
from excerpt.text.words import UNACCENTED_MARK, QueryWord, analyze, fold

# --- completions ------------------------------------------------------------------------------------------------------
# Completions of a query's last word: tags, folders, names, headings, properties and their values, periods, and the
# words of the vault, each with its number of notes or fragments.
#
# Every completion is text that the query language parses as exactly that value. The lists are built on first use and
# cached as long as the snapshot (at 10,000 notes 2 to 115 ms each, the list of headings 270).

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
_ADDRESS_OR_FILE_NAME = re.compile(r"[/\\@]|\.\w+$")
"""Matches addresses and file names, which are not offered as words."""


class _CompletionEntry(Struct, frozen=True):
    """A completion in a list, with its case-folded text for matching; entries of more `weight` come first."""

    folded: str
    completion: Completion
    weight: int


_CompletionLists = dict[str, tuple[_CompletionEntry, ...]]
_CACHED_LISTS: WeakKeyDictionary[Facets, _CompletionLists] = WeakKeyDictionary()


def complete_at(snapshot: Corpus, query: str, cursor: int, today: date) -> Completions:
    """Return completions of the word of `query` that ends at or contains character `cursor`; none in a phrase."""
    token = token_at(query, cursor)
    if token is None:
        return Completions(cursor, cursor, ())
    sign = "-" if token.negated else ""
    found = complete(snapshot, token.operator, token.value, today)
    return Completions(token.start, token.end, tuple(replace(each, text=f"{sign}{each.text}") for each in found))


def complete(snapshot: Corpus, operator: str, typed_text: str, today: date) -> tuple[Completion, ...]:
    """Return completions of `typed_text`, which is the beginning of a filter's value or of a word, the likeliest first.

    `operator` is the text before the colon, "#", or "" for a word; an unknown operator has no completions. Values that
    start with `typed_text` come before values of which a later part does, then the most frequent first.
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


# --- filters ----------------------------------------------------------------------------------------------------------


def list_filter_values(snapshot: Corpus, name: str) -> tuple[_CompletionEntry, ...]:
    """Return the values in the vault for the filter or property `name`, the most frequent first; none if unknown."""
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
    "sort": _list_orders,
}


def _complete_period(snapshot: Corpus, name: str, typed_text: str, today: date) -> Iterator[Completion]:
    years = [str(today.year - back) for back in range(5)]
    for period in (*PERIOD_NAMES, *years):
        if period.startswith(typed_text.lower()):
            (query,) = parse_alternatives(f"{name}:{period} ")
            notes = flag_allowed_notes(query.filters, snapshot.facets, len(snapshot.table.paths), today)
            yield Completion(f"{name}:{period}", period, int(np.count_nonzero(notes)))


# --- words ------------------------------------------------------------------------------------------------------------


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
    """Return the words of the vault that start with `typed_text`, those with a stem in the most fragments first."""
    analysis = analyze_text(typed_text, snapshot)
    if len(analysis) != 1:
        return []
    reader = snapshot.lexical
    stems = dict.fromkeys((*analysis[0].terms, *reader.completions(typed_text, 10 * MAX_COMPLETING_STEMS)))
    counted = sorted(((reader.count(term), term) for term in stems), key=lambda item: (-item[0], item[1]))
    completions: dict[str, Completion] = {}
    snapshot = _prefetch_fragments_with(snapshot, [term for _, term in counted[:MAX_COMPLETING_STEMS]])
    for _, term in counted[:MAX_COMPLETING_STEMS]:
        rows = np.unique(snapshot.lexical.entries(term).rows)
        word = find_spelling(snapshot, term, rows[:FRAGMENTS_READ_PER_STEM].tolist(), typed_text)
        if word and word.casefold() not in completions:
            completions[word.casefold()] = Completion(word, word, snapshot.count_fragments([term]), "fragment")
    return sorted(completions.values(), key=lambda item: (-item.count, item.label))


def _prefetch_fragments_with(snapshot: Corpus, terms: Sequence[str]) -> Corpus:
    """Return the corpus with the first fragments loaded that have each of `terms` (index terms)."""
    return snapshot.prefetch(
        lambda _: [CandidateQuery(must=((term,),), scan_limit=FRAGMENTS_READ_PER_STEM) for term in terms]
    )


def find_spelling(snapshot: Corpus, term: str, rows: Sequence[int], typed_text: str = "") -> str:
    """Return the commonest spelling of the stem `term` in the fragments `rows`; "" if there is none.

    Only spellings that start with `typed_text` (case-folded) count.
    """
    table = snapshot.table
    spellings: Counter[str] = Counter()
    for row, fragment in zip(rows, snapshot.fragments(table.keys[list(rows)].tolist()), strict=True):
        text = "\n".join((fragment.text, fragment.title, *fragment.heading_path))
        analysis = analyze(text, table.languages[table.notes[row]])
        for candidate_term, start, end in zip(analysis.terms, analysis.starts, analysis.ends, strict=True):
            word = text[start:end]
            if candidate_term == term and fold(word).startswith(typed_text) and not _ADDRESS_OR_FILE_NAME.search(word):
                spellings[word] += 1
    if not spellings:
        return ""
    word = min(spellings, key=lambda variant: (-spellings[variant], variant.swapcase()))
    return word if word.isupper() or word.lower() not in spellings else word.lower()


# --- corrections ------------------------------------------------------------------------------------------------------
# Corrections of a query: words and values that the vault does not have are replaced by the most similar ones it has.

MIN_SIMILARITY = 0.6
"""The least similarity (normalised OSA distance) of a word and its correction; two letters of five may differ.

A search itself finds words above the setting `search.fuzzy_threshold`, but not in phrases and filters.
"""
MIN_CORRECTED_LETTERS = 4
"""The fewest letters of a word that is corrected: shorter words are all similar to each other."""
_MAX_COMPARED_WORDS = 5

Replacement = tuple[int, int, str]
"""A change to a query: start and end (exclusive) of a character range, and the text that replaces it."""


def correct(engine: Engine, query: str) -> str:
    """Return `query` with misspelt parts corrected; "" if nothing is misspelt or the correction matches nothing."""
    corrected_query = query
    for start, end, instead in sorted(_find_replacements(engine, query), reverse=True):
        corrected_query = corrected_query[:start] + instead + corrected_query[end:]
    return corrected_query if corrected_query != query and engine.find_matching_rows(corrected_query).any() else ""


def _find_replacements(engine: Engine, query: str) -> Iterator[Replacement]:
    snapshot, facets = engine.snapshot, engine.snapshot.facets
    query_conditions = find_conditions(query, facets.properties, facets.tags)
    key_hints = suggest_filters(query, KnownNames(facets.properties, facets.tags, FILTER_KINDS))
    taken_spans = [(condition.start, condition.end) for condition in query_conditions] + [
        (condition.start, condition.end) for condition in key_hints
    ]
    for hint in key_hints:
        yield hint.start, hint.end, hint.instead
    for condition in query_conditions:
        if condition.filter and not condition.filter.negated and (instead := _correct_filter(engine, condition.filter)):
            yield condition.start, condition.end, instead
    for word in analyze_text(query, snapshot):
        is_replaced = any(start <= word.start < end for start, end in taken_spans)
        if not is_replaced and (instead := _correct_word(snapshot, word)):
            yield word.start, word.end, instead


def _correct_filter(engine: Engine, condition: Filter) -> str:
    """Return the most similar filter in the vault if no note matches `condition`; "" if a note matches or none is."""
    alone = Query("", filters=(condition,))
    engine.prefetch([alone])
    snapshot = engine.snapshot
    rows = flag_allowed_rows(alone, snapshot, partial(analyze_text, snapshot=snapshot), date.today())
    if rows is None or rows.any():
        return ""
    entries = {
        entry.folded.strip("/"): entry.completion.text
        for entry in list_filter_values(
            snapshot, condition.name if condition.kind is FilterKind.PROPERTY else str(condition.kind)
        )
    }
    value = fold(condition.value).strip("#/=*")
    near = process.extractOne(value, entries.keys(), scorer=OSA.normalized_similarity, score_cutoff=MIN_SIMILARITY)
    return entries[near[0]] if near else ""


def _correct_word(snapshot: Corpus, word: QueryWord) -> str:
    """Return the most similarly spelled word of the vault if no note has `word`; "" if a note has it.

    Ties go to the commonest word. Returns "" too if `word` is short, or no word is similar.
    """
    reader, stem = snapshot.lexical, word.terms[0]
    if word.is_compound or len(stem) < MIN_CORRECTED_LETTERS or not stem.isalpha():
        return ""
    # An index's count of a term includes deleted fragments, so it only shows that the term may exist.
    may_be = [term for term in word.terms if reader.count(term)]
    if snapshot.count_fragments(may_be) or reader.completions(fold(word.surface), 1):
        return ""
    near = process.extract(
        stem,
        reader.lexicon("text"),
        scorer=OSA.normalized_similarity,
        score_cutoff=MIN_SIMILARITY,
        limit=_MAX_COMPARED_WORDS,
    )
    best_first = sorted(near, key=lambda item: (-item[1], -reader.count(item[0]), item[0]))
    terms = [spelling for term, _, _ in best_first for spelling in (term, term + UNACCENTED_MARK)]
    snapshot = _prefetch_fragments_with(snapshot, terms)
    for term in terms:
        if written := find_spelling(
            snapshot, term, np.unique(snapshot.lexical.entries(term).rows)[:FRAGMENTS_READ_PER_STEM].tolist()
        ):
            return written.lower() if word.surface.islower() else written
    return ""


MAX_NARROWER, MAX_WIDER = 6, 4
"""The most narrower, and the most wider queries that are suggested."""


# --- suggestions ------------------------------------------------------------------------------------------------------
# Queries similar to one: narrower and wider ones, each with its number of matches.
#
# The words and filters are the vault's own: folders, tags and values that are distinctive among the matches, and words
# that some of the best fragments have. Matches are those that a search counts, so the number is the one that the search
# shows for the suggested query. At cpp-docs size this takes 110 to 210 ms of CPU.

MAX_WORD_SUGGESTIONS = 4
"""The most narrower queries that add a word; there may be more if filters do not fill the rest."""
FRAGMENTS_READ_FOR_WORDS = 40
"""The number of best fragments whose words are suggested."""
MAX_MATCH_SHARE = 0.6
"""The largest share of the original query's matches that a narrower query may keep."""
MIN_MATCHES = 2
"""The fewest matching fragments of a narrower query."""
MAX_TESTED_BRANCHES = 200
"""The number of folders, tags or values, those with the most matches, that are tested for distinctiveness."""
MAX_LABEL_CHARS = 40
"""The most characters of a value or word that is suggested."""

Counts = npt.NDArray[np.int64]


def suggest_queries(engine: Engine, query: str) -> tuple[Suggestion, ...]:
    """Return queries that are narrower than `query`, the most distinctive first, then wider queries.

    For an empty query, return filters for distinctive folders, tags and values of the vault.
    """
    base = query if query.strip() else MATCH_ALL_QUERY
    matching = engine.count_matches_by_note(base)
    hits = int(matching.sum())
    topic = find_topic(engine, query) if query.strip() and hits else None
    words = list(_find_distinctive_words(topic)) if topic is not None else []
    narrower = [*_narrow_by_filter(engine, query, matching), *_narrow_by_words(engine, query, words, hits)]
    wider = [*_widen_by_removal(engine, query, hits), *_widen_by_words(engine, query, words, hits)]
    return (*_mix_filters_and_words(narrower), *_drop_duplicate_queries(wider)[:MAX_WIDER])


def _mix_filters_and_words(narrower: Sequence[Suggestion]) -> list[Suggestion]:
    """Return at most MAX_NARROWER of `narrower`: queries with an added filter first, then those with an added word."""
    every = _drop_duplicate_queries(narrower)
    words = [suggestion for suggestion in every if suggestion.label.startswith('"')]
    filters = [suggestion for suggestion in every if not suggestion.label.startswith('"')]
    room = max(MAX_NARROWER - len(words), MAX_NARROWER - MAX_WORD_SUGGESTIONS)
    return [*filters[:room], *words[: MAX_NARROWER - min(len(filters), room)]]


def _drop_duplicate_queries(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    return list({each.query: each for each in reversed(suggestions)}.values())[::-1]


def _count_matches(engine: Engine, query: str) -> int:
    return int(engine.count_matches_by_note(query).sum())


# --- narrower ---------------------------------------------------------------------------------------------------------


def _narrow_by_filter(engine: Engine, query: str, counts: Counts) -> Iterator[Suggestion]:
    """Yield `query` narrowed to each distinctive folder, tag or property value, the most distinctive first.

    `counts` holds the number of matching fragments of each note. The numbers of hits are those of the vault map.
    """
    snapshot = engine.snapshot
    branches = load_branches(snapshot)
    overall = snapshot.fragment_counts(np.arange(len(snapshot.table.paths)))
    distinctive = sorted(
        (-score, tree.build_filter(node), count)
        for tree in (branches.folders, branches.tags, branches.properties)
        for score, node, count in _score_branches(tree, counts, overall)
    )
    shown_counts: set[int] = set()
    for _, condition, count in distinctive:
        # That a note has a property at all is not specific. Branches with the same count mostly have the same notes:
        # nested folders, or tags that go with folders.
        if condition and not condition.endswith(":*") and condition not in query and count not in shown_counts:
            narrowed = engine.add_condition(query, condition) if query.strip() else f"{condition} "
            yield Suggestion(Direction.NARROWER, condition, narrowed, count)
            shown_counts.add(count)
        if len(shown_counts) == MAX_NARROWER:
            return


def _score_branches(tree: FilterTree, matches: Counts, overall: Counts) -> Iterator[tuple[float, int, int]]:
    """Yield the distinctiveness, position and number of matches of the branches of `tree` with the most matches.

    Distinctiveness is the log-likelihood ratio G² plus the branch's share of the matches. `matches` and `overall` hold
    the number of matching fragments, and of all fragments, of each note.
    """
    counts, notes = tree.count(matches)
    whole, _ = tree.count(overall)
    matched, overall_count = int(matches.sum()), int(overall.sum())
    eligible = np.flatnonzero((counts >= MIN_MATCHES) & (counts <= MAX_MATCH_SHARE * matched) & (notes >= MIN_MATCHES))
    for node in eligible[np.argsort(-counts[eligible], kind="stable")][:MAX_TESTED_BRANCHES].tolist():
        label = tree.labels[node]
        if len(label) <= MAX_LABEL_CHARS and parse_date(label) is None:
            score = (
                log_likelihood(int(counts[node]), matched, int(whole[node]), overall_count)
                if matched < overall_count
                else 0.0
            )
            yield round(score, 3) + counts[node] / max(matched, 1), node, int(counts[node])


def _find_distinctive_words(topic: Topic) -> Iterator[str]:
    """Yield words and pairs of words that some of the topic's best fragments have, the most distinctive first."""
    rows = topic.best[:FRAGMENTS_READ_FOR_WORDS]
    phrases = extract_phrases(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    candidates = [
        key
        for key, count in phrases.counts.items()
        if MIN_MATCHES <= count <= max(MIN_MATCHES, MAX_MATCH_SHARE * len(rows))
    ]
    used: set[str] = set()
    for key in sorted(candidates, key=lambda key: (-_phrase_score(phrases, key), key)):
        if not used & set(key) and len(word := phrases.spelling(key)) <= MAX_LABEL_CHARS and '"' not in word:
            used |= set(key)
            yield word


def _phrase_score(phrases: Phrases, key: tuple[str, ...]) -> float:
    return round(phrases.counts[key] * phrases.weight(key), 6)


def _narrow_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query as a phrase, and the query with each of `words` added; `hits` is its number of matches."""
    plain = query.split()
    if 1 < len(plain) <= 4 and all(map(str.isalnum, plain)):
        yield from _suggest_if_narrower(engine, f'"{" ".join(plain)}"', f'"{" ".join(plain)}"', hits)
    for word in words[: 2 * MAX_WORD_SUGGESTIONS]:
        yield from _suggest_if_narrower(engine, f'"{word}"', engine.add_condition(query, f'"{word}"'), hits)


def _suggest_if_narrower(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count_matches(engine, query)
    if MIN_MATCHES <= count < hits:
        yield Suggestion(Direction.NARROWER, label, query, count)


# --- wider ------------------------------------------------------------------------------------------------------------


def _widen_by_removal(engine: Engine, query: str, hits: int) -> Iterator[Suggestion]:
    """Yield the query without each of its conditions, and the query with its phrases as single words.

    Only queries with more than `hits` matches are yielded.
    """
    facets = engine.snapshot.facets
    query_conditions = find_conditions(query, facets.properties, facets.tags)
    for each in query_conditions:
        left = " ".join(f"{query[: each.start].rstrip()} {query[each.end :].lstrip()}".split())
        if left:
            yield from _suggest_if_wider(engine, f"without {query[each.start : each.end]}", left, hits)
    outside = query
    for each in reversed(query_conditions):
        outside = f"{outside[: each.start]}{' ' * (each.end - each.start)}{outside[each.end :]}"
    if outside.count('"') >= MIN_MATCHES:
        loose = "".join(
            sign
            for at, sign in enumerate(query)
            if sign != '"' or any(each.start <= at < each.end for each in query_conditions)
        )
        yield from _suggest_if_wider(engine, "its phrase as words", loose, hits)


def _widen_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query joined by "or" with each of the first two `words`, if more than `hits` fragments match."""
    for word in words[:2]:
        yield from _suggest_if_wider(engine, f"or {word}", f"{query.strip()} | {word}", hits)


def _suggest_if_wider(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count_matches(engine, query)
    if count > hits:
        yield Suggestion(Direction.WIDER, label, query, count)
