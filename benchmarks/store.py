"""Measure a vault in a store beside the same vault in a folder: pushes, searches, and many readers.

The server is that of the tests (`tests/store/server.py`), so it shares the machine's cores with the readers, and does
not wait for the disk. Each query is asked of the folder and of the store in turn, in one process. The time of a query
of a reader counts from when it is due, every half second.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import Data, environment, index, percentile, run, table
from benchmarks.memory import memory

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from excerpt import Vault

SETS = (("dendron-site", "dendron-site.dev"), ("cpp-docs", "cpp-docs.dev"))
"""Vaults with their sets of queries."""
QUERIES = 200
FIRST = 10
"""How many hits of a query are compared."""
READERS = 20
QUERY_SECONDS = 0.5
QUERIES_OF_A_READER = 20
MAX_SECONDS = 300.0
FURTHER_READERS = 3
"""How many readers are opened to measure the memory of each."""
WARMING = ("note", "how do I search for text", "link to a page", "settings", "list of names")
"""Queries after which a vault has loaded what it needs."""


def measure(data: Data) -> None:
    from tests.store.server import NoServerError, single_server

    print("\n## A store in PostgreSQL\n")
    found = [(name, vault, queries) for name, queries in SETS if (vault := data.vault(name)) is not None]
    if not found:
        return
    pushes: list[Sequence[str]] = []
    searches: list[Sequence[str]] = []
    try:
        with single_server() as server:
            for number, (name, vault, queries) in enumerate(found):
                index(vault)
                address = f"{server.primary}?vault=v{number}"
                pushes += [_push(f"{name}: {what}", vault, address) for what in ("all", "nothing changed")]
                command = [sys.executable, "-m", "benchmarks.store", address, str(vault.resolve()), str(data.root)]
                output = run([*command, queries], _environment()).output
                searches += [(name, *row) for row in json.loads(output)]
    except NoServerError as error:
        print(f"{error}\n")
        return
    table(("push", "s", "CPU s"), pushes)
    print()
    head = ("p50 ms", "p95 ms", "of the folder's p50", "p95", "other first ten", "MB a further reader")
    table(("search", "", *head), searches)


def _environment() -> dict[str, str]:
    return {**environment(), "PGPASSWORD": os.environ["PGPASSWORD"]}


def _push(name: str, vault: Path, address: str) -> Sequence[str]:
    spent = run([sys.executable, "-m", "excerpt", "push", str(vault), "--to", address, "--json"], _environment())
    return name, f"{spent.seconds:.1f}", f"{spent.cpu:.1f}"


# --- in a process of its own ------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("vault", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("queries")
    args = parser.parse_args()
    asked = Data(args.data).queries(args.queries)
    queries = asked[:: max(1, len(asked) // QUERIES)][:QUERIES]
    print(json.dumps([*_compare(args.address, args.vault, queries), _many_readers(args.address, queries)]))


def _compare(address: str, folder: Path, queries: list[str]) -> list[Sequence[str]]:
    """Return a row for the folder and one for the store."""
    with ExitStack() as opened:
        vaults = [opened.enter_context(_open(folder)), opened.enter_context(_open(address))]
        times: list[list[float]] = [[], []]
        different = 0
        for query in queries:
            first = []
            for vault, spent in zip(vaults, times, strict=True):
                began = time.perf_counter()
                result = vault.search(query, limit=50)
                spent.append((time.perf_counter() - began) * 1e3)
                first.append([(hit.fragment.path, hit.fragment.line_start) for hit in result.hits[:FIRST]])
            different += first[0] != first[1]
        before = memory().own
        for _ in range(FURTHER_READERS):
            reader = opened.enter_context(_open(address))
            for query in queries[:100]:
                reader.search(query, limit=50)
        added = (memory().own - before) / FURTHER_READERS
    mine, theirs = ([percentile(spent, share) for share in (0.5, 0.95)] for spent in times)
    ratios = [f"{there / here:.1f}" for here, there in zip(mine, theirs, strict=True)]
    return [
        ("folder", *(f"{ms:.1f}" for ms in mine), "", "", "", ""),
        ("store", *(f"{ms:.1f}" for ms in theirs), *ratios, f"{different} of {len(queries)}", f"{added:.0f}"),
    ]


def _many_readers(address: str, queries: list[str]) -> Sequence[str]:
    """Return a row for READERS readers, each a process with a query every QUERY_SECONDS."""
    context = get_context("spawn")
    opened, answers = context.Barrier(READERS), context.Queue()
    arguments = ((address, queries[number:] + queries[:number], number, opened, answers) for number in range(READERS))
    readers = [context.Process(target=_read, args=each) for each in arguments]
    for reader in readers:
        reader.start()
    times = [ms for _ in readers for ms in answers.get(timeout=MAX_SECONDS)]
    for reader in readers:
        reader.join()
    name = f"{READERS} readers, {1 / QUERY_SECONDS:.0f} queries a second each"
    return name, f"{percentile(times, 0.5):.1f}", f"{percentile(times, 0.95):.1f}", "", "", "", ""


def _read(address: str, queries: list[str], number: int, opened: Barrier, answers: Queue[list[float]]) -> None:
    """Answer with the milliseconds of each query, from when it was due, after all readers have opened the store."""
    times: list[float] = []
    with _open(address) as vault:
        opened.wait(MAX_SECONDS)
        start = time.perf_counter() + QUERY_SECONDS * number / READERS
        for turn, query in enumerate(queries[:QUERIES_OF_A_READER]):
            due = start + QUERY_SECONDS * turn
            time.sleep(max(due - time.perf_counter(), 0))
            vault.search(query)
            times.append((time.perf_counter() - due) * 1e3)
    answers.put(times)


def _open(path: Path | str) -> Vault:
    """Return a vault that has answered some queries, so that all is loaded."""
    import excerpt

    vault = excerpt.open(path, refresh=False)
    for query in WARMING:
        vault.search(query, limit=50)
    return vault


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
