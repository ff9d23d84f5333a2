"""Measure indexing from nothing: time, peak memory and disk, beside FTS5 and tantivy in the same run.

Also measured are the parts of a build, and its growth with the size of the vault. On a busy machine a build in several
processes loses more than a peer's single one. CPU seconds then say more than wall time, though they rise too if two
processes share a physical core.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import WORK, Data, Run, environment, index, run, size_on_disk, table
from benchmarks.targets import verdict

VAULTS = ("obsidian-help/en", "dendron-site", "cpp-docs")
LARGEST = VAULTS[-1]
MAX_TIMES = 8.0
"""The allowed ratio of excerpt's build time to FTS5's on the largest vault, with vectors, tokens and links."""


def measure(data: Data) -> None:
    print("\n## Indexing from nothing\n")
    if not data.baseline.is_file():
        print(f"  the baseline is not at {data.baseline}: left out")
        return
    growth: list[Sequence[str]] = []
    for name in VAULTS:
        vault = data.vault(name)
        if vault is None:
            continue
        print(f"{name}\n")
        plain, tantivy = (_peer(kind, data, vault, name) for kind in ("fts5", "tantivy"))
        built = index(vault, "--rebuild")
        again = index(vault)
        rows = [
            _row("fts5", plain, plain, peer_folder("fts5", name)),
            _row("tantivy", tantivy, plain, peer_folder("tantivy", name)),
            _row("excerpt", built, plain, index_folder(vault)),
            _row("excerpt, nothing changed", again, plain, index_folder(vault)),
        ]
        table(("", "seconds", "times FTS5", "CPU s", "peak MB", "disk MB"), rows)
        print()
        growth.append(_growth(name, built, size_on_disk(index_folder(vault))))
        if name == LARGEST:
            times = built.seconds / plain.seconds
            said = (
                f"{times:.1f} times FTS5's build of {name} (CPU {built.cpu / plain.cpu:.1f}), at most {MAX_TIMES:.0f}"
            )
            print(f"{verdict(times <= MAX_TIMES, said)}\n")
            _print_parts(vault)
    print("Growth (a million fragments: `make million`; ten: docs/design/index.md)\n")
    table(("", "fragments", "CPU ms a fragment", "peak MB", "disk KB a fragment"), growth)


def _peer(kind: str, data: Data, vault: Path, name: str) -> Run:
    target = peer_folder(kind, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    return run([sys.executable, "-m", "benchmarks.peers", kind, str(vault), str(target), str(data.baseline)])


def _growth(name: str, built: Run, disk: int) -> Sequence[str]:
    fragments = json.loads(built.output)["fragments"]
    per_fragment = f"{built.cpu / fragments * 1e3:.2f}", f"{built.peak / 1e6:.0f}", f"{disk / fragments / 1e3:.1f}"
    return name, f"{fragments:,}", *per_fragment


def _print_parts(vault: Path) -> None:
    found = json.loads(run([sys.executable, "-m", "benchmarks.build_parts", str(vault)]).output)
    whole = found.pop("all")
    parts = sorted(found.items(), key=lambda part: -part[1])
    print(f"Where {whole:.1f} s of CPU go, in one process\n")
    table(("part", "CPU s", "%"), [(name, f"{s:.1f}", f"{s / whole * 100:.0f}") for name, s in parts])
    print()


def _row(name: str, built: Run, plain: Run, place: Path) -> Sequence[str]:
    times, disk = built.seconds / plain.seconds, size_on_disk(place) / 1e6
    return name, f"{built.seconds:.1f}", f"{times:.1f}", f"{built.cpu:.1f}", f"{built.peak / 1e6:.0f}", f"{disk:.1f}"


def peer_folder(kind: str, name: str) -> Path:
    """Return the path of a peer's index of a vault."""
    return WORK / "peers" / f"{name.replace('/', '-')}.{kind}"


def index_folder(vault: Path) -> Path:
    """Return the folder of excerpt's index of a vault in the benchmarks' own home."""
    from excerpt.base.settings import user_paths

    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    return user_paths().index_folder(vault)
