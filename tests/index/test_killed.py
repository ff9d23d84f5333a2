"""A build may be killed at any moment: the last generation stands, and the next build makes the index whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

_KILLS = 200
_MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: that of a process that is killed outlives it as a disk's does, and a
    sync takes no time."""
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=_MEMORY) as folder:
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a build is forked to be killed")
def test_killed_at_random_moments_the_last_generation_stands_and_the_next_build_is_as_a_clean_one(
    quick_folder: Path, models: tuple[Path, Path]
) -> None:
    command = [sys.executable, "-m", "tests.index.killing", str(quick_folder), *map(str, models), "1", str(_KILLS)]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | one_thread)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["killed"] == _KILLS
    # First builds and updates, before, between and after their commits.
    assert min(seen[kind] for kind in ("update", "first", "rebuild", "model", "none", "old", "between", "new")) > 0
