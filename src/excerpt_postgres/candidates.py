"""The data that a search loads from a store: arrays over the candidate fragments, and counts over all fragments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.corpus.tables import (
    FIELDS,
    DocumentFrequency,
    Positions,
    TermEntries,
    TermOccurrences,
    TermPostings,
    run_starts,
)
from excerpt.index.vectors import QuantisedVectors
from excerpt.search.bm25 import MAX_COMPLETIONS, compute_idf
from excerpt.text.folding import UNACCENTED_MARK
from excerpt_postgres.connection import Row
from excerpt_postgres.postings import ORDINAL_BITS
from excerpt_postgres.queries import StoreQueries
from excerpt_postgres.words import DecodedTokens

Longs = NDArray[np.int64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float32]


CountRows = Callable[[Sequence[str]], tuple[int, int] | None]
"""A function that counts the fragments with any of some terms, and those of attachments; None without postings."""


class LoadedFragments(Struct, frozen=True):
    """Fragments that were loaded from a store, one row each, in the order of their keys.

    `is_answer` flags fragments that were requested. The others are their neighbours; neighbours have no terms, except
    the first fragment of a note. `lines` are the first lines, `lengths` the numbers of terms per field (rows x FIELDS),
    `entries` the terms. `cosines` has a similarity per row for each query vector, by the bytes of the vector.
    """

    keys: Longs
    is_answer: NDArray[np.bool_]
    lines: Rows
    lengths: Longs
    entries: DecodedTokens
    cosines: Mapping[bytes, Floats]

    @staticmethod
    def empty() -> LoadedFragments:
        """Return an object without fragments."""
        lengths = np.zeros((0, len(FIELDS)), np.int64)
        none = np.zeros(0, np.int64)
        return LoadedFragments(
            none, none.astype(np.bool_), none.astype(np.int32), lengths, DecodedTokens((), lengths, ()), {}
        )


class VaultStatistics(Struct, frozen=True):
    """The statistics of a vault in a store.

    `count` is the number of all fragments. The other values are over the fragments of notes only, or over those of
    attachments if the vault has no notes (`is_attachments`): `counted` is their number, `mean_lengths` the mean number
    of terms per field where the field is not empty, `mean` the mean vector.
    """

    count: int
    counted: int
    is_attachments: bool
    mean_lengths: tuple[float, ...]
    mean: Floats


_VECTORS_PER_READ = 1 << 14
"""Number of vectors that a reader of a store without pgvector requests at a time."""


class VectorBytes(Struct, frozen=True):
    """The vectors of a store without pgvector, from which a reader makes a `VectorMatrix`.

    `identity` are the areas that the reader may read, `size` is the highest number of a note: later notes have higher
    numbers.
    """

    queries: StoreQueries
    identity: object
    size: int

    def read_keys(self) -> Longs:
        """Return the keys of all fragments, ascending."""
        ((keys,),) = self.queries.rows("SELECT string_agg(int8send(key), '' ORDER BY key) FROM fragments")
        return np.frombuffer(keys or b"", ">i8").astype(np.int64)

    def blocks(self, dimensions: int, start: int = 0) -> Iterator[tuple[Longs, QuantisedVectors]]:
        """Yield the keys, ascending, and vectors of the notes numbered above `start`, some megabytes at a time."""
        last = ((start + 1) << ORDINAL_BITS) - 1
        while True:
            # Two values instead of many rows take a fifth of the time.
            ((key_bytes, vectors),) = self.queries.rows(
                "SELECT string_agg(int8send(key), ''), string_agg(vector, '')"
                " FROM (SELECT key, vector FROM fragments WHERE key > %s ORDER BY key LIMIT %s) AS ascending",
                *(last, _VECTORS_PER_READ),
            )
            if key_bytes is None:
                return
            keys = np.frombuffer(key_bytes, ">i8").astype(np.int64)
            table = np.frombuffer(vectors, np.uint8).reshape(len(keys), 4 + dimensions)
            scales = table[:, :4].copy().view("<f4").ravel()
            yield keys, QuantisedVectors(scales, table[:, 4:].copy().view(np.int8))
            last = int(keys[-1])


class TermCache:
    """A cache of the terms of a vault and their counts: each term is requested from the store once."""

    def __init__(self, queries: StoreQueries) -> None:
        self._queries = queries
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._completions: dict[tuple[str, int], list[str]] = {}
        self._lexicons: dict[str, list[str]] = {}

    def prefetch(self, terms: Sequence[str]) -> None:
        """Load, by one SQL query, the numbers of fragments and of notes that have each of `terms`."""
        missing = self.missing_terms(terms)
        if missing:
            self.add_counts(missing, self._queries.term_counts(missing))

    def missing_terms(self, terms: Iterable[str]) -> list[str]:
        """Return those of `terms` that have not been counted, each once."""
        return [term for term in dict.fromkeys(terms) if term not in self._counts]

    def add_counts(self, terms: Iterable[str], rows: Iterable[Row]) -> None:
        """Add the counts of `terms`; rows begin with a term and its three counts, and terms without a row have none."""
        self._counts.update(dict.fromkeys(terms, (0, 0, 0)))
        self._counts.update((row[0], (row[1], row[2], row[3])) for row in rows)

    def is_completed(self, prefix: str) -> bool:
        """Return whether the terms with this prefix that a search needs are known."""
        return (prefix, MAX_COMPLETIONS) in self._completions

    def add_completions(self, prefix: str, rows: Sequence[Row]) -> None:
        """Add the terms that a search completes a prefix to, in order; rows are as `add_counts` takes them."""
        terms = list(dict.fromkeys(row[0] for row in rows))
        self._completions[prefix, MAX_COMPLETIONS] = terms
        self.add_counts(terms, rows)

    def count(self, term: str) -> tuple[int, int, int]:
        """Return how many fragments have the term, how many of these are of attachments, and how many notes have it."""
        self.prefetch([term])
        return self._counts[term]

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return at most `limit` terms that start with `prefix`, shortest first, then in alphabetical order."""
        if (prefix, limit) not in self._completions:
            self._completions[prefix, limit] = self._queries.completions(prefix, limit)
        return self._completions[prefix, limit]

    def terms_with_prefix(self, field: str, prefix: str) -> list[str]:
        """Return the terms of a field that start with `prefix`, sorted."""
        return self._queries.terms_with_prefix(field, prefix)

    def lexicon(self, field: str) -> list[str]:
        """Return every term of a field, sorted."""
        if field not in self._lexicons:
            terms = self.terms_with_prefix(field, "")
            self._lexicons[field] = list(dict.fromkeys(term.removesuffix(UNACCENTED_MARK) for term in terms))
        return self._lexicons[field]


class CandidateTerms:
    """The terms of the loaded fragments, with the interface of a lexical index; counts are over all fragments."""

    def __init__(
        self, loaded: LoadedFragments, known: TermCache, statistics: VaultStatistics, count_rows: CountRows
    ) -> None:
        """Use the terms of `loaded`, the counts in `known`, and `count_rows` for terms whose postings were read."""
        self.keys = loaded.keys
        self.lines = loaded.lines
        self._lengths = {field: loaded.lengths[:, number].astype(np.float32) for number, field in enumerate(FIELDS)}
        self._entries = loaded.entries
        self._known = known
        self._known_entries: dict[str, TermEntries] = {}
        self._statistics = statistics
        self._count_rows = count_rows

    @property
    def doc_count(self) -> int:
        """Number of loaded fragments."""
        return len(self.keys)

    @property
    def corpus_size(self) -> int:
        """Number of fragments in the vault."""
        return self._statistics.count

    def release_terms(self) -> None:
        """Do nothing: only the postings of loaded fragments are in memory."""

    def prefetch_document_frequencies(self, terms: Sequence[str]) -> None:
        """Load, by one SQL query, the numbers of fragments and of notes that have each of `terms`."""
        self._known.prefetch(terms)

    def document_frequency(self, terms: Sequence[str]) -> DocumentFrequency:
        """Return the number of fragments of the vault that have any of `terms`, the stems of one word.

        Without their postings it is the sum over the terms. The language of a note decides which stem its fragments
        have, so few fragments have two of them.
        """
        counted_rows = self._count_rows(terms) if len(terms) > 1 else None
        if counted_rows is not None:
            with_terms, attached = counted_rows
        else:
            self._known.prefetch(terms)
            known = [self._known.count(term) for term in terms]
            with_terms, attached = sum(counts[0] for counts in known), sum(counts[1] for counts in known)
        counted = attached if self._statistics.is_attachments else with_terms - attached
        sample_size = self._statistics.counted
        return DocumentFrequency(min(with_terms, self.corpus_size), min(counted, sample_size), sample_size)

    def idf(self, terms: Sequence[str]) -> float:
        """Return the rarity of some terms together."""
        known = self.document_frequency(terms)
        return compute_idf(known.sample_matches, known.sample_size)

    def mean_length(self, field: str) -> float:
        """Return the mean number of terms in a field, over the fragments where the field is not empty."""
        return self._statistics.mean_lengths[FIELDS.index(field)]

    def lengths(self, field: str) -> Floats:
        return self._lengths[field]

    def entries(self, term: str) -> TermEntries:
        """Return how often each loaded fragment has `term`, per field; cached, as a query needs it several times."""
        known = self._known_entries.get(term)
        if known is None:
            known = self._known_entries[term] = self._count_entries(term)
        return known

    def _count_entries(self, term: str) -> TermEntries:
        at = self._entries.find(term)
        docs, fields = self._entries.docs[at], self._entries.fields[at]
        offsets = np.append(run_starts(docs * np.int64(len(FIELDS)) + fields), len(at))
        first = offsets[:-1]
        return TermEntries(docs[first], fields[first], (offsets[1:] - first).astype(np.int32))

    def postings(self, field: str, term: str) -> TermPostings:
        entries = self.entries(term)
        is_in_field = entries.fields == FIELDS.index(field)
        return TermPostings(entries.rows[is_in_field], entries.tf[is_in_field].astype(np.float32))

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return every occurrence of `term` in the fragments at `rows`, which are ascending."""
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
        first = run_starts(self._entries.docs[at])
        return Positions(np.append(first, len(at)).astype(np.int64), self._entries.positions[at])

    def count(self, term: str) -> int:
        return self._known.count(term)[0]

    def completions(self, prefix: str, limit: int) -> list[str]:
        return self._known.completions(prefix, limit)

    def terms(self, field: str, prefix: str) -> list[str]:
        return self._known.terms_with_prefix(field, prefix)

    def lexicon(self, field: str) -> list[str]:
        return self._known.lexicon(field)


class CandidateVectors:
    """The vectors of the loaded fragments, their cosines with queries, and the mean vector of the vault."""

    def __init__(
        self,
        loaded: LoadedFragments,
        statistics: VaultStatistics,
        fetch_cosines: Callable[[Floats], Floats],
        fetch_vectors: Callable[[Longs], Floats],
    ) -> None:
        """Use the cosines in `loaded`, and request other cosines from the store.

        `fetch_cosines` returns the cosine of each loaded fragment with a vector; `fetch_vectors` returns vectors by
        key.
        """
        self.keys = loaded.keys
        self.mean = statistics.mean
        self._cosines = dict(loaded.cosines)
        self._fetch_cosines = fetch_cosines
        self._fetch_vectors = fetch_vectors

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Return the vectors of the fragments at the rows `numbers`."""
        return self._fetch_vectors(self.keys[numbers])

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of each loaded fragment with `query`, a normalised vector."""
        known = query.tobytes()
        if known not in self._cosines:
            self._cosines[known] = self._fetch_cosines(query)
        return self._cosines[known].copy()

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        """Return the cosines of the fragments at the rows `numbers` with `query`, a normalised vector."""
        cosines: Floats = self.similarities(query)[numbers]
        return cosines

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return the cosine of each loaded fragment with `query`, and their maximum error: 0, as they are exact."""
        return self.similarities(query), 0.0

    def mean_similarity(self, query: Floats) -> float:
        """Return the mean of the cosines of `query` with all fragments of the vault."""
        return float(np.dot(self.mean.astype(np.float64), query.astype(np.float64)))
