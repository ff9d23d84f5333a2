"""The search engine. `Engine.search` returns the hits for a query.

A row is the position of a fragment in the arrays of a snapshot, which is one state of a vault's index. A note number
is the position of a note in `table.paths`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial, reduce
from itertools import chain
from typing import cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field, structs

from excerpt.base.cancellation import check_cancelled
from excerpt.base.kinds import Confidence, FilterKind, Strategy
from excerpt.base.model import Hit, HitOrders, LinkSource, PastUse, QueryPeriod, QuestionWord, Result, Signal, Span
from excerpt.base.settings import Fusion, Settings
from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.corpus.tables import run_starts, sorted_unique
from excerpt.search.accents import add_accents_signal
from excerpt.search.bm25 import NO_ROWS, Rows, WordIndex
from excerpt.search.candidates import CandidateGenerator, Candidates, OtherNoteNames
from excerpt.search.confidence import (
    JUDGED_HITS,
    LIKELY_LIKELIHOOD,
    UNSURE_LIKELIHOOD,
    ConfidenceTable,
    judge_confidence,
    score_candidates_plainly,
)
from excerpt.search.evidence import (
    POOL_SIZE,
    Evidence,
    Flags,
    QuerySimilarities,
    analyze_text,
    drop_open_word,
    gather_evidence,
    text_to_embed,
)
from excerpt.search.filters import FILTER_FIELDS, sort_newest_first
from excerpt.search.highlight import HighlightFinder, HighlightTerms, merge_highlight_terms, select_highlight_terms
from excerpt.search.interpretation import (
    MIN_PART_COSINE,
    add_past_question,
    describe_missing_words,
    find_missing_parts,
    format_missing_parts,
    format_unsure_notice,
    weigh_words,
)
from excerpt.search.linked_passages import LinkedFragment, LinkedPassageFinder, LinkedRow
from excerpt.search.list_order import IndexArray, join_orders, limit_hits_per_note, score_places
from excerpt.search.prefetch import build_candidate_query, build_note_query, build_period_query, outline_query
from excerpt.search.query import (
    FILTER_KINDS,
    MAX_CONDITIONS,
    MAX_QUERY_WORDS,
    KnownNames,
    Query,
    add_condition,
    limit_queries,
    parse_alternatives,
    suggest_filters,
)
from excerpt.search.query_vectors import QueryVectors, has_chosen_embedder
from excerpt.search.ranking import (
    BOOST_WEIGHTS,
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
    weigh_chosen_meaning,
    weights_for,
)
from excerpt.search.reopened import LearnedQueries, PastAnswer, PastUses, add_reopened_signal
from excerpt.search.replaced import NEAR_SHARE, ReplacedQuestion, find_newer_editions, order_replaced
from excerpt.search.results import TOP_HITS, flag_more_of_note
from excerpt.search.time_signal import dates_of_rows, format_dates, list_period, sort_by_date
from excerpt.search.usage import UseLog

MIN_DESCRIBING_WORDS = 4
"""Number of words from which a query describes what it is after, so that its meaning can be compared."""
MIN_TYPED_LETTERS = 4
"""Number of letters from which a word that is still being typed counts as the words before it do."""


class ScoredQuery(Struct, frozen=True):
    """A parsed query with its scored fragments.

    A text such as `a | b` has several such queries, its alternatives. `strategy` is the one that scored the fragments:
    never `auto`, which scores as hybrid if candidates match by words and by meaning. `scored` has the fragments in the
    order of their rows. `confidences` says how likely each fragment of `scored` answers the query; None if the query
    has only filters. `periods` are those that the query names. `past_uses` are the uses for similar words that raise
    fragments, by their position in `scored`; `unlearned` are the fragments scored without them, None if they are the
    same. `candidates` are those that may be ordered by meaning too if words fail; None if they may not. `past_answer`
    is the passage that answered a similar question, and `linked` the one that the best fragment links to or names for
    the part of the query that it leaves open, both under `auto` only. `question` are the words of the query under
    `auto`, for which replaced notes stand under what replaces them; "" under another strategy.
    """

    strategy: Strategy
    evidence: Evidence
    scored: ScoredFragments
    confidences: ConfidenceTable | None
    highlight_terms: HighlightTerms
    periods: tuple[QueryPeriod, ...] = ()
    past_uses: Mapping[int, PastUses] = field(default_factory=dict)
    unlearned: ScoredFragments | None = None
    candidates: Candidates | None = None
    past_answer: PastAnswer | None = None
    question: str = ""
    linked: LinkedRow | None = None

    @property
    def without_past_uses(self) -> ScoredQuery:
        """The same query scored without past uses."""
        scored = self.unlearned or self.scored
        return structs.replace(self, scored=scored, past_uses={}, unlearned=None, past_answer=None)


class Ranking(Struct, frozen=True):
    """The fragments of all alternatives of a query text, best first.

    The four arrays are parallel, one element for each fragment: its row; the score of its place; the index, in
    `scored_queries`, of the alternative that scored it highest; and its position in that alternative's `scored`, which
    has its own score. `sort` is one of SORT_VALUES if the first fragments are in order of date instead. `judged` is the
    ranking by score alone and without the signal `reopened`, by which the result is judged; None if that is the same.
    `orders` are two rows with the places, from 1, of the fragments in the order by score and in that by meaning (0 for
    none), if every second place is by meaning; else None. `linked` is the second fragment if the first one links to it
    or names it; None if it has this place by itself.
    """

    scored_queries: tuple[ScoredQuery, ...]
    rows: Rows
    scores: Floats
    scored_query_indices: IndexArray
    positions: IndexArray
    sort: str = ""
    judged: Ranking | None = None
    orders: IndexArray | None = None
    linked: LinkedRow | None = None

    @property
    def own_scores(self) -> Floats:
        """The sum of each fragment's signals: `scores` has that of its place, for a fragment that was moved."""
        own = np.zeros(len(self.rows), np.float32)
        for index, scored_query in enumerate(self.scored_queries):
            chosen = self.scored_query_indices == index
            own[chosen] = scored_query.scored.scores[self.positions[chosen]]
        return own

    def select(self, indices: IndexArray) -> Ranking:
        """Return the ranking of the fragments at `indices`, in that order."""
        return structs.replace(
            self,
            rows=self.rows[indices],
            scores=self.scores[indices],
            scored_query_indices=self.scored_query_indices[indices],
            positions=self.positions[indices],
            orders=None if self.orders is None else self.orders[:, indices],
        )


class Judgement(Struct, frozen=True):
    """How well a ranking answers a query: its confidence, and what of the query it lacks.

    `confidence` is None if the query has only filters. `not_found` are the parts of the query that no fragment covers.
    `lack` is the clause that names the missing words of an unsure result, and `notice` the sentence to show; else "".
    """

    confidence: Confidence | None
    not_found: tuple[str, ...] = ()
    lack: str = ""
    notice: str = ""


class Engine:
    """Search engine for one snapshot (state of a vault's index), for use from one thread at a time.

    `use_log` lists what the user opened, marked or copied in this vault; None gives no signal `reopened`. `today`
    returns the day from which relative dates such as `modified:7d` count. `query_vectors` are shared by the engines of
    all generations; by default the engine waits for those of a slow embedder.
    """

    def __init__(
        self,
        snapshot: Corpus,
        settings: Settings,
        use_log: UseLog | None = None,
        today: Callable[[], date] = date.today,
        query_vectors: QueryVectors | None = None,
    ) -> None:
        self._settings = settings
        self._query_vectors = query_vectors or QueryVectors()
        self._use_log = use_log
        self._today = today
        self._highlight_finder = HighlightFinder()
        self._highlight_terms: tuple[str, HighlightTerms] | None = None
        self._partly_highlighted: tuple[Result, Ranking, int] | None = None
        self._highlighted: tuple[Result, Result] | None = None
        self._prefetched: frozenset[Query] = frozenset()
        self._without_comments: Engine | None = None
        self._use_generation(snapshot)

    @property
    def without_comments(self) -> Engine:
        """The engine without the comments that only authors read; itself if the snapshot shows no such comments."""
        snapshot = self.snapshot.without_comments
        if snapshot is self.snapshot:
            return self
        if self._without_comments is None or self._without_comments.snapshot is not snapshot:
            self._without_comments = Engine(snapshot, self._settings, self._use_log, self._today, self._query_vectors)
        return self._without_comments

    def refresh_snapshot(self) -> Corpus:
        """Use the newest state of a store (a copy of the index in a database), and return the snapshot in use.

        An index on disk keeps its snapshot: a newer index needs a new engine.
        """
        newer = self.snapshot.reopen()
        if newer is not self.snapshot:
            self._prefetched = frozenset()
            self._use_generation(newer)
        return self.snapshot

    def _use_generation(self, snapshot: Corpus) -> None:
        """Use a snapshot of another generation (number of a committed state), and drop what was cached."""
        self._names = OtherNoteNames(snapshot)
        self._boosts = Boosts(snapshot, self._settings.search.boosts)
        log = self._use_log if self._settings.search.learn else None
        self._learned = LearnedQueries(snapshot, log, self._settings.embedding) if log is not None else None
        self._set_view(snapshot)

    def _set_view(self, snapshot: Corpus) -> None:
        """Use a snapshot of the same generation in which other fragments are loaded."""
        self.snapshot = snapshot
        self.index = WordIndex(snapshot.lexical, lambda: snapshot.is_note_row)
        self._candidate_generator = CandidateGenerator(snapshot, self.index, self._names)
        self._linked_passages = LinkedPassageFinder(snapshot)

    def prefetch(
        self, queries: Sequence[Query], pool: int = POOL_SIZE, *, by_words: int = 0, notes: Collection[str] = ()
    ) -> None:
        """Load the fragments that `queries` need from a store, and the vectors that an embedder makes of them.

        An index on disk has all fragments loaded. For each query, the best `pool` fragments by meaning and the best
        `pool` (or `by_words`, if that is more) by words are loaded. `notes` are paths of notes of which every fragment
        is loaded.
        """
        if self._prefetched.issuperset(queries) and not (by_words or notes):
            return
        if has_chosen_embedder(self.snapshot):
            texts = (text_to_embed(query, self.snapshot, self._settings, self._today()) for query in queries)
            self._query_vectors.load(self.snapshot, [text for text in texts if text])

        def requests(base: Corpus) -> list[CandidateQuery]:
            today = self._today()
            outlines = [outline_query(query, base, self._settings, today, pool, by_words=by_words) for query in queries]
            base.prefetch_outlines(outlines)
            needed = [
                build_candidate_query(query, outline, base, self._settings)
                for query, outline in zip(queries, outlines, strict=True)
            ]
            timely = [
                build_period_query(query, candidate_query, base, today)
                for query, candidate_query in zip(queries, needed, strict=True)
            ]
            needed += [candidate_query for candidate_query in timely if candidate_query is not None]
            return [*needed, build_note_query(base, notes)] if notes else needed

        self.use_view(self.snapshot.prefetch(requests))
        self._prefetched = frozenset(queries)

    def use_view(self, view: Corpus) -> None:
        """Use `view`, a snapshot of the same vault with other fragments loaded, until the next `prefetch`."""
        if view is not self.snapshot:
            is_same = view.generation == self.snapshot.generation
            (self._set_view if is_same else self._use_generation)(view)
        self._prefetched = frozenset()

    def warm(self) -> None:
        """Load all data that the first query would otherwise have to load."""
        for step in self.warm_steps():
            step()

    def release_caches(self) -> None:
        """Release what recent queries cached; the next one takes a few milliseconds more."""
        self.index.release()
        self.snapshot.lexical.release_terms()

    def warm_steps(self) -> tuple[Callable[[], object], ...]:
        """Return the steps of `warm` as functions to call in order.

        Queries may be answered between two steps.
        """
        return lambda: self.search("a"), *self._warm_steps_without_model()

    def warm_without_model(self) -> None:
        """Do all steps of `warm` except the one that uses the embedding model.

        Only one thread may use the model. These steps may therefore run in another thread than later searches.
        """
        for step in self._warm_steps_without_model():
            step()

    def _warm_steps_without_model(self) -> tuple[Callable[[], object], ...]:
        steps = (self._load_vectors, self.index.warm, self.snapshot.check, self._load_tables)
        links = (self._load_links,) if self._settings.search.boosts.links else ()
        learned = (self._learned.load,) if self._learned is not None else ()
        return *steps, *links, *learned, self._linked_passages.warm

    def _load_vectors(self) -> None:
        _ = self.snapshot.vectors

    def _load_tables(self) -> None:
        facets = self.snapshot.facets
        # Without `created`, each search reads the properties of the notes that it found (3 ms at p95 of cpp-docs).
        _ = self.snapshot.table, self.snapshot.languages, facets.modified, facets.created

    def _load_links(self) -> None:
        _ = self.snapshot.facets.links

    def search(
        self,
        query: str | Sequence[str],
        strategy: Strategy | None = None,
        limit: int | None = None,
        *,
        highlight_count: int | None = None,
    ) -> Result:
        """Return at most `limit` fragments that answer `query`, best first, ties by path and line.

        `strategy` and `limit` default to the settings. A strategy prefix in the query, such as `!s`, takes precedence.
        The first `highlight_count` hits have spans to highlight (None: all hits); `highlight_all` adds the others. No
        query is invalid; a query without words and filters finds nothing. With several alternatives (`a | b`), the
        score of a fragment is its highest, and the result's strategy is that of the first alternative. Several query
        texts are alternatives too, but parsed separately: an unpaired quotation mark or a strategy prefix affects only
        the text that has it.
        """
        start = time.perf_counter()
        texts = (query,) if isinstance(query, str) else tuple(query)
        query = " | ".join(texts)
        whole = tuple(map(self._parse_whole, texts))
        limited = tuple(map(self._limit_queries, whole))
        queries = tuple(chain.from_iterable(limited))
        self._prefetched = frozenset()
        self.prefetch(queries, max(POOL_SIZE, limit or self._settings.search.limit))
        if self._learned is not None:
            self._learned.use_query(query)
        limit = self._settings.search.limit if limit is None else limit
        requested = [one[0].strategy or strategy or self._settings.search.strategy for one in limited]
        scored_queries = [
            self.score_query(query_alternative, chosen, max(POOL_SIZE, limit))
            for alternatives, chosen in zip(limited, requested, strict=True)
            for query_alternative in alternatives
        ]
        self._highlight_terms = (
            query,
            merge_highlight_terms(scored_query.highlight_terms for scored_query in scored_queries),
        )
        ranking = self.merge_ranking(scored_queries)
        sort = next((parsed.sort for parsed in queries if parsed.sort), "")
        judgement = self.judge(ranking, queries, sort)
        if sort:
            ranking = self._sort_by_date(ranking, limit, sort)
        hits = self.load_hits(ranking, 0, limit, highlight_count=highlight_count)
        matched = count_matching_rows(scored_queries)
        elapsed = (time.perf_counter() - start) * 1e3
        facets = self.snapshot.facets
        query_hints = suggest_filters(query, KnownNames(facets.properties, facets.tags, FILTER_KINDS))
        result = Result(
            query,
            requested[0],
            scored_queries[0].strategy,
            hits,
            matched,
            elapsed,
            self.snapshot.generation,
            query_hints,
            judgement.confidence,
            tuple(dict.fromkeys(period for scored_query in scored_queries for period in scored_query.periods)),
            sort,
            notice=judgement.notice,
            lack=judgement.lack,
            words=self.weigh_words(scored_queries),
            not_found=judgement.not_found,
        )
        result = self.mark_missing_vectors(result, scored_queries)
        if limited != whole:
            limits = f"{MAX_QUERY_WORDS} words and {MAX_CONDITIONS} filters, phrases and exclusions"
            warning = f"The query is too long. Only its first {limits} were searched."
            result = replace(result, warnings=(*result.warnings, warning))
        self._highlighted = None
        # A ranking holds arrays of the whole vault, so it is only kept if spans are missing.
        self._partly_highlighted = (
            (result, ranking, highlight_count) if highlight_count is not None and highlight_count < len(hits) else None
        )
        return result

    def _find_missing_parts(
        self, queries: Sequence[Query], scored_queries: Sequence[ScoredQuery], confidence: Confidence | None
    ) -> tuple[str, ...]:
        """Return the parts of a query that no passage covers; () for several queries, phrases, or a list by filters."""
        if len(queries) > 1 or queries[0].phrases or confidence is None:
            return ()
        evidence = scored_queries[0].evidence
        return find_missing_parts(
            queries[0].words, evidence, self.snapshot.languages, partial(self._is_part_near, evidence)
        )

    def _is_part_near(self, evidence: Evidence, part: str) -> bool:
        """Return whether a passage that the query may find is near in meaning to a part of it."""
        if not evidence.static_factor:
            return False
        vector = self.snapshot.embedder.embed_query(part)
        similarities = QuerySimilarities(vector, self.snapshot.vectors, self.snapshot)
        if evidence.is_allowed is not None:
            similarities.limit_to_rows(evidence.is_allowed)
        nearest = similarities.cosines_at(similarities.top_rows(1))
        return float(nearest.max(initial=0)) >= MIN_PART_COSINE

    def judge(self, ranking: Ranking, queries: Sequence[Query], sort: str = "") -> Judgement:
        """Return how well a ranking answers the queries whose alternatives it ranks.

        `sort` is the order by date in which its fragments will be listed, one of SORT_VALUES; "" for best first.
        """
        confidence = result_confidence(ranking)
        scored_queries = ranking.scored_queries
        not_found = self._find_missing_parts(queries, scored_queries, confidence)
        not_found_notice = format_missing_parts(not_found)
        is_partly_found = confidence is Confidence.NOTHING and bool(not_found)  # the other part may have its answer
        if confidence is not Confidence.UNSURE and not is_partly_found:
            return Judgement(confidence, not_found, notice=not_found_notice)
        lack = describe_missing_words([one.evidence for one in scored_queries], self.snapshot.languages)
        if is_partly_found:
            return Judgement(Confidence.UNSURE, not_found, lack, not_found_notice)
        if _highest_label(ranking) is Confidence.NOTHING and (past_answer := shown_past_answer(ranking)) is not None:
            lack = add_past_question(
                lack, past_answer.uses.most_similar.question, [one.question for one in scored_queries]
            )
        is_by_meaning = ranking.orders is not None or all(one.strategy is Strategy.SEMANTIC for one in scored_queries)
        notice = format_unsure_notice(lack, is_by_meaning=is_by_meaning and not (sort or ranking.sort))
        return Judgement(confidence, not_found, lack, notice)

    def weigh_words(self, scored_queries: Sequence[ScoredQuery]) -> tuple[QuestionWord, ...]:
        """Return the content words of a query, which is given as its scored alternatives."""
        return weigh_words([scored_query.evidence for scored_query in scored_queries], self.snapshot.languages)

    def mark_missing_vectors(self, result: Result, scored_queries: Sequence[ScoredQuery]) -> Result:
        """Return `result` with a warning if the vector of one of `scored_queries` was not ready."""
        if not any(scored_query.evidence.is_without_meaning for scored_query in scored_queries):
            return result
        warning = self._query_vectors.warning
        return replace(result, is_without_meaning=True, warnings=(warning,) if warning else ())

    def find_hits(self, query: str, limit: int) -> tuple[Hit, ...]:
        """Return the first `limit` hits of a query, without spans, under the strategy of the query or the settings.

        Unlike `search`, this keeps what `highlight_all` needs of the last search.
        """
        queries, pool = self.parse(query), max(POOL_SIZE, limit)
        strategy = queries[0].strategy or self._settings.search.strategy
        self._prefetched = frozenset()
        self.prefetch(queries, pool)
        ranking = self.merge_ranking([self.score_query(alternative, strategy, pool) for alternative in queries])
        return self.load_hits(ranking, 0, limit, highlight_count=0)

    def end_list(self) -> None:
        """Let the next search use all past uses, even if it repeats the query: the earlier list is no longer shown."""
        if self._use_log is not None:
            self._use_log.end_list()

    def forget_uses(self, uses: Collection[PastUse]) -> int:
        """Delete the past uses of a hit from the log; return their number. Raises OSError."""
        return self._use_log.forget_uses(uses) if self._use_log is not None else 0

    def highlight_all(self, result: Result) -> Result:
        """Return `result` with spans to highlight in every hit; unchanged unless the last search returned it."""
        if self._highlighted is not None and self._highlighted[0] is result:
            return self._highlighted[1]
        if self._partly_highlighted is None or self._partly_highlighted[0] is not result:
            return result
        _, ranking, first = self._partly_highlighted
        whole = replace(result, hits=result.hits[:first] + self.load_hits(ranking, first, len(result.hits)))
        self._partly_highlighted, self._highlighted = None, (result, whole)
        return whole

    def parse(self, query: str) -> tuple[Query, ...]:
        """Parse a query text into its alternatives (`a | b`), using the properties and tags of this vault.

        They have the first MAX_QUERY_WORDS words and MAX_CONDITIONS conditions of the text.
        """
        return self._limit_queries(self._parse_whole(query))

    def _limit_queries(self, queries: Sequence[Query]) -> tuple[Query, ...]:
        return limit_queries(queries, lambda text: analyze_text(text, self.snapshot), MAX_QUERY_WORDS)

    def _parse_whole(self, query: str) -> tuple[Query, ...]:
        facets = self.snapshot.facets
        queries = parse_alternatives(query, facets.properties, facets.tags)
        return tuple(list_period(parsed, self.snapshot, self._today()) for parsed in queries)

    def add_condition(self, query: str, condition: str) -> str:
        """Return the query text with the filter `condition` (such as `tag:work`) added to each alternative."""
        facets = self.snapshot.facets
        return add_condition(query, condition, facets.properties, facets.tags)

    def find_matching_rows(self, query: str) -> Flags:
        """Return a flag for each row: whether it matches any alternative of the query.

        `Result.matched` is the number of set flags.
        """
        queries = self.parse(query)
        self.prefetch(queries)
        evidences = [self._gather_evidence(parsed) for parsed in queries]
        return reduce(np.logical_or, [evidence.is_match for evidence in evidences])

    def count_matches_by_note(self, query: str, *wordings: str) -> npt.NDArray[np.int64]:
        """Return, for each note of the vault, the number of its fragments that match the query or a wording of it.

        If only some fragments are loaded from a store, the store counts the others that have the query's words. For
        phrases and for filters of single fragments, only loaded fragments are counted.
        """
        queries = tuple(chain.from_iterable(map(self.parse, (query, *wordings))))
        self.prefetch(queries)
        evidences = [self._gather_evidence(parsed) for parsed in queries]
        table = self.snapshot.table
        counts = np.zeros(len(table.paths), np.int64)
        matching = reduce(np.logical_or, [evidence.is_match for evidence in evidences])
        if (partial := self.snapshot.partial) is not None:
            counted: list[CandidateQuery] = []
            for parsed, evidence in zip(queries, evidences, strict=True):
                outline = outline_query(parsed, partial, self._settings, self._today(), POOL_SIZE)
                needed = build_candidate_query(parsed, outline, partial, self._settings)
                if countable := _counting_query(parsed, needed, evidence):
                    counted.append(countable)
                    matching &= ~_flag_countable_rows(evidence)
            counts += partial.matching_by_note(counted)
        counts += np.bincount(table.notes[matching], minlength=len(counts))
        return counts

    def highlight_terms(self, query: str) -> HighlightTerms:
        """Return the terms to highlight for a query text. The terms of the last query are cached."""
        if self._highlight_terms is None or self._highlight_terms[0] != query:
            self._highlight_terms = (
                query,
                merge_highlight_terms(
                    select_highlight_terms(self.find_candidates(one)[0]) for one in self.parse(query)
                ),
            )
        return self._highlight_terms[1]

    def find_spans(self, text: str, query: str, language: str) -> tuple[Span, ...]:
        """Return the ranges of `text` to highlight for a query, ascending. `language` is a code such as "en"."""
        return self._highlight_finder.find_in_text(text, self.highlight_terms(query), language)

    def find_candidates(self, query: Query, pool: int = POOL_SIZE) -> tuple[Evidence, Candidates]:
        """Return the evidence for all rows, and the best rows by words and by meaning with their signals.

        `pool` is the number of candidates by words, and by meaning.
        """
        self.prefetch([query], pool)
        evidence = self._gather_evidence(query)
        past_answer = self._find_past_answer(query, evidence)
        answered = NO_ROWS if past_answer is None else np.array([past_answer.row], np.int32)
        return evidence, self._candidate_generator.generate(evidence, pool, answered)

    def _find_past_answer(self, query: Query, evidence: Evidence) -> PastAnswer | None:
        """Return the passage that answered a similar question before, None if there is none."""
        if self._learned is None:
            return None
        return self._learned.find_answer(query, self.snapshot.table, evidence.is_allowed)

    def _gather_evidence(self, query: Query) -> Evidence:
        return gather_evidence(
            query, self.snapshot, self.index, self._settings, self._today(), query_vectors=self._query_vectors
        )

    def score_query(self, query: Query, strategy: Strategy, pool: int = POOL_SIZE) -> ScoredQuery:
        """Return the scored candidates of one query.

        A strategy prefix in `query` is ignored, `strategy` is used.
        """
        check_cancelled()
        answer = self.score_candidates(query, *self.find_candidates(query, pool), strategy, pool)
        if self.snapshot.partial is None or answer.candidates is None or self._prefetched != {query}:
            return answer
        linked = self._linked_passages.find_in_store(answer.scored, answer.evidence)
        return answer if linked is None else self._add_linked(query, linked, strategy, pool)

    def _add_linked(self, query: Query, linked: LinkedFragment, strategy: Strategy, pool: int) -> ScoredQuery:
        """Load a linked passage from a store, and return the scored candidates of the query with it."""
        self.prefetch([query], pool, notes=[linked.path])
        row, source = (
            int(np.flatnonzero(self.snapshot.table.keys == key)[0]) for key in (linked.key, linked.source_key)
        )
        evidence, candidates = self.find_candidates(query, pool)
        candidates = self._candidate_generator.generate(evidence, pool, np.append(candidates.rows, np.int32(row)))
        answer = self._score_candidates(query, evidence, candidates, strategy, pool)
        return structs.replace(answer, linked=LinkedRow(row, source, linked.is_named))

    def score_candidates(
        self, query: Query, evidence: Evidence, candidates: Candidates, strategy: Strategy, pool: int
    ) -> ScoredQuery:
        """Score the candidates of one query, and find the passage that its best fragment links to or names.

        If there is nothing to rank by, `pool` of the rows that pass the filters are listed instead, newest note first.
        """
        answer = self._score_candidates(query, evidence, candidates, strategy, pool)
        if answer.candidates is None or (linked := self._linked_passages.find(answer.scored, evidence)) is None:
            return answer
        if linked.row not in candidates.rows:
            candidates = self._candidate_generator.generate(evidence, pool, np.append(candidates.rows, linked.row))
            answer = self._score_candidates(query, evidence, candidates, strategy, pool)
        return structs.replace(answer, linked=linked)

    def _score_candidates(
        self, query: Query, evidence: Evidence, candidates: Candidates, strategy: Strategy, pool: int
    ) -> ScoredQuery:
        words_found = bool(candidates.signals[:, SIGNALS.index("words")].any())
        meaning_found = bool(candidates.signals[:, SIGNALS.index("meaning")].any())
        primary = active_strategy(
            primary_strategy(evidence.word_count) if strategy is Strategy.AUTO else strategy,
            words_found=words_found,
            meaning_found=meaning_found,
        )
        # Under auto all signals count about as in hybrid: the primary strategy adds only PRIMARY_WEIGHT to its own.
        is_hybrid = strategy is Strategy.AUTO and words_found and meaning_found
        used = Strategy.HYBRID if is_hybrid else primary
        scored = self._score_rows(strategy, primary, candidates, evidence.time)
        # Nothing to rank by: only filters, a part of a word in quotation marks, or symbols.
        unranked = query.phrases or not evidence.words
        if evidence.is_allowed is not None and unranked and not (scored.scores > 0).any():
            rows = sort_newest_first(evidence.is_allowed, self.snapshot)
            if sort := query.sort or ("-date" if query.listed_periods else ""):
                rows = rows[sort_by_date(dates_of_rows(self.snapshot)[rows], sort)]
            highlighted = select_highlight_terms(evidence)
            return ScoredQuery(used, evidence, score_by_position(rows[:pool]), None, highlighted, query.listed_periods)
        if not self._uses_rrf(strategy):
            scored = add_accents_signal(scored, evidence.words, self.snapshot)
        confidences = judge_confidence(evidence, candidates, scored.rows, self.snapshot.table.notes[candidates.rows])
        periods = tuple(
            QueryPeriod(query.words[period.start : period.end], *period.bounds, f"date:{period.filter_value}")
            for period in evidence.periods
        )
        answer = ScoredQuery(
            used,
            evidence,
            scored,
            confidences,
            select_highlight_terms(evidence),
            periods,
            candidates=candidates if strategy is Strategy.AUTO and self._may_ask_meaning(query, evidence) else None,
            question=query.words if strategy is Strategy.AUTO else "",
        )
        if self._uses_rrf(strategy):
            return answer
        past_answer = self._find_past_answer(query, evidence) if strategy is Strategy.AUTO else None
        return structs.replace(self._add_learned(answer, query), past_answer=past_answer)

    def _may_ask_meaning(self, query: Query, evidence: Evidence) -> bool:
        """Return whether hits may be ranked by meaning alone if the words of a query fail.

        They may not for a query of a few words, which names a thing rather than describes it, nor if the user requires
        words, phrases or filters.
        """
        return (
            evidence.finished_word_count >= MIN_DESCRIBING_WORDS
            and evidence.is_meaning_trusted
            and not (query.phrases or query.excluded_phrases)
            and not len(evidence.named_rows)
            and self._settings.search.fusion is not Fusion.RRF
        )

    def _add_learned(self, answer: ScoredQuery, query: Query) -> ScoredQuery:
        """Return the scored fragments with the signal `reopened`; unchanged if nothing was used for similar words."""
        if self._learned is None:
            return answer
        past_uses = self._learned.find(query, answer.scored, self.snapshot.table)
        if not past_uses:
            return answer
        scored = add_reopened_signal(answer.scored, past_uses)
        return structs.replace(answer, scored=scored, past_uses=past_uses, unlearned=answer.scored)

    def _uses_rrf(self, strategy: Strategy) -> bool:
        return self._settings.search.fusion is Fusion.RRF and strategy in (Strategy.AUTO, Strategy.HYBRID)

    def _score_rows(
        self, strategy: Strategy, primary: Strategy, candidates: Candidates, time: Floats | None
    ) -> ScoredFragments:
        """Score the candidates; `time` is the value of the signal `time` in each row, None without a period."""
        notes = self.snapshot.table.notes[candidates.rows]
        if self._uses_rrf(strategy):
            return add_name_signal(
                fuse_reciprocal_ranks(candidates.rows, candidates.signals), candidates.is_named, notes
            )
        weights = weights_for(primary) if strategy is Strategy.AUTO else STRATEGY_WEIGHTS[primary]
        if has_chosen_embedder(self.snapshot):
            weights = weigh_chosen_meaning(weights)
        scored = sum_weighted_signals(candidates.rows, candidates.signals, weights, notes)
        # A boost must not list a row that does not match: rows without a score are removed before boosts are added.
        scored = scored.select(np.flatnonzero(scored.scores > 0))
        boosted = self._boosts.add_signals(scored, self._note_numbers(scored))
        if time is not None:
            boosted = boosted.with_signal("time", time[scored.rows], BOOST_WEIGHTS["time"])
        is_attachment = self.snapshot.table.is_attachment[self._note_numbers(boosted)]
        boosted = add_attachment_signal(boosted, is_attachment, self._settings.vault.attachments.weight)
        return add_name_signal(
            boosted, candidates.is_named[np.searchsorted(candidates.rows, scored.rows)], self._note_numbers(scored)
        )

    def _note_numbers(self, scored: ScoredFragments) -> Rows:
        return self.snapshot.table.notes[scored.rows]

    def merge_ranking(self, scored_queries: Sequence[ScoredQuery]) -> Ranking:
        """Merge the scored fragments of several alternatives into one list, best first.

        A fragment of several alternatives keeps its highest score; ties go to the first alternative. Where words fail,
        places 2, 4, ... are those of the order by meaning, and a past answer to a similar question has place 2. Else
        that is the place of the passage that the first one links to or names for the rest of the query. Under `auto` a
        replaced note stands under what replaces it.
        """
        return self._order_replaced(self._rank(scored_queries))

    def _order_replaced(self, ranking: Ranking) -> Ranking:
        """Return a ranking with what replaces a note above it, unless a query asks for the older one."""
        replaced, table = self.snapshot.facets.replaced, self.snapshot.table
        asked = [one for one in ranking.scored_queries if one.question]
        if len(asked) < len(ranking.scored_queries):
            return ranking
        notes = table.notes[ranking.rows]
        if all(one.evidence.finished_word_count >= MIN_DESCRIBING_WORDS for one in asked):
            newer = find_newer_editions(notes, ranking.scores, table.paths)
            replaced = {**{note: found for note, found in newer.items() if note not in replaced}, **replaced}
        if not replaced:
            return ranking
        questions = [
            ReplacedQuestion(
                self.snapshot, one.question, one.evidence.periods, sorted_unique(table.notes[one.evidence.named_rows])
            )
            for one in asked
        ]

        def is_sure(own: int, other: int) -> bool:
            answer = ranking.scored_queries[ranking.scored_query_indices[own]]
            label = answer.confidences.label_at(int(ranking.positions[own])) if answer.confidences else None
            is_near = ranking.scores[other] >= NEAR_SHARE * ranking.scores[own]
            return bool(is_near) or label in (Confidence.STRONG, Confidence.LIKELY)

        moved = order_replaced(
            notes,
            replaced,
            lambda note, after: any(question.is_wanted(note, after) for question in questions),
            is_sure,
        )
        if moved is None:
            return ranking
        order, is_moved = moved.order, moved.is_raised | moved.is_lowered
        is_more = np.array(flag_more_of_note(notes[order].tolist(), self._settings.search.per_note), np.bool_)
        # A lowered hit gets the score of the hit below it.
        scores = score_places(np.where(moved.is_lowered, 0, ranking.scores[order]), is_moved, is_more)
        return structs.replace(ranking.select(order), scores=scores, judged=ranking.judged or ranking)

    def _rank(self, scored_queries: Sequence[ScoredQuery]) -> Ranking:
        ranking = self._merge(scored_queries)
        if any(scored_query.past_uses for scored_query in scored_queries):
            judged = self._merge([scored_query.without_past_uses for scored_query in scored_queries])
            ranking = structs.replace(ranking, judged=judged)
        likelihood = best_likelihood(ranking)
        if likelihood is None or likelihood >= LIKELY_LIKELIHOOD:
            return self._show_linked(ranking)
        if self._do_words_fail(ranking, likelihood):
            joined = self._join_by_meaning(ranking)
        else:
            joined = self._show_linked(ranking)
        return _show_past_answer(joined) if likelihood < UNSURE_LIKELIHOOD else joined

    def _show_linked(self, ranking: Ranking) -> Ranking:
        """Return a ranking with the linked passage of its query, if any, at the second place."""
        linked = ranking.scored_queries[0].linked
        if len(ranking.scored_queries) > 1 or linked is None or ranking.rows[0] != linked.source_row:
            return ranking
        order = np.arange(len(ranking.rows))
        at = int(np.flatnonzero(ranking.rows == linked.row)[0])
        order[1 : at + 1] = np.roll(order[1 : at + 1], 1)
        notes, per_note = self.snapshot.table.notes[ranking.rows], self._settings.search.per_note
        order = limit_hits_per_note(order, notes, per_note, 2 * per_note)
        is_more = np.array(flag_more_of_note(notes[order].tolist(), per_note), np.bool_)
        scores = score_places(ranking.scores[order], order == at, is_more)
        shown = structs.replace(ranking, linked=linked, judged=ranking.judged or ranking)
        return structs.replace(shown.select(order), scores=scores)

    def _do_words_fail(self, ranking: Ranking, likelihood: float) -> bool:
        """Return whether the words of all alternatives fail, so that hits may be ranked by meaning alone.

        A word that is still being typed can only prevent this, because otherwise each letter might change the order. So
        the words must also fail without that word, judged by the candidates and evidence of all words. The first
        letters of a word match much by chance: they prevent it only if they make a hit likely. `likelihood` is the best
        one by all words, below LIKELY_LIKELIHOOD.
        """
        for scored_query in ranking.scored_queries:
            candidates, evidence = scored_query.candidates, scored_query.evidence
            is_typed = evidence.finished_terms < len(evidence.words)
            is_begun = is_typed and len(evidence.words[-1].surface) < MIN_TYPED_LETTERS
            if candidates is None or (likelihood >= UNSURE_LIKELIHOOD and not is_begun):
                return False
            if is_typed and self._judge_finished_words(candidates, evidence) >= UNSURE_LIKELIHOOD:
                return False
        return True

    def _judge_finished_words(self, candidates: Candidates, evidence: Evidence) -> float:
        """Return the highest likelihood of the first JUDGED_HITS candidates without the word that is being typed."""
        evidence = drop_open_word(evidence, self.snapshot)
        candidates = self._candidate_generator.rescore_words(candidates, evidence)
        notes = self.snapshot.table.notes[candidates.rows]
        scores = score_candidates_plainly(evidence, candidates, notes)
        first = np.sort(np.argsort(-scores, kind="stable")[:JUDGED_HITS])
        return float(judge_confidence(evidence, candidates, candidates.rows[first], notes).likelihoods.max(initial=0))

    def _join_by_meaning(self, ranking: Ranking) -> Ranking:
        """Return a ranking with the order by meaning at every second place.

        The candidates and their signals are those of the ranking: nothing is gathered again.
        """
        by_meaning = [
            structs.replace(one, scored=self._score_by_meaning(one.candidates, one.evidence))
            for one in ranking.scored_queries
            if one.candidates is not None
        ]
        notes, per_note = self.snapshot.table.notes[ranking.rows], self._settings.search.per_note
        nearest = self._merge(by_meaning).rows
        places = np.argsort(ranking.rows)
        nearest_positions = places[np.searchsorted(ranking.rows, nearest, sorter=places)]
        orders = np.zeros((2, len(ranking.rows)), np.intp)
        orders[0] = np.arange(1, len(ranking.rows) + 1)
        orders[1, nearest_positions] = np.arange(1, len(nearest) + 1)
        order, is_raised = join_orders(orders[0] - 1, nearest_positions)
        order = limit_hits_per_note(order, notes, per_note, 2 * per_note)
        is_more = np.array(flag_more_of_note(notes[order].tolist(), per_note), np.bool_)
        scores = score_places(ranking.scores[order], is_raised[order], is_more)
        judged = ranking.judged or ranking
        return structs.replace(structs.replace(ranking, orders=orders).select(order), scores=scores, judged=judged)

    def _score_by_meaning(self, candidates: Candidates, evidence: Evidence) -> ScoredFragments:
        return self._score_rows(Strategy.SEMANTIC, Strategy.SEMANTIC, candidates, evidence.time)

    def _merge(self, scored_queries: Sequence[ScoredQuery]) -> Ranking:
        rows = np.concatenate([scored_query.scored.rows for scored_query in scored_queries])
        scores = np.concatenate([scored_query.scored.scores for scored_query in scored_queries])
        scored_query_indices = np.repeat(
            np.arange(len(scored_queries)), [len(scored_query.scored.rows) for scored_query in scored_queries]
        )
        positions = np.concatenate([np.arange(len(scored_query.scored.rows)) for scored_query in scored_queries])
        if len(scored_queries) > 1:
            best_first = np.lexsort((scored_query_indices, -scores, rows))
            unique = best_first[run_starts(rows[best_first])]
            rows, scores, scored_query_indices, positions = (
                rows[unique],
                scores[unique],
                scored_query_indices[unique],
                positions[unique],
            )
        order = self._sort_best_first(rows, scores)
        scores = scores[order]
        scores[:TOP_HITS] = np.minimum.accumulate(scores[:TOP_HITS])  # of those held back that come among them anyway
        return Ranking(tuple(scored_queries), rows[order], scores, scored_query_indices[order], positions[order])

    def _sort_best_first(self, rows: Rows, scores: Floats) -> IndexArray:
        table = self.snapshot.table
        order = np.lexsort((table.lines[rows], table.notes[rows], -scores))
        order = order[scores[order] > 0]
        per_note = self._settings.search.per_note
        return limit_hits_per_note(order, table.notes[rows], per_note, 2 * per_note)

    def _sort_by_date(self, ranking: Ranking, limit: int, sort: str) -> Ranking:
        """Return a ranking with its best `limit` fragments in order of date; `sort` is one of SORT_VALUES."""
        order = np.arange(len(ranking.rows))
        order[:limit] = sort_by_date(dates_of_rows(self.snapshot)[ranking.rows[:limit]], sort)
        return structs.replace(ranking.select(order), sort=sort)

    def load_hits(
        self, ranking: Ranking, first: int, last: int, *, highlight_count: int | None = None
    ) -> tuple[Hit, ...]:
        """Load the fragments from position `first` to `last` (exclusive) of a ranking as hits.

        The first `highlight_count` of these hits have spans to highlight (None: all of them).
        """
        check_cancelled()
        table = self.snapshot.table
        rows = ranking.rows[first:last]
        fragments = self.snapshot.fragments(table.keys[rows].tolist())
        linked, link_source = ranking.linked, self._load_link_source(ranking)
        scores, notes = ranking.scores[first:last].tolist(), table.notes[rows].tolist()
        scored_query_indices, positions = (
            ranking.scored_query_indices[first:last].tolist(),
            ranking.positions[first:last].tolist(),
        )
        created = self.snapshot.facets.creation_dates(notes)
        replaced = self.snapshot.facets.replaced
        signals = [
            iter(
                _build_signals(
                    scored_query.scored,
                    ranking.positions[first:last][ranking.scored_query_indices[first:last] == number],
                )
            )
            for number, scored_query in enumerate(ranking.scored_queries)
        ]
        notes_to_last, per_note = table.notes[ranking.rows[:last]].tolist(), self._settings.search.per_note
        more_of_note = flag_more_of_note(notes_to_last, 0 if ranking.sort else per_note)[first:]
        orders = None if ranking.orders is None else ranking.orders[:, first:last].T.tolist()
        has_dates = ranking.sort or any(scored_query.periods for scored_query in ranking.scored_queries)
        dates = format_dates(dates_of_rows(self.snapshot)[rows]) if has_dates else [""] * len(rows)
        columns = zip(fragments, scores, scored_query_indices, positions, notes, created, dates, strict=True)
        hits: list[Hit] = []
        for at, (fragment, score, number, position, note, created_date, day) in enumerate(columns):
            scored_query = ranking.scored_queries[number]
            is_marked = highlight_count is None or len(hits) < highlight_count
            confidence = scored_query.confidences.label_at(position) if scored_query.confidences else None
            spans = (
                self._highlight_finder.find_in_text(fragment.text, scored_query.highlight_terms, table.languages[note])
                if is_marked
                else ()
            )
            named = (
                self._highlight_finder.find_in_names(fragment, scored_query.highlight_terms, table.languages[note])
                if is_marked
                else ()
            )
            past_uses = _list_past_uses(scored_query.past_uses.get(position))
            scored_signals, total = next(signals[number])
            hits.append(
                Hit(
                    fragment,
                    score,
                    _add_place_signal(scored_signals, total, score),
                    spans,
                    confidence,
                    named,
                    created_date,
                    day,
                    past_uses,
                    orders=HitOrders(*orders[at]) if orders is not None else None,
                    more_of_note=more_of_note[at],
                    replaced=self.snapshot.note_replaced(fragment.path) if note in replaced else None,
                    linked_from=link_source if linked is not None and rows[at] == linked.row else None,
                )
            )
        return tuple(hits)

    def _load_link_source(self, ranking: Ranking) -> LinkSource | None:
        """Return the note from which a link leads to a fragment of a ranking; None if the ranking has no such link."""
        if ranking.linked is None:
            return None
        source = self.snapshot.fragments([int(self.snapshot.table.keys[ranking.linked.source_row])])[0]
        return LinkSource(source.path, source.title, ranking.linked.is_named)


def _counting_query(query: Query, needed: CandidateQuery, evidence: Evidence) -> CandidateQuery | None:
    """Return the query whose matches a store can count.

    Return None if they cannot be counted without loading them. The returned query selects the fragments with any word
    of `query`, or, if `query` has no words, all fragments that pass its filters. `needed` is the query for loading the
    candidates, `evidence` that for the loaded rows.
    """
    filters_fragments = any(
        filter_.kind in FILTER_FIELDS or filter_.kind is FilterKind.PAGE for filter_ in query.filters
    )
    if filters_fragments or query.phrases or query.excluded_phrases or len(needed.must_not) < len(query.excluded):
        return None
    words = tuple(word.tiers for word, match in zip(evidence.words, evidence.matches, strict=True) if match.idf > 0)
    return structs.replace(needed, words=words) if words or (query.filters and not evidence.words) else None


def _flag_countable_rows(evidence: Evidence) -> Flags:
    """Return a flag for each row: whether `_counting_query` selects it."""
    has_words = evidence.scores.flag_matching_rows() if evidence.words else np.ones(len(evidence.is_match), np.bool_)
    return has_words if evidence.is_allowed is None else has_words & evidence.is_allowed


def _list_past_uses(uses: PastUses | None) -> tuple[PastUse, ...]:
    """Return past uses as a hit has them, newest first."""
    similar = reversed(uses.uses) if uses is not None else ()
    return tuple(PastUse(use.event.kind, use.question, use.event.time, use.event.fragment) for use in similar)


def _show_past_answer(ranking: Ranking) -> Ranking:
    """Return a ranking in which the first passage that answered a similar question, if any, has the second rank."""
    past_answers = [one.past_answer for one in ranking.scored_queries if one.past_answer is not None]
    for past_answer in past_answers:
        for at in np.flatnonzero(ranking.rows == past_answer.row).tolist():
            number, position = int(ranking.scored_query_indices[at]), int(ranking.positions[at])
            scored_queries = list(ranking.scored_queries)
            nearest = PastUses(0.0, (past_answer.uses.most_similar,))
            past_uses = {position: nearest, **scored_queries[number].past_uses}
            scored_queries[number] = structs.replace(scored_queries[number], past_uses=past_uses)
            shown = structs.replace(ranking, scored_queries=tuple(scored_queries), judged=ranking.judged or ranking)
            order = np.arange(len(ranking.rows))
            order[1 : at + 1] = np.roll(order[1 : at + 1], 1)
            scores = ranking.scores[order]
            scores[1:2] = ranking.scores[1:2]
            return structs.replace(shown.select(order), scores=scores)
    return ranking


def result_confidence(ranking: Ranking) -> Confidence | None:
    """Return the confidence of a ranking by its first JUDGED_HITS fragments, None if they are listed by filters alone.

    It is the highest of theirs, or UNSURE if the words of the query fail: if the best likelihood is below
    UNSURE_LIKELIHOOD. It is NOTHING for an empty ranking. What the user opened before only makes UNSURE of NOTHING:
    a passage that answered a similar question is near.
    """
    if not len(ranking.rows):
        return Confidence.NOTHING
    highest = _highest_label(ranking)
    is_near = highest is Confidence.WEAK or (highest is Confidence.NOTHING and shown_past_answer(ranking) is not None)
    is_unsure = is_near and (best_likelihood(ranking) or 0) < UNSURE_LIKELIHOOD
    return Confidence.UNSURE if is_unsure else highest


def _highest_label(ranking: Ranking) -> Confidence | None:
    labels = [table.label_at(position) for table, position in _list_judged(ranking.judged or ranking)]
    return min(labels, key=list(Confidence).index, default=None)


def shown_past_answer(ranking: Ranking) -> PastAnswer | None:
    """Return the passage among the first two of a ranking that answered a similar question before, None if none did."""
    answers = [one.past_answer for one in ranking.scored_queries if one.past_answer is not None]
    return next((answer for answer in answers if answer.row in ranking.rows[:2]), None)


def best_likelihood(ranking: Ranking) -> float | None:
    """Return the highest likelihood among the first JUDGED_HITS fragments, None if they are listed by filters alone.

    It is 0 for an empty ranking. What the user opened before changes the order, but not this likelihood.
    """
    judged = _list_judged(ranking.judged or ranking)
    if not len(ranking.rows):
        return 0.0
    return max((float(table.likelihoods[position]) for table, position in judged), default=None)


def _list_judged(ranking: Ranking) -> list[tuple[ConfidenceTable, int]]:
    """Return the table and the index of the confidence of each of the first JUDGED_HITS fragments that has one."""
    tables = [
        ranking.scored_queries[index].confidences for index in ranking.scored_query_indices[:JUDGED_HITS].tolist()
    ]
    judged = zip(tables, ranking.positions[:JUDGED_HITS].tolist(), strict=True)
    return [(table, position) for table, position in judged if table is not None]


def count_matching_rows(scored_queries: Sequence[ScoredQuery]) -> int:
    """Return the number of rows that match at least one of the queries."""
    return int(
        np.count_nonzero(reduce(np.logical_or, [scored_query.evidence.is_match for scored_query in scored_queries]))
    )


_MIN_PLACE_PART = 1e-5
"""A difference between a score and the sum of its parts below which it is one of rounding."""


def _add_place_signal(signals: tuple[Signal, ...], total: float, score: float) -> tuple[Signal, ...]:
    """Return the signals of a hit, with the signal `place` if the hit was moved and has the score of its new rank.

    `total` is the sum of the signals' parts.
    """
    part = score - total
    return signals if abs(part) < _MIN_PLACE_PART else (*signals, Signal("place", part, 1.0, part))


# Signal's own constructor is in Python, and three times as slow: a result has hundreds of signals.
_make_signal = cast("Callable[[tuple[str, float, float, float]], Signal]", partial(tuple.__new__, Signal))


def _build_signals(scored: ScoredFragments, positions: IndexArray) -> list[tuple[tuple[Signal, ...], float]]:
    """Return the signals of each fragment at `positions` of `scored`, and the sum of their parts."""
    values, weights = scored.values[positions].astype(np.float64), scored.weights.astype(np.float64)
    columns = zip(values.tolist(), (values * weights).tolist(), strict=True)
    weighing = weights.tolist()
    return [
        (tuple(map(_make_signal, zip(scored.names, row_values, weighing, parts, strict=True))), sum(parts))
        for row_values, parts in columns
    ]


def search_by_strategy(engine: Engine, text: str, limit: int) -> tuple[Result, ...]:
    """Return what `Engine.search` returns under each strategy, in the order of `Strategy`, without spans.

    A strategy prefix in `text` is ignored. The evidence is collected only once. `elapsed_ms` of a result is therefore
    only the time for scoring and ranking.
    """
    pool = max(POOL_SIZE, limit)
    queries = engine.parse(text)
    candidates = [(query, *engine.find_candidates(query, pool)) for query in queries]
    results: list[Result] = []
    for strategy in Strategy:
        start = time.perf_counter()
        scored_queries = [
            engine.score_candidates(query, evidence, rows, strategy, pool) for query, evidence, rows in candidates
        ]
        ranking = engine.merge_ranking(scored_queries)
        hits = engine.load_hits(ranking, 0, limit, highlight_count=0)
        elapsed = (time.perf_counter() - start) * 1e3
        matched = count_matching_rows(scored_queries)
        result = Result(text, strategy, scored_queries[0].strategy, hits, matched, elapsed, engine.snapshot.generation)
        judgement = engine.judge(ranking, queries)
        words = engine.weigh_words(scored_queries)
        results.append(replace(result, words=words, **structs.asdict(judgement)))
    return tuple(results)
