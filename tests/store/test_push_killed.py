"""Tests of pushers and servers that are killed: the next push gives what a clean one does, and readers go on."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import psycopg
import pytest

import excerpt
from excerpt.base.settings import user_paths
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import Pusher
from tests.store.conftest import index_of, records_of
from tests.store.server import Servers

pytestmark = pytest.mark.store

KILLS = int(os.environ.get("EXCERPT_KILLS", "4"))
NOTES = 600
WORDS = (
    "honey",
    "colony",
    "cluster",
    "winter",
    "nectar",
    "pollen",
    "swarm",
    "queen",
    "drone",
    "brood",
    "comb",
    "smoke",
)


def written(vault: Path, chosen: random.Random) -> None:
    """Rewrite some notes of the vault, delete some and add some."""
    for number in chosen.sample(range(NOTES), NOTES // 3):
        note = vault / f"{number:03}.md"
        if chosen.random() < 0.2:
            note.unlink(missing_ok=True)
        else:
            text = "\n\n".join(f"## Part {part}\n\n{' '.join(chosen.choices(WORDS, k=60))}." for part in range(4))
            note.write_text(f"# Hive {number}\n\n{text}\n", encoding="utf-8")


def store_content(database: str, name: str) -> list[list[tuple[object, ...]]]:
    """Return everything a store holds of a vault, except generated ids."""
    with psycopg.connect(database) as connection:
        ((vault,),) = connection.execute("SELECT id FROM excerpt.vaults WHERE name = %s", (name,)).fetchall()
        return [
            connection.execute(sql, (vault,)).fetchall()
            for sql in (
                "SELECT path, digest, title FROM excerpt.notes WHERE vault = %s ORDER BY path",
                "SELECT id, ordinal, text, words, lengths, vector::text FROM excerpt.fragments WHERE vault = %s"
                " ORDER BY id, ordinal",
                "SELECT term, fragments, attached FROM excerpt.terms WHERE vault = %s ORDER BY term",
                "SELECT attached, fragments, lengths, filled FROM excerpt.statistics"
                " JOIN excerpt.areas ON areas.id = area WHERE vault = %s ORDER BY attached",
                "SELECT path, count(*) FROM excerpt.names JOIN excerpt.notes ON id = note WHERE names.vault = %s"
                " GROUP BY path ORDER BY path",
            )
        ]


def test_after_a_killed_push_the_next_push_completes_the_store(
    database: str, running: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, vault = tmp_path / "home", tmp_path / "notes"
    monkeypatch.setenv("EXCERPT_HOME", str(home))
    vault.mkdir()
    chosen = random.Random(19)
    written(vault, chosen)
    command = [sys.executable, "-m", "excerpt", "push", str(vault), "--to"]
    begun = time.monotonic()
    subprocess.run([*command, f"{database}?vault=first"], check=True, capture_output=True)
    whole = time.monotonic() - begun
    for number in range(KILLS):
        written(vault, chosen)
        pusher = subprocess.Popen(
            [*command, f"{database}?vault=notes"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        with suppress(subprocess.TimeoutExpired):
            pusher.wait(chosen.uniform(0.2, 1.0) * whole)
        if running.crash is not None and number % 2:
            running.crash()
        else:
            pusher.kill()
        assert "Traceback" not in pusher.communicate()[1]
    for name in ("notes", "clean"):
        # Of many killed pushes the last that was complete may have had many notes that are deleted since.
        final = [*command, f"{database}?vault={name}", "--accept-removals"]
        subprocess.run(final, check=True, capture_output=True)
    assert store_content(database, "notes") == store_content(database, "clean")
    with excerpt.open(f"{database}?vault=notes") as one, excerpt.open(f"{database}?vault=clean") as other:
        for note in sorted(vault.glob("*5.md")):
            hits = [opened.search(f"Hive {int(note.stem)}").hits[0] for opened in (one, other)]
            assert [hit.fragment.path for hit in hits] == [note.name, note.name]
            assert hits[0].fragment.text == hits[1].fragment.text


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


def median_of(found: Sequence[float]) -> Done:
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
    return median_of(found)


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
    return median_of(found)


def test_readers_and_writers_do_not_block_each_other(
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
