"""Tests of preparing one file: everything that is stored about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from excerpt.index.prepare import FileTask, PrepareOptions, prepare
from excerpt.settings import VaultSettings
from excerpt.vault.readers import digest_of_bytes


@pytest.mark.skipif(os.name != "posix", reason="needs O_NOFOLLOW")
def test_a_known_note_replaced_by_a_link_is_skipped_and_not_taken_for_unchanged(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("the very words the note had", encoding="utf-8")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "note.md").symlink_to(outside)
    known = digest_of_bytes(outside.read_bytes())

    done = prepare(PrepareOptions(vault, "o200k", VaultSettings()), [FileTask("note.md", 1, 1, 1, known)])

    assert not done.unchanged
    assert [skipped.path for skipped in done.skipped] == ["note.md"]


def test_a_known_note_over_the_size_limit_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("words " * 100, encoding="utf-8")
    known = digest_of_bytes((tmp_path / "note.md").read_bytes())

    done = prepare(
        PrepareOptions(tmp_path, "o200k", VaultSettings(max_bytes=50)), [FileTask("note.md", 600, 1, 1, known)]
    )

    assert not done.unchanged
    assert "larger than" in done.skipped[0].reason
