"""Suggestions for a query: completions, corrections, and narrower or wider queries."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import OSA

from excerpt.corpus.facets import Facets, property_name
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.insight.facet_map import (
    EVERYTHING,
    Tree,
    branches_of,
    filter_for,
    folder_filter,
    property_filter_name,
    tag_filter,
    value_filter,
)
from excerpt.insight.significant import log_likelihood
from excerpt.insight.themes import Phrases, phrases_of
from excerpt.insight.topic import Topic, find_topic
from excerpt.search.engine import Engine
from excerpt.search.evidence import analyze_text
from excerpt.search.filters import allowed, notes_allowed
from excerpt.search.query import (
    KINDS,
    OPERATORS,
    TIMES,
    Filter,
    FilterKind,
    KnownNames,
    Query,
    alternatives,
    conditions,
    hints,
)
from excerpt.text.dates import parse_date
from excerpt.text.words import QueryWord, analyze, fold

# --- completions ------------------------------------------------------------------------------------------------------
# Completions of a query's last word: tags, folders, names, headings, properties and their values, periods, and the
# words of the vault, each with its number of notes or fragments.
#
# Every completion is text that the query language parses as exactly that value. The lists are built on first use and
# cached as long as the snapshot (at 10,000 notes 2 to 115 ms each, the list of headings 270).

MAX = 50
"""The most completions that are offered."""
TERMS, READ = 12, 4
"""The number of stems that complete a word, and of fragments in which the spelling of each is looked up."""
LONGEST = 80
"""The most characters of a value or heading; longer ones are sentences, which nobody filters by."""
PERIODS = ("today", "yesterday", "7d", "this-week", "last-week", "this-month", "last-month", "this-year", "last-year")
_PATH = re.compile(r"[/\\@]|\.\w+$")
"""Matches addresses and file names, which are not offered as words."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion: `text` goes into the query, `label` is shown, and `count` is the number of notes it finds.

    For a word, `count` is the number of fragments; 0 if unknown. A text that ends in a colon needs a value.
    """

    text: str
    label: str
    count: int = 0
    unit: str = "note"


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a list of completions; those with more `weight` come first."""

    folded: str
    completion: Completion
    weight: int


_Lists = dict[str, tuple[_Entry, ...]]
_KNOWN: WeakKeyDictionary[Facets, _Lists] = WeakKeyDictionary()


def complete(snapshot: Corpus, operator: str, typed: str, today: date) -> tuple[Completion, ...]:
    """Return completions of `typed`, the value of a filter or a word, the likeliest first.

    `operator` is the part before the colon, "#", or "" for a word. Values that begin so come before those with a part
    that does; then by frequency and by name. Nothing for what is no filter.
    """
    if not operator:
        return _words(snapshot, typed)
    name = fold(operator)
    if KINDS.get(name) in TIMES:
        return tuple(_periods(snapshot, name, typed, today))
    prefix = fold(typed).lstrip("=/" if name in ("path", "folder", "in") else "=").strip('"')
    return _matching(completions_of(snapshot, name), prefix)


def _matching(entries: Sequence[_Entry], prefix: str) -> tuple[Completion, ...]:
    first = [entry for entry in entries if entry.folded.startswith(prefix)]
    if len(first) < MAX and prefix:
        first += [entry for entry in entries if prefix in entry.folded and _begins_part(entry.folded, prefix)]
    return tuple(entry.completion for entry in first[:MAX])


def _begins_part(folded: str, prefix: str) -> bool:
    """Return whether a part of `folded` other than the first starts with `prefix`, and `folded` itself does not."""
    at = folded.find(prefix, 1)
    while at > 0:
        if not folded[at - 1].isalnum():
            return not folded.startswith(prefix)
        at = folded.find(prefix, at + 1)
    return False


# --- filters ----------------------------------------------------------------------------------------------------------


def completions_of(snapshot: Corpus, name: str) -> tuple[_Entry, ...]:
    """Return the values that complete the filter or property of that name."""
    if name in _MAKERS:
        return _cached(snapshot, name, _MAKERS[name])
    name = property_name(name)
    if name not in snapshot.facets.properties:
        return ()
    return _cached(snapshot, name, lambda snapshot: _values(snapshot, name))


def _cached(snapshot: Corpus, name: str, make: Callable[[Corpus], Iterable[_Entry]]) -> tuple[_Entry, ...]:
    """Return the list of that name, built on first use."""
    lists = _KNOWN.setdefault(snapshot.facets, {})
    if name not in lists:
        lists[name] = tuple(sorted(make(snapshot), key=lambda entry: (-entry.weight, entry.completion.label)))
    return lists[name]


def _count_spellings(spelled_notes: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str, int]]:
    """Yield each name folded, its commonest spelling, and the number of notes with it."""
    notes: dict[str, set[int]] = {}
    spellings: dict[str, Counter[str]] = {}
    for name, note in spelled_notes:
        if 0 < len(name) <= LONGEST and (folded := " ".join(fold(name).split())):
            notes.setdefault(folded, set()).add(note)
            spellings.setdefault(folded, Counter())[" ".join(name.split())] += 1
    for folded, counts in spellings.items():
        yield folded, min(counts, key=lambda spelling: (-counts[spelling], spelling)), len(notes[folded])


def _entries(
    spelled_notes: Iterable[tuple[str, int]], filter_of: Callable[[str], str], *, is_counted: bool = True
) -> Iterator[_Entry]:
    """Yield the entries of a list; `is_counted` shows their counts, because the filter finds exactly those notes."""
    for folded, spelling_of, notes in _count_spellings(spelled_notes):
        if text := filter_of(spelling_of):
            yield _Entry(folded, Completion(text, spelling_of, notes if is_counted else 0), notes)


def _tags(snapshot: Corpus) -> Iterator[_Entry]:
    spelled_notes = [
        (tag[:end], note)
        for tag, note in ((name.strip("/"), note) for name, note in snapshot.facets.tags_as_written())
        for end in (*(end for end, sign in enumerate(tag) if sign == "/"), len(tag))
    ]
    return _entries(spelled_notes, tag_filter)


def _tag_entries(snapshot: Corpus) -> Iterator[_Entry]:
    for entry in _tags(snapshot):
        tag = entry.completion.label
        if not any(sign.isspace() or sign in '#"' for sign in tag) and any(map(str.isalpha, tag)):
            yield _Entry(entry.folded, Completion(f"#{tag}", tag, entry.completion.count), entry.weight)


def _folders(operator: str) -> Callable[[Corpus], Iterator[_Entry]]:
    def filter_of(folder: str) -> str:
        is_pattern = operator == "path" or "*" in fold(folder)
        return folder_filter(folder) if is_pattern else filter_for(operator, f"/{folder}/")

    return lambda snapshot: _of_folders(snapshot, filter_of)


def _of_folders(snapshot: Corpus, filter_of: Callable[[str], str]) -> Iterator[_Entry]:
    counts: Counter[str] = Counter()
    for path in snapshot.table.paths:
        folder = posixpath.dirname(path)
        while folder:
            counts[folder] += 1
            folder = posixpath.dirname(folder)
    for folder, notes in counts.items():
        yield _Entry(fold(f"{folder}/"), Completion(filter_of(folder), f"{folder}/", notes), notes)


def _files(operator: str) -> Callable[[Corpus], Iterator[_Entry]]:
    def files_of(snapshot: Corpus) -> Iterator[_Entry]:
        stems = [
            (posixpath.splitext(posixpath.basename(path))[0], note) for note, path in enumerate(snapshot.table.paths)
        ]
        return _entries(stems, lambda stem: filter_for(operator, stem), is_counted=False)

    return files_of


def _titles(snapshot: Corpus) -> Iterator[_Entry]:
    return _entries(snapshot.facets.titles_as_written(), lambda title: filter_for("title", title), is_counted=False)


def _headings(snapshot: Corpus) -> Iterator[_Entry]:
    counts: dict[str, tuple[str, int]] = {}
    for heading, count in snapshot.facets.headings_as_written():
        if len(heading) <= LONGEST and (folded := fold(heading)):
            spelling_of, before = counts.get(folded, (heading, 0))
            counts[folded] = spelling_of, before + count
    for folded, (spelling_of, count) in counts.items():
        yield _Entry(folded, Completion(filter_for("heading", spelling_of), spelling_of), count)


def _values(snapshot: Corpus, name: str) -> Iterator[_Entry]:
    return _entries(snapshot.facets.values_as_written(name), lambda value: value_filter(name, value))


def _kinds(snapshot: Corpus) -> Iterator[_Entry]:
    for kind, notes in snapshot.facets.kinds.items():
        yield _Entry(kind, Completion(filter_for("kind", kind), kind), len(notes))


_MAKERS: Mapping[str, Callable[[Corpus], Iterator[_Entry]]] = {
    "tag": _tags,
    "tags": _tags,
    "#": _tag_entries,
    "path": _folders("path"),
    "folder": _folders("folder"),
    "in": _folders("in"),
    "file": _files("file"),
    "link": _files("link"),
    "from": _files("from"),
    "title": _titles,
    "alias": _titles,
    "aliases": _titles,
    "heading": _headings,
    "kind": _kinds,
}


def _periods(snapshot: Corpus, name: str, typed: str, today: date) -> Iterator[Completion]:
    years = [str(today.year - back) for back in range(5)]
    for period in (*PERIODS, *years):
        if period.startswith(typed.lower()):
            (query,) = alternatives(f"{name}:{period} ")
            notes = notes_allowed(query.filters, snapshot.facets, len(snapshot.table.paths), today)
            yield Completion(f"{name}:{period}", period, int(np.count_nonzero(notes)))


# --- words ------------------------------------------------------------------------------------------------------------


def _words(snapshot: Corpus, typed: str) -> tuple[Completion, ...]:
    """Return the words of the vault that start with `typed`, and the filters and properties."""
    prefix = fold(typed)
    names = [Completion(f"{name}:", f"{name}:") for name in sorted(OPERATORS - {"tags", "aliases", "alias"})]
    filters = [entry for entry in names if entry.text.startswith(prefix)]
    property_entries = _cached(snapshot, ":", _property_names)
    named = [entry.completion for entry in property_entries if entry.folded.startswith(prefix)]
    properties = [entry for entry in named if entry.text]
    if not prefix:
        return (*filters, *properties[:MAX])
    return (*_vocabulary(snapshot, prefix), *filters, *properties)[:MAX]


def _property_names(snapshot: Corpus) -> Iterator[_Entry]:
    spelling_of: dict[str, dict[str, int]] = {}
    for name, notes in snapshot.facets.property_names_as_written():
        spelling_of.setdefault(property_name(name), {})[name] = notes
    for name, spellings in spelling_of.items():
        yield _property_entry(snapshot, name, spellings)


def _property_entry(snapshot: Corpus, name: str, spellings: Mapping[str, int]) -> _Entry:
    """Return a property with its commonest spelling. A note with two spellings is counted once."""
    spelling = min(spellings, key=lambda variant: (-spellings[variant], variant))
    notes = spellings[spelling]
    if len(spellings) > 1:
        notes = len({note for _, note in snapshot.facets.values_as_written(name)})
    key = property_filter_name(spelling)
    return _Entry(name, Completion(f"{key}:", spelling, notes) if key else Completion("", spelling), notes)


def _vocabulary(snapshot: Corpus, typed: str) -> list[Completion]:
    """Return words that start with `typed` as they are spelled, by the number of fragments with the same stem."""
    analysis = analyze_text(typed, snapshot)
    if len(analysis) != 1:
        return []
    reader = snapshot.lexical
    stems = dict.fromkeys((*analysis[0].terms, *reader.completions(typed, 10 * TERMS)))
    counted = sorted(((reader.count(term), term) for term in stems), key=lambda item: (-item[0], item[1]))
    completions: dict[str, Completion] = {}
    snapshot = _with_fragments(snapshot, [term for _, term in counted[:TERMS]])
    for _, term in counted[:TERMS]:
        rows = np.unique(snapshot.lexical.entries(term).rows)
        word = spelling_of(snapshot, term, rows[:READ].tolist(), typed)
        if word and word.casefold() not in completions:
            completions[word.casefold()] = Completion(word, word, snapshot.count_fragments([term]), "fragment")
    return sorted(completions.values(), key=lambda item: (-item.count, item.label))


def _with_fragments(snapshot: Corpus, terms: Sequence[str]) -> Corpus:
    """Return the corpus with the first fragments loaded that have each of `terms`."""
    return snapshot.prefetch(lambda _: [CandidateQuery(must=((term,),), scan_limit=READ) for term in terms])


def spelling_of(snapshot: Corpus, term: str, rows: Sequence[int], typed: str = "") -> str:
    """Return the commonest spelling of a stem in the fragments `rows` that starts with `typed`; "" if there is none."""
    table = snapshot.table
    spellings: Counter[str] = Counter()
    for row, fragment in zip(rows, snapshot.fragments(table.keys[list(rows)].tolist()), strict=True):
        text = "\n".join((fragment.text, fragment.title, *fragment.heading_path))
        analysis = analyze(text, table.languages[table.notes[row]])
        for candidate_term, start, end in zip(analysis.terms, analysis.starts, analysis.ends, strict=True):
            word = text[start:end]
            if candidate_term == term and fold(word).startswith(typed) and not _PATH.search(word):
                spellings[word] += 1
    if not spellings:
        return ""
    word = min(spellings, key=lambda variant: (-spellings[variant], variant.swapcase()))
    return word if word.isupper() or word.lower() not in spellings else word.lower()


# --- corrections ------------------------------------------------------------------------------------------------------
# Corrections of a query: words and values that the vault does not have are replaced by the most similar ones it has.

MIN_SIMILARITY = 0.6
"""The least similarity of a word and its correction: that of five-letter words with two different letters.

A search finds words above `search.fuzzy_threshold` by itself, but not in phrases and filters.
"""
SHORTEST = 4
"""The fewest letters of a word for which similar spelling is meaningful."""
_COMPARED = 5

Change = tuple[int, int, str]
"""Start and end of a range of the query, and its replacement."""


def correct(engine: Engine, query: str) -> str:
    """Return the corrected query; "" if nothing is misspelt, or if the corrected query matches nothing."""
    corrected_query = query
    for start, end, instead in sorted(_changes(engine, query), reverse=True):
        corrected_query = corrected_query[:start] + instead + corrected_query[end:]
    return corrected_query if corrected_query != query and engine.matching(corrected_query).any() else ""


def _changes(engine: Engine, query: str) -> Iterator[Change]:
    snapshot, facets = engine.snapshot, engine.snapshot.facets
    query_conditions = conditions(query, facets.properties, facets.tags)
    key_hints = hints(query, KnownNames(facets.properties, facets.tags, KINDS))
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
    """Return the most similarly spelled filter for one that no note matches; "" for one that some match."""
    alone = Query("", filters=(condition,))
    engine.prefetch([alone])
    snapshot = engine.snapshot
    rows = allowed(alone, snapshot, partial(analyze_text, snapshot=snapshot), date.today())
    if rows is None or rows.any():
        return ""
    entries = {
        entry.folded.strip("/"): entry.completion.text
        for entry in completions_of(
            snapshot, condition.name if condition.kind is FilterKind.PROPERTY else str(condition.kind)
        )
    }
    value = fold(condition.value).strip("#/=*")
    near = process.extractOne(value, entries.keys(), scorer=OSA.normalized_similarity, score_cutoff=MIN_SIMILARITY)
    return entries[near[0]] if near else ""


def _correct_word(snapshot: Corpus, word: QueryWord) -> str:
    """Return the most similarly spelled word for one that no note has; "" for one that some have.

    Ties go to the commonest word.
    """
    reader, typed = snapshot.lexical, word.terms[0]
    if word.is_compound or len(typed) < SHORTEST or not typed.isalpha():
        return ""
    # An index's count of a term includes deleted fragments, so it only shows that the term may exist.
    may_be = [term for term in word.terms if reader.count(term)]
    if snapshot.count_fragments(may_be) or reader.completions(fold(word.surface), 1):
        return ""
    near = process.extract(
        typed,
        reader.lexicon("text"),
        scorer=OSA.normalized_similarity,
        score_cutoff=MIN_SIMILARITY,
        limit=_COMPARED,
    )
    snapshot = _with_fragments(snapshot, [term for term, _, _ in near])
    for term, _, _ in sorted(near, key=lambda item: (-item[1], -reader.count(item[0]), item[0])):
        if written := spelling_of(snapshot, term, np.unique(snapshot.lexical.entries(term).rows)[:READ].tolist()):
            return written.lower() if word.surface.islower() else written
    return ""


NARROWER, WIDER = 6, 4
"""The most suggestions of either kind."""


# --- suggestions ------------------------------------------------------------------------------------------------------
# Queries similar to one: narrower and wider ones, each with its number of matches.
#
# The words and filters are the vault's own: folders, tags and values that are distinctive among the matches, and words
# that some of the best fragments have. Matches are those that a search counts, so the number is the one that the search
# shows for the suggested query. At cpp-docs size this takes 110 to 210 ms of CPU.

WORDS = 4
"""The most words among the narrower suggestions, if there are enough filters for the rest."""
FRAGMENTS_READ = 40
"""The number of best fragments whose words are used."""
MAX_SHARE = 0.6
"""The largest share of the matches that a narrower suggestion may keep."""
MIN = 2
"""The fewest matching fragments of a suggestion."""
WEIGHED = 200
"""The number of branches, those with most of the matches, that are tested for distinctiveness."""
LONGEST_LABEL = 40
"""The most characters of a suggested value or word."""

Counts = npt.NDArray[np.int64]


class Direction(StrEnum):
    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A query with fewer or more matches: `label` is the added or removed part, `hits` the number of matches."""

    way: Direction
    label: str
    query: str
    hits: int


def suggestions(engine: Engine, query: str) -> tuple[Suggestion, ...]:
    """Return narrower queries, the most distinctive first, then wider ones; without a query the vault's parts."""
    base = query if query.strip() else EVERYTHING
    matching = engine.matching_by_note(base)
    hits = int(matching.sum())
    topic = find_topic(engine, query) if query.strip() and hits else None
    words = list(_words_of(topic)) if topic is not None else []
    narrower = [*_filters(engine, query, matching), *_narrow_by_words(engine, query, words, hits)]
    wider = [*_widen_by_removal(engine, query, hits), *_widen_by_words(engine, query, words, hits)]
    return (*_mix(narrower), *_without_repeats(wider)[:WIDER])


def _mix(narrower: Sequence[Suggestion]) -> list[Suggestion]:
    """Return a mix of filters and words, the filters first; more of one kind if there are fewer of the other."""
    every = _without_repeats(narrower)
    words = [suggestion for suggestion in every if suggestion.label.startswith('"')]
    filters = [suggestion for suggestion in every if not suggestion.label.startswith('"')]
    room = max(NARROWER - len(words), NARROWER - WORDS)
    return [*filters[:room], *words[: NARROWER - min(len(filters), room)]]


def _without_repeats(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    return list({each.query: each for each in reversed(suggestions)}.values())[::-1]


def _count(engine: Engine, query: str) -> int:
    return int(engine.matching_by_note(query).sum())


# --- narrower ---------------------------------------------------------------------------------------------------------


def _filters(engine: Engine, query: str, counts: Counts) -> Iterator[Suggestion]:
    """Yield the distinctive folders, tags and property values among the matches, as narrower queries.

    `counts` counts the matches of each note. The counts are the same as in the map of matches.
    """
    snapshot = engine.snapshot
    branches = branches_of(snapshot)
    overall = snapshot.fragment_counts(np.arange(len(snapshot.table.paths)))
    distinctive = sorted(
        (-score, tree.filter_of(node), count)
        for tree in (branches.folders, branches.tags, branches.properties)
        for score, node, count in _distinctive(tree, counts, overall)
    )
    shown_counts: set[int] = set()
    for _, condition, count in distinctive:
        # That a note has a property at all is not specific. Branches with the same count mostly have the same notes:
        # nested folders, or tags that go with folders.
        if condition and not condition.endswith(":*") and condition not in query and count not in shown_counts:
            narrowed = engine.narrowed(query, condition) if query.strip() else f"{condition} "
            yield Suggestion(Direction.NARROWER, condition, narrowed, count)
            shown_counts.add(count)
        if len(shown_counts) == NARROWER:
            return


def _distinctive(tree: Tree, matches: Counts, overall: Counts) -> Iterator[tuple[float, int, int]]:
    """Yield the distinctiveness of each branch (G² and its share of the matches), its position, and its matches."""
    counts, notes = tree.count(matches)
    whole, _ = tree.count(overall)
    matched, overall_count = int(matches.sum()), int(overall.sum())
    eligible = np.flatnonzero((counts >= MIN) & (counts <= MAX_SHARE * matched) & (notes >= MIN))
    for node in eligible[np.argsort(-counts[eligible], kind="stable")][:WEIGHED].tolist():
        label = tree.labels[node]
        if len(label) <= LONGEST_LABEL and parse_date(label) is None:
            score = (
                log_likelihood(int(counts[node]), matched, int(whole[node]), overall_count)
                if matched < overall_count
                else 0.0
            )
            yield round(score, 3) + counts[node] / max(matched, 1), node, int(counts[node])


def _words_of(topic: Topic) -> Iterator[str]:
    """Yield words and pairs of words that some of the best fragments have, the most distinctive first."""
    rows = topic.best[:FRAGMENTS_READ]
    phrases = phrases_of(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    candidates = [key for key, count in phrases.counts.items() if MIN <= count <= max(MIN, MAX_SHARE * len(rows))]
    used: set[str] = set()
    for key in sorted(candidates, key=lambda key: (-_phrase_score(phrases, key), key)):
        if not used & set(key) and len(word := phrases.spelling(key)) <= LONGEST_LABEL and '"' not in word:
            used |= set(key)
            yield word


def _phrase_score(phrases: Phrases, key: tuple[str, ...]) -> float:
    return round(phrases.counts[key] * phrases.weight(key), 6)


def _narrow_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query with one more required word, and with its own words as a phrase."""
    plain = query.split()
    if 1 < len(plain) <= 4 and all(map(str.isalnum, plain)):
        yield from _if_narrower(engine, f'"{" ".join(plain)}"', f'"{" ".join(plain)}"', hits)
    for word in words[: 2 * WORDS]:
        yield from _if_narrower(engine, f'"{word}"', engine.narrowed(query, f'"{word}"'), hits)


def _if_narrower(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count(engine, query)
    if MIN <= count < hits:
        yield Suggestion(Direction.NARROWER, label, query, count)


# --- wider ------------------------------------------------------------------------------------------------------------


def _widen_by_removal(engine: Engine, query: str, hits: int) -> Iterator[Suggestion]:
    """Yield the query without one of its conditions, and with its phrases as words."""
    facets = engine.snapshot.facets
    query_conditions = conditions(query, facets.properties, facets.tags)
    for each in query_conditions:
        left = " ".join(f"{query[: each.start].rstrip()} {query[each.end :].lstrip()}".split())
        if left:
            yield from _if_wider(engine, f"without {query[each.start : each.end]}", left, hits)
    outside = query
    for each in reversed(query_conditions):
        outside = f"{outside[: each.start]}{' ' * (each.end - each.start)}{outside[each.end :]}"
    if outside.count('"') >= MIN:
        loose = "".join(
            sign
            for at, sign in enumerate(query)
            if sign != '"' or any(each.start <= at < each.end for each in query_conditions)
        )
        yield from _if_wider(engine, "its phrase as words", loose, hits)


def _widen_by_words(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """Yield the query joined by "or" with a word of its subject."""
    for word in words[:2]:
        yield from _if_wider(engine, f"or {word}", f"{query.strip()} | {word}", hits)


def _if_wider(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count(engine, query)
    if count > hits:
        yield Suggestion(Direction.WIDER, label, query, count)
