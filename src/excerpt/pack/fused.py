"""Several queries as one search."""

from __future__ import annotations

import time
from collections.abc import Sequence

from excerpt.kinds import Strategy
from excerpt.model import Result
from excerpt.search.engine import Engine, count_matching
from excerpt.search.evidence import POOL


def search_all(engine: Engine, queries: Sequence[str], strategy: Strategy, limit: int) -> Result:
    """What any of `queries` finds, best first: a fragment has the best score that one of them gives it.

    It is as if they were the alternatives of one query, except that each is read on its own: a quotation mark left
    open in one does not swallow the next, and a strategy forced in one holds for that one. The first names the
    strategy that led.
    """
    if len(queries) == 1:
        return engine.search(queries[0], strategy, limit)
    begun = time.perf_counter()
    answers = []
    for query in queries:
        alternatives = engine.parse(query)
        wanted = alternatives[0].strategy or strategy
        answers += [engine.answer(one, wanted, max(POOL, limit)) for one in alternatives]
    hits = engine.hits(engine.ranking(answers), 0, limit)
    matched = count_matching(answers)
    elapsed = (time.perf_counter() - begun) * 1e3
    query = " | ".join(queries)
    return Result(query, strategy, answers[0].strategy, hits, matched, elapsed, engine.snapshot.generation)
