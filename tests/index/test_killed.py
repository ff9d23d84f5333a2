"""Tests of builds killed at any moment or stopped by a full disk.

The last generation remains, and the next build completes the index.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import THOROUGH

_ENDS = {"killed": 200, "full": 60} if THOROUGH else {"killed": 40, "full": 15}


@pytest.mark.programs
@pytest.mark.hypothesis  # its edits and moments are random, so `make properties` runs it
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a build is forked to be killed")
def test_at_whatever_moment_it_ends_the_last_generation_stands_and_the_next_build_is_as_a_clean_one(
    quick_folder: Path, models: tuple[Path, Path]
) -> None:
    ends = [f"{how}={times}" for how, times in _ENDS.items()]
    command = [sys.executable, "-m", "tests.index.killing", str(quick_folder), *map(str, models), *ends]
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | one_thread)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {how: seen[how] for how in _ENDS} == _ENDS
    # Kills hit first builds and updates before, between and after their commits. A short run may miss rare cases;
    # test_recovery.py kills a commit at each of its steps.
    rare = ("model", "between", "new") if THOROUGH else ()
    assert min(seen[kind] for kind in ("update", "first", "rebuild", "none", "old", *rare)) > 0
