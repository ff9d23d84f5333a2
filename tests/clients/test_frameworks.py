"""Tests of the guide's retrievers for LLM frameworks, with the frameworks themselves."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from excerpt.known_vaults import DEMO
from tests.clients.install import installed_frameworks

pytestmark = pytest.mark.clients

PAGE = (DEMO / "How to" / "Use a vault in LLM frameworks.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"^## With (\w+)\n\n```python\n(.*?)^```", PAGE, re.M | re.S))


@pytest.fixture(scope="session")
def frameworks() -> Path:
    return installed_frameworks()


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_retriever_of_the_guide_finds_the_passage(frameworks: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(DEMO, tmp_path / "notes")
    environment = os.environ | {
        "HOME": str(tmp_path),
        "EXCERPT_HOME": str(tmp_path / "home"),
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }
    done = subprocess.run(
        [frameworks, "-c", SNIPPETS[name]], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "Token budget.md\n"), done.stderr
