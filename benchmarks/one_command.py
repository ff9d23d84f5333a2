"""Measure the CPU time of one command from process start to end, beside an interpreter that imports numpy.

Nothing has changed in the vault. Each round uses another question of the set, with every command in turn, so that the
machine's other load affects all of them.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Data, index, run, table
from benchmarks.targets import verdict

VAULT, QUERIES = "obsidian-help/en", "obsidian-help-en.dev"
ROUNDS, WARM_UPS = 15, 1
"""Rounds that are measured, and rounds before them that warm the disk cache."""
NUMPY = "python -c 'import numpy'"
GOALS = {"excerpt --version": 0.07, "excerpt search Q": 0.40, "excerpt pack Q": 0.45}
"""Seconds of CPU time."""


def measure(data: Data) -> None:
    print("\n## One command\n")
    vault = data.vault(VAULT)
    if vault is None:
        return
    index(vault)
    spent: dict[str, list[float]] = {}
    queries = data.queries(QUERIES)[: WARM_UPS + ROUNDS]
    for place, query in enumerate(queries):
        for name, command in _commands(query, vault).items():
            cpu = run((sys.executable, *command), silent=True).cpu
            if place >= WARM_UPS:
                spent.setdefault(name, []).append(cpu)
    beside = statistics.median(spent[NUMPY])
    print(f"{VAULT}, nothing changed; s of processor time, median and least of {ROUNDS} questions, asked in turn\n")
    rows: list[Sequence[str]] = []
    for name, times in spent.items():
        median, goal = statistics.median(times), GOALS.get(name)
        rows.append(
            (name, f"{median:.2f}", f"{min(times):.2f}", f"{median / beside:.1f}", f"{goal:.2f}" if goal else "")
        )
    table(("", "median", "least", "x numpy", "goal"), rows)
    print()
    for name, goal in GOALS.items():
        median = statistics.median(spent[name])
        print(verdict(median <= goal, f"`{name}` takes {median:.2f} s of processor time, to be at most {goal:.2f}"))


def _commands(query: str, vault: Path) -> dict[str, Sequence[str]]:
    return {
        NUMPY: ("-c", "import numpy"),
        "excerpt --version": ("-m", "excerpt", "--version"),
        "excerpt search Q": ("-m", "excerpt", "search", query, "--vault", str(vault)),
        "excerpt pack Q": ("-m", "excerpt", "pack", query, "--vault", str(vault)),
    }
