"""Fixtures: a small vault with an index, and Neovim with the plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.editors.nvim import Neovim

collect_ignore_glob = [] if os.name == "posix" else ["test_nvim*.py"]

EXCERPT = [sys.executable, "-m", "excerpt"]

HOSTILE = "%{system('touch a')} $(touch b) `touch c` #1|x *?[z] é\x1b[31m\u202e.md"

NOTES = {
    "Bees.md": "# Bees\n\nBees live in a hive.\n\n## Winter\n\nA bee colony winters as a cluster around its honey.\n",
    "food/Honey.md": "# Honey\n\nHoney keeps for years when it holds less than eighteen percent of water.\n",
    "food/Tea.md": "# Tea\n\n## Green tea\n\nGreen tea is steeped at eighty degrees for two minutes.\n",
    "shop/Tea.md": "# Tea\n\nOolong rests in a clay pot.\n",
    HOSTILE: "# Walrus \x1b]52;c;aGFja2Vk\x07\n\nThe walrus \x1b[2J\u202e dives.\n\nvim: set tabstop=3:\n",
}

StartNeovim = Callable[..., Neovim]


def environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return {**kept, "EXCERPT_HOME": str(home), "LANG": "C.UTF-8"}


def write_notes(folder: Path) -> Path:
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def setup_options(vault: Path) -> str:
    """Return the options of `setup()` for a vault."""
    command = ", ".join(map(json.dumps, EXCERPT))
    return f"cmd = {{ {command} }}, vault = {json.dumps(str(vault))}"


@dataclass(frozen=True, slots=True)
class Shared:
    """A vault with an index, and the home that has it. Tests only read the vault."""

    vault: Path
    home: Path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    vault, home = write_notes(tmp_path_factory.mktemp("shared") / "notes"), tmp_path_factory.mktemp("home")
    index = [*EXCERPT, "index", "--vault", str(vault)]
    subprocess.run(index, env=environment(home), check=True, capture_output=True)
    return Shared(vault, home)


@pytest.fixture(scope="session")
def shared_neovim(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    neovim = Neovim(tmp_path_factory.mktemp("editor"), setup_options(shared.vault), environment(shared.home))
    yield neovim
    neovim.end()


@pytest.fixture
def neovim(shared_neovim: Neovim) -> Neovim:
    """Return Neovim on the shared vault, with an empty buffer."""
    shared_neovim.clear()
    return shared_neovim


@pytest.fixture
def start_neovim(shared: Shared, tmp_path: Path) -> Iterator[StartNeovim]:
    """Return a function that starts a Neovim for this test alone, with options of `setup()` and files."""
    started: list[Neovim] = []

    def start(options: str, files: Sequence[Path] = ()) -> Neovim:
        started.append(Neovim(tmp_path, options, environment(shared.home), files))
        return started[-1]

    yield start
    for each in started:
        each.end()
