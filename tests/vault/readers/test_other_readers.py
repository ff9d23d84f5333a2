"""Tests of readers from other packages: the guide's example, installed as a package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from excerpt.known_vaults import DEMO

CAPTIONS = """1
00:00:05,000 --> 00:00:08,000
The lighthouse keeper climbs the stairs.

2
00:01:20,000 --> 00:01:24,000
A storm is coming from the west.
"""
ENTRY_POINTS = "[excerpt.readers]\nsrt = subtitles:SubtitleReader\nodd = not_there:Reader\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder of packages with the guide's reader and one that cannot be loaded."""
    page = (DEMO / "Attachments.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    packages = tmp_path / "packages"
    (packages / "subtitles-1.0.dist-info").mkdir(parents=True)
    (packages / "subtitles.py").write_text(code, encoding="utf-8")
    (packages / "subtitles-1.0.dist-info" / "METADATA").write_text("Name: subtitles\nVersion: 1.0\n")
    (packages / "subtitles-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "film.srt").write_text(CAPTIONS)
    (vault / "empty.srt").write_text("")
    (vault / "some.odd").write_text("odd")
    (vault / "note.md").write_text("# Note\n\nThe film is ![[film.srt#t=00:01:20]].\n")
    return tmp_path


def excerpt(root: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(root / "packages"), "EXCERPT_HOME": str(root / "home")}
    command = [sys.executable, "-m", "excerpt", *words, "--vault", str(root / "vault")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_reader_is_found_by_its_entry_point_and_its_places_are_those_of_hits(installed: Path) -> None:
    found = excerpt(installed, "search", "a storm from the west kind:srt")
    assert "film.srt#t=00:01:20 · srt" in found


def test_what_a_reader_refuses_or_cannot_be_loaded_for_is_named(installed: Path) -> None:
    told = excerpt(installed, "status")
    assert "empty.srt: There are no captions in it." in told
    assert "some.odd: The reader for .odd files, not_there:Reader, cannot be loaded" in told
    assert "attached   1 srt" in told


def test_an_embed_of_such_a_file_is_a_link(installed: Path) -> None:
    assert "film.srt" in excerpt(installed, "search", "from:note kind:srt")
