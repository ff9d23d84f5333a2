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
Fields = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_OVERHEAD = 100  # cost of an empty match in rows
NO_ROWS: Rows = np.zeros(0, np.int32)
_NO_GAIN = np.zeros(0, np.float32)
_NO_FIELDS = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """Parameters of a field: its weight relative to the text's 1, and how much its length matters (BM25's b)."""

    weight: float
    b: float


# Measured (docs/design/quality.md): results hardly change around these values on every set.
FIELDS: Mapping[str, FieldWeight] = {
    "text": FieldWeight(1.0, 0.6),
    "title": FieldWeight(2.0, 0.3),
    "alias": FieldWeight(2.0, 0.3),
    "heading": FieldWeight(2.0, 0.3),
    "above": FieldWeight(2.0, 0.3),
    "tags": FieldWeight(0.5, 0.3),
    "properties": FieldWeight(0.5, 0.6),
}
NUMBERED = tuple(sorted(FIELDS))
"""The fields in the order of their numbers in the index."""
K1 = 1.0

PARTIAL = 0.4
"""Share of a term that only begins like the last word.

Under one half (one over K1 + 1), so that no number of partial occurrences outweighs one exact occurrence in a fragment
of average length.
"""
FUZZY = 0.3
"""Share of a term that is only spelled like the word, times their similarity: below a partial match."""
MAX_PARTIAL = 12
"""Maximum number of terms that a prefix matches, shortest first."""
_LONGEST_ENDING = 16
"""Maximum number of letters of an ending, complete or not, that a stem has lost."""
MAX_FUZZY = 3
MAX_CACHED = 1_000_000
"""Maximum number of cached rows with scores of the last words, nine bytes each."""
MANY = 8000
"""Number of occurrences of a word above which its fragments are scored on demand."""
SHORTEST_FUZZY = 4
"""Least number of letters of a word with fuzzy matches: one changed letter of three makes another word."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Terms with equal weight for a word: `share` is 1 for the word itself, less for similar terms."""

    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Word:
    """A query word and the terms that match it, best tier first.

    `position` is its position in the query; `whole` is true for a compound whose parts follow as separate words.
    """

    surface: str
    tiers: tuple[Tier, ...]
    position: int
    whole: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(term for tier in self.tiers for term in tier.terms)


@dataclass(frozen=True, slots=True)
class TermGains:
    """Rows, ascending, each with its score and a bit for each field that has the word."""

    rows: Rows
    gain: Floats
    fields: Fields


ComputeGains = Callable[[Rows | None], TermGains]


class TermMatch:
    """The `count` fragments that have any of some terms, and the terms' rarity.

    Common terms are scored on demand, because a query is mostly answered by its other words.
    """

    def __init__(self, idf: float, count: int, compute_gains: ComputeGains, mark: Callable[[Flags], None]) -> None:
        """Create the terms; `compute_gains` returns scores of some or all rows, `mark` sets the rows with a term."""
        self.idf = idf
        self.count = count
        self._compute_gains = compute_gains
        self._mark = mark
        self._all: TermGains | None = None
        self._last: tuple[Rows, tuple[Floats, Fields]] | None = None

    @staticmethod
    def ready(idf: float, count: int, gains: TermGains) -> TermMatch:
        """Return terms that are scored already."""
        match = TermMatch(idf, count, lambda _: gains, lambda _: None)
        match._all = gains
        return match

    @property
    def is_computed(self) -> bool:
        """Whether all rows are scored."""
        return self._all is not None

    @property
    def all(self) -> TermGains:
        if self._all is None:
            self._all, self._last = self._compute_gains(None), None
        return self._all

    def at(self, rows: Rows) -> tuple[Floats, Fields]:
        """Return the score of each of `rows`, ascending, and the fields that have a term."""
        if self._all is not None:
            return _aligned(self._all, rows)
        if self._last is None or self._last[0] is not rows:
            self._last = rows, _aligned(self._compute_gains(rows), rows)
        return self._last[1]

    def mark(self, flags: Flags) -> None:
        """Set the flags of the rows that have a term."""
        if self._all is None:
            self._mark(flags)
        else:
            flags[self._all.rows] = True


def _aligned(gains: TermGains, rows: Rows) -> tuple[Floats, Fields]:
    if not len(gains.rows):
        return np.zeros(len(rows), np.float32), np.zeros(len(rows), np.uint8)
    at = np.minimum(np.searchsorted(gains.rows, rows), len(gains.rows) - 1)
    is_present = gains.rows[at] == rows
    return np.where(is_present, gains.gain[at], np.float32(0)), np.where(is_present, gains.fields[at], np.uint8(0))


@dataclass(frozen=True, slots=True)
class Match:
    """The fragments that have a word of the query; its idf counts with the factor `share`."""

    term_match: TermMatch
    share: float = 1.0

    @property
    def idf(self) -> float:
        return self.term_match.idf if self.share == 1 else self.share * self.term_match.idf

    @property
    def max_gain(self) -> float:
        """Upper bound of the score of a fragment."""
        return 1.001 * self.idf * (K1 + 1)

    @property
    def count(self) -> int:
        """Number of fragments."""
        return self.term_match.count

    @property
    def rows(self) -> Rows:
        return self.term_match.all.rows

    @property
    def gain(self) -> Floats:
        return self._damped(self.term_match.all.gain)

    def gain_at(self, rows: Rows) -> Floats:
        """Return the score of each of `rows`, ascending."""
        return self._damped(self.term_match.at(rows)[0])

    def damped(self, share: float) -> Match:
        """Return the same fragments with the factor `share` for the idf."""
        return replace(self, share=share)

    def _damped(self, gain: Floats) -> Floats:
        return gain if self.share == 1 else np.float32(self.share) * gain


class WordIndex:
    """Matching and scoring of words in one snapshot. Caches the last words, since a query grows letter by letter."""

    def __init__(self, reader: TermReader, counted: Callable[[], Flags | None] = lambda: None) -> None:
        """Create the index; `counted` returns flags of the rows for idf and mean lengths, None for all.

        With the rows of notes, the figures do not change with attachments.
        """
        self._reader = reader
        self._load_counted = counted
        self._tiers: OrderedDict[tuple[str, ...], TermMatch] = OrderedDict()
        self._cached = 0

    def warm(self) -> None:
        """Load the vault's terms, so that completions and fuzzy matches need no reading."""
        self._reader.lexicon("text")
        self._norms  # noqa: B018

    def expand(self, query_words: Sequence[QueryWord], *, open_word: bool, fuzzy_threshold: float) -> tuple[Word, ...]:
        """Return the variants of each word.

        These are the word itself; for the word being typed, its completions; and if the vault has no such term, similar
        ones (Levenshtein similarity of at least `fuzzy_threshold`, 0 to 1).
        """
        words: list[Word] = []
        for index, word in enumerate(query_words):
            tiers = [Tier(word.terms, 1.0)]
            if open_word and index == len(query_words) - 1:
                longer = tuple(t for t in self._longer(fold(word.surface)) if t not in word.terms)
                if longer:
                    tiers.append(Tier(longer, PARTIAL))
            if not word.is_compound and not any(self._tier(tier.terms).count for tier in tiers):
                tiers += self._similar_terms(word, fuzzy_threshold)
            words.append(Word(word.surface, tuple(tiers), word.position, word.is_compound))
        return tuple(words)

    def match(self, word: Word) -> Match:
        """Return the fragments that have the word, each by its best tier."""
        exact = self._tier(word.tiers[0].terms)
        if len(word.tiers) == 1:
            return Match(exact)
        variants = [(tier.share, match) for tier in word.tiers if (match := self._tier(tier.terms)).count]
        if not variants:
            return Match(exact)
        gains = _reduce_by_row(
            np.concatenate([match.all.rows for _, match in variants]),
            np.concatenate([np.float32(share) * match.all.gain for share, match in variants]),
            np.concatenate([match.all.fields for _, match in variants]),
            np.maximum,
        )
        idf = exact.idf if exact.count else max(match.idf for _, match in variants)
        count = len(gains.rows)
        if count < max(match.count for _, match in variants):  # of a store, of which not all are loaded
            known = self._reader.counts([term for tier in word.tiers for term in tier.terms])
            count = count if known is None else max(count, known.fragments)
        return Match(TermMatch.ready(idf, count, gains))

    def best_terms(self, word: Word) -> tuple[str, ...]:
        """Return the terms of the word's first tier that the vault has."""
        return next((tier.terms for tier in word.tiers if self._tier(tier.terms).count), ())

    def presence(self, words: Sequence[Word], rows: Rows, field: str | None) -> Floats:
        """Return words x rows: 1 if a row has the word in `field` (None: any), a tier's share for a variant, else 0."""
        presence: Floats = self.presence_in(words, rows, (field,))[0]
        return presence

    def presence_in(self, words: Sequence[Word], rows: Rows, fields: Sequence[str | None]) -> Floats:
        """Return `presence` for several fields at once: fields x words x rows."""
        bits = np.array([0xFF if field is None else 1 << NUMBERED.index(field) for field in fields], np.uint8)
        presence = np.zeros((len(fields), len(words), len(rows)), np.float32)
        for number, word in enumerate(words):
            for tier in reversed(word.tiers):
                match = self._tier(tier.terms)
                if match.count:
                    field_bits = match.at(rows)[1] & bits[:, None]
                    presence[:, number][field_bits > 0] = tier.share
        return presence

    def _tier(self, terms: tuple[str, ...]) -> TermMatch:
        known = self._tiers.get(terms)
        if known is not None:
            self._tiers.move_to_end(terms)
            return known
        match = self._find(terms)
        self._tiers[terms] = match
        self._cached += match.count + _OVERHEAD
        while self._cached > MAX_CACHED and len(self._tiers) > 1:
            self._cached -= self._tiers.popitem(last=False)[1].count + _OVERHEAD
        return match

    def _find(self, terms: tuple[str, ...]) -> TermMatch:
        row_sets = [rows for term in terms if len(rows := self._reader.entries(term).rows)]
        if sum(map(len, row_sets)) > MANY:
            flags = np.zeros(self._reader.doc_count, np.bool_)
            self._mark(terms, flags)
            count, idf = self._counts(terms, flags)
            return TermMatch(idf, count, partial(self._compute_gains, terms, idf), partial(self._mark, terms))
        count, idf = self._counts(terms, union(*row_sets) if row_sets else NO_ROWS)
        return TermMatch.ready(idf, count, self._compute_gains(terms, idf))

    @cached_property
    def _counted(self) -> Flags | None:
        return self._load_counted()

    def _counts(self, terms: Sequence[str], matching_rows: Rows | Flags) -> tuple[int, float]:
        """Return how many fragments have any of the terms, and their idf."""
        is_flags = matching_rows.dtype == np.bool_
        count = int(np.count_nonzero(matching_rows)) if is_flags else len(matching_rows)
        known = self._reader.counts(terms)
        if known is not None:
            return max(count, known.fragments), _idf(known.sample_matches, known.sample_size)
        if self._counted is None:
            return count, _idf(count, self._reader.doc_count)
        counted_matches = matching_rows & self._counted if is_flags else self._counted[matching_rows]
        return count, _idf(int(np.count_nonzero(counted_matches)), int(np.count_nonzero(self._counted)))

    def _mark(self, terms: tuple[str, ...], flags: Flags) -> None:
        for term in terms:
            flags[self._reader.entries(term).rows] = True

    def _compute_gains(self, terms: tuple[str, ...], idf: float, wanted_rows: Rows | None = None) -> TermGains:
        """Return the scored rows that have any of the terms, or those of them in `wanted_rows` (ascending)."""
        entry_sets = [entries for term in terms if len((entries := self._reader.entries(term)).rows)]
        if wanted_rows is not None:
            entry_sets = [part for entries in entry_sets if len((part := _select_rows(entries, wanted_rows)).rows)]
        if not entry_sets:
            return TermGains(NO_ROWS, _NO_GAIN, _NO_FIELDS)
        rows = np.concatenate([entries.rows for entries in entry_sets])
        fields = np.concatenate([entries.fields for entries in entry_sets])
        tf = np.concatenate([entries.tf for entries in entry_sets]).astype(np.float32)
        weighted = tf * self._norms.take(fields * np.int32(self._reader.doc_count) + rows)
        bits = np.left_shift(np.uint8(1), fields)
        summed = _reduce_by_row(rows, weighted, bits, np.add, len(entry_sets) > 1)
        gain = np.float32(idf * (K1 + 1)) * summed.gain / (summed.gain + np.float32(K1))
        return replace(summed, gain=gain)

    @cached_property
    def _norms(self) -> Floats:
        """The weight of one occurrence for each row, field by field: the field's weight over its relative length."""
        norms: Floats = np.zeros((len(NUMBERED), self._reader.doc_count), np.float32)
        for number, field in enumerate(NUMBERED):
            lengths = self._reader.lengths(field)
            mean = self._reader.mean_length(field)
            if mean is None:
                filled = lengths[lengths > 0 if self._counted is None else (lengths > 0) & self._counted]
                mean = float(filled.mean()) if len(filled) else 1.0
            shape = FIELDS[field]
            norms[number] = shape.weight / (1 - shape.b + shape.b * lengths / mean)
        return norms.ravel()

    def _longer(self, typed: str) -> list[str]:
        """Return the completions of `typed`; without any, the stem that it extends by an unfinished ending."""
        if len(typed) < 2 and typed.isascii():
            return []
        completions = self._reader.completions(typed, MAX_PARTIAL)
        if completions:
            return list(completions)
        for length in range(len(typed) - 1, max(2, len(typed) - 1 - _LONGEST_ENDING), -1):
            likely = len(typed) - length <= 2 or length >= max(5, len(typed) // 2)
            if likely and self._tier((typed[:length],)).count:
                return [typed[:length]]
        return []

    def _similar_terms(self, word: QueryWord, threshold: float) -> list[Tier]:
        typed = word.terms[0]
        if len(typed) < SHORTEST_FUZZY or not any(c.isalpha() for c in typed):
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        matches = process.extract(
            typed,
            self._reader.lexicon("text"),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=threshold,
            limit=MAX_FUZZY,
        )
        return [
            Tier((term,), FUZZY * similarity) for term, similarity, _ in sorted(matches, key=lambda f: (-f[1], f[0]))
        ]


def _select_rows(entries: TermEntries, rows: Rows) -> TermEntries:
    """Return the entries of the rows `rows`, ascending."""
    first = np.searchsorted(entries.rows, rows)
    indices = concat_ranges(first, np.searchsorted(entries.rows, rows, side="right") - first)
    return TermEntries(entries.rows[indices], entries.fields[indices], entries.tf[indices])


def _reduce_by_row(rows: Rows, values: Floats, fields: Fields, combine: np.ufunc, unsorted: bool = True) -> TermGains:
    """Return each row once, ascending, with its values combined by `combine`, and the union of its field bits."""
    if unsorted:
        order = np.argsort(rows, kind="stable")
        rows, values, fields = rows[order], values[order], fields[order]
    begins = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return TermGains(rows[first], combine.reduceat(values, first), np.bitwise_or.reduceat(fields, first))


def _idf(match_count: int, count: int) -> float:
    return float(np.log1p((count - match_count + 0.5) / (match_count + 0.5)))


def union(*row_sets: Rows) -> Rows:
    """Return all rows, ascending, each once. For hundreds of rows sorting is ten times as fast as numpy's `union1d`."""
    rows = np.sort(np.concatenate(row_sets), kind="stable")
    return rows[np.flatnonzero(np.diff(rows, prepend=-1))]


def total(matches: Sequence[Match], count: int) -> Floats:
    """Return the BM25 score of each of `count` fragments: the sum over words."""
    scores = np.zeros(count, np.float32)
    for match in matches:
        scores[match.rows] += match.gain
    return scores
