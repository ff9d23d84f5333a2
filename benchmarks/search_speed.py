"""Warm searches, one after another in one process: excerpt, FTS5 and tantivy on the same queries.

excerpt's time is the whole search: all signals, the top 50, their text fetched.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.indexing import index_folder, peer_folder
from benchmarks.measure import Data, index, percentile, run, table
from benchmarks.peers import Fts5, Tantivy

SETS = (("obsidian-help/en", "obsidian-help-en.dev"), ("cpp-docs", "cpp-docs.dev"))
LIMIT = 50


def measure(data: Data) -> None:
    print("\n## Warm search, top 50\n")
    rows: list[Sequence[str]] = []
    for name, queries in SETS:
        vault = data.vault(name)
        if vault is not None:
            rows += _measure(data, vault, name, data.queries(queries))
    if rows:
        table(("", "queries", "p50 ms", "p95 ms", "max ms", "p50 / FTS5", "p95 / FTS5"), rows)


def _measure(data: Data, vault: Path, name: str, queries: list[str]) -> list[Sequence[str]]:
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine
    from excerpt.settings import Settings

    index(vault)
    snapshot = Snapshot.open(index_folder(vault), Settings())
    engine = Engine(snapshot, Settings())
    engine.warm()
    times = {"excerpt": _timed(partial(engine.search, limit=LIMIT), queries)}
    snapshot.close()
    if data.baseline.is_file():
        for kind, peer in (("fts5", Fts5), ("tantivy", Tantivy)):
            target = peer_folder(kind, name)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                run([sys.executable, "-m", "benchmarks.peers", kind, str(vault), str(target), str(data.baseline)])
            times[peer.name] = _timed(partial(peer(target).search, limit=LIMIT), queries)
    plain = times.get(Fts5.name)
    return [_row(f"{name}: {who}", spent, plain) for who, spent in times.items()]


def _timed(search: Callable[[str], object], queries: list[str]) -> list[float]:
    """Milliseconds of each query, the second time it is asked, so that every cache is as warm as it gets."""
    spent = []
    for measured in (False, True):
        for query in queries:
            began = time.perf_counter()
            search(query)
            if measured:
                spent.append((time.perf_counter() - began) * 1e3)
    return spent


def _row(name: str, spent: list[float], plain: list[float] | None) -> Sequence[str]:
    p50, p95 = percentile(spent, 0.5), percentile(spent, 0.95)
    ratios = [f"{mine / percentile(plain, share):.2f}" if plain else "-" for mine, share in ((p50, 0.5), (p95, 0.95))]
    return name, str(len(spent)), f"{p50:.2f}", f"{p95:.2f}", f"{max(spent):.1f}", *ratios
