"""The answers of every strategy to one query, from one gathering of what speaks for the fragments."""

from __future__ import annotations

import time

from excerpt.kinds import Strategy
from excerpt.model import Result
from excerpt.search.engine import Engine, count_matching
from excerpt.search.evidence import POOL


def under_each(engine: Engine, text: str, limit: int) -> tuple[Result, ...]:
    """What `Engine.search` finds under each strategy, in their order, without spans; a strategy forced in the query
    does not count. The time of each is that of its own ranking."""
    pool = max(POOL, limit)
    found = [(query, *engine.candidates(query, pool)) for query in engine.parse(text)]
    results: list[Result] = []
    for strategy in Strategy:
        begun = time.perf_counter()
        answers = [engine.weigh(query, evidence, rows, strategy, pool) for query, evidence, rows in found]
        hits = engine.hits(engine.ranking(answers), 0, limit, marked=0)
        took = (time.perf_counter() - begun) * 1e3
        matched = count_matching(answers)
        results.append(Result(text, strategy, answers[0].strategy, hits, matched, took, engine.snapshot.generation))
    return tuple(results)
