"""Fixtures: a small vault with an index, and Neovim with the plugin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.editors.nvim import Neovim

if shutil.which("nvim") is None or os.name != "posix":
    collect_ignore_glob = ["test_nvim*.py"]

EXCERPT = [sys.executable, "-m", "excerpt"]

NOTES = {
    "Bees.md": "# Bees\n\nBees live in a hive.\n\n## Winter\n\nA bee colony winters as a cluster around its honey.\n",
    "food/Honey.md": "# Honey\n\nHoney keeps for years when it holds less than eighteen percent of water.\n",
    "food/Tea.md": "# Tea\n\n## Green tea\n\nGreen tea is steeped at eighty degrees for two minutes.\n",
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


@pytest.fixture(scope="session")
def shared_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a vault that is only read."""
    return write_notes(tmp_path_factory.mktemp("shared") / "notes")


@pytest.fixture(scope="session")
def shared_neovim(shared_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    home = tmp_path_factory.mktemp("home")
    index = [*EXCERPT, "index", "--vault", str(shared_vault)]
    subprocess.run(index, env=environment(home), check=True, capture_output=True)
    neovim = Neovim(tmp_path_factory.mktemp("editor"), setup_options(shared_vault), environment(home))
    yield neovim
    neovim.end()


@pytest.fixture
def neovim(shared_neovim: Neovim) -> Neovim:
    """Return Neovim with the plugin, an empty buffer, and a vault that is only read."""
    shared_neovim.clear()
    return shared_neovim


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Return a vault for this test alone."""
    return write_notes(tmp_path / "notes")


@pytest.fixture
def options(vault: Path) -> str:
    """Return the options of `setup()` for the vault of this test."""
    return setup_options(vault)


@pytest.fixture
def start_neovim(tmp_path: Path) -> Iterator[StartNeovim]:
    """Return a function that starts a Neovim with options of `setup()` and files."""
    started: list[Neovim] = []

    def start(options: str, files: Sequence[Path] = ()) -> Neovim:
        folder = tmp_path / "editor"
        folder.mkdir()
        started.append(Neovim(folder, options, environment(tmp_path / "home"), files))
        return started[-1]

    yield start
    for each in started:
        each.end()
