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


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def start_neovim(tmp_path: Path) -> Iterator[StartNeovim]:
    """Return a function that starts Neovim with options of `setup()` and files."""
    started: list[Neovim] = []

    def start(options: str, files: Sequence[Path] = ()) -> Neovim:
        folder = tmp_path / "editor"
        folder.mkdir()
        started.append(Neovim(folder, options, environment(tmp_path / "home"), files))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture
def options(vault: Path) -> str:
    """Return the options of `setup()` for the vault."""
    command = ", ".join(map(json.dumps, EXCERPT))
    return f"cmd = {{ {command} }}, vault = {json.dumps(str(vault))}"


@pytest.fixture
def neovim(vault: Path, options: str, start_neovim: StartNeovim, tmp_path: Path) -> Neovim:
    """Return Neovim with the plugin, on a vault that has an index."""
    index = [*EXCERPT, "index", "--vault", str(vault)]
    subprocess.run(index, env=environment(tmp_path / "home"), check=True, capture_output=True)
    return start_neovim(options)
