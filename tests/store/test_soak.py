"""Stress test of eight readers and two writers: every query is answered, and no process grows in memory.

`make team-soak` runs it for ten minutes, `make team-test` for some seconds.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

import excerpt
from excerpt.settings import user_paths
from excerpt.store.address import parse_address
from excerpt.store.push import Pusher
from tests.store.conftest import index_of, records_of
from tests.store.test_killed import WORDS, written

pytestmark = pytest.mark.store

SECONDS = float(os.environ.get("EXCERPT_SOAK", "8"))
READERS = 8
MORE = 1.1
"""The factor up to which more memory does not count as growth."""


@dataclass(frozen=True, slots=True)
class Done:
    """A number of operations, with the memory in MB at first and in the end."""

    times: int
    first: float
    last: float


def memory() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def middle(found: Sequence[float]) -> Done:
    """Return the median memory of the second and the last quarter of the run; by the second all is loaded."""
    quarter = max(1, len(found) // 4)
    return Done(len(found), statistics.median(found[quarter : 2 * quarter]), statistics.median(found[-quarter:]))


def read(address: str, seed: int, ends: float) -> Done:
    """Search a vault in a store until the time `ends`."""
    chosen = random.Random(seed)
    found: list[float] = []
    with excerpt.open(address) as vault:
        while time.time() < ends or len(found) < 8:
            query = " ".join(chosen.choices(WORDS, k=3))
            hits = vault.search(query, limit=10).hits
            assert hits
            vault.pack(query, budget=800)
            if chosen.random() < 0.2:
                vault.overview(query)
                vault.related(f"{chosen.choice(['000', '001', '002'])}.md")
                assert vault.read("000.md").text
            found.append(memory())
    return middle(found)


def write(folder: str, address: str, seed: int, ends: float) -> Done:
    """Change one or several notes and push them, until the time `ends`."""
    vault, chosen = Path(folder), random.Random(seed)
    found: list[float] = []
    pusher = Pusher(parse_address(address), user_paths().push_folder(vault))
    try:
        with excerpt.open(vault) as opened:
            while time.time() < ends or len(found) < 8:
                for number in chosen.sample(range(3, 600), 5):
                    note = vault / f"{number:03}.md"
                    note.write_text(f"# Hive {number}\n\n{' '.join(chosen.choices(WORDS, k=60))}.\n", encoding="utf-8")
                opened.refresh()
                pusher.push(index_of(opened))
                found.append(memory())
                time.sleep(chosen.uniform(0.1, 1.0))
    finally:
        pusher.close()
    return middle(found)


def test_readers_and_writers_do_not_stop_each_other(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    addresses = [f"{database}?vault={name}" for name in ("one", "two")]
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, address in zip(folders, addresses, strict=True):
        folder.mkdir()
        written(folder, random.Random(7))
        for number in range(3):
            (folder / f"{number:03}.md").write_text(f"# Hive {number}\n\nHoney of a colony.\n", encoding="utf-8")
        with excerpt.open(folder) as vault:
            vault.load()
            pusher = Pusher(parse_address(address), records_of(vault))
            pusher.push(index_of(vault))
            pusher.close()
    ends = time.time() + SECONDS
    with ProcessPoolExecutor(READERS + len(folders), get_context("spawn")) as processes:
        asked = [processes.submit(read, addresses[number % 2], number, ends) for number in range(READERS)]
        pushed = [
            processes.submit(write, str(folder), address, number, ends)
            for number, (folder, address) in enumerate(zip(folders, addresses, strict=True))
        ]
        done = {"readers": [one.result() for one in asked], "writers": [one.result() for one in pushed]}
    for who in done.values():
        for one in who:
            assert one.last < one.first * MORE, done
