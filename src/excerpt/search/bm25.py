"""Query words in the postings: the terms of the vault that a word matches, and BM25 over the fields.

The formula is BM25F (Robertson, Zaragoza and Taylor, 2004): a word's occurrences in the fields are normalised by field
length, weighted, summed, and saturate together, so a word in title and text is one piece of evidence made stronger. The
idf is Lucene's, ln(1 + (N - df + .5) / (df + .5)), which is never negative.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import TermReader
from excerpt.corpus.tables import TermEntries, concat_ranges
from excerpt.text.words import QueryWord, fold

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
FieldBits = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_CACHE_ENTRY_ROWS = 100  # cost of an empty match in rows
NO_ROWS: Rows = np.zeros(0, np.int32)
_NO_SCORES = np.zeros(0, np.float32)
_NO_FIELDS = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """Parameters of a field: its weight relative to the text's 1, and how much its length matters (BM25's b)."""

    weight: float
    b: float


# Measured (docs/design/quality.md): results hardly change around these values on every set.
FIELD_WEIGHTS: Mapping[str, FieldWeight] = {
    "text": FieldWeight(1.0, 0.6),
    "title": FieldWeight(2.0, 0.3),
    "alias": FieldWeight(2.0, 0.3),
    "heading": FieldWeight(2.0, 0.3),
    "above": FieldWeight(2.0, 0.3),
    "tags": FieldWeight(0.5, 0.3),
    "properties": FieldWeight(0.5, 0.6),
}
FIELDS_BY_NUMBER = tuple(sorted(FIELD_WEIGHTS))
"""The fields in the order of their numbers in the index."""
K1 = 1.0

PREFIX_SHARE = 0.4
"""Share of a term that only begins like the last word.

Under one half (one over K1 + 1), so that no number of partial occurrences outweighs one exact occurrence in a fragment
of average length.
"""
FUZZY_SHARE = 0.3
"""Share of a term that is only spelled like the word, times their similarity: below a partial match."""
MAX_COMPLETIONS = 12
"""Maximum number of terms that a prefix matches, shortest first."""
_MAX_ENDING_LETTERS = 16
"""Maximum number of letters of an ending, complete or not, that a stem has lost."""
MAX_FUZZY_TERMS = 3
MAX_CACHED_ROWS = 1_000_000
"""Maximum number of cached rows with scores of the last words, nine bytes each."""
MIN_LAZY_OCCURRENCES = 8000
"""Number of occurrences of a word above which its fragments are scored on demand."""
MIN_FUZZY_LETTERS = 4
"""Least number of letters of a word with fuzzy matches: one changed letter of three makes another word."""


@dataclass(frozen=True, slots=True)
class TermTier:
    """Terms with equal weight for a word: `share` is 1 for the word itself, less for similar terms."""

    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class ExpandedWord:
    """A query word and the terms that match it, best tier first.

    `position` is its position in the query; `whole` is true for a compound whose parts follow as separate words.
    """

    surface: str
    tiers: tuple[TermTier, ...]
    position: int
    whole: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(term for tier in self.tiers for term in tier.terms)


@dataclass(frozen=True, slots=True)
class TermScores:
    """Rows, ascending, each with its score and a bit for each field that has the word."""

    rows: Rows
    scores: Floats
    fields: FieldBits


ComputeScores = Callable[[Rows | None], TermScores]


class TermMatches:
    """The `count` fragments that have any of some terms, and the terms' rarity.

    Common terms are scored on demand, because a query is mostly answered by its other words.
    """

    def __init__(self, idf: float, count: int, compute_scores: ComputeScores, mark: Callable[[Flags], None]) -> None:
        """Create the terms; `compute_scores` returns scores of some or all rows, `mark` sets the rows with a term."""
        self.idf = idf
        self.count = count
        self._compute_scores = compute_scores
        self._mark = mark
        self._all_scores: TermScores | None = None
        self._last_rows: tuple[Rows, tuple[Floats, FieldBits]] | None = None

    @staticmethod
    def from_scores(idf: float, count: int, term_scores: TermScores) -> TermMatches:
        """Return terms that are scored already."""
        match = TermMatches(idf, count, lambda _: term_scores, lambda _: None)
        match._all_scores = term_scores
        return match

    @property
    def is_computed(self) -> bool:
        """Whether all rows are scored."""
        return self._all_scores is not None

    @property
    def all(self) -> TermScores:
        if self._all_scores is None:
            self._all_scores, self._last_rows = self._compute_scores(None), None
        return self._all_scores

    def at(self, rows: Rows) -> tuple[Floats, FieldBits]:
        """Return the score of each of `rows`, ascending, and the fields that have a term."""
        if self._all_scores is not None:
            return _align_to_rows(self._all_scores, rows)
        if self._last_rows is None or self._last_rows[0] is not rows:
            self._last_rows = rows, _align_to_rows(self._compute_scores(rows), rows)
        return self._last_rows[1]

    def mark(self, flags: Flags) -> None:
        """Set the flags of the rows that have a term."""
        if self._all_scores is None:
            self._mark(flags)
        else:
            flags[self._all_scores.rows] = True


def _align_to_rows(term_scores: TermScores, rows: Rows) -> tuple[Floats, FieldBits]:
    if not len(term_scores.rows):
        return np.zeros(len(rows), np.float32), np.zeros(len(rows), np.uint8)
    at = np.minimum(np.searchsorted(term_scores.rows, rows), len(term_scores.rows) - 1)
    is_present = term_scores.rows[at] == rows
    return np.where(is_present, term_scores.scores[at], np.float32(0)), np.where(
        is_present, term_scores.fields[at], np.uint8(0)
    )


@dataclass(frozen=True, slots=True)
class WordMatches:
    """The fragments that have a word of the query; its idf counts with the factor `share`."""

    term_matches: TermMatches
    share: float = 1.0

    @property
    def idf(self) -> float:
        return self.term_matches.idf if self.share == 1 else self.share * self.term_matches.idf

    @property
    def max_score(self) -> float:
        """Upper bound of the score of a fragment."""
        return 1.001 * self.idf * (K1 + 1)

    @property
    def count(self) -> int:
        """Number of fragments."""
        return self.term_matches.count

    @property
    def rows(self) -> Rows:
        return self.term_matches.all.rows

    @property
    def scores(self) -> Floats:
        return self._multiply_share(self.term_matches.all.scores)

    def scores_at(self, rows: Rows) -> Floats:
        """Return the score of each of `rows`, ascending."""
        return self._multiply_share(self.term_matches.at(rows)[0])

    def with_share(self, share: float) -> WordMatches:
        """Return the same fragments with the factor `share` for the idf."""
        return replace(self, share=share)

    def _multiply_share(self, scores: Floats) -> Floats:
        return scores if self.share == 1 else np.float32(self.share) * scores


class WordIndex:
    """Matching and scoring of words in one snapshot. Caches the last words, since a query grows letter by letter."""

    def __init__(self, reader: TermReader, load_idf_rows: Callable[[], Flags | None] = lambda: None) -> None:
        """Create the index; `load_idf_rows` returns flags of the rows for idf and mean lengths, None for all.

        With the rows of notes, the figures do not change with attachments.
        """
        self._reader = reader
        self._load_idf_rows = load_idf_rows
        self._matches_by_terms: OrderedDict[tuple[str, ...], TermMatches] = OrderedDict()
        self._cached_rows = 0

    def warm(self) -> None:
        """Load the vault's terms, so that completions and fuzzy matches need no reading."""
        self._reader.lexicon("text")
        self._norms  # noqa: B018

    def expand(
        self, query_words: Sequence[QueryWord], *, open_word: bool, fuzzy_threshold: float
    ) -> tuple[ExpandedWord, ...]:
        """Return the variants of each word.

        These are the word itself; for the word being typed, its completions; and if the vault has no such term, similar
        ones (Levenshtein similarity of at least `fuzzy_threshold`, 0 to 1).
        """
        words: list[ExpandedWord] = []
        for index, word in enumerate(query_words):
            tiers = [TermTier(word.terms, 1.0)]
            if open_word and index == len(query_words) - 1:
                longer = tuple(t for t in self._complete_prefix(fold(word.surface)) if t not in word.terms)
                if longer:
                    tiers.append(TermTier(longer, PREFIX_SHARE))
            if not word.whole and not any(self._match_terms(tier.terms).count for tier in tiers):
                tiers += self._similar_terms(word, fuzzy_threshold)
            words.append(ExpandedWord(word.surface, tuple(tiers), word.position, word.whole))
        return tuple(words)

    def match(self, word: ExpandedWord) -> WordMatches:
        """Return the fragments that have the word, each by its best tier."""
        exact = self._match_terms(word.tiers[0].terms)
        if len(word.tiers) == 1:
            return WordMatches(exact)
        variants = [(tier.share, match) for tier in word.tiers if (match := self._match_terms(tier.terms)).count]
        if not variants:
            return WordMatches(exact)
        term_scores = _reduce_by_row(
            np.concatenate([match.all.rows for _, match in variants]),
            np.concatenate([np.float32(share) * match.all.scores for share, match in variants]),
            np.concatenate([match.all.fields for _, match in variants]),
            np.maximum,
        )
        idf = exact.idf if exact.count else max(match.idf for _, match in variants)
        count = len(term_scores.rows)
        if count < max(match.count for _, match in variants):  # of a store, of which not all are loaded
            known = self._reader.counts([term for tier in word.tiers for term in tier.terms])
            count = count if known is None else max(count, known.fragments)
        return WordMatches(TermMatches.from_scores(idf, count, term_scores))

    def best_terms(self, word: ExpandedWord) -> tuple[str, ...]:
        """Return the terms of the word's first tier that the vault has."""
        return next((tier.terms for tier in word.tiers if self._match_terms(tier.terms).count), ())

    def presence(self, words: Sequence[ExpandedWord], rows: Rows, field: str | None) -> Floats:
        """Return words x rows: 1 if a row has the word in `field` (None: any), a tier's share for a variant, else 0."""
        presence: Floats = self.presence_by_field(words, rows, (field,))[0]
        return presence

    def presence_by_field(self, words: Sequence[ExpandedWord], rows: Rows, fields: Sequence[str | None]) -> Floats:
        """Return `presence` for several fields at once: fields x words x rows."""
        bits = np.array([0xFF if field is None else 1 << FIELDS_BY_NUMBER.index(field) for field in fields], np.uint8)
        presence = np.zeros((len(fields), len(words), len(rows)), np.float32)
        for number, word in enumerate(words):
            for tier in reversed(word.tiers):
                match = self._match_terms(tier.terms)
                if match.count:
                    field_bits = match.at(rows)[1] & bits[:, None]
                    presence[:, number][field_bits > 0] = tier.share
        return presence

    def _match_terms(self, terms: tuple[str, ...]) -> TermMatches:
        known = self._matches_by_terms.get(terms)
        if known is not None:
            self._matches_by_terms.move_to_end(terms)
            return known
        match = self._load_matches(terms)
        self._matches_by_terms[terms] = match
        self._cached_rows += match.count + _CACHE_ENTRY_ROWS
        while self._cached_rows > MAX_CACHED_ROWS and len(self._matches_by_terms) > 1:
            self._cached_rows -= self._matches_by_terms.popitem(last=False)[1].count + _CACHE_ENTRY_ROWS
        return match

    def _load_matches(self, terms: tuple[str, ...]) -> TermMatches:
        row_sets = [rows for term in terms if len(rows := self._reader.entries(term).rows)]
        if sum(map(len, row_sets)) > MIN_LAZY_OCCURRENCES:
            flags = np.zeros(self._reader.doc_count, np.bool_)
            self._mark(terms, flags)
            count, idf = self._count_and_idf(terms, flags)
            return TermMatches(idf, count, partial(self._compute_scores, terms, idf), partial(self._mark, terms))
        count, idf = self._count_and_idf(terms, merge_rows(*row_sets) if row_sets else NO_ROWS)
        return TermMatches.from_scores(idf, count, self._compute_scores(terms, idf))

    @cached_property
    def _idf_rows(self) -> Flags | None:
        return self._load_idf_rows()

    def _count_and_idf(self, terms: Sequence[str], matching_rows: Rows | Flags) -> tuple[int, float]:
        """Return how many fragments have any of the terms, and their idf."""
        is_flags = matching_rows.dtype == np.bool_
        count = int(np.count_nonzero(matching_rows)) if is_flags else len(matching_rows)
        known = self._reader.counts(terms)
        if known is not None:
            return max(count, known.fragments), _compute_idf(known.sample_matches, known.sample_size)
        if self._idf_rows is None:
            return count, _compute_idf(count, self._reader.doc_count)
        counted_matches = matching_rows & self._idf_rows if is_flags else self._idf_rows[matching_rows]
        return count, _compute_idf(int(np.count_nonzero(counted_matches)), int(np.count_nonzero(self._idf_rows)))

    def _mark(self, terms: tuple[str, ...], flags: Flags) -> None:
        for term in terms:
            flags[self._reader.entries(term).rows] = True

    def _compute_scores(self, terms: tuple[str, ...], idf: float, wanted_rows: Rows | None = None) -> TermScores:
        """Return the scored rows that have any of the terms, or those of them in `wanted_rows` (ascending)."""
        entry_sets = [entries for term in terms if len((entries := self._reader.entries(term)).rows)]
        if wanted_rows is not None:
            entry_sets = [part for entries in entry_sets if len((part := _select_rows(entries, wanted_rows)).rows)]
        if not entry_sets:
            return TermScores(NO_ROWS, _NO_SCORES, _NO_FIELDS)
        rows = np.concatenate([entries.rows for entries in entry_sets])
        fields = np.concatenate([entries.fields for entries in entry_sets])
        tf = np.concatenate([entries.tf for entries in entry_sets]).astype(np.float32)
        weighted = tf * self._norms.take(fields * np.int32(self._reader.doc_count) + rows)
        bits = np.left_shift(np.uint8(1), fields)
        summed = _reduce_by_row(rows, weighted, bits, np.add, len(entry_sets) > 1)
        scores = np.float32(idf * (K1 + 1)) * summed.scores / (summed.scores + np.float32(K1))
        return replace(summed, scores=scores)

    @cached_property
    def _norms(self) -> Floats:
        """The weight of one occurrence for each row, field by field: the field's weight over its relative length."""
        norms: Floats = np.zeros((len(FIELDS_BY_NUMBER), self._reader.doc_count), np.float32)
        for number, field in enumerate(FIELDS_BY_NUMBER):
            lengths = self._reader.lengths(field)
            mean = self._reader.mean_length(field)
            if mean is None:
                filled = lengths[lengths > 0 if self._idf_rows is None else (lengths > 0) & self._idf_rows]
                mean = float(filled.mean()) if len(filled) else 1.0
            shape = FIELD_WEIGHTS[field]
            norms[number] = shape.weight / (1 - shape.b + shape.b * lengths / mean)
        return norms.ravel()

    def _complete_prefix(self, prefix: str) -> list[str]:
        """Return the completions of `prefix`; without any, the stem that it extends by an unfinished ending."""
        if len(prefix) < 2 and prefix.isascii():
            return []
        completions = self._reader.completions(prefix, MAX_COMPLETIONS)
        if completions:
            return list(completions)
        for length in range(len(prefix) - 1, max(2, len(prefix) - 1 - _MAX_ENDING_LETTERS), -1):
            likely = len(prefix) - length <= 2 or length >= max(5, len(prefix) // 2)
            if likely and self._match_terms((prefix[:length],)).count:
                return [prefix[:length]]
        return []

    def _similar_terms(self, word: QueryWord, threshold: float) -> list[TermTier]:
        word_text = word.terms[0]
        if len(word_text) < MIN_FUZZY_LETTERS or not any(c.isalpha() for c in word_text):
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        matches = process.extract(
            word_text,
            self._reader.lexicon("text"),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=threshold,
            limit=MAX_FUZZY_TERMS,
        )
        return [
            TermTier((term,), FUZZY_SHARE * similarity)
            for term, similarity, _ in sorted(matches, key=lambda f: (-f[1], f[0]))
        ]


def _select_rows(entries: TermEntries, rows: Rows) -> TermEntries:
    """Return the entries of the rows `rows`, ascending."""
    first = np.searchsorted(entries.rows, rows)
    indices = concat_ranges(first, np.searchsorted(entries.rows, rows, side="right") - first)
    return TermEntries(entries.rows[indices], entries.fields[indices], entries.tf[indices])


def _reduce_by_row(
    rows: Rows, values: Floats, fields: FieldBits, combine: np.ufunc, unsorted: bool = True
) -> TermScores:
    """Return each row once, ascending, with its values combined by `combine`, and the union of its field bits."""
    if unsorted:
        order = np.argsort(rows, kind="stable")
        rows, values, fields = rows[order], values[order], fields[order]
    begins = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return TermScores(rows[first], combine.reduceat(values, first), np.bitwise_or.reduceat(fields, first))


def _compute_idf(match_count: int, count: int) -> float:
    return float(np.log1p((count - match_count + 0.5) / (match_count + 0.5)))


def merge_rows(*row_sets: Rows) -> Rows:
    """Return all rows, ascending, each once. For hundreds of rows sorting is ten times as fast as numpy's `union1d`."""
    rows = np.sort(np.concatenate(row_sets), kind="stable")
    return rows[np.flatnonzero(np.diff(rows, prepend=-1))]


def sum_scores(matches: Sequence[WordMatches], count: int) -> Floats:
    """Return the BM25 score of each of `count` fragments: the sum over words."""
    scores = np.zeros(count, np.float32)
    for match in matches:
        scores[match.rows] += match.scores
    return scores
