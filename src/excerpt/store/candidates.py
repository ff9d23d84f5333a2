"""The data that a search loads from a store: candidate fragments, as arrays over these alone, and counts of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS, DocumentFrequency, Positions, TermEntries, TermOccurrences, TermPostings
from excerpt.store.queries import StoreQueries
from excerpt.store.words import TokenEntries

Longs = NDArray[np.int64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LoadedFragments:
    """Fragments of a store by key, ascending, with their first lines and terms, and cosines by the vector's bytes.

    `is_answer` flags those that were requested; the others are neighbours, and have no terms unless they are the first
    of their note.
    """

    keys: Longs
    is_answer: NDArray[np.bool_]
    lines: Rows
    lengths: Longs
    entries: TokenEntries
    cosines: Mapping[bytes, Floats]

    @staticmethod
    def empty() -> LoadedFragments:
        lengths = np.zeros((0, len(FIELDS)), np.int64)
        none = np.zeros(0, np.int64)
        return LoadedFragments(
            none, none.astype(np.bool_), none.astype(np.int32), lengths, TokenEntries((), lengths, ()), {}
        )


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a vault.

    The number of fragments; and, for notes (or for attachments if there are no notes), the number of fragments, the
    mean lengths of fields where they are not empty, and the mean vector.
    """

    count: int
    counted: int
    is_attachments: bool
    mean_lengths: tuple[float, ...]
    mean: Floats


class KnownTerms:
    """The terms of a vault, each requested from the store once."""

    def __init__(self, queries: StoreQueries) -> None:
        self._queries = queries
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._continuations: dict[tuple[str, int], list[str]] = {}
        self._lexicons: dict[str, list[str]] = {}

    def prefetch(self, terms: Sequence[str]) -> None:
        """Load the counts of several terms at once."""
        missing = [term for term in dict.fromkeys(terms) if term not in self._counts]
        if missing:
            self._counts.update(dict.fromkeys(missing, (0, 0, 0)))
            for term, *counts in self._queries.term_counts(missing):
                self._counts[term] = (counts[0], counts[1], counts[2])

    def count(self, term: str) -> tuple[int, int, int]:
        """Return the number of fragments with the term, of attachments' fragments among them, and of notes."""
        self.prefetch([term])
        return self._counts[term]

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return the terms that start with `prefix`, shortest first, then in alphabetical order."""
        if (prefix, limit) not in self._continuations:
            self._continuations[prefix, limit] = self._queries.completions(prefix, limit)
        return self._continuations[prefix, limit]

    def beginning_with(self, field: str, prefix: str) -> list[str]:
        """Return the terms of a field that start with `prefix`, sorted."""
        return self._queries.terms_of(field, prefix)

    def lexicon(self, field: str) -> list[str]:
        """Return every term of a field, sorted."""
        if field not in self._lexicons:
            self._lexicons[field] = self.beginning_with(field, "")
        return self._lexicons[field]


class CandidateTerms:
    """The terms of some fragments, as a search reads those of an index, with counts over all fragments."""

    def __init__(self, loaded: LoadedFragments, known: KnownTerms, statistics: Statistics) -> None:
        self.keys = loaded.keys
        self.lines = loaded.lines
        self._lengths = {field: loaded.lengths[:, number].astype(np.float32) for number, field in enumerate(FIELDS)}
        self._entries = loaded.entries
        self._known = known
        self._known_entries: dict[str, TermEntries] = {}
        self._statistics = statistics

    @property
    def doc_count(self) -> int:
        """Number of loaded fragments."""
        return len(self.keys)

    @property
    def corpus_size(self) -> int:
        """Number of fragments in the vault."""
        return self._statistics.count

    def prefetch_counts(self, terms: Sequence[str]) -> None:
        """Load the counts of several terms at once."""
        self._known.prefetch(terms)

    def counts(self, terms: Sequence[str]) -> DocumentFrequency:
        """Return the number of fragments of the vault that have any of the terms.

        A note's language decides which stem of a word its fragments have, so the fragments of several terms hardly
        overlap.
        """
        self._known.prefetch(terms)
        known = [self._known.count(term) for term in terms]
        with_terms, attached = sum(counts[0] for counts in known), sum(counts[1] for counts in known)
        counted = attached if self._statistics.is_attachments else with_terms - attached
        sample_size = self._statistics.counted
        return DocumentFrequency(min(with_terms, self.corpus_size), min(counted, sample_size), sample_size)

    def mean_length(self, field: str) -> float:
        """Return the mean number of terms in the field, where it is not empty."""
        return self._statistics.mean_lengths[FIELDS.index(field)]

    def lengths(self, field: str) -> Floats:
        return self._lengths[field]

    def entries(self, term: str) -> TermEntries:
        """Return the occurrences of `term` in all fields; cached, because a query needs each several times."""
        known = self._known_entries.get(term)
        if known is None:
            known = self._known_entries[term] = self._load_entries(term)
        return known

    def _load_entries(self, term: str) -> TermEntries:
        at = self._entries.find(term)
        docs, fields = self._entries.docs[at], self._entries.fields[at]
        first = np.flatnonzero(np.diff(docs.astype(np.int64) * len(FIELDS) + fields, prepend=-1))
        return TermEntries(docs[first], fields[first], np.diff(first, append=len(at)).astype(np.int32))

    def postings(self, field: str, term: str) -> TermPostings:
        entries = self.entries(term)
        is_in_field = entries.fields == FIELDS.index(field)
        return TermPostings(entries.rows[is_in_field], entries.tf[is_in_field].astype(np.float32))

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return every occurrence of `term` in the ascending `rows`."""
        at = self._entries.find(term)
        docs = self._entries.docs[at]
        number = np.searchsorted(rows, docs)
        inside = number < len(rows)
        inside[inside] = rows[number[inside]] == docs[inside]
        at = at[inside]
        return TermOccurrences(number[inside].astype(np.int64), self._entries.fields[at], self._entries.positions[at])

    def positions(self, field: str, term: str) -> Positions:
        at = self._entries.find(term)
        at = at[self._entries.fields[at] == FIELDS.index(field)]
        first = np.flatnonzero(np.diff(self._entries.docs[at], prepend=-1))
        return Positions(np.append(first, len(at)).astype(np.int64), self._entries.positions[at])

    def count(self, term: str) -> int:
        return self._known.count(term)[0]

    def completions(self, prefix: str, limit: int) -> list[str]:
        return self._known.completions(prefix, limit)

    def terms(self, field: str, prefix: str) -> list[str]:
        return self._known.beginning_with(field, prefix)

    def lexicon(self, field: str) -> list[str]:
        return self._known.lexicon(field)

    def check(self) -> None:
        """Do nothing: no stored file could be damaged."""


class CandidateVectors:
    """The vectors of some fragments, their cosines to queries, and the mean of all vectors of the vault."""

    def __init__(
        self,
        loaded: LoadedFragments,
        statistics: Statistics,
        fetch_cosines: Callable[[Floats], Floats],
        fetch_vectors: Callable[[Longs], Floats],
    ) -> None:
        """Keep loaded cosines; `fetch_cosines` requests others from the store, `fetch_vectors` vectors by key."""
        self.keys = loaded.keys
        self.mean = statistics.mean
        self._cosines = dict(loaded.cosines)
        self._fetch_cosines = fetch_cosines
        self._fetch_vectors = fetch_vectors

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Return the vectors of some rows."""
        return self._fetch_vectors(self.keys[numbers])

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of each row with the normalised `query`."""
        known = query.tobytes()
        if known not in self._cosines:
            self._cosines[known] = self._fetch_cosines(query)
        return self._cosines[known].copy()

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        """Return the cosines of some rows with the normalised `query`."""
        cosines: Floats = self.similarities(query)[numbers]
        return cosines

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return the exact cosines, and 0 as their maximum error."""
        return self.similarities(query), 0.0

    def mean_similarity(self, query: Floats) -> float:
        """Return the mean of the cosines with all fragments of the vault."""
        return float(np.dot(self.mean.astype(np.float64), query.astype(np.float64)))
