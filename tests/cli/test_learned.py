"""Tests of `excerpt learned`: showing and forgetting what was learned from opened and packed notes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from excerpt.search.usage import UseKind, UseLog
from excerpt.settings import user_paths
from tests.cli.conftest import Excerpt


@pytest.fixture
def log(home: Path, vault: Path) -> UseLog:
    return UseLog(user_paths().use_file(vault))


@pytest.fixture
def used(log: UseLog) -> UseLog:
    now = time.time()
    log.record(UseKind.OPEN, [("Sync.md", "")], now)
    log.record(UseKind.PACK, [("Sync.md", ""), ("Colour.md", "")], now)
    return log


def test_nothing_learned_is_told_and_exit_code_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("learned", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "opened or copied" in answer.err


def test_notes_are_listed_the_most_used_first(excerpt: Excerpt, vault: Path, used: UseLog) -> None:
    answer = excerpt("learned", "--vault", vault)
    assert answer.code == 0
    first, second = answer.out.splitlines()
    assert first.startswith("0.60 ")
    assert "1 open, 1 pack" in first
    assert first.endswith("Sync.md")
    assert second.endswith("Colour.md")
    assert str(used.file) in answer.err


def test_json_holds_file_counts_times_and_scores(excerpt: Excerpt, vault: Path, used: UseLog) -> None:
    answer = excerpt("learned", "--vault", vault, "--json").json
    assert (answer["vault"], answer["file"], answer["events"]) == (str(vault), str(used.file), 3)
    sync = answer["notes"][0]
    assert (sync["path"], sync["opens"], sync["packs"], sync["score"]) == ("Sync.md", 1, 1, 0.6)
    assert sync["last"].endswith("Z")


def test_clear_forgets_everything(excerpt: Excerpt, vault: Path, used: UseLog) -> None:
    assert "3 events" in excerpt("learned", "--vault", vault, "--clear").out
    assert excerpt("learned", "--vault", vault, "--json").json["notes"] == []
    assert excerpt("learned", "--vault", vault, "--clear", "--json").json == {"forgotten": 0}


def test_clear_forgets_one_vault_only(excerpt: Excerpt, vault: Path, tmp_path: Path, used: UseLog) -> None:
    other = tmp_path / "other"
    other.mkdir()
    excerpt("learned", "--vault", other, "--clear")
    assert used.events()


def test_a_log_that_cannot_be_removed_is_told(excerpt: Excerpt, vault: Path, log: UseLog) -> None:
    log.file.mkdir(parents=True)
    answer = excerpt("learned", "--vault", vault, "--clear")
    assert answer.code == 3
    assert str(log.file) in answer.err


def test_packing_on_the_command_line_teaches_nothing(excerpt: Excerpt, vault: Path, log: UseLog) -> None:
    assert excerpt("pack", "sync conflict", "--vault", vault).code == 0
    assert log.events() == ()


def test_a_renamed_note_keeps_what_was_learned_of_it(excerpt: Excerpt, vault: Path, used: UseLog) -> None:
    def signals() -> dict[str, float]:
        hits = excerpt("search", "sync", "--vault", vault, "--json").json["hits"]
        return {hit["path"]: hit["signals"]["use"]["value"] for hit in hits}

    before = signals()["Sync.md"]
    assert before > 0
    (vault / "Sync.md").rename(vault / "Synchronising.md")
    assert signals()["Synchronising.md"] == before
    assert [note["path"] for note in excerpt("learned", "--vault", vault, "--json").json["notes"]] == [
        "Synchronising.md",
        "Colour.md",
    ]
