"""Measure searches in one process: excerpt, FTS5 and tantivy on the same queries, and the first query cold.

excerpt's time is that of the whole search: all signals, the top 50, their text fetched. The batch form is what `search
--batch --json` runs, which computes no match spans; beside it are the `elapsed_ms` that it prints, and a search that
computes the spans of all 50 hits. Warm means that the index was opened and warmed before, not that the query was asked
before: each is asked once. Cold is the first query after an index was opened without warming, in a process that has
searched another index, as in the app.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks.indexing import index_folder, peer_folder
from benchmarks.measure import Data, index, percentile, run, table
from benchmarks.peers import Fts5, Tantivy

SETS = (("obsidian-help/en", "obsidian-help-en.dev"), ("cpp-docs", "cpp-docs.dev"))
LIMIT = 50
BATCH = "excerpt, batch form"
COLD = 7
"""How many queries are asked of a freshly opened index each; the median time counts."""


def measure(data: Data) -> None:
    print("\n## Search, top 50\n")
    rows: list[Sequence[str]] = []
    for name, queries in SETS:
        vault = data.vault(name)
        if vault is not None:
            rows += _measure(data, vault, name, data.queries(queries))
    if rows:
        table(
            ("", "queries", "p50 ms", "p95 ms", "max ms", "cold ms", "p50 / FTS5", "p95 / FTS5", "cold / FTS5 p95"),
            rows,
        )


def _measure(data: Data, vault: Path, name: str, queries: list[str]) -> list[Sequence[str]]:
    from excerpt.base.settings import Settings
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine

    index(vault)
    folder = index_folder(vault)
    with closing(Snapshot.open(folder, Settings())) as snapshot:
        engine = Engine(snapshot, Settings())
        engine.warm()
        told: list[float] = []

        def batch(query: str) -> None:
            told.append(engine.search(query, limit=LIMIT, highlight_count=0).elapsed_ms)

        times = {
            BATCH: [_timed(batch, query) for query in queries],
            f"{BATCH}, elapsed_ms": told,
        }
    with closing(Snapshot.open(folder, Settings())) as snapshot:
        engine = Engine(snapshot, Settings())
        engine.warm()
        times["excerpt, all marked"] = [_timed(partial(engine.search, limit=LIMIT), query) for query in queries]
    cold: dict[str, float] = {BATCH: _middle([_cold(folder, query) for query in queries[:COLD]])}
    if data.baseline.is_file():
        for kind, peer in (("fts5", Fts5), ("tantivy", Tantivy)):
            target = peer_folder(kind, name)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                run([sys.executable, "-m", "benchmarks.peers", kind, str(vault), str(target), str(data.baseline)])
            cold[peer.name] = _middle([_timed(partial(peer(target).search, limit=LIMIT), q) for q in queries[:COLD]])
            warm = partial(peer(target).search, limit=LIMIT)
            for query in queries[:COLD]:
                warm(query)
            times[peer.name] = [_timed(warm, query) for query in queries]
    plain = times.get(Fts5.name)
    return [_row(f"{name}: {who}", spent, cold.get(who), plain) for who, spent in times.items()]


def _cold(folder: Path, query: str) -> float:
    from excerpt.base.settings import Settings
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine

    with closing(Snapshot.open(folder, Settings())) as snapshot:
        return _timed(partial(Engine(snapshot, Settings()).search, limit=LIMIT, highlight_count=0), query)


def _timed(search: Callable[[str], object], query: str) -> float:
    """Return the milliseconds of one query."""
    began = time.perf_counter()
    search(query)
    return (time.perf_counter() - began) * 1e3


def _middle(spent: Sequence[float]) -> float:
    return sorted(spent)[len(spent) // 2]


def _row(name: str, spent: list[float], cold: float | None, plain: list[float] | None) -> Sequence[str]:
    p50, p95 = percentile(spent, 0.5), percentile(spent, 0.95)
    pairs = ((p50, 0.5), (p95, 0.95), (cold, 0.95))
    ratios = [f"{mine / percentile(plain, share):.2f}" if plain and mine is not None else "-" for mine, share in pairs]
    cold_ms = "-" if cold is None else f"{cold:.1f}"
    return name, str(len(spent)), f"{p50:.2f}", f"{p95:.2f}", f"{max(spent):.1f}", cold_ms, *ratios
