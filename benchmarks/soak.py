"""Test an hour's use in a few minutes: `make soak`.

Queries, edits that a build commits and the engine picks up, and the engine closed and reopened, in one process; memory
and open files are sampled throughout. Fails if, after the first tenth, memory grows by more than MAX_GROWTH, or
SQLite's log beyond MAX_LOG, or if a file is open that the generation in use does not need. Memory is the process's own
(RssAnon): how much of the files is mapped is up to the system.
"""

from __future__ import annotations

import argparse
import gc
import random
import shutil
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import WORK, Data, result, table, write_option
from benchmarks.memory import memory
from excerpt.index.snapshot import Snapshot

VAULT, QUERIES = "dendron-site", "dendron-site.dev"
SEARCHES, EDITS, REOPENINGS = 10_000, 500, 50
SAMPLES = 10
MAX_GROWTH = 1.10
"""The most that memory may grow, as a factor, after the first tenth."""
MAX_LOG = 32_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process holds after `searches` searches.

    `own` is in megabytes; `in_use` are open files of the current generation and `others` the other open files; `log` is
    the size of SQLite's log in bytes.
    """

    searches: int
    own: int
    in_use: int
    others: int
    log: int


def _open_files(snapshot: Snapshot, folder: Path) -> tuple[int, int]:
    """Return how many open files belong to the current generation, and how many do not."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    own = {str(folder / file.name) for file in snapshot.lexical.files}
    in_use = sum(link in own for link in links)
    return in_use, len(links) - in_use


def soak(vault: Path, folder: Path, queries: list[str]) -> list[Sample]:
    """Edit and search the vault and return samples at even distances; `folder` is that of its index."""
    from excerpt.base.settings import Settings
    from excerpt.index.build import build
    from excerpt.search.engine import Engine

    chance, settings = random.Random(1), Settings()
    notes = sorted(vault.rglob("*.md"))
    build(vault, folder, settings)
    snapshot = Snapshot.open(folder, settings)
    engine = Engine(snapshot, settings)
    engine.warm()
    samples: list[Sample] = []
    for number in range(1, SEARCHES + 1):
        engine.search(chance.choice(queries))
        if number % (SEARCHES // EDITS) == 0:
            with chance.choice(notes).open("a", encoding="utf-8") as note:
                note.write(f"\n\nWritten at {number}: {chance.choice(queries)}\n")
            build(vault, folder, settings)
            old, snapshot = snapshot, Snapshot.open(folder, settings, before=snapshot)
            engine = Engine(snapshot, settings)
            engine.warm_without_model()
            old.close()
            snapshot.shorten_wal()
        if number % (SEARCHES // REOPENINGS) == 0:
            snapshot.close()
            snapshot = Snapshot.open(folder, settings)
            engine = Engine(snapshot, settings)
            engine.warm()
        if number % (SEARCHES // SAMPLES) == 0:
            gc.collect()
            log = folder / "catalog.sqlite-wal"
            size = log.stat().st_size if log.exists() else 0
            samples.append(Sample(number, memory().own, *_open_files(snapshot, folder), size))
            print(f"  {samples[-1]}", file=sys.stderr, flush=True)
    with closing(snapshot):
        return samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "soak")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    source = data.vault(VAULT)
    if source is None or not Path("/proc/self/fd").exists():
        return
    room = (WORK / "soak").resolve()
    shutil.rmtree(room, ignore_errors=True)
    shutil.copytree(source, room / "vault")
    samples = soak(room / "vault", room / "index", data.queries(QUERIES))
    with result("soak", "Soak", write=args.write):
        print(f"{VAULT}: {SEARCHES:,} searches, {EDITS} edits, {REOPENINGS} reopenings\n")
        rows = [(f"{s.searches:,}", *map(str, (s.own, s.in_use, s.others)), f"{s.log / 1e6:.1f}") for s in samples]
        table(("searches", "own MB", "open files", "others", "log MB"), rows)
    first, rest = samples[0], samples[1:]
    if (
        max(s.own for s in rest) > first.own * MAX_GROWTH
        or max(s.others for s in rest) > first.others
        or max(s.log for s in samples) > MAX_LOG
    ):
        sys.exit("What the process holds grows.")


if __name__ == "__main__":
    main()
