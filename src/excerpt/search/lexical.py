"""Query words against the postings: which terms of the vault a word matches, and BM25 over the fields.

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

_OVERHEAD = 100  # rows that an empty match weighs as much as
NO_ROWS: Rows = np.zeros(0, np.int32)
_NO_GAIN = np.zeros(0, np.float32)
_NO_FIELDS = np.zeros(0, np.uint8)


@dataclass(frozen=True, slots=True)
class FieldWeight:
    """How a field counts: its weight beside the text's 1, and how much its length matters (BM25's b)."""

    weight: float
    b: float


# Measured (docs/design/quality.md): flat around these values on every set.
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
"""Share of a term that only begins like the word typed last. Under one half (one over K1 + 1), so that no
number of partial occurrences outweighs one exact occurrence in a fragment of common length."""
FUZZY = 0.3
"""Share of a term that is merely spelled like the word, times their similarity: below a partial one."""
MAX_PARTIAL = 12
"""The most terms that a prefix may match, shortest first."""
_LONGEST_ENDING = 16
"""Letters of an ending, half typed or whole, that a stem has lost."""
MAX_FUZZY = 3
MAX_KEPT = 1_000_000
"""Rows of the last words whose gains are kept, nine bytes each."""
MANY = 8000
"""Occurrences of a word beyond which its fragments are weighed when they are asked for."""
SHORTEST_FUZZY = 4
"""Letters below which similar spelling means nothing: with one of three changed it is another word."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Terms that count alike for a word: `share` is 1 for the word itself, less for what only resembles it."""

    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Word:
    """A query word and the terms that match it, best tier first.

    `position` is its position in the query; `whole` marks a compound whose parts follow as words of their own.
    """

    surface: str
    tiers: tuple[Tier, ...]
    position: int
    whole: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(term for tier in self.tiers for term in tier.terms)


@dataclass(frozen=True, slots=True)
class Weighed:
    """Fragments, ascending; what each gains; and a bit for each field that has the word."""

    rows: Rows
    gain: Floats
    fields: Fields


Weigh = Callable[[Rows | None], Weighed]


class FoundTerms:
    """The `count` fragments that have any of some terms, and the terms' rarity.

    Common terms are scored on demand, because a query is mostly answered by its other words.
    """

    def __init__(self, idf: float, count: int, weigh: Weigh, mark: Callable[[Flags], None]) -> None:
        """`weigh` weighs some rows, or all; `mark` sets all that have a term."""
        self.idf = idf
        self.count = count
        self._weigh = weigh
        self._mark = mark
        self._all: Weighed | None = None
        self._last: tuple[Rows, tuple[Floats, Fields]] | None = None

    @staticmethod
    def ready(idf: float, count: int, weighed: Weighed) -> FoundTerms:
        """Those that are weighed."""
        found = FoundTerms(idf, count, lambda _: weighed, lambda _: None)
        found._all = weighed
        return found

    @property
    def is_weighed(self) -> bool:
        """Whether all are."""
        return self._all is not None

    @property
    def all(self) -> Weighed:
        if self._all is None:
            self._all, self._last = self._weigh(None), None
        return self._all

    def at(self, rows: Rows) -> tuple[Floats, Fields]:
        """Return the score of each of `rows`, ascending, and the fields that have a term."""
        if self._all is not None:
            return _aligned(self._all, rows)
        if self._last is None or self._last[0] is not rows:
            self._last = rows, _aligned(self._weigh(rows), rows)
        return self._last[1]

    def mark(self, flags: Flags) -> None:
        """Set the rows that have a term."""
        if self._all is None:
            self._mark(flags)
        else:
            flags[self._all.rows] = True


def _aligned(weighed: Weighed, rows: Rows) -> tuple[Floats, Fields]:
    if not len(weighed.rows):
        return np.zeros(len(rows), np.float32), np.zeros(len(rows), np.uint8)
    at = np.minimum(np.searchsorted(weighed.rows, rows), len(weighed.rows) - 1)
    having = weighed.rows[at] == rows
    return np.where(having, weighed.gain[at], np.float32(0)), np.where(having, weighed.fields[at], np.uint8(0))


@dataclass(frozen=True, slots=True)
class Match:
    """The fragments that a word of the query occurs in, of whose rarity only `share` counts."""

    found: FoundTerms
    share: float = 1.0

    @property
    def idf(self) -> float:
        return self.found.idf if self.share == 1 else self.share * self.found.idf

    @property
    def most(self) -> float:
        """More than any fragment gains."""
        return 1.001 * self.idf * (K1 + 1)

    @property
    def count(self) -> int:
        """How many fragments there are."""
        return self.found.count

    @property
    def rows(self) -> Rows:
        return self.found.all.rows

    @property
    def gain(self) -> Floats:
        return self._damped(self.found.all.gain)

    def gain_at(self, rows: Rows) -> Floats:
        """Return the score of each of `rows`, ascending."""
        return self._damped(self.found.at(rows)[0])

    def damped(self, share: float) -> Match:
        """Return the same fragments for a word whose rarity counts only `share`."""
        return replace(self, share=share)

    def _damped(self, gain: Floats) -> Floats:
        return gain if self.share == 1 else np.float32(self.share) * gain


class WordIndex:
    """Words of one snapshot, matched and weighed. Keeps the last words, since a query grows letter by letter."""

    def __init__(self, reader: TermReader, counted: Callable[[], Flags | None] = lambda: None) -> None:
        """Index words for scoring; `counted` returns the rows that give rarity and mean lengths, None for all.

        With the rows of notes, the figures do not change with attachments.
        """
        self._reader = reader
        self._of_counted = counted
        self._tiers: OrderedDict[tuple[str, ...], FoundTerms] = OrderedDict()
        self._kept = 0

    def warm(self) -> None:
        """Read the vault's words, so that continuations and similar spellings are looked up in memory."""
        self._reader.lexicon("text")
        self._norms  # noqa: B018

    def expand(self, asked: Sequence[QueryWord], *, open_word: bool, fuzzy_threshold: float) -> tuple[Word, ...]:
        """Return the variants of each word.

        These are the word itself; for the word being typed, its completions; and if the vault has no such term, similar
        ones (Levenshtein similarity of at least `fuzzy_threshold`, 0 to 1).
        """
        words: list[Word] = []
        for index, word in enumerate(asked):
            tiers = [Tier(word.terms, 1.0)]
            if open_word and index == len(asked) - 1:
                longer = tuple(t for t in self._longer(fold(word.surface)) if t not in word.terms)
                if longer:
                    tiers.append(Tier(longer, PARTIAL))
            if not word.whole and not any(self._tier(tier.terms).count for tier in tiers):
                tiers += self._alike(word, fuzzy_threshold)
            words.append(Word(word.surface, tuple(tiers), word.position, word.whole))
        return tuple(words)

    def match(self, word: Word) -> Match:
        """Return the fragments that have the word, each by its best tier."""
        exact = self._tier(word.tiers[0].terms)
        if len(word.tiers) == 1:
            return Match(exact)
        found = [(tier.share, match) for tier in word.tiers if (match := self._tier(tier.terms)).count]
        if not found:
            return Match(exact)
        weighed = _by_row(
            np.concatenate([match.all.rows for _, match in found]),
            np.concatenate([np.float32(share) * match.all.gain for share, match in found]),
            np.concatenate([match.all.fields for _, match in found]),
            np.maximum,
        )
        idf = exact.idf if exact.count else max(match.idf for _, match in found)
        count = len(weighed.rows)
        if count < max(match.count for _, match in found):  # of a store, of which not all are loaded
            known = self._reader.counts([term for tier in word.tiers for term in tier.terms])
            count = count if known is None else max(count, known.fragments)
        return Match(FoundTerms.ready(idf, count, weighed))

    def best_terms(self, word: Word) -> tuple[str, ...]:
        """Return the terms of the word's first tier that the vault has."""
        return next((tier.terms for tier in word.tiers if self._tier(tier.terms).count), ())

    def presence(self, words: Sequence[Word], rows: Rows, field: str | None) -> Floats:
        """Return words x rows: 1 if a row has the word in `field` (None: any), a tier's share for a variant, else 0."""
        found: Floats = self.presence_in(words, rows, (field,))[0]
        return found

    def presence_in(self, words: Sequence[Word], rows: Rows, fields: Sequence[str | None]) -> Floats:
        """As `presence`, for several fields at once: fields x words x rows."""
        bits = np.array([0xFF if field is None else 1 << NUMBERED.index(field) for field in fields], np.uint8)
        found = np.zeros((len(fields), len(words), len(rows)), np.float32)
        for number, word in enumerate(words):
            for tier in reversed(word.tiers):
                match = self._tier(tier.terms)
                if match.count:
                    having = match.at(rows)[1] & bits[:, None]
                    found[:, number][having > 0] = tier.share
        return found

    def _tier(self, terms: tuple[str, ...]) -> FoundTerms:
        known = self._tiers.get(terms)
        if known is not None:
            self._tiers.move_to_end(terms)
            return known
        found = self._find(terms)
        self._tiers[terms] = found
        self._kept += found.count + _OVERHEAD
        while self._kept > MAX_KEPT and len(self._tiers) > 1:
            self._kept -= self._tiers.popitem(last=False)[1].count + _OVERHEAD
        return found

    def _find(self, terms: tuple[str, ...]) -> FoundTerms:
        found = [rows for term in terms if len(rows := self._reader.entries(term).rows)]
        if sum(map(len, found)) > MANY:
            flags = np.zeros(self._reader.doc_count, np.bool_)
            self._mark(terms, flags)
            count, idf = self._counts(terms, flags)
            return FoundTerms(idf, count, partial(self._weigh, terms, idf), partial(self._mark, terms))
        count, idf = self._counts(terms, union(*found) if found else NO_ROWS)
        return FoundTerms.ready(idf, count, self._weigh(terms, idf))

    @cached_property
    def _counted(self) -> Flags | None:
        return self._of_counted()

    def _counts(self, terms: Sequence[str], having_rows: Rows | Flags) -> tuple[int, float]:
        """How many fragments have any of the terms, and the rarity of these."""
        is_flags = having_rows.dtype == np.bool_
        found = int(np.count_nonzero(having_rows)) if is_flags else len(having_rows)
        known = self._reader.counts(terms)
        if known is not None:
            return max(found, known.fragments), _idf(known.sample_matches, known.sample_size)
        if self._counted is None:
            return found, _idf(found, self._reader.doc_count)
        both = having_rows & self._counted if is_flags else self._counted[having_rows]
        return found, _idf(int(np.count_nonzero(both)), int(np.count_nonzero(self._counted)))

    def _mark(self, terms: tuple[str, ...], flags: Flags) -> None:
        for term in terms:
            flags[self._reader.entries(term).rows] = True

    def _weigh(self, terms: tuple[str, ...], idf: float, wanted: Rows | None = None) -> Weighed:
        """Return the rows that have any of the terms, or those of them among `wanted` (ascending), with scores."""
        found = [entries for term in terms if len((entries := self._reader.entries(term)).rows)]
        if wanted is not None:
            found = [part for entries in found if len((part := _among(entries, wanted)).rows)]
        if not found:
            return Weighed(NO_ROWS, _NO_GAIN, _NO_FIELDS)
        rows = np.concatenate([entries.rows for entries in found])
        fields = np.concatenate([entries.fields for entries in found])
        tf = np.concatenate([entries.tf for entries in found]).astype(np.float32)
        weighted = tf * self._norms.take(fields * np.int32(self._reader.doc_count) + rows)
        bits = np.left_shift(np.uint8(1), fields)
        summed = _by_row(rows, weighted, bits, np.add, len(found) > 1)
        gain = np.float32(idf * (K1 + 1)) * summed.gain / (summed.gain + np.float32(K1))
        return replace(summed, gain=gain)

    @cached_property
    def _norms(self) -> Floats:
        """The weight of one occurrence for each row, field after field: the field's weight over its relative length."""
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
        """Terms that `typed` may become; or, as terms are stems, the one it has outgrown by a half-typed ending."""
        if len(typed) < 2 and typed.isascii():
            return []
        found = self._reader.completions(typed, MAX_PARTIAL)
        if found:
            return list(found)
        for kept in range(len(typed) - 1, max(2, len(typed) - 1 - _LONGEST_ENDING), -1):
            likely = len(typed) - kept <= 2 or kept >= max(5, len(typed) // 2)
            if likely and self._tier((typed[:kept],)).count:
                return [typed[:kept]]
        return []

    def _alike(self, word: QueryWord, threshold: float) -> list[Tier]:
        typed = word.terms[0]
        if len(typed) < SHORTEST_FUZZY or not any(c.isalpha() for c in typed):
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        found = process.extract(
            typed,
            self._reader.lexicon("text"),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=threshold,
            limit=MAX_FUZZY,
        )
        return [Tier((term,), FUZZY * alike) for term, alike, _ in sorted(found, key=lambda f: (-f[1], f[0]))]


def _among(entries: TermEntries, wanted: Rows) -> TermEntries:
    """Return the entries of the rows `wanted`, ascending."""
    first = np.searchsorted(entries.rows, wanted)
    picked = concat_ranges(first, np.searchsorted(entries.rows, wanted, side="right") - first)
    return TermEntries(entries.rows[picked], entries.fields[picked], entries.tf[picked])


def _by_row(rows: Rows, values: Floats, fields: Fields, put_together: np.ufunc, unsorted: bool = True) -> Weighed:
    """Each row once, ascending, with its values put together and all of its fields' bits."""
    if unsorted:
        order = np.argsort(rows, kind="stable")
        rows, values, fields = rows[order], values[order], fields[order]
    begins = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    return Weighed(rows[first], put_together.reduceat(values, first), np.bitwise_or.reduceat(fields, first))


def _idf(having: int, count: int) -> float:
    return float(np.log1p((count - having + 0.5) / (having + 0.5)))


def union(*some: Rows) -> Rows:
    """All rows, ascending, each once. For hundreds of numbers sorting is ten times as fast as numpy's own."""
    rows = np.sort(np.concatenate(some), kind="stable")
    return rows[np.flatnonzero(np.diff(rows, prepend=-1))]


def total(matches: Sequence[Match], count: int) -> Floats:
    """Return the BM25 score of each of `count` fragments: the sum over words."""
    scores = np.zeros(count, np.float32)
    for match in matches:
        scores[match.rows] += match.gain
    return scores
