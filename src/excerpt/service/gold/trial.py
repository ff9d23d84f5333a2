"""Trial of an embedder: what it would change for a gold set and for some queries, before it has embedded the vault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from excerpt.base.kinds import Strategy
from excerpt.base.model import Hit
from excerpt.encoders.model_names import hide_secrets
from excerpt.search.engine import Engine
from excerpt.service.gold.questions import GoldQuestion
from excerpt.service.gold.run import GoldReport, compare_runs, run_questions
from excerpt.text.display import format_source_location

POOL = 50
"""Candidates by words, and by meaning, of each query that are embedded. Others are ranked by their words alone."""
COMPARED_HITS = 10


class QueryChange(Struct, frozen=True):
    """The first hits of a query now and with the embedder; `common` of the first ten are in both lists.

    `before` and `after` are locations such as "Sync.md:3-9", "" without a hit.
    """

    query: str
    before: str
    after: str
    common: int


class TrialReport(Struct, frozen=True):
    """What an embedder would change: for a gold set (None without questions), and for the first hits of queries."""

    gold: GoldReport | None
    queries: tuple[QueryChange, ...]


def find_candidate_keys(engine: Engine, texts: Iterable[str]) -> list[int]:
    """Return the keys of fragments that may be hits of the queries `texts`; a trial of a model embeds only these."""
    rows = {
        row
        for text in texts
        for query in engine.parse(text)
        for row in engine.find_candidates(query, POOL)[1].rows.tolist()
    }
    keys: list[int] = engine.snapshot.table.keys[sorted(rows)].tolist()
    return keys


def compare_engines(
    before: Engine,
    after: Engine,
    model: str,
    *,
    strategy: Strategy,
    questions: Sequence[GoldQuestion],
    queries: Iterable[str],
) -> TrialReport:
    """Compare the hits of two engines, of which `after` searches with the embedder `model`."""
    gold = None
    if questions:
        runs = [run_questions(engine, questions, strategy) for engine in (before, after)]
        comparison = compare_runs(*runs)
        gold = GoldReport(
            runs[1], strategy, {"embedding.model": hide_secrets(model)}, is_variant=True, comparison=comparison
        )
    changes = (
        _compare_hits(query, before.find_hits(query, COMPARED_HITS), after.find_hits(query, COMPARED_HITS))
        for query in queries
    )
    return TrialReport(gold, tuple(changes))


def _compare_hits(query: str, before: Sequence[Hit], after: Sequence[Hit]) -> QueryChange:
    common = {hit.fragment.id for hit in before} & {hit.fragment.id for hit in after}
    return QueryChange(query, _locate_first(before), _locate_first(after), len(common))


def _locate_first(hits: Sequence[Hit]) -> str:
    if not hits:
        return ""
    first = hits[0].fragment
    return format_source_location(first.path, first.line_start, first.line_end, first.place)
