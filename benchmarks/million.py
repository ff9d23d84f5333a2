"""Measure a vault of a million fragments: how long a search takes, and how much memory, beside a ninth of it.

    python -m benchmarks.million [--data ../shared] [--copies 9]

The corpus (cpp-docs, about 111,000 fragments) is written once as it is and then several times with other words: in each
copy, every word except the commonest is replaced by another of about the same frequency. So the vocabulary keeps its
shape, no text occurs twice, and the same queries match in every copy. Nothing is random: the same corpus gives the same
vault. It is kept under build/million, 0.5 GB for the vault and 2.5 GB for the index; an existing one is reused.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks.indexing import index_folder
from benchmarks.measure import Data, Run, index, percentile, result, run, size_on_disk, table, write_option

WORK = Path("build/million")
CORPUS, QUERIES = "cpp-docs", "cpp-docs.dev"
LIMIT = 50
_WORD = re.compile(r"(?<![\w/.&<\\])[a-z]{4,}(?![\w/.:>=\\])")
_KEPT = 200
"""How many of the commonest words every copy keeps: frontmatter keys and function words."""
_EXCHANGED = 16
"""Size of the groups of words with similar frequency that replace each other."""


def write_vault(corpus: Path, vault: Path, copies: int) -> None:
    """Write `corpus` `copies` times into `vault`, the first time as it is."""
    notes = [(path.relative_to(corpus), path.read_bytes()) for path in sorted(corpus.rglob("*.md")) if path.is_file()]
    texts = [(path, data.decode("utf-8", "replace")) for path, data in notes]
    counts = Counter(word for _, text in texts for word in _WORD.findall(text))
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    for copy in range(copies):
        exchanged = _exchanged(ranked, copy)
        for path, text in texts:
            target = vault / f"copy-{copy}" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_WORD.sub(partial(_other, exchanged), text), encoding="utf-8", newline="")


def _exchanged(ranked: list[str], copy: int) -> Mapping[str, str]:
    """Return for each word its replacement: within groups of `_EXCHANGED`, the `copy`-th word after it."""
    groups = [ranked[at : at + _EXCHANGED] for at in range(_KEPT, len(ranked), _EXCHANGED)]
    return {word: group[(at + copy) % len(group)] for group in groups for at, word in enumerate(group)}


def _other(exchanged: Mapping[str, str], match: re.Match[str]) -> str:
    return exchanged.get(match[0], match[0])


def searched(folder: Path, queries: list[str]) -> dict[str, float]:
    """Open an index in this process, run all queries once, and return the times in milliseconds.

    They are of opening, of the first query before anything is warm, of warming, and of all queries.
    """
    from excerpt.base.settings import Settings
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine

    began = time.perf_counter()
    engine = Engine(Snapshot.open(folder, Settings()), Settings())
    opened = time.perf_counter()
    engine.search(queries[0], limit=LIMIT)
    first = time.perf_counter()
    engine.warm()
    warm = time.perf_counter()
    spent = [_timed(engine.search, query) for query in queries]
    return {
        "fragments": float(engine.snapshot.lexical.doc_count),
        "open": (opened - began) * 1e3,
        "first": (first - opened) * 1e3,
        "warm": (warm - first) * 1e3,
        "p50": percentile(spent, 0.5),
        "p95": percentile(spent, 0.95),
        "max": max(spent),
    }


def _timed(search: object, query: str) -> float:
    assert callable(search)
    began = time.perf_counter()
    search(query, limit=LIMIT)
    return (time.perf_counter() - began) * 1e3


def measure(data: Data, copies: int) -> None:
    """Print both indexes' figures side by side, and the ratio of their times."""
    corpus = data.vault(CORPUS)
    if corpus is None:
        return
    vault = WORK.resolve() / f"vault-{copies}"
    if not vault.is_dir():
        unfinished = vault.with_name(f"{vault.name}.part")
        write_vault(corpus, unfinished, copies)
        unfinished.rename(vault)
    rows = []
    found: dict[str, dict[str, float]] = {}
    for name, place in (("one", corpus), (f"{copies} copies", vault)):
        built = index(place)
        asked = _in_a_process_of_its_own(data, place)
        found[name] = json.loads(asked.output)
        figures = found[name]
        rows.append(
            (
                f"{name}: {figures['fragments']:,.0f} fragments",
                *(f"{figures[key]:.1f}" for key in ("open", "first", "warm", "p50", "p95", "max")),
                f"{asked.peak / 1e6:,.0f}",
                f"{built.seconds:,.0f}",
                f"{built.peak / 1e6:,.0f}",
                f"{size_on_disk(index_folder(place)) / 1e6:,.0f}",
            )
        )
    head = ("", "open ms", "first ms", "warm ms", "p50 ms", "p95 ms", "max ms", "MB", "build s", "build MB", "disk MB")
    table(head, rows)
    small, large = found.values()
    print(f"\np95 takes {large['p95'] / small['p95']:.1f} times as long (p50 {large['p50'] / small['p50']:.1f} times).")


def _in_a_process_of_its_own(data: Data, vault: Path) -> Run:
    return run([sys.executable, "-m", "benchmarks.million", "--data", str(data.root), "--ask", str(vault)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--copies", type=int, default=9, help="how often the corpus is written")
    parser.add_argument("--ask", type=Path, help="only ask this vault's index, and print the figures as JSON")
    write_option(parser, "million")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    if args.ask:
        print(json.dumps(searched(index_folder(args.ask), data.queries(QUERIES))))
        return
    with result("million", "A million fragments", write=args.write and data.there):
        measure(data, args.copies)


if __name__ == "__main__":
    main()
