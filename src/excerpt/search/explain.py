"""Explanation of the rank of a hit: its signals, and what each query word contributes.

All numbers are computed again as the search does: nothing is estimated, and the parts add up to the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import groupby

import numpy as np
from msgspec import Struct, structs

from excerpt.base.model import Hit, Result
from excerpt.corpus.tables import TermPostings, TermTier
from excerpt.search.bm25 import FIELD_WEIGHTS, PREFIX_SHARE, ExpandedWord, Rows, WordIndex, WordMatches
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE, Evidence
from excerpt.search.ranking import Floats
from excerpt.search.results import Explanation, FieldCount, TermLikeness, TermVariant, WordContribution
from excerpt.text.folding import UNACCENTED_MARK
from excerpt.text.words import chunks_of


def explain_hits(engine: Engine, result: Result, first: int = 0, last: int | None = None) -> tuple[Explanation, ...]:
    """Return the explanations of the hits of a result from position `first` to `last`.

    `last` is exclusive (None: all hits). The explanations have no words if the engine's snapshot has another generation
    (number of a committed state) than the result.
    """
    top = max((hit.score for hit in result.hits), default=0.0)
    hits = result.hits[first:last]
    explainers: dict[str, WordExplainer] = {}
    if hits and result.generation == engine.snapshot.generation:
        explainers = _explainers_by_fragment(engine, result)
    ranked = enumerate(hits, first + 1)
    return tuple(explain_hit(explainers.get(hit.fragment.id), hit, rank, top) for rank, hit in ranked)


def _explainers_by_fragment(engine: Engine, result: Result) -> dict[str, WordExplainer]:
    """Return, by fragment id of each hit, the explainer of the alternative that scored it highest."""
    pool = max(POOL_SIZE, len(result.hits))
    ranking = engine.merge_ranking(
        [engine.score_query(query, result.requested_strategy, pool) for query in engine.parse(result.query)]
    )
    explainers = [WordExplainer(engine, answer.evidence) for answer in ranking.scored_queries]
    answer_by_row = dict(zip(ranking.rows.tolist(), ranking.scored_query_indices.tolist(), strict=True))
    rows = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key for hit in result.hits]).tolist()
    pairs = zip(result.hits, rows, strict=True)
    return {hit.fragment.id: explainers[answer_by_row[row]] for hit, row in pairs if row in answer_by_row}


def explain_hit(explainer: WordExplainer | None, hit: Hit, rank: int, top: float) -> Explanation:
    """Return the explanation of a hit with its `rank`, counted from 1.

    `top` is the highest score of all hits. Without an `explainer`, the explanation has no words.
    """
    words = explainer.explain_words(hit) if explainer is not None else ()
    return Explanation(hit, rank, hit.score / top if top > 0 else 0.0, words)


class _ExplainedWord(Struct, frozen=True):
    """A query word with its matches in all fragments.

    `part` is its contribution without a fragment. `rows` are the rows that have the word, `match` has their scores.
    `postings` are triples of field, term and the postings of the term in the field.
    """

    part: WordContribution
    rows: Rows
    match: WordMatches
    postings: tuple[tuple[str, str, TermPostings], ...]


class WordExplainer:
    """Explainer of what each word of one query contributes to the scores of fragments."""

    def __init__(self, engine: Engine, evidence: Evidence) -> None:
        self._keys = engine.snapshot.table.keys
        pairs = zip(evidence.words, evidence.matches, strict=True)
        self._words = [_explain_word(engine, word, match) for word, match in pairs]
        self._ngram_groups = _group_runs(evidence.words)

    def explain_words(self, hit: Hit) -> tuple[WordContribution, ...]:
        """Return what each query word contributes to a hit; the parts add up to its weighted signal `words`."""
        row = int(np.searchsorted(self._keys, hit.fragment.key))
        gains = [_get_value_of_row(word.match.rows, word.match.scores, row) for word in self._words]
        total = sum(gains)
        part = next((signal.part for signal in hit.signals if signal.name == "words"), 0.0)
        parts: list[WordContribution] = []
        for word, gain in zip(self._words, gains, strict=True):
            terms, field_counts = _count_fields(word.postings, row)
            word_part = part * gain / total if total else 0.0
            parts.append(replace(word.part, terms=terms, places=field_counts, part=word_part))
        return tuple(part for run in self._ngram_groups for part in self._merge_run(run, parts))

    def _merge_run(self, run: Sequence[int], parts: Sequence[WordContribution]) -> Iterator[WordContribution]:
        """Yield the contributions of a run of overlapping n-grams (Chinese, for example), joined to words.

        `run` are indices of `parts`. N-grams that follow each other in the fragment are joined; a missing n-gram is
        left out if one that overlaps it is present.
        """
        size = _ngram_size(parts[run[0]].word)
        present = {at for at in run if parts[at].terms}
        shown = [at for at in run if at in present or not present.intersection(range(at - size + 1, at + size))]
        for _, group in groupby(enumerate(shown), lambda pair: pair[1] - pair[0]):
            chain = [at for _, at in group]
            yield (parts[chain[0]] if len(chain) == 1 else self._merge_words(chain, [parts[at] for at in chain]))

    def _merge_words(self, chain: Sequence[int], parts: Sequence[WordContribution]) -> WordContribution:
        """Join overlapping n-grams to one word, and return its contribution.

        `parts` are the contributions of the n-grams, `chain` the indices of the n-grams among the query words.
        """
        fragments = len(reduce(np.intersect1d, (self._words[at].rows for at in chain)))
        terms = tuple(term for part in parts for like in part.stands_for for term in like.terms)
        counts = [{entry.field: entry.count for entry in part.places} for part in parts]
        fewest = ((field, min(count.get(field, 0) for count in counts)) for field in FIELD_WEIGHTS)
        return WordContribution(
            word=reduce(_join_overlapping, (part.word for part in parts)),
            stands_for=(TermVariant(TermLikeness.EXACT, terms, 1.0),) if fragments else (),
            fragments=fragments,
            idf=max(part.idf for part in parts),
            term_weight=max(part.term_weight for part in parts),
            terms=tuple(term for part in parts for term in part.terms),
            places=tuple(FieldCount(field, count) for field, count in fewest if count) or parts[0].places,
            part=sum(part.part for part in parts),
        )


def join_query_words(words: Sequence[ExpandedWord]) -> tuple[str, ...]:
    """Return the words of a query as a person would count them, with overlapping n-grams joined."""
    return tuple(reduce(_join_overlapping, (words[at].surface for at in run)) for run in _group_runs(words))


def _group_runs(words: Sequence[ExpandedWord]) -> list[list[int]]:
    """Return groups of indices of `words`: overlapping n-grams of a script without spaces are one group."""
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
    """Return the number of characters of an n-gram in the script of a word; 0 for a script with spaces."""
    return next((size for _, size in chunks_of(surface)), 0)


def _count_overlap(before: str, after: str) -> int:
    """Return the number of characters with which `before` ends and `after` begins, less than all of `after`."""
    return next((count for count in range(len(after) - 1, 0, -1) if before.endswith(after[:count])), 0)


def _join_overlapping(before: str, after: str) -> str:
    """Return `before` followed by the part of `after` that does not overlap it."""
    return before + after[_count_overlap(before, after) :]


def _explain_word(engine: Engine, word: ExpandedWord, match: WordMatches) -> _ExplainedWord:
    plain = engine.index.match(word)
    lexical = engine.snapshot.lexical
    part = WordContribution(
        word=word.surface,
        stands_for=_find_variants(word, engine.index),
        fragments=len(plain.rows),
        idf=plain.idf,
        term_weight=match.idf / plain.idf if plain.idf else 1.0,
        terms=(),
        places=(),
        part=0.0,
    )
    postings = tuple((field, term, lexical.postings(field, term)) for term in word.terms for field in FIELD_WEIGHTS)
    return _ExplainedWord(part, plain.rows, match, tuple(found for found in postings if len(found[2].rows)))


def _find_variants(word: ExpandedWord, index: WordIndex) -> tuple[TermVariant, ...]:
    """Return the tiers of terms for a word that occur in the vault, exact terms first."""
    variants: list[TermVariant] = []
    for number, tier in enumerate(word.tiers):
        if len(index.match(ExpandedWord(word.surface, (structs.replace(tier, share=1.0),), word.position)).rows):
            variants.append(TermVariant(_classify_variant(number, tier), _format_terms(tier.terms), tier.share))
    return tuple(variants)


def _format_terms(terms: Iterable[str]) -> tuple[str, ...]:
    """Return terms as they are shown: each once, without the suffix that marks words stripped of their accents."""
    return tuple(dict.fromkeys(term.removesuffix(UNACCENTED_MARK) for term in terms))


def _classify_variant(number: int, tier: TermTier) -> TermLikeness:
    if number == 0:
        return TermLikeness.EXACT
    return TermLikeness.BEGINS if tier.share == PREFIX_SHARE else TermLikeness.SPELLED


def _count_fields(
    postings: Sequence[tuple[str, str, TermPostings]], row: int
) -> tuple[tuple[str, ...], tuple[FieldCount, ...]]:
    """Return the terms of a word that a row has, and the number of their occurrences by field.

    `postings` are triples of field, term and the postings of the term in the field.
    """
    terms: dict[str, None] = {}
    counts: dict[str, int] = {}
    for field, term, term_postings in postings:
        if count := int(_get_value_of_row(term_postings.rows, term_postings.tf, row)):
            terms[term] = None
            counts[field] = counts.get(field, 0) + count
    return _format_terms(terms), tuple(FieldCount(field, counts[field]) for field in FIELD_WEIGHTS if field in counts)


def _get_value_of_row(rows: Rows, values: Floats, row: int) -> float:
    """Return the element of `values` that belongs to `row`; 0 if `row` is not in the ascending `rows`."""
    at = int(np.searchsorted(rows, row))
    return float(values[at]) if at < len(rows) and rows[at] == row else 0.0
