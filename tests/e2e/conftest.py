"""The whole program in a pseudo-terminal, which only POSIX has, with a home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from excerpt.known_vaults import DEMO

collect_ignore_glob = [] if os.name == "posix" else ["test_*.py", "terminal.py"]

EXCERPT = (sys.executable, "-m", "excerpt")


def environment(home: Path) -> dict[str, str]:
    """What a user's shell would hand over, and nothing of the terminal that the tests run in."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return {**kept, "EXCERPT_HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}


@pytest.fixture(scope="session")
def indexed_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the demo vault is indexed; not to be written to."""
    home = tmp_path_factory.mktemp("indexed")
    command = [*EXCERPT, "index", "--vault", str(DEMO)]
    subprocess.run(command, env=environment(home), check=True, capture_output=True)
    (home / "state").mkdir(exist_ok=True)
    (home / "state" / "begun").touch()
    return home


@pytest.fixture
def home(indexed_home: Path, tmp_path: Path) -> Path:
    """A home of the test's own, the demo vault indexed."""
    return Path(shutil.copytree(indexed_home, tmp_path / "home"))


@pytest.fixture
def shell(home: Path) -> Mapping[str, str]:
    return environment(home)
