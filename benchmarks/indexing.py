"""Indexing a vault from nothing: time, peak memory and disk, beside FTS5 and tantivy in the same run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import WORK, Data, Run, environment, index, run, size_on_disk, table

VAULTS = ("obsidian-help/en", "dendron-site", "cpp-docs")


def measure(data: Data) -> None:
    print("\n## Indexing from nothing\n")
    if not data.baseline.is_file():
        print(f"  the baseline is not at {data.baseline}: left out")
        return
    for name in VAULTS:
        vault = data.vault(name)
        if vault is not None:
            print(f"{name}\n")
            table(("", "seconds", "times FTS5", "peak MB", "disk MB"), list(_rows(data, vault, name)))
            print()


def _rows(data: Data, vault: Path, name: str) -> Iterator[Sequence[str]]:
    peers = WORK / "peers"
    peers.mkdir(parents=True, exist_ok=True)
    plain: float | None = None
    for kind in ("fts5", "tantivy"):
        target = peer_folder(kind, name)
        built = run([sys.executable, "-m", "benchmarks.peers", kind, str(vault), str(target), str(data.baseline)])
        plain = plain or built.seconds
        yield _row(kind, built, built.seconds / plain, size_on_disk(target))
    assert plain is not None
    built = index(vault, "--rebuild")
    yield _row("excerpt", built, built.seconds / plain, size_on_disk(index_folder(vault)))
    again = index(vault)
    yield _row("excerpt, nothing changed", again, again.seconds / plain, size_on_disk(index_folder(vault)))


def _row(name: str, built: Run, times: float, disk: int) -> Sequence[str]:
    return name, f"{built.seconds:.1f}", f"{times:.1f}", f"{built.peak / 1e6:.0f}", f"{disk / 1e6:.1f}"


def peer_folder(kind: str, name: str) -> Path:
    """Where a peer's index of a vault is kept."""
    return WORK / "peers" / f"{name.replace('/', '-')}.{kind}"


def index_folder(vault: Path) -> Path:
    """Where excerpt's index of a vault is kept in the benchmarks' own home."""
    from excerpt.settings import places

    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    return places().index_folder(vault)
