"""Fixtures: a small vault with an index, the server over stdio and HTTP, and third-party clients."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.install import Clients, installed
from tests.clients.serving import Served, Stdio

NOTES = {
    "Bees.md": "# Bees\n\n## Winter\n\nA bee colony winters as a cluster around its honey. See [[Honey]].\n",
    "Honey.md": "# Honey\n\nHoney keeps for years when it holds less than eighteen percent of water.\n",
    "kitchen/Tea.md": "# Tea\n\n## Green\n\nGreen tea is steeped at eighty degrees for two minutes.\n",
}

APIARY = 1_000
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


@pytest.fixture(scope="session")
def clients() -> Clients:
    return installed()


@pytest.fixture(scope="session")
def stdio(tmp_path_factory: pytest.TempPathFactory) -> Stdio:
    """Index the vault of `NOTES` and return its stdio server."""
    home, vault = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("notes")
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    server = Stdio(vault, home)
    index = [sys.executable, "-m", "excerpt", "index", "--vault", str(vault)]
    subprocess.run(index, env=server.environment, check=True, capture_output=True)
    return server


@pytest.fixture(scope="session")
def http(stdio: Stdio) -> Iterator[Served]:
    """Start the same server over HTTP, as one process for all clients."""
    with Served(stdio) as served:
        yield served


@pytest.fixture(scope="session", params=["stdio", "http"])
def server(request: pytest.FixtureRequest, stdio: Stdio, http: Served) -> Stdio | Served:
    """Return the server over stdio, then over HTTP."""
    return stdio if request.param == "stdio" else http


@pytest.fixture(scope="session")
def apiary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a vault whose first build takes seconds; each note has a unique number."""
    folder = tmp_path_factory.mktemp("apiary")
    chosen = random.Random(17)
    for number in range(APIARY):
        sections = [f"## Part {part}\n\n{' '.join(chosen.choices(WORDS, k=120))}.\n" for part in range(8)]
        text = f"# Hive {number:04}\n\nNumber {number:04}.\n\n" + "\n".join(sections)
        (folder / f"{number:04}.md").write_text(text, encoding="utf-8")
    return folder
