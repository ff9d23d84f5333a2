"""Corrections of a query: misspelt words and values are replaced by the most similar ones that the vault has.

For a query whose words fail, also the vault's words that are nearest to it in meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from excerpt.base.kinds import FilterKind
from excerpt.base.model import Result
from excerpt.corpus.interface import Corpus
from excerpt.insight.completions import (
    FRAGMENTS_READ_PER_STEM,
    count_spellings,
    list_filter_values,
    prefetch_fragments_with,
)
from excerpt.search.bm25 import has_plausible_start
from excerpt.search.engine import Engine
from excerpt.search.evidence import UNTRUSTED_FACTOR, analyze_text, compute_meaning_factor
from excerpt.search.filters import flag_allowed_rows
from excerpt.search.query import (
    FILTER_KINDS,
    KnownNames,
    Query,
    find_conditions,
    suggest_filters,
)
from excerpt.search.results import Filter
from excerpt.text.folding import UNACCENTED_MARK, fold
from excerpt.text.languages import select_stop_words
from excerpt.text.words import QueryWord

MIN_SIMILARITY = 0.6
"""The least similarity (normalised OSA distance) of a filter's value, or of a word by its stem, and its correction."""
MIN_LETTERS_OF_TWO_SLIPS = 8
"""The fewest letters of a word in which two slips are plausible (docs/design/insight.md)."""
MIN_CORRECTED_LETTERS = 4
"""The fewest letters of a word that is corrected: shorter words are all similar to each other."""
_MIN_STEM_SIMILARITY, _MAX_COMPARED_STEMS = 0.5, 12
"""The least similarity, and the number, of the stems whose spellings are compared with a word."""

Replacement = tuple[int, int, str]
"""A change to a query: start and end (exclusive) of a character range, and the text that replaces it."""


def correct(engine: Engine, query: str) -> str:
    """Return `query` with misspelt parts corrected; "" if nothing is misspelt or the correction matches nothing."""
    corrected_query = query
    for start, end, instead in sorted(_find_replacements(engine, query), reverse=True):
        corrected_query = corrected_query[:start] + instead + corrected_query[end:]
    return corrected_query if corrected_query != query and engine.find_matching_rows(corrected_query).any() else ""


_NAMING_HITS = 10
_MIN_NEAREST_LETTERS = 3


def find_nearest_words(engine: Engine, result: Result, count: int) -> tuple[str, ...]:
    """Return up to `count` words of the vault that are nearest in meaning to a query and not in it, nearest first.

    The words are taken from titles and headings of the query's first hits, because these words find the hits' notes.
    Returns () if the model does not support the language of the query or of the vault.
    """
    snapshot = engine.snapshot
    searched = " ".join(parsed.words for parsed in engine.parse(result.query)).strip()
    meaning_factor = compute_meaning_factor(searched, snapshot.languages, snapshot.embedder.languages)
    if not searched or meaning_factor <= UNTRUSTED_FACTOR:
        return ()
    asked = {term for word in analyze_text(result.query, snapshot) for term in word.terms}
    words: dict[tuple[str, ...], str] = {}
    for hit in result.hits[:_NAMING_HITS]:
        for word in analyze_text(" ".join((hit.fragment.title, *hit.fragment.heading_path)), snapshot):
            is_name = word.is_compound or any(map(str.isdigit, word.surface))  # of a file or a version
            if len(word.surface) >= _MIN_NEAREST_LETTERS and not (is_name or asked.intersection(word.terms)):
                words.setdefault(word.terms, word.surface.lower())
    stop_words = select_stop_words(set(map(fold, words.values())), ("en", *snapshot.languages))
    named = list(dict.fromkeys(word for word in words.values() if fold(word) not in stop_words))
    if not named:
        return ()
    cosines = snapshot.embedder.embed(named) @ snapshot.embedder.embed_query(searched)
    return tuple(named[at] for at in np.argsort(-cosines, kind="stable")[:count].tolist())


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
    words = [
        word
        for word in analyze_text(query, snapshot)
        if not any(start <= word.start < end for start, end in taken_spans)
    ]
    for word in words:
        if instead := _correct_word(snapshot, word):
            yield word.start, word.end, instead


def _indexed_terms(snapshot: Corpus, word: QueryWord) -> list[str]:
    """Return the terms of a word that the index may have; its counts include deleted fragments."""
    return [term for term in word.terms if snapshot.lexical.count(term)]


def _correct_filter(engine: Engine, condition: Filter) -> str:
    """Return the most similar filter in the vault if no note matches `condition`; else, or if none is similar, ""."""
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
    """Return the word of the vault of which `word` is a plausible misspelling; "" for none, or if a note has `word`.

    A word that the model knows in general language is none. Ties go to the commonest word.
    """
    reader, stem, typed = snapshot.lexical, word.terms[0], fold(word.surface)
    if word.is_compound or len(typed) < MIN_CORRECTED_LETTERS or not typed.isalpha():
        return ""
    if snapshot.count_fragments(_indexed_terms(snapshot, word)) or reader.completions(typed, 1):
        return ""
    if not set(snapshot.languages).isdisjoint(snapshot.embedder.languages) and snapshot.embedder.has_word(typed):
        return ""
    near = process.extract(
        stem,
        reader.lexicon("text"),
        scorer=OSA.normalized_similarity,
        score_cutoff=_MIN_STEM_SIMILARITY,
        limit=_MAX_COMPARED_STEMS,
    )
    stems = {spelling: near_stem for near_stem, _, _ in near for spelling in (near_stem, near_stem + UNACCENTED_MARK)}
    snapshot = prefetch_fragments_with(snapshot, list(stems))
    spellings: dict[tuple[int, int, str], str] = {}
    for term, near_stem in stems.items():
        rows = np.unique(snapshot.lexical.entries(term).rows)[:FRAGMENTS_READ_PER_STEM].tolist()
        for spelling, count in count_spellings(snapshot, term, rows).items():
            written = fold(spelling)
            is_near = _is_plausible(typed, written) or (
                _is_plausible(stem, near_stem) and OSA.normalized_similarity(typed, written) >= MIN_SIMILARITY
            )
            if is_near and spelling.isalpha():
                spellings[OSA.distance(typed, written), -count, written] = spelling
    if not spellings:
        return ""
    best = spellings[min(spellings)]
    return best.lower() if word.surface.islower() else best


def _is_plausible(typed: str, meant: str) -> bool:
    """Return whether `typed` is `meant` with one slip (a letter left out, added, changed, or two swapped).

    Long words may have two slips. Of the first letter, only one that was left out, doubled or swapped is plausible.
    """
    edits = OSA.distance(typed, meant)
    if edits > (1 if len(typed) < MIN_LETTERS_OF_TWO_SLIPS else 2):
        return False
    return typed[:1] == meant[:1] or (edits == 1 and has_plausible_start(typed, meant))
