"""The engine: `Engine.search` returns the hits for a query. It is the only entry point to the search."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial, reduce
from typing import cast

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.kinds import Strategy
from excerpt.model import Hit, Result, Signal, Span
from excerpt.search.bm25 import Rows, WordIndex
from excerpt.search.candidates import CandidateGenerator, Candidates, OtherNoteNames
from excerpt.search.confidence import LikelihoodTable, judge_confidence
from excerpt.search.evidence import POOL_SIZE, Evidence, Flags, gather_evidence
from excerpt.search.filters import FILTER_FIELDS, sort_newest_first
from excerpt.search.highlight import HighlightFinder, HighlightTerms, merge_highlight_terms, select_highlight_terms
from excerpt.search.prefetch import build_candidate_query, build_note_query
from excerpt.search.query import (
    FILTER_KINDS,
    FilterKind,
    KnownNames,
    Query,
    add_condition,
    parse_alternatives,
    suggest_filters,
)
from excerpt.search.ranking import (
    SIGNALS,
    STRATEGY_WEIGHTS,
    Boosts,
    Floats,
    ScoredFragments,
    active_strategy,
    add_attachment_signal,
    add_name_signal,
    fuse_reciprocal_ranks,
    primary_strategy,
    score_by_position,
    sum_weighted_signals,
    weights_for,
)
from excerpt.search.usage import UseLog
from excerpt.settings import Fusion, Settings

TOP_HITS, LISTED_HITS = 10, 50
"""Ranges of the limit per note.

Among the first FIRST hits at most `search.per_note` are of one note, among the first LISTED at most twice as many,
unless nothing else matched.
"""

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ScoredQuery:
    """The result for one query without alternatives.

    It has the strategy that answered, the evidence for each row, fragments with scores and confidence (None for filters
    alone), and what to highlight.
    """

    strategy: Strategy
    evidence: Evidence
    scored: ScoredFragments
    judgement: LikelihoodTable | None
    highlight_terms: HighlightTerms


@dataclass(frozen=True, slots=True)
class Ranking:
    """The fragments of `scored_queries`, best first.

    Each has its row, its score, the index of its answer, and its position in the answer's `scored`.
    """

    scored_queries: tuple[ScoredQuery, ...]
    rows: Rows
    scores: Floats
    scored_query_indices: IndexArray
    positions: IndexArray


class Engine:
    """Search in one snapshot, from one thread at a time.

    `use` is the log of notes that the user opened and packed in this vault; `today` returns the day that dates such as
    `modified:7d` count from.
    """

    def __init__(
        self,
        snapshot: Corpus,
        settings: Settings,
        use: UseLog | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._settings = settings
        self._use_log = use
        self._today = today
        self._highlight_finder = HighlightFinder()
        self._highlight_terms: tuple[str, HighlightTerms] | None = None
        self._partly_highlighted: tuple[Result, Ranking, int] | None = None
        self._prefetched: frozenset[Query] = frozenset()
        self._open_generation(snapshot)

    def refresh_snapshot(self) -> Corpus:
        """Use what was pushed to the store since, and return the corpus.

        A newer index is opened as another engine instead.
        """
        newer = self.snapshot.reopen()
        if newer is not self.snapshot:
            self._prefetched = frozenset()
            self._open_generation(newer)
        return self.snapshot

    def _open_generation(self, snapshot: Corpus) -> None:
        """Use another generation from now on."""
        self._names = OtherNoteNames(snapshot)
        self._boosts = Boosts(snapshot, self._settings.search.boosts, self._use_log)
        self._set_view(snapshot)

    def _set_view(self, snapshot: Corpus) -> None:
        """Use another view of the same generation."""
        self.snapshot = snapshot
        self.index = WordIndex(snapshot.lexical, lambda: snapshot.is_note_row)
        self._candidate_generator = CandidateGenerator(snapshot, self.index, self._names)

    def prefetch(
        self, queries: Sequence[Query], pool: int = POOL_SIZE, *, by_words: int = 0, notes: Collection[str] = ()
    ) -> None:
        """Load the fragments that `queries` need from a store; does nothing for an index.

        Loads the best `pool` of each query (or `by_words`, whichever is more) and all fragments of `notes`, by path.
        """
        if self._prefetched.issuperset(queries) and not (by_words or notes):
            return

        def requests(base: Corpus) -> list[CandidateQuery]:
            today = self._today()
            needed = [
                build_candidate_query(query, base, self._settings, today, pool, by_words=by_words) for query in queries
            ]
            return [*needed, build_note_query(base, notes)] if notes else needed

        self.use_view(self.snapshot.prefetch(requests))
        self._prefetched = frozenset(queries)

    def use_view(self, view: Corpus) -> None:
        """Use the fragments of `view`, another view of the same vault, until others are prefetched."""
        if view is not self.snapshot:
            is_same = view.generation == self.snapshot.generation
            (self._set_view if is_same else self._open_generation)(view)
        self._prefetched = frozenset()

    def warm(self) -> None:
        """Load what the first queries would otherwise have to load."""
        for step in self.warm_steps():
            step()

    def warm_steps(self) -> tuple[Callable[[], object], ...]:
        """Return the steps of `warm`, the most needed first; queries may be answered between them."""
        return lambda: self.search("a"), *self._warm_steps_without_model()

    def warm_without_model(self) -> None:
        """Do the part of `warm` that does not need the model, which only one thread may use.

        So it may run in another thread before the one that searches.
        """
        for step in self._warm_steps_without_model():
            step()

    def _warm_steps_without_model(self) -> tuple[Callable[[], object], ...]:
        steps = (self._load_vectors, self.index.warm, self.snapshot.lexical.check, self._load_tables)
        links = (self._load_links,) if self._settings.search.boosts.links else ()
        return *steps, *links

    def _load_vectors(self) -> None:
        _ = self.snapshot.vectors

    def _load_tables(self) -> None:
        _ = self.snapshot.table, self.snapshot.languages, self.snapshot.facets.modified

    def _load_links(self) -> None:
        _ = self.snapshot.facets.links

    def search(
        self,
        query: str,
        strategy: Strategy | None = None,
        limit: int | None = None,
        *,
        highlight_count: int | None = None,
    ) -> Result:
        """Return the fragments that answer `query`, best first, ties by path and line.

        `strategy` and `limit` default to the settings'; a strategy forced in the query takes precedence. The first
        `highlight_count` hits have spans, by default all; `highlight_all` adds the rest. No query is invalid; one without a word or
        filter finds nothing. With several alternatives, a fragment has its best score, and the first alternative names
        the strategy.
        """
        start = time.perf_counter()
        queries = self.parse(query)
        self._prefetched = frozenset()
        self.prefetch(queries, max(POOL_SIZE, limit or self._settings.search.limit))
        requested = queries[0].strategy or strategy or self._settings.search.strategy
        limit = self._settings.search.limit if limit is None else limit
        scored_queries = [
            self.score_query(query_alternative, requested, max(POOL_SIZE, limit)) for query_alternative in queries
        ]
        self._highlight_terms = (
            query,
            merge_highlight_terms(scored_query.highlight_terms for scored_query in scored_queries),
        )
        ranking = self.ranking(scored_queries)
        hits = self.hits(ranking, 0, limit, highlight_count=highlight_count)
        matched = count_matching_rows(scored_queries)
        elapsed = (time.perf_counter() - start) * 1e3
        facets = self.snapshot.facets
        query_hints = suggest_filters(query, KnownNames(facets.properties, facets.tags, FILTER_KINDS))
        result = Result(
            query, requested, scored_queries[0].strategy, hits, matched, elapsed, self.snapshot.generation, query_hints
        )
        # The last answers hold arrays of the whole vault.
        self._partly_highlighted = (
            (result, ranking, highlight_count) if highlight_count is not None and highlight_count < len(hits) else None
        )
        return result

    def highlight_all(self, result: Result) -> Result:
        """Return the result with spans in all hits if it is that of the last search, else unchanged."""
        if self._partly_highlighted is None or self._partly_highlighted[0] is not result:
            return result
        _, ranking, first = self._partly_highlighted
        self._partly_highlighted = None
        return replace(result, hits=result.hits[:first] + self.hits(ranking, first, len(result.hits)))

    def parse(self, query: str) -> tuple[Query, ...]:
        """Parse the query into alternatives, with the properties and tags of this vault."""
        facets = self.snapshot.facets
        return parse_alternatives(query, facets.properties, facets.tags)

    def add_condition(self, query: str, condition: str) -> str:
        """Return the query with `condition` as one more filter in each of its alternatives."""
        facets = self.snapshot.facets
        return add_condition(query, condition, facets.properties, facets.tags)

    def find_matching_rows(self, query: str) -> Flags:
        """Return flags of the rows that match any alternative of the query: as many as `Result.matched` counts."""
        queries = self.parse(query)
        self.prefetch(queries)
        evidences = [gather_evidence(one, self.snapshot, self.index, self._settings, self._today()) for one in queries]
        return reduce(np.logical_or, [evidence.matching for evidence in evidences])

    def count_matches_by_note(self, query: str) -> npt.NDArray[np.int64]:
        """Return, for each note of the vault, the number of its fragments that match the query.

        A store counts all fragments with the query's words, but of phrases and parts of names only the loaded ones.
        """
        queries = self.parse(query)
        self.prefetch(queries)
        evidences = [
            gather_evidence(parsed, self.snapshot, self.index, self._settings, self._today()) for parsed in queries
        ]
        table = self.snapshot.table
        counts = np.zeros(len(table.paths), np.int64)
        matching = reduce(np.logical_or, [evidence.matching for evidence in evidences])
        if (partial := self.snapshot.partial) is not None:
            counted: list[CandidateQuery] = []
            for parsed, evidence in zip(queries, evidences, strict=True):
                needed = build_candidate_query(parsed, partial, self._settings, self._today(), POOL_SIZE)
                if countable := _counting_query(parsed, needed, evidence):
                    counted.append(countable)
                    matching &= ~_matching_rows(evidence)
            counts += partial.matching_by_note(counted)
        counts += np.bincount(table.notes[matching], minlength=len(counts))
        return counts

    def highlight_terms(self, query: str) -> HighlightTerms:
        """Return what to highlight for a query; cached for the last one."""
        if self._highlight_terms is None or self._highlight_terms[0] != query:
            self._highlight_terms = (
                query,
                merge_highlight_terms(select_highlight_terms(self.candidates(one)[0]) for one in self.parse(query)),
            )
        return self._highlight_terms[1]

    def spans(self, text: str, query: str, language: str) -> tuple[Span, ...]:
        """Return the ranges of `text`, in `language`, to highlight for a query, ascending."""
        return self._highlight_finder.spans(text, self.highlight_terms(query), language)

    # --- from the query to scores -------------------------------------------------------------------------------------

    def candidates(self, query: Query, pool: int = POOL_SIZE) -> tuple[Evidence, Candidates]:
        """Return the evidence for each row, and the candidates with every signal."""
        self.prefetch([query], pool)
        evidence = gather_evidence(query, self.snapshot, self.index, self._settings, self._today())
        return evidence, self._candidate_generator.generate(evidence, pool)

    def score_query(self, query: Query, strategy: Strategy, pool: int = POOL_SIZE) -> ScoredQuery:
        """Return all candidates of one query, scored; `strategy` takes precedence over the strategy forced in it."""
        return self.score_candidates(query, *self.candidates(query, pool), strategy, pool)

    def score_candidates(
        self, query: Query, evidence: Evidence, candidates: Candidates, strategy: Strategy, pool: int
    ) -> ScoredQuery:
        """Score the candidates of one query; if there is nothing to rank by, list `pool` of the allowed rows."""
        primary = self._choose_strategy(strategy, evidence, candidates)
        scored = self._score_rows(strategy, primary, candidates)
        # Nothing to rank by: only filters, a part of a word in quotation marks, or symbols.
        unranked = query.phrases or not evidence.words
        if evidence.allowed is not None and unranked and not (scored.scores > 0).any():
            rows = sort_newest_first(evidence.allowed, self.snapshot)
            return ScoredQuery(
                primary, evidence, score_by_position(rows[:pool]), None, select_highlight_terms(evidence)
            )
        judgement = judge_confidence(evidence, candidates, scored.rows)
        return ScoredQuery(primary, evidence, scored, judgement, select_highlight_terms(evidence))

    @staticmethod
    def _choose_strategy(strategy: Strategy, evidence: Evidence, candidates: Candidates) -> Strategy:
        return active_strategy(
            primary_strategy(evidence.word_count) if strategy is Strategy.AUTO else strategy,
            words_found=bool(candidates.signals[:, SIGNALS.index("words")].any()),
            meaning_found=bool(candidates.signals[:, SIGNALS.index("meaning")].any()),
        )

    def _score_rows(self, strategy: Strategy, primary: Strategy, candidates: Candidates) -> ScoredFragments:
        notes = self.snapshot.table.notes[candidates.rows]
        if self._settings.search.fusion is Fusion.RRF and strategy in (Strategy.AUTO, Strategy.HYBRID):
            return add_name_signal(
                fuse_reciprocal_ranks(candidates.rows, candidates.signals), candidates.is_named, notes
            )
        weights = weights_for(primary) if strategy is Strategy.AUTO else STRATEGY_WEIGHTS[primary]
        scored = sum_weighted_signals(candidates.rows, candidates.signals, weights, notes)
        # A boost must not list a row that does not match: rows without a score are removed before boosts are added.
        scored = scored.select(np.flatnonzero(scored.scores > 0))
        boosted = self._boosts.add(scored, self._note_numbers(scored))
        attached = self.snapshot.table.is_attachment[self._note_numbers(boosted)]
        boosted = add_attachment_signal(boosted, attached, self._settings.vault.attachments.weight)
        return add_name_signal(
            boosted, candidates.is_named[np.searchsorted(candidates.rows, scored.rows)], self._note_numbers(scored)
        )

    def _note_numbers(self, scored: ScoredFragments) -> Rows:
        return self.snapshot.table.notes[scored.rows]

    # --- from scores to hits ------------------------------------------------------------------------------------------

    def ranking(self, scored_queries: Sequence[ScoredQuery]) -> Ranking:
        """Merge the fragments of several answers, each with its best score; ties go to the first answer."""
        rows = np.concatenate([scored_query.scored.rows for scored_query in scored_queries])
        scores = np.concatenate([scored_query.scored.scores for scored_query in scored_queries])
        scored_query_indices = np.repeat(
            np.arange(len(scored_queries)), [len(scored_query.scored.rows) for scored_query in scored_queries]
        )
        positions = np.concatenate([np.arange(len(scored_query.scored.rows)) for scored_query in scored_queries])
        if len(scored_queries) > 1:
            best_first = np.lexsort((scored_query_indices, -scores, rows))
            unique = best_first[np.flatnonzero(np.diff(rows[best_first], prepend=-1))]
            rows, scores, scored_query_indices, positions = (
                rows[unique],
                scores[unique],
                scored_query_indices[unique],
                positions[unique],
            )
        order = self._sort_best_first(rows, scores)
        return Ranking(tuple(scored_queries), rows[order], scores[order], scored_query_indices[order], positions[order])

    def _sort_best_first(self, rows: Rows, scores: Floats) -> IndexArray:
        table = self.snapshot.table
        order = np.lexsort((table.lines[rows], table.notes[rows], -scores))
        order = order[scores[order] > 0]
        per_note = self._settings.search.per_note
        return limit_hits_per_note(order, table.notes[rows], per_note, 2 * per_note)

    def hits(self, ranking: Ranking, first: int, last: int, *, highlight_count: int | None = None) -> tuple[Hit, ...]:
        """Return the hits from rank `first` to `last` (exclusive), with texts, and with spans in the first `highlight_count`.

        By default all have spans.
        """
        table = self.snapshot.table
        rows = ranking.rows[first:last]
        fragments = self.snapshot.fragments(table.keys[rows].tolist())
        scores, notes = ranking.scores[first:last].tolist(), table.notes[rows].tolist()
        scored_query_indices, positions = (
            ranking.scored_query_indices[first:last].tolist(),
            ranking.positions[first:last].tolist(),
        )
        modified = (self.snapshot.facets.modified_of(table.notes[rows]) // 10**9).tolist()
        signals = [
            iter(
                _build_signals(
                    scored_query.scored,
                    ranking.positions[first:last][ranking.scored_query_indices[first:last] == number],
                )
            )
            for number, scored_query in enumerate(ranking.scored_queries)
        ]
        columns = zip(fragments, scores, scored_query_indices, positions, notes, modified, strict=True)
        hits: list[Hit] = []
        for fragment, score, number, position, note, modified_date in columns:
            scored_query = ranking.scored_queries[number]
            is_marked = highlight_count is None or len(hits) < highlight_count
            confidence = scored_query.judgement.label_at(position) if scored_query.judgement else None
            spans = (
                self._highlight_finder.spans(fragment.text, scored_query.highlight_terms, table.languages[note])
                if is_marked
                else ()
            )
            named = (
                self._highlight_finder.find_in_names(fragment, scored_query.highlight_terms, table.languages[note])
                if is_marked
                else ()
            )
            hits.append(Hit(fragment, score, next(signals[number]), spans, confidence, named, modified_date))
        return tuple(hits)


def _counting_query(query: Query, needed: CandidateQuery, evidence: Evidence) -> CandidateQuery | None:
    """Return what a partial corpus can count for a query, None if each fragment has to be examined.

    The result selects the fragments with any of its words, or without words all that pass its filters.
    """
    filters_fragments = any(
        filter_.kind in FILTER_FIELDS or filter_.kind is FilterKind.PAGE for filter_ in query.filters
    )
    if filters_fragments or query.phrases or query.excluded_phrases or len(needed.must_not) < len(query.excluded):
        return None
    terms = [
        term
        for word, match in zip(evidence.words, evidence.matches, strict=True)
        if match.idf > 0
        for term in word.terms
    ]
    return replace(needed, terms=tuple(terms)) if terms or (query.filters and not evidence.words) else None


def _matching_rows(evidence: Evidence) -> Flags:
    """Return flags of the rows that match by words; of all allowed rows if the query has no words."""
    has_words = evidence.scores.matching() if evidence.words else np.ones(len(evidence.matching), np.bool_)
    return has_words if evidence.allowed is None else has_words & evidence.allowed


def count_matching_rows(scored_queries: Sequence[ScoredQuery]) -> int:
    """Return the number of rows that match by any of the answers."""
    return int(
        np.count_nonzero(reduce(np.logical_or, [scored_query.evidence.matching for scored_query in scored_queries]))
    )


# Signal's own constructor is in Python, and three times as slow: an answer has hundreds of signals.
_make_signal = cast("Callable[[tuple[str, float, float, float]], Signal]", partial(tuple.__new__, Signal))


def _build_signals(scored: ScoredFragments, positions: IndexArray) -> list[tuple[Signal, ...]]:
    """Return the signals of the fragments at some positions."""
    values, weights = scored.values[positions].astype(np.float64), scored.weights.astype(np.float64)
    columns = zip(values.tolist(), (values * weights).tolist(), strict=True)
    weighing = weights.tolist()
    return [
        tuple(map(_make_signal, zip(scored.names, row_values, weighing, parts, strict=True)))
        for row_values, parts in columns
    ]


def limit_hits_per_note(order: IndexArray, notes: Rows, first: int, listed: int) -> IndexArray:
    """Limit the fragments of one note to `first` among the TOP_HITS and `listed` among the LISTED_HITS; 0 is no limit.

    The others are moved behind.
    """
    return _limit_per_note(_limit_per_note(order, notes, listed, LISTED_HITS), notes, first, TOP_HITS)


def _limit_per_note(order: IndexArray, notes: Rows, limit: int, window: int) -> IndexArray:
    """Return `order` with at most `limit` hits of one note among the first `window`; the others are moved behind."""
    if not limit:
        return order
    first: list[int] = []
    moved: list[int] = []
    counts: dict[int, int] = {}
    for number, at in enumerate(order.tolist()):
        if len(first) == window:
            return np.concatenate([np.array(first + moved, np.intp), order[number:]])
        note = int(notes[at])
        if counts.get(note, 0) < limit:
            counts[note] = counts.get(note, 0) + 1
            first.append(at)
        else:
            moved.append(at)
    return np.array(first + moved, np.intp)


def search_by_strategy(engine: Engine, text: str, limit: int) -> tuple[Result, ...]:
    """Return the result of `Engine.search` under each strategy, in order, without spans.

    A strategy forced in the query is ignored. Evidence is collected once; each result's time is that of its ranking.
    """
    pool = max(POOL_SIZE, limit)
    candidates = [(query, *engine.candidates(query, pool)) for query in engine.parse(text)]
    results: list[Result] = []
    for strategy in Strategy:
        start = time.perf_counter()
        scored_queries = [
            engine.score_candidates(query, evidence, rows, strategy, pool) for query, evidence, rows in candidates
        ]
        hits = engine.hits(engine.ranking(scored_queries), 0, limit, highlight_count=0)
        elapsed = (time.perf_counter() - start) * 1e3
        matched = count_matching_rows(scored_queries)
        results.append(
            Result(text, strategy, scored_queries[0].strategy, hits, matched, elapsed, engine.snapshot.generation)
        )
    return tuple(results)
