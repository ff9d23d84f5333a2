"""Tests that a pack from a real index equals one from its notes, and stays the same after a rebuild."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Scope, Strategy
from excerpt.model import Hit, PackResult
from excerpt.pack.build import build_pack
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.source import NoteSource
from excerpt.settings import PackSettings, Settings
from excerpt.text.tokens import open_tokenizer
from tests.pack.vaults import Vault, sentence

NOTES = {
    "guide.md": f"---\ntitle: Guide\n---\n# Sync\n\n{sentence('sync', 200)}\n\n## Merge\n\n{sentence('merge', 200)}\n",
    "b/plain.md": "\n\n".join(sentence(word, 200) for word in ("alpha", "beta", "gamma")),
    "b/copy.md": f"# Copy\n\n{sentence('beta', 200)}\n",
    "stub.md": "# One\n\n## Two\n",
}


DAY = 1740787200  # as the notes in tests.pack.vaults


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Index a vault; return its folder and the folder of its index."""
    root = tmp_path_factory.mktemp("packs")
    for path, text in NOTES.items():
        file = root / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (DAY, DAY))
    build(root / "vault", root / "index", Settings())
    return root / "vault", root / "index"


def packed(source: NoteSource, hits: list[Hit], scope: Scope, budget: int) -> PackResult:
    return build_pack(
        source,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(budget=budget, scope=scope),
        tokenizer=open_tokenizer("o200k"),
        marked=(),
    )


def packs(source: NoteSource) -> list[tuple[str, str]]:
    fragments = Vault(NOTES, "o200k").fragments
    hits = [Hit(fragment, 1 / rank) for rank, fragment in enumerate(fragments, start=1)]
    results = [packed(source, hits, scope, budget) for scope in Scope for budget in (300, 1500, 1_000_000)]
    return [(result.text, render_json(result)) for result in results]


def test_an_index_gives_the_packs_that_its_notes_give(folders: tuple[Path, Path]) -> None:
    snapshot = Snapshot.open(folders[1], Settings())
    assert packs(snapshot) == packs(Vault(NOTES, "o200k"))
    assert len(set(packs(snapshot))) > 8
    snapshot.close()


def test_parts_are_the_fragments_without_their_texts(folders: tuple[Path, Path]) -> None:
    snapshot = Snapshot.open(folders[1], Settings())
    ranges = [("guide.md", 0, None), ("gone.md", 0, None), ("b/plain.md", 1, 1), ("b/plain.md", 2, 9)]
    for (path, first, last), parts in zip(ranges, snapshot.parts(ranges), strict=True):
        fragments = snapshot.note_fragments(path, first, last)
        assert [replace(part, key=0) for part in parts] == list(Vault(NOTES, "o200k").parts([(path, first, last)])[0])
        assert [part.key for part in parts] == [fragment.key for fragment in fragments]
    snapshot.close()


@pytest.mark.programs
def test_processes_that_hash_differently_give_the_same_bytes() -> None:
    code = "from tests.pack.test_pack_from_index import *; print(packs(Vault(NOTES, 'o200k')))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{packs(Vault(NOTES, 'o200k'))}\n".encode()}


def test_a_rebuilt_index_gives_the_same_bytes(folders: tuple[Path, Path], tmp_path: Path) -> None:
    before = Snapshot.open(folders[1], Settings())
    build(folders[0], tmp_path / "again", Settings())
    after = Snapshot.open(tmp_path / "again", Settings())
    assert packs(before) == packs(after)
    before.close()
    after.close()
