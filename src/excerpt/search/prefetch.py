"""Queries -> candidate queries: which fragments a query needs of a corpus that has not all loaded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import numpy as np

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.locations import first_page_of
from excerpt.search.bm25 import Word, WordIndex
from excerpt.search.evidence import analyze_text, trust_in_meaning
from excerpt.search.filters import FIELDS, notes_allowed
from excerpt.search.query import Filter, FilterKind, Query, page_range
from excerpt.settings import Settings
from excerpt.text.words import QueryWord, fold

POOL_FACTOR = 1.25
"""How many times as many fragments are loaded as become candidates: a store weighs words more roughly."""
COMMON = 0.5
"""Words that more than this share of the fragments have are not looked for where there are rarer ones."""


def candidate_query(
    query: Query, corpus: Corpus, settings: Settings, today: date, pool: int, *, by_words: int = 0
) -> CandidateQuery:
    """Return what a query needs loaded to have the best `pool` candidates by words and by meaning.

    By words at least `by_words` are loaded. Filters of whole notes are applied here, by the rules of an index.
    """
    query_words = analyze_text(query.words, corpus)
    corpus.lexical.prefetch_counts([term for word in query_words for term in word.terms])
    index = WordIndex(corpus.lexical)
    words = index.expand(query_words, open_word=query.open_word, fuzzy_threshold=settings.search.fuzzy_threshold)
    trust = 1.0 if settings.embedding.multilingual else trust_in_meaning(query.words, corpus.languages)
    note_filters = [
        filter_ for filter_ in query.filters if filter_.kind not in FIELDS and filter_.kind is not FilterKind.PAGE
    ]
    notes = None
    if note_filters:
        allowed = notes_allowed(note_filters, corpus.facets, len(corpus.table.paths), today)
        notes = np.flatnonzero(allowed).astype(np.int32)
    return CandidateQuery(
        terms=_selective_terms(words, corpus),
        vector=corpus.embedder.embed([query.words])[0] if query_words and trust else None,
        notes=notes,
        keys=_keys_on_pages(query.filters, corpus),
        must=_required_terms(query, corpus),
        must_not=_excluded_terms(query, corpus),
        named=corpus.notes_named(query.words) if query_words else (),
        limit=max(int(POOL_FACTOR * pool), by_words),
        vector_limit=int(POOL_FACTOR * pool),
    )


def fragments_of_notes(corpus: Corpus, paths: Collection[str], limit: int = 0) -> CandidateQuery:
    """Return the query for all fragments of some notes, by their paths; of more than `limit`, for some of each."""
    known = corpus.facets.numbers
    notes = np.array(sorted(known[path] for path in paths if path in known), np.int32)
    return CandidateQuery(notes=notes, limit=limit)


def _selective_terms(words: Sequence[Word], corpus: Corpus) -> tuple[str, ...]:
    """Return the terms of the words that are not too common, or of all that there are where none is."""
    max_count = COMMON * corpus.lexical.corpus_size
    known = [(word, corpus.count_fragments(word.terms)) for word in words]
    selective = [word for word, count in known if 0 < count <= max_count] or [word for word, count in known if count]
    return tuple(dict.fromkeys(term for word in selective for term in word.terms))


def _keys_on_pages(filters: Sequence[Filter], corpus: Corpus) -> tuple[int, ...] | None:
    """Return the keys of the fragments on the pages that filters name; None without such a filter."""
    page_filters = [filter_ for filter_ in filters if filter_.kind is FilterKind.PAGE and not filter_.negated]
    if not page_filters:
        return None
    ranges = [page_range(filter_.value) or (0, -1) for filter_ in page_filters]
    return tuple(
        key
        for key, location in corpus.facets.fragment_places()
        if all(first <= (first_page_of(location) or -1) <= last for first, last in ranges)
    )


def _required_terms(query: Query, corpus: Corpus) -> tuple[tuple[str, ...], ...]:
    """Return the terms of which a fragment must have one, for each word that it must have in a name or a phrase."""
    required: list[tuple[str, ...]] = []
    for filter_ in query.filters:
        if filter_.kind in FIELDS and not filter_.negated:
            words = _parts(filter_.value, corpus)
            for number, word in enumerate(words):
                terms = {*word.terms, fold(word.surface)}
                if filter_.open and number == len(words) - 1:
                    for field in FIELDS[filter_.kind]:
                        terms.update(corpus.lexical.terms(field, fold(word.surface)))
                required.append(tuple(sorted(terms)))
    required += [word.terms for phrase in query.phrases for word in _parts(phrase, corpus)]
    return tuple(required)


def _excluded_terms(query: Query, corpus: Corpus) -> tuple[str, ...]:
    """Return the terms of excluded words; what is more than a word is left to who reads the fragments."""
    word_lists = (_parts(word, corpus) for word in query.excluded)
    return tuple(term for words in word_lists if len(words) == 1 for term in words[0].terms)


def _parts(text: str, corpus: Corpus) -> Sequence[QueryWord]:
    words = analyze_text(text, corpus)
    return [word for word in words if not word.is_compound] or words
