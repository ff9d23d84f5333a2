"""Explanation of the rank of a hit: its signals, and what each word of the query contributed.

All numbers are the engine's own, computed once more: nothing is estimated, and the parts add up to the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from itertools import groupby
from typing import Any

import numpy as np

from excerpt.corpus.tables import TermPostings
from excerpt.json_forms import select_fields
from excerpt.model import Hit, Result
from excerpt.search.bm25 import FIELD_WEIGHTS, PREFIX_SHARE, ExpandedWord, Rows, TermTier, WordIndex, WordMatches
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE, Evidence
from excerpt.search.ranking import Floats
from excerpt.text.words import chunks_of


class TermLikeness(StrEnum):
    """How a term of the vault resembles a word of the query."""

    EXACT = "exact"
    BEGINS = "begins like"
    SPELLED = "spelled like"


@dataclass(frozen=True, slots=True)
class TermVariant:
    """Terms of the vault that match a word, and their weight relative to the word itself, 0 to 1."""

    likeness: TermLikeness
    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class FieldCount:
    """The number of occurrences of a word in one field of a fragment."""

    field: str
    count: int


@dataclass(frozen=True, slots=True)
class WordContribution:
    """A word of the query and its matches in a fragment.

    In a script without spaces, it is a run of characters that the fragment has or lacks together. `fragments` is the
    number of fragments in the vault that have it; `idf` is its rarity and `telling` the weight of that, 0 to 1. `here`
    are the terms by which this fragment has it, `part` is what they add to the signal `words`.
    """

    word: str
    stands_for: tuple[TermVariant, ...]
    fragments: int
    idf: float
    telling: float
    here: tuple[str, ...]
    places: tuple[FieldCount, ...]
    part: float

    @property
    def is_missing(self) -> bool:
        return not self.here

    @property
    def where(self) -> tuple[str, ...]:
        """The fields of the fragment that have the word, as text."""
        if self.is_missing:
            return ("not here" if self.fragments else "nowhere in the vault",)
        return tuple(f"{place.field} {place.count}" for place in self.places)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes beside the figures: the variants that match, and that the word has less weight."""
        remarks: list[str] = []
        for like in self.stands_for:
            if like.likeness is not TermLikeness.EXACT:
                terms = [term for term in like.terms if term in self.here] or like.terms
                remarks.append(f"{like.likeness} {', '.join(terms)}: counts ×{like.share:.2f}")
        if self.fragments and self.telling < 0.995:
            remarks.append(f"is a weak word by itself: its rarity counts ×{self.telling:.2f}")
        return tuple(remarks)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a hit. `rank` counts from 1; `share` is its score as a share of the first hit's, 0 to 1."""

    hit: Hit
    rank: int
    share: float
    words: tuple[WordContribution, ...]

    @property
    def missing_words(self) -> tuple[WordContribution, ...]:
        """The words that the fragment does not have, rarest first."""
        missing = (word for word in self.words if word.is_missing)
        return tuple(sorted(missing, key=lambda word: -word.idf * word.telling))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `excerpt search --explain --json` adds to the hit."""
        return select_fields(self, "rank", "share", "words")


@dataclass(frozen=True, slots=True)
class SignalGap:
    """The value of a signal for a fragment, and the mean for the hits above it; `cost` is the difference in score."""

    signal: str
    value: float
    above: float
    cost: float


def explain_hits(engine: Engine, result: Result, first: int = 0, last: int | None = None) -> tuple[Explanation, ...]:
    """Explain the hits of a result from rank `first` up to `last` (exclusive).

    Words are left out if the engine has another generation than the result.
    """
    top = result.hits[0].score if result.hits else 0.0
    hits = result.hits[first:last]
    readers: dict[str, WordExplainer] = {}
    if hits and result.generation == engine.snapshot.generation:
        readers = _explainers_by_fragment(engine, result)
    ranked = enumerate(hits, first + 1)
    return tuple(explain_hit(readers.get(hit.fragment.id), hit, rank, top) for rank, hit in ranked)


def _explainers_by_fragment(engine: Engine, result: Result) -> dict[str, WordExplainer]:
    """Return the reader of the best alternative of each hit, by fragment id."""
    pool = max(POOL_SIZE, len(result.hits))
    ranking = engine.merge_ranking(
        [engine.score_query(query, result.requested_strategy, pool) for query in engine.parse(result.query)]
    )
    readers = [WordExplainer(engine, answer.evidence) for answer in ranking.scored_queries]
    answer_by_row = dict(zip(ranking.rows.tolist(), ranking.scored_query_indices.tolist(), strict=True))
    rows = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key for hit in result.hits]).tolist()
    pairs = zip(result.hits, rows, strict=True)
    return {hit.fragment.id: readers[answer_by_row[row]] for hit, row in pairs if row in answer_by_row}


def explain_hit(reader: WordExplainer | None, hit: Hit, rank: int, top: float) -> Explanation:
    """Return the explanation of a hit of this rank in a list whose first score is `top`.

    Without a reader it has no words.
    """
    words = reader.explain_words(hit) if reader is not None else ()
    return Explanation(hit, rank, hit.score / top if top > 0 else 0.0, words)


@dataclass(frozen=True, slots=True)
class _ExplainedWord:
    """The data of a query word in all fragments: the rows that have it, its scores (`match`), and its positions."""

    part: WordContribution
    rows: Rows
    match: WordMatches
    postings: tuple[tuple[str, str, TermPostings], ...]


class WordExplainer:
    """Reader of the occurrences of one query's words in fragments."""

    def __init__(self, engine: Engine, evidence: Evidence) -> None:
        self._keys = engine.snapshot.table.keys
        pairs = zip(evidence.words, evidence.matches, strict=True)
        self._words = [_explain_word(engine, word, match) for word, match in pairs]
        self._group_runs = _group_runs(evidence.words)

    def explain_words(self, hit: Hit) -> tuple[WordContribution, ...]:
        """Return what each word contributed to a hit; together they make up the signal `words`."""
        row = int(np.searchsorted(self._keys, hit.fragment.key))
        gains = [_value_at(word.match.rows, word.match.scores, row) for word in self._words]
        total = sum(gains)
        part = next((signal.part for signal in hit.signals if signal.name == "words"), 0.0)
        explain_words: list[WordContribution] = []
        for word, gain in zip(self._words, gains, strict=True):
            terms, field_counts = _count_fields(word.postings, row)
            word_part = part * gain / total if total else 0.0
            explain_words.append(replace(word.part, here=terms, places=field_counts, part=word_part))
        return tuple(part for run in self._group_runs for part in self._merge_run(run, explain_words))

    def _merge_run(self, run: Sequence[int], explain_words: Sequence[WordContribution]) -> Iterator[WordContribution]:
        """Yield the parts of a run of characters as words.

        Characters that the fragment has together are one word; a missing part is listed only if none of its characters
        is present.
        """
        size = _ngram_size(explain_words[run[0]].word)
        present = {at for at in run if explain_words[at].here}
        shown = [at for at in run if at in present or not present.intersection(range(at - size + 1, at + size))]
        for _, group in groupby(enumerate(shown), lambda pair: pair[1] - pair[0]):
            chain = [at for _, at in group]
            yield (
                explain_words[chain[0]]
                if len(chain) == 1
                else self._merge_words(chain, [explain_words[at] for at in chain])
            )

    def _merge_words(self, chain: Sequence[int], explain_words: Sequence[WordContribution]) -> WordContribution:
        """Merge overlapping runs of characters into one word."""
        fragments = len(reduce(np.intersect1d, (self._words[at].rows for at in chain)))
        terms = tuple(term for part in explain_words for like in part.stands_for for term in like.terms)
        counts = [{entry.field: entry.count for entry in part.places} for part in explain_words]
        fewest = ((field, min(count.get(field, 0) for count in counts)) for field in FIELD_WEIGHTS)
        return WordContribution(
            word=reduce(_join_overlapping, (part.word for part in explain_words)),
            stands_for=(TermVariant(TermLikeness.EXACT, terms, 1.0),) if fragments else (),
            fragments=fragments,
            idf=max(part.idf for part in explain_words),
            telling=max(part.telling for part in explain_words),
            here=tuple(term for part in explain_words for term in part.here),
            places=tuple(FieldCount(field, count) for field, count in fewest if count) or explain_words[0].places,
            part=sum(part.part for part in explain_words),
        )


def join_query_words(words: Sequence[ExpandedWord]) -> tuple[str, ...]:
    """Return the words of a query as a reader counts them."""
    return tuple(reduce(_join_overlapping, (words[at].surface for at in run)) for run in _group_runs(words))


def _group_runs(words: Sequence[ExpandedWord]) -> list[list[int]]:
    """Group words by position, with the overlapping runs of a script without spaces together."""
    runs: list[list[int]] = []
    for at, word in enumerate(words):
        before = words[at - 1]
        follows = (
            at and word.position == before.position + 1 and _ngram_size(before.surface) and len(before.surface) > 1
        )
        if follows and _count_overlap(before.surface, word.surface):
            runs[-1].append(at)
        else:
            runs.append([at])
    return runs


def _ngram_size(surface: str) -> int:
    """Return the n-gram size of the script of a word, 0 for scripts with spaces."""
    return next((size for _, size in chunks_of(surface)), 0)


def _count_overlap(before: str, after: str) -> int:
    return next((count for count in range(len(after) - 1, 0, -1) if before.endswith(after[:count])), 0)


def _join_overlapping(before: str, after: str) -> str:
    return before + after[_count_overlap(before, after) :]


def _explain_word(engine: Engine, word: ExpandedWord, match: WordMatches) -> _ExplainedWord:
    plain = engine.index.match(word)
    lexical = engine.snapshot.lexical
    part = WordContribution(
        word=word.surface,
        stands_for=_find_variants(word, engine.index),
        fragments=len(plain.rows),
        idf=plain.idf,
        telling=match.idf / plain.idf if plain.idf else 1.0,
        here=(),
        places=(),
        part=0.0,
    )
    postings = tuple((field, term, lexical.postings(field, term)) for term in word.terms for field in FIELD_WEIGHTS)
    return _ExplainedWord(part, plain.rows, match, tuple(found for found in postings if len(found[2].rows)))


def _find_variants(word: ExpandedWord, index: WordIndex) -> tuple[TermVariant, ...]:
    """Return the variants of a word that occur in the vault."""
    variants: list[TermVariant] = []
    for number, tier in enumerate(word.tiers):
        if len(index.match(ExpandedWord(word.surface, (replace(tier, share=1.0),), word.position)).rows):
            variants.append(TermVariant(_classify_variant(number, tier), tier.terms, tier.share))
    return tuple(variants)


def _classify_variant(number: int, tier: TermTier) -> TermLikeness:
    if number == 0:
        return TermLikeness.EXACT
    return TermLikeness.BEGINS if tier.share == PREFIX_SHARE else TermLikeness.SPELLED


def _count_fields(
    postings: Sequence[tuple[str, str, TermPostings]], row: int
) -> tuple[tuple[str, ...], tuple[FieldCount, ...]]:
    """Return the terms by which a row has a word, and the number of occurrences by field."""
    terms: dict[str, None] = {}
    counts: dict[str, int] = {}
    for field, term, term_postings in postings:
        if count := int(_value_at(term_postings.rows, term_postings.tf, row)):
            terms[term] = None
            counts[field] = counts.get(field, 0) + count
    return tuple(terms), tuple(FieldCount(field, counts[field]) for field in FIELD_WEIGHTS if field in counts)


def _value_at(rows: Rows, values: Floats, row: int) -> float:
    """Return the value of a row, 0 if it is not in the ascending `rows`."""
    at = int(np.searchsorted(rows, row))
    return float(values[at]) if at < len(rows) and rows[at] == row else 0.0
