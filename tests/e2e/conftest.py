"""The whole program in a pseudo-terminal (POSIX only), with a separate home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from excerpt.vault.known_vaults import DEMO

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py", "terminal.py"]

EXCERPT = (sys.executable, "-m", "excerpt")


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a user's shell, without the variables of the terminal that runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return {**kept, "EXCERPT_HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}


@pytest.fixture(scope="session")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Index the demo vault in a home that is only read."""
    home = tmp_path_factory.mktemp("indexed")
    command = [*EXCERPT, "index", "--vault", str(DEMO)]
    subprocess.run(command, env=environment(home), check=True, capture_output=True)
    (home / "state").mkdir(exist_ok=True)
    (home / "state" / "begun").touch()
    return home


@pytest.fixture
def home(indexed_home: Path, tmp_path: Path) -> Path:
    """Return a writable copy of the home with the indexed demo vault."""
    return Path(shutil.copytree(indexed_home, tmp_path / "home"))


@pytest.fixture
def shell(home: Path) -> Mapping[str, str]:
    return environment(home)
