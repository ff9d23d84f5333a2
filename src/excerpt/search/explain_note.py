"""Explanation of a note's rank, under each strategy and compared with the hits above.

All numbers are computed again as the search does: nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import PurePosixPath

import numpy as np
from msgspec import Struct, structs
from rapidfuzz import process

from excerpt.base.kinds import FilterKind, Strategy
from excerpt.base.model import Fragment, Hit, Signal
from excerpt.corpus.interface import Corpus
from excerpt.search.bm25 import Rows
from excerpt.search.candidates import Candidates
from excerpt.search.engine import Engine, Ranking, ScoredQuery
from excerpt.search.evidence import POOL_SIZE, Evidence, analyze_text
from excerpt.search.explain import WordExplainer, explain_hit, join_query_words
from excerpt.search.filters import flag_allowed_rows
from excerpt.search.query import Query
from excerpt.search.rank_reasons import Absence, AbsenceKind, NoteExplanation, StrategyRank
from excerpt.search.ranking import add_name_signal, fuse_reciprocal_ranks
from excerpt.search.results import Filter, SignalGap

MAX_COMPARED_HITS = 10
"""Maximum number of first hits above a note that are compared with the note."""
RRF = "rrf"
"""The name of reciprocal rank fusion, which is listed with the strategies in `NoteExplanation.ranks`."""
_NO_SIGNAL = Signal("", 0.0, 0.0, 0.0)


def explain_note(
    engine: Engine, text: str, note: str, strategy: Strategy, reranked: Sequence[Hit] = ()
) -> NoteExplanation:
    """Explain the rank of `note` (a path, title, file name or alias) in the results for the query `text`.

    If several notes have that name, the one with the best rank is explained. `reranked` are the first hits in the order
    of a reranker; the ranks under the strategies are those without it.
    """
    queries = engine.parse(text)
    explanation = NoteExplanation(text, queries[0].strategy or strategy, note)
    numbers = _find_notes(engine.snapshot, note)
    if not numbers:
        return _explain_unknown_note(engine.snapshot, explanation)
    paths = [engine.snapshot.table.paths[number] for number in numbers]
    explanation = replace(explanation, path=paths[0])
    engine.prefetch(queries, notes=paths)
    table = engine.snapshot.table
    rows = np.flatnonzero(np.isin(table.notes, numbers)).astype(np.int32)
    if not len(rows):
        return replace(explanation, absence=Absence(AbsenceKind.EMPTY, f"{explanation.path} has no text to search."))
    return _explain_rows(engine, explanation, queries, rows, reranked)


def explain_fragment(
    engine: Engine, text: str, fragment: Fragment, strategy: Strategy, reranked: Sequence[Hit] = ()
) -> NoteExplanation:
    """Explain the rank of one fragment for the query `text`, as `explain_note` does for a note.

    If the snapshot no longer has the fragment, the explanation has an absence of kind UNKNOWN.
    """
    queries = engine.parse(text)
    explanation = NoteExplanation(text, queries[0].strategy or strategy, fragment.path, fragment.path)
    current = engine.snapshot.fragment(fragment.id)
    if current is None:
        return replace(
            explanation,
            absence=Absence(AbsenceKind.UNKNOWN, f"{fragment.path} has changed since the search. Search again."),
        )
    engine.prefetch(queries, notes=[fragment.path])
    rows = np.searchsorted(engine.snapshot.table.keys, [current.key]).astype(np.int32)
    return _explain_rows(engine, explanation, queries, rows, reranked)


def _explain_rows(
    engine: Engine, explanation: NoteExplanation, queries: Sequence[Query], rows: Rows, reranked: Sequence[Hit]
) -> NoteExplanation:
    results = [engine.find_candidates(query) for query in queries]
    pool = max(POOL_SIZE, min(_pool_size_for(evidence, rows) for evidence, _ in results))
    if pool > POOL_SIZE:
        results = [engine.find_candidates(query, pool) for query in queries]
    alternative_candidates = [
        _AlternativeCandidates(query, *result, pool) for query, result in zip(queries, results, strict=True)
    ]
    ranking = _rank_alternatives(engine, alternative_candidates, explanation.requested_strategy)
    ranking = _move_hits_first(engine, ranking, reranked)
    explanation = replace(explanation, ranks=tuple(_rank_with_each_strategy(engine, alternative_candidates, rows)))
    positions = np.flatnonzero(np.isin(ranking.rows, rows))
    if not len(positions):
        return replace(
            explanation, absence=_explain_absence(engine, queries, ranking.scored_queries, explanation.path or "", rows)
        )
    explanation = _explain_position(engine, explanation, ranking, int(positions[0]), reranked)
    return replace(explanation, from_limit=max(int(positions[0]) + 1, pool if pool > POOL_SIZE else 1))


class _AlternativeCandidates(Struct, frozen=True):
    """An alternative of a query text with its evidence, and `pool` candidates by words and by meaning each."""

    query: Query
    evidence: Evidence
    candidates: Candidates
    pool: int


def _rank_alternatives(
    engine: Engine, alternative_candidates: Sequence[_AlternativeCandidates], strategy: Strategy
) -> Ranking:
    return engine.merge_ranking(
        [engine.score_candidates(g.query, g.evidence, g.candidates, strategy, g.pool) for g in alternative_candidates]
    )


def _move_hits_first(engine: Engine, ranking: Ranking, hits: Sequence[Hit]) -> Ranking:
    """Return a ranking with the rows of `hits` first, in their order."""
    if not hits:
        return ranking
    rows = np.searchsorted(engine.snapshot.table.keys, [hit.fragment.key for hit in hits])
    places = {row: place for place, row in enumerate(rows.tolist())}
    order = np.array(sorted(range(len(ranking.rows)), key=lambda at: places.get(int(ranking.rows[at]), len(places))))
    return ranking.select(order)


def _explain_position(
    engine: Engine, explanation: NoteExplanation, ranking: Ranking, position: int, reranked: Sequence[Hit]
) -> NoteExplanation:
    scored = {hit.fragment.key: hit for hit in reranked}

    def load(first: int, last: int) -> list[Hit]:
        return [scored.get(hit.fragment.key, hit) for hit in engine.load_hits(ranking, first, last)]

    hit = load(position, position + 1)[0]
    evidence = ranking.scored_queries[ranking.scored_query_indices[position]].evidence
    above = load(0, min(position, MAX_COMPARED_HITS))
    top = max((each.score for each in reranked), default=float(ranking.scores[0]))
    return replace(
        explanation,
        path=hit.fragment.path,
        explanation=explain_hit(WordExplainer(engine, evidence), hit, position + 1, top),
        signal_gaps=_compute_gaps(hit, above),
        compared=len(above),
    )


def _pool_size_for(evidence: Evidence, rows: Rows) -> int:
    """Return the least pool size with which one of `rows` is a candidate by words or meaning.

    If no row matches by words or meaning, return the number of rows that pass the filters, 0 without filters.
    """
    needed = [
        int(np.count_nonzero(values >= values[rows].max()))
        for values, floor in (
            (evidence.scores.all_scores, 0.0),
            (evidence.similarities.all_cosines, evidence.similarities.mean),
        )
        if values[rows].max() > np.float32(floor)
    ]
    allowed_count = 0 if evidence.is_allowed is None else int(np.count_nonzero(evidence.is_allowed))
    return min(needed, default=allowed_count)


def _compute_gaps(own: Hit, above: Sequence[Hit]) -> tuple[SignalGap, ...]:
    if not above:
        return ()
    own_signals = {signal.name: signal for signal in own.signals}
    other_signals = [{signal.name: signal for signal in hit.signals} for hit in above]
    gaps: list[SignalGap] = []
    for name in dict.fromkeys((*own_signals, *(name for signals in other_signals for name in signals))):
        own_signal, others = (
            own_signals.get(name, _NO_SIGNAL),
            [signals.get(name, _NO_SIGNAL) for signals in other_signals],
        )
        value, part = (sum(values) / len(above) for values in zip(*((s.value, s.part) for s in others), strict=True))
        gaps.append(SignalGap(name, own_signal.value, value, part - own_signal.part))
    return tuple(sorted(gaps, key=lambda gap: -gap.cost))


def _rank_with_each_strategy(
    engine: Engine, alternative_candidates: Sequence[_AlternativeCandidates], rows: Rows
) -> Iterator[StrategyRank]:
    """Yield the rank of the best of `rows` under each strategy, then under reciprocal rank fusion."""
    for strategy in Strategy:
        ranking = _rank_alternatives(engine, alternative_candidates, strategy)
        yield _rank_with_strategy(engine, strategy, ranking.scored_queries[0].strategy, ranking, rows)
    yield _rank_with_strategy(
        engine,
        RRF,
        RRF,
        engine.merge_ranking([_score_by_fused_ranks(engine, alternative) for alternative in alternative_candidates]),
        rows,
    )


def _score_by_fused_ranks(engine: Engine, alternative: _AlternativeCandidates) -> ScoredQuery:
    answer = engine.score_candidates(
        alternative.query, alternative.evidence, alternative.candidates, Strategy.HYBRID, alternative.pool
    )
    if answer.confidences is None:  # listed, not ranked
        return answer
    candidates = alternative.candidates
    scored = fuse_reciprocal_ranks(candidates.rows, candidates.signals)
    notes = engine.snapshot.table.notes[candidates.rows]
    return structs.replace(answer.without_past_uses, scored=add_name_signal(scored, candidates.is_named, notes))


def _rank_with_strategy(engine: Engine, strategy: str, ranked_by: str, ranking: Ranking, rows: Rows) -> StrategyRank:
    positions = np.flatnonzero(np.isin(ranking.rows, rows))
    if not len(positions):
        return StrategyRank(str(strategy), str(ranked_by))
    at = int(positions[0])
    line = int(engine.snapshot.table.lines[ranking.rows[at]])
    return StrategyRank(str(strategy), str(ranked_by), at + 1, float(ranking.scores[at]), line)


# --- notes that are not listed ----------------------------------------------------------------------------------------


def _find_notes(snapshot: Corpus, note: str) -> list[int]:
    """Return the numbers of the notes with the path or file name `note`, else with this title or alias."""
    return snapshot.facets.find_targets(note.strip()).tolist() or list(snapshot.notes_named(note))


def _explain_unknown_note(snapshot: Corpus, explanation: NoteExplanation) -> NoteExplanation:
    name = explanation.note.casefold()
    for skipped in snapshot.skipped:
        skipped_path = PurePosixPath(skipped.path)
        if name in (skipped.path.casefold(), skipped_path.name.casefold(), skipped_path.stem.casefold()):
            reason = f"{skipped.path} is not in the index: {skipped.reason}"
            return replace(explanation, path=skipped.path, absence=Absence(AbsenceKind.SKIPPED, reason))
    stems = {path: PurePosixPath(path).stem.casefold() for path in snapshot.table.paths}
    similar = tuple(path for _, _, path in process.extract(PurePosixPath(name).stem, stems, score_cutoff=70, limit=3))
    hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
    return replace(
        explanation,
        absence=Absence(
            AbsenceKind.UNKNOWN, f"No note is called {explanation.note or repr(explanation.note)}.{hint}", similar
        ),
    )


def _explain_absence(
    engine: Engine, queries: Sequence[Query], answers: Sequence[ScoredQuery], path: str, rows: Rows
) -> Absence:
    """Return why none of the `rows` of the note at `path` is a hit of any alternative of the query."""
    pairs = zip(queries, answers, strict=True)
    reasons = list(dict.fromkeys(_explain_absence_from(engine, query, answer, path, rows) for query, answer in pairs))
    kind = next((absence.kind for absence in reasons if absence.kind is not AbsenceKind.EXCLUDED), reasons[0].kind)
    return Absence(kind, " ".join(absence.reason for absence in reasons))


def _explain_absence_from(engine: Engine, query: Query, answer: ScoredQuery, path: str, rows: Rows) -> Absence:
    if excluded := _find_failed_conditions(engine.snapshot, query, rows):
        return Absence(AbsenceKind.EXCLUDED, f"{path} is excluded by {' and '.join(excluded)}.")
    evidence = answer.evidence
    if evidence.scores.all_scores[rows].any():
        return Absence(
            AbsenceKind.UNMATCHED,
            f"{path} has words of the query, but the strategy {answer.strategy} does not count words.",
        )
    is_near = bool((evidence.similarities.cosines_at(rows) > np.float32(evidence.similarities.mean)).any())
    meaning_reason = (
        f"the strategy {answer.strategy} does not count meaning"
        if is_near
        else "none of its passages is near the query in meaning"
    )
    words = [f"“{word}”" for word in join_query_words(evidence.words)]
    lacks = f"{words[0]} is in no passage" if len(words) == 1 else f"None of {', '.join(words)} is in a passage"
    return Absence(AbsenceKind.UNMATCHED, f"{lacks} of {path}, and {meaning_reason}.")


def _find_failed_conditions(snapshot: Corpus, query: Query, rows: Rows) -> list[str]:
    """Return, as texts, the conditions of a query that none of `rows` meets.

    If each condition is met by some row, but no row meets all, return all conditions. If one row meets all conditions,
    return [].
    """
    analyze_words = partial(analyze_text, snapshot=snapshot)

    def has_allowed_row(conditions: Query) -> bool:
        flags = flag_allowed_rows(conditions, snapshot, analyze_words, date.today())
        return flags is None or bool(flags[rows].any())

    conditions = list(_split_conditions(query))
    failed = [label for label, condition in conditions if not has_allowed_row(condition)]
    return failed or ([] if has_allowed_row(query) else [label for label, _ in conditions])


def _split_conditions(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield each condition of a query: its text, and a query that has only this condition."""
    for filter_ in query.filters:
        yield _format_filter(filter_), Query("", filters=(filter_,))
    for phrase in query.phrases:
        yield f'"{phrase}"', Query("", phrases=(phrase,))
    for word in query.excluded:
        yield f"-{word}", Query("", excluded=(word,))
    for phrase in query.excluded_phrases:
        yield f'-"{phrase}"', Query("", excluded_phrases=(phrase,))


def _format_filter(filter_: Filter) -> str:
    name = filter_.name if filter_.kind is FilterKind.PROPERTY else str(filter_.kind)
    value = f'"{filter_.value}"' if " " in filter_.value else filter_.value
    return f"{'-' if filter_.negated else ''}{name}:{value}"
