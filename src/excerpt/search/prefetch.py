"""Queries -> candidate queries: which fragments a query needs of a corpus that has not all loaded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import numpy as np

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.locations import number_of
from excerpt.search.evidence import analyze_text, trust_in_meaning
from excerpt.search.filters import FIELDS, notes_allowed
from excerpt.search.lexical import Word, WordIndex
from excerpt.search.query import Filter, FilterKind, Query, page_range
from excerpt.settings import Settings
from excerpt.text.words import QueryWord, fold

SURPLUS = 1.25
"""How many times as many fragments are loaded as become candidates: a store weighs words more roughly."""
COMMON = 0.5
"""Words that more than this share of the fragments have are not looked for where there are rarer ones."""


def candidate_query(
    query: Query, corpus: Corpus, settings: Settings, today: date, pool: int, *, by_words: int = 0
) -> CandidateQuery:
    """Return what a query needs loaded to have the best `pool` candidates by words and by meaning.

    By words at least `by_words` are loaded. Filters of whole notes are applied here, by the rules of an index.
    """
    asked = analyze_text(query.words, corpus)
    corpus.lexical.prefetch_counts([term for word in asked for term in word.terms])
    index = WordIndex(corpus.lexical)
    words = index.expand(asked, open_word=query.open_word, fuzzy_threshold=settings.search.fuzzy_threshold)
    trust = 1.0 if settings.embedding.multilingual else trust_in_meaning(query.words, corpus.languages)
    of_notes = [one for one in query.filters if one.kind not in FIELDS and one.kind is not FilterKind.PAGE]
    notes = None
    if of_notes:
        allowed = notes_allowed(of_notes, corpus.facets, len(corpus.table.paths), today)
        notes = np.flatnonzero(allowed).astype(np.int32)
    return CandidateQuery(
        terms=_selective_terms(words, corpus),
        vector=corpus.embedder.embed([query.words])[0] if asked and trust else None,
        notes=notes,
        keys=_keys_on_pages(query.filters, corpus),
        must=_required_terms(query, corpus),
        must_not=_excluded_terms(query, corpus),
        named=corpus.notes_named(query.words) if asked else (),
        limit=max(int(SURPLUS * pool), by_words),
        vector_limit=int(SURPLUS * pool),
    )


def fragments_of_notes(corpus: Corpus, paths: Collection[str], limit: int = 0) -> CandidateQuery:
    """Return the query for all fragments of some notes, by their paths; of more than `limit`, for some of each."""
    known = corpus.facets.numbers
    notes = np.array(sorted(known[path] for path in paths if path in known), np.int32)
    return CandidateQuery(notes=notes, limit=limit)


def _selective_terms(words: Sequence[Word], corpus: Corpus) -> tuple[str, ...]:
    """Return the terms of the words that are not too common, or of all that there are where none is."""
    most = COMMON * corpus.lexical.corpus_size
    known = [(word, corpus.count_fragments(word.terms)) for word in words]
    selective = [word for word, count in known if 0 < count <= most] or [word for word, count in known if count]
    return tuple(dict.fromkeys(term for word in selective for term in word.terms))


def _keys_on_pages(filters: Sequence[Filter], corpus: Corpus) -> tuple[int, ...] | None:
    """Return the keys of the fragments on the pages that filters name; None without such a filter."""
    wanted = [one for one in filters if one.kind is FilterKind.PAGE and not one.negated]
    if not wanted:
        return None
    ranges = [page_range(one.value) or (0, -1) for one in wanted]
    return tuple(
        key
        for key, place in corpus.facets.places()
        if all(first <= (number_of(place) or -1) <= last for first, last in ranges)
    )


def _required_terms(query: Query, corpus: Corpus) -> tuple[tuple[str, ...], ...]:
    """Return the terms of which a fragment must have one, for each word that it must have in a name or a phrase."""
    found: list[tuple[str, ...]] = []
    for one in query.filters:
        if one.kind in FIELDS and not one.negated:
            words = _parts(one.value, corpus)
            for number, word in enumerate(words):
                terms = {*word.terms, fold(word.surface)}
                if one.open and number == len(words) - 1:
                    for field in FIELDS[one.kind]:
                        terms.update(corpus.lexical.terms(field, fold(word.surface)))
                found.append(tuple(sorted(terms)))
    found += [word.terms for phrase in query.phrases for word in _parts(phrase, corpus)]
    return tuple(found)


def _excluded_terms(query: Query, corpus: Corpus) -> tuple[str, ...]:
    """Return the terms of excluded words; what is more than a word is left to who reads the fragments."""
    several = (_parts(word, corpus) for word in query.excluded)
    return tuple(term for words in several if len(words) == 1 for term in words[0].terms)


def _parts(text: str, corpus: Corpus) -> Sequence[QueryWord]:
    words = analyze_text(text, corpus)
    return [word for word in words if not word.whole] or words
