"""Words against the postings: which terms of the vault a word stands for, and BM25 over the fields.

The formula is BM25F (Robertson, Zaragoza and Taylor, 2004): a word's occurrences in the fields are normalised by the
field's length, weighted, added, and saturate together, so that a word in title and text is one piece of evidence made
stronger rather than two. The idf is Lucene's, ln(1 + (N - df + .5) / (df + .5)), which is never negative.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from excerpt.text.words import QueryWord, fold

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


class Postings(Protocol):
    """Where a term occurs in one field: rows, ascending, and how often."""

    @property
    def rows(self) -> Rows: ...
    @property
    def tf(self) -> Floats: ...


class Reader(Protocol):
    """What this module needs of the lexical index."""

    @property
    def doc_count(self) -> int: ...
    def postings(self, field: str, term: str) -> Postings: ...
    def lengths(self, field: str) -> Floats: ...
    def lexicon(self, field: str) -> Sequence[str]: ...
    def terms(self, field: str, prefix: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Field:
    """How a field counts: its weight beside the text's 1, and how much its length matters (BM25's b)."""

    weight: float
    b: float


# Measured (docs/design/quality.md): flat around these values on every set.
FIELDS: Mapping[str, Field] = {
    "text": Field(1.0, 0.6),
    "title": Field(2.0, 0.3),
    "alias": Field(2.0, 0.3),
    "heading": Field(2.0, 0.3),
    "above": Field(2.0, 0.3),
    "tags": Field(0.5, 0.3),
    "properties": Field(0.5, 0.6),
}
K1 = 1.0

PARTIAL = 0.4
"""Share of a term that only begins like the word typed last. Under one half (one over K1 + 1), so that no
number of partial occurrences outweighs one exact occurrence in a fragment of common length."""
FUZZY = 0.3
"""Share of a term that is merely spelled like the word, times their similarity: below a partial one."""
MAX_PARTIAL = 12
"""Terms that a beginning may stand for, shortest first."""
MAX_FUZZY = 3
SHORTEST_FUZZY = 4
"""Letters below which similar spelling means nothing: with one of three changed it is another word."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Terms that count alike for a word: `share` is 1 for the word itself, less for what only resembles it."""

    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Word:
    """A word asked for, and what it stands for, best tier first.

    `position` is its place in the query; `whole` marks a compound whose parts follow as words of their own.
    """

    surface: str
    tiers: tuple[Tier, ...]
    position: int
    whole: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(term for tier in self.tiers for term in tier.terms)


@dataclass(frozen=True, slots=True)
class Match:
    """The fragments a word occurs in, ascending; what each gains by it; and the word's rarity."""

    rows: Rows
    gain: Floats
    idf: float

    def damped(self, share: float) -> Match:
        """The same fragments, for a word that counts only `share` of what its rarity says."""
        return self if share == 1 else Match(self.rows, np.float32(share) * self.gain, share * self.idf)


class WordIndex:
    """Words of one snapshot, matched and weighed. Keeps the last words, since a query grows letter by letter."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._norms: dict[str, Floats] = {}
        self._tiers: OrderedDict[tuple[str, ...], Match] = OrderedDict()

    def warm(self) -> None:
        """Read the vault's words, so that continuations and similar spellings are looked up in memory."""
        for field in FIELDS:
            self._reader.lexicon(field)

    def expand(self, asked: Sequence[QueryWord], *, open_word: bool, fuzzy_threshold: float) -> tuple[Word, ...]:
        """What each word stands for: itself; while it is being typed, what it may become; and if the vault has
        nothing so spelled, what is spelled alike (Levenshtein similarity of at least `fuzzy_threshold`, 0 to 1)."""
        words: list[Word] = []
        for index, word in enumerate(asked):
            tiers = [Tier(word.terms, 1.0)]
            if open_word and index == len(asked) - 1:
                longer = tuple(t for t in self._longer(fold(word.surface)) if t not in word.terms)
                if longer:
                    tiers.append(Tier(longer, PARTIAL))
            if not word.whole and not any(len(self._tier(tier.terms).rows) for tier in tiers):
                tiers += self._alike(word, fuzzy_threshold)
            words.append(Word(word.surface, tuple(tiers), word.position, word.whole))
        return tuple(words)

    def match(self, word: Word) -> Match:
        """The fragments that have the word, each by its best tier."""
        exact = self._tier(word.tiers[0].terms)
        if len(word.tiers) == 1:
            return exact
        tiers = [(tier, self._tier(tier.terms)) for tier in word.tiers]
        gains = np.zeros(self._reader.doc_count, np.float32)
        for tier, match in reversed(tiers):
            gains[match.rows] = np.maximum(gains[match.rows], np.float32(tier.share) * match.gain)
        rows = np.flatnonzero(gains).astype(np.int32)
        idf = exact.idf if len(exact.rows) else max(match.idf for _, match in tiers[1:])
        return Match(rows, gains[rows], idf)

    def best_terms(self, word: Word) -> tuple[str, ...]:
        """The terms of the word's first tier that is found at all."""
        return next((tier.terms for tier in word.tiers if len(self._tier(tier.terms).rows)), ())

    def presence(self, words: Sequence[Word], rows: Rows, field: str | None) -> Floats:
        """Words x rows: 1 where a row has the word in `field` (None: in any), the tier's share where what it has only
        resembles the word, else 0."""
        found = np.zeros((len(words), len(rows)), np.float32)
        for number, word in enumerate(words):
            for tier in reversed(word.tiers):
                for have in self._rows(tier.terms, field):
                    found[number, isin_sorted(rows, have)] = tier.share
        return found

    def _rows(self, terms: tuple[str, ...], field: str | None) -> list[Rows]:
        if field is None:
            return [self._tier(terms).rows]
        return [self._reader.postings(field, term).rows for term in terms]

    def _tier(self, terms: tuple[str, ...]) -> Match:
        known = self._tiers.get(terms)
        if known is not None:
            self._tiers.move_to_end(terms)
            return known
        match = self._weigh(terms)
        self._tiers[terms] = match
        if len(self._tiers) > 512:
            self._tiers.popitem(last=False)
        return match

    def _weigh(self, terms: tuple[str, ...]) -> Match:
        count = self._reader.doc_count
        frequency = np.zeros(count, np.float32)
        for field in FIELDS:
            for term in terms:
                postings = self._reader.postings(field, term)
                if len(postings.rows):
                    frequency[postings.rows] += postings.tf * self._norm(field)[postings.rows]
        rows = np.flatnonzero(frequency).astype(np.int32)
        found = frequency[rows]
        idf = float(np.log1p((count - len(rows) + 0.5) / (len(rows) + 0.5)))
        return Match(rows, np.float32(idf * (K1 + 1)) * found / (found + np.float32(K1)), idf)

    def _norm(self, field: str) -> Floats:
        """What one occurrence in `field` counts, by row: the field's weight over its relative length."""
        known = self._norms.get(field)
        if known is None:
            lengths = self._reader.lengths(field)
            filled = lengths[lengths > 0]
            mean = float(filled.mean()) if len(filled) else 1.0
            shape = FIELDS[field]
            known = (shape.weight / (1 - shape.b + shape.b * lengths / mean)).astype(np.float32)
            self._norms[field] = known
        return known

    def _longer(self, typed: str) -> list[str]:
        """Terms that `typed` may become; or, as terms are stems, the one it has outgrown by a half-typed ending."""
        if len(typed) < 2 and typed.isascii():
            return []
        found = {term for field in FIELDS for term in self._reader.terms(field, typed)}
        if found:
            return sorted(found, key=lambda term: (len(term), term))[:MAX_PARTIAL]
        for kept in range(len(typed) - 1, 2, -1):
            likely = len(typed) - kept <= 2 or kept >= max(5, len(typed) // 2)
            if likely and len(self._tier((typed[:kept],)).rows):
                return [typed[:kept]]
        return []

    def _alike(self, word: QueryWord, threshold: float) -> list[Tier]:
        typed = word.terms[0]
        if len(typed) < SHORTEST_FUZZY or not any(c.isalpha() for c in typed):
            return []
        found = process.extract(
            typed,
            self._reader.lexicon("text"),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=threshold,
            limit=MAX_FUZZY,
        )
        return [Tier((term,), FUZZY * alike) for term, alike, _ in sorted(found, key=lambda f: (-f[1], f[0]))]


def total(matches: Sequence[Match], count: int) -> Floats:
    """The BM25 score of each of `count` fragments: the sum of what it gains by each word."""
    scores = np.zeros(count, np.float32)
    for match in matches:
        scores[match.rows] += match.gain
    return scores


def isin_sorted(wanted: Rows, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which of `wanted` are in the ascending `rows`."""
    if not len(rows):
        return np.zeros(len(wanted), np.bool_)
    at = np.searchsorted(rows, wanted)
    found: npt.NDArray[np.bool_] = rows[np.minimum(at, len(rows) - 1)] == wanted
    return found
