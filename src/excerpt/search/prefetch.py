"""Choice of the fragments to load from a store (a copy of an index in a database) for a query."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import numpy as np
from msgspec import structs

from excerpt.base.kinds import FilterKind
from excerpt.base.locations import first_page_of
from excerpt.base.settings import Settings
from excerpt.corpus.interface import CandidateQuery, Corpus, QueryOutline
from excerpt.corpus.tables import TermTier
from excerpt.search.bm25 import WordIndex, can_complete, list_possible_stems
from excerpt.search.evidence import analyze_text, compute_language_shares, compute_meaning_factor, trusted_languages
from excerpt.search.filters import FILTER_FIELDS, flag_allowed_notes
from excerpt.search.query import Query, page_range
from excerpt.search.results import Filter
from excerpt.search.time_signal import find_notes_in_periods, find_query_periods, sort_by_date
from excerpt.text.folding import fold
from excerpt.text.words import QueryWord

POOL_FACTOR = 1.25
"""Number of fragments to load for each candidate: a store scores less precisely than the search."""


def outline_query(
    query: Query, corpus: Corpus, settings: Settings, today: date, pool: int, *, by_words: int = 0
) -> QueryOutline:
    """Return what a store can read first to find the best `pool` candidates by words, and by meaning.

    At least `by_words` fragments are loaded by words. Filters that test whole notes are applied here; relative dates
    count from `today`.
    """
    query_words = analyze_text(query.words, corpus)
    meaning_factor = compute_meaning_factor(
        query.words, corpus.languages, trusted_languages(corpus, settings.embedding)
    )
    note_filters = [
        filter_
        for filter_ in query.filters
        if filter_.kind not in FILTER_FIELDS and filter_.kind is not FilterKind.PAGE
    ]
    notes = None
    if note_filters:
        allowed = flag_allowed_notes(note_filters, corpus.facets, len(corpus.table.paths), today)
        notes = np.flatnonzero(allowed).astype(np.int32)
    limit = max(int(POOL_FACTOR * pool), by_words)
    if query.sort and not query_words:
        listed = np.arange(len(corpus.table.paths)) if notes is None else notes
        first = sort_by_date(corpus.facets.dates[listed], query.sort)[:limit]
        notes = np.sort(listed[first]).astype(np.int32)
    prefix = fold(query_words[-1].surface) if query_words and query.open_word else ""
    prefix = prefix if can_complete(prefix) else ""
    return QueryOutline(
        CandidateQuery(
            words=tuple((TermTier(word.terms, 1.0),) for word in query_words),
            vector=corpus.embedder.embed([query.words])[0] if query_words and meaning_factor else None,
            notes=notes,
            keys=_find_keys_on_pages(query.filters, corpus),
            must=_list_required_terms(query, corpus),
            must_not=_list_excluded_terms(query, corpus),
            limit=limit,
            vector_limit=int(POOL_FACTOR * pool),
        ),
        (*(term for word in query_words for term in word.terms), *list_possible_stems(prefix)),
        prefix,
        query.words if query_words else "",
    )


def build_candidate_query(query: Query, outline: QueryOutline, corpus: Corpus, settings: Settings) -> CandidateQuery:
    """Return which fragments must be loaded: the outline with all terms that match and the notes that are named."""
    words = WordIndex(corpus.lexical).expand(
        analyze_text(query.words, corpus),
        open_word=query.open_word,
        fuzzy_threshold=settings.search.fuzzy_threshold,
    )
    return structs.replace(
        outline.query,
        words=tuple(
            tuple(structs.replace(tier, share=tier.share * share) for tier in word.tiers)
            for word, share in zip(words, compute_language_shares(words, corpus), strict=True)
            if corpus.count_fragments(word.terms)
        ),
        whole_notes=corpus.notes_named(outline.name) if outline.name else (),
    )


def build_period_query(
    query: Query, candidate_query: CandidateQuery, corpus: Corpus, today: date
) -> CandidateQuery | None:
    """Return which fragments must be loaded to find the best ones by words in the time that a query names.

    `candidate_query` is the query for all candidates. Return None if the query names no time.
    """
    if not candidate_query.words or not (periods := find_query_periods(query, today)):
        return None
    notes = find_notes_in_periods(corpus, periods)
    if candidate_query.notes is not None:
        notes = np.intersect1d(notes, candidate_query.notes)
    return structs.replace(candidate_query, notes=notes, vector=None, vector_limit=0, whole_notes=())


def build_note_query(corpus: Corpus, paths: Collection[str], limit: int = 0) -> CandidateQuery:
    """Return the query that loads all fragments of the notes at `paths`, or some of each.

    `limit` is the number of fragments to load, 0 for all. Unknown paths are ignored.
    """
    known = corpus.facets.numbers
    notes = np.array(sorted(known[path] for path in paths if path in known), np.int32)
    return CandidateQuery(notes=notes, limit=limit)


def _find_keys_on_pages(filters: Sequence[Filter], corpus: Corpus) -> tuple[int, ...] | None:
    """Return the keys of the fragments on the pages that all page filters name.

    Return None without such a filter.
    """
    page_filters = [filter_ for filter_ in filters if filter_.kind is FilterKind.PAGE and not filter_.negated]
    if not page_filters:
        return None
    ranges = [page_range(filter_.value) or (0, -1) for filter_ in page_filters]
    return tuple(
        key
        for key, location in corpus.facets.fragment_places()
        if all(first <= (first_page_of(location) or -1) <= last for first, last in ranges)
    )


def _list_required_terms(query: Query, corpus: Corpus) -> tuple[tuple[str, ...], ...]:
    """Return groups of terms; a fragment must have a term of each group.

    A group has the terms of one word in a phrase, or in a filter that tests the title or heading.
    """
    required: list[tuple[str, ...]] = []
    for filter_ in query.filters:
        if filter_.kind in FILTER_FIELDS and not filter_.negated:
            words = _split_words(filter_.value, corpus)
            for number, word in enumerate(words):
                terms = {*word.terms, fold(word.surface)}
                if filter_.open and number == len(words) - 1:
                    for field in FILTER_FIELDS[filter_.kind]:
                        terms.update(corpus.lexical.terms(field, fold(word.surface)))
                required.append(tuple(sorted(terms)))
    required += [word.terms for phrase in query.phrases for word in _split_words(phrase, corpus)]
    return tuple(required)


def _list_excluded_terms(query: Query, corpus: Corpus) -> tuple[str, ...]:
    """Return the terms of excluded words that are one word; compounds are excluded after loading."""
    word_lists = (_split_words(word, corpus) for word in query.excluded)
    return tuple(term for words in word_lists if len(words) == 1 for term in words[0].terms)


def _split_words(text: str, corpus: Corpus) -> Sequence[QueryWord]:
    """Return the words of a text, with the parts of a compound instead of the compound."""
    words = analyze_text(text, corpus)
    return [word for word in words if not word.is_compound] or words
