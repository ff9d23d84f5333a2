"""Tests of `excerpt learned`: showing and forgetting what was learned from opened, marked and copied hits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from excerpt.base.settings import user_paths
from excerpt.search.usage import UsedHit, UseKind, UseLog
from tests.cli.conftest import Excerpt


@pytest.fixture
def log(home: Path, vault: Path) -> UseLog:
    return UseLog(user_paths().use_file(vault))


@pytest.fixture
def filled_log(log: UseLog) -> UseLog:
    now = time.time()
    log.record(UseKind.OPENED, [UsedHit("Sync conflict", "Sync.md", "", 1)], now - 1)
    log.record(UseKind.MARKED, [UsedHit("sync conflict", "Sync.md", "", 1)], now)
    log.record(UseKind.COPIED, [UsedHit("theme", "Colour.md", "", 1)], now - 2)
    return log


def test_nothing_learned_is_reported_and_exits_with_1(excerpt: Excerpt, vault: Path) -> None:
    answer = excerpt("learned", "--vault", vault)
    assert (answer.code, answer.out) == (1, "")
    assert "opened, marked or copied" in answer.err


def test_learned_queries_are_listed_with_the_opened_notes_the_most_recent_first(
    excerpt: Excerpt, vault: Path, filled_log: UseLog
) -> None:
    answer = excerpt("learned", "--vault", vault)
    assert answer.code == 0
    first, second = answer.out.splitlines()
    assert "opened 1×, marked 1×" in first
    assert first.endswith("sync conflict  Sync.md")
    assert second.endswith("theme  Colour.md")
    assert str(filled_log.file) in answer.err


def test_json_has_the_file_counts_and_times(excerpt: Excerpt, vault: Path, filled_log: UseLog) -> None:
    answer = excerpt("learned", "--vault", vault, "--json").json
    assert (answer["vault"], answer["file"], answer["events"]) == (str(vault), str(filled_log.file), 3)
    sync = answer["learned"][0]
    assert (sync["query"], sync["path"]) == ("sync conflict", "Sync.md")
    assert (sync["opened"], sync["marked"], sync["copied"]) == (1, 1, 0)
    assert sync["last"].endswith("Z")


def test_what_was_learned_for_one_query_can_be_listed_ignoring_case(
    excerpt: Excerpt, vault: Path, filled_log: UseLog
) -> None:
    assert len(excerpt("learned", "SYNC conflict", "--vault", vault).out.splitlines()) == 1
    assert excerpt("learned", "bread", "--vault", vault).code == 1


def test_what_was_learned_for_one_query_can_be_forgotten(excerpt: Excerpt, vault: Path, filled_log: UseLog) -> None:
    assert "2 events" in excerpt("learned", "SYNC conflict", "--clear", "--vault", vault).out
    assert [event.query for event in filled_log.events()] == ["theme"]


def test_everything_that_was_learned_can_be_forgotten(excerpt: Excerpt, vault: Path, filled_log: UseLog) -> None:
    assert "3 events" in excerpt("learned", "--vault", vault, "--clear", "--all").out
    assert excerpt("learned", "--vault", vault, "--json").json["learned"] == []
    assert excerpt("learned", "--vault", vault, "--clear", "--all", "--json").json == {"forgotten": 0}


@pytest.mark.parametrize("options", [("--clear",), ("--all",), ("theme", "--clear", "--all")])
def test_clearing_what_was_learned_requires_a_query_or_the_option_all(
    excerpt: Excerpt, vault: Path, filled_log: UseLog, options: tuple[str, ...]
) -> None:
    assert excerpt("learned", *options, "--vault", vault).code == 2
    assert len(filled_log.events()) == 3


def test_earlier_questions_are_listed_with_the_query_and_forgotten_by_their_own_words(
    excerpt: Excerpt, vault: Path, log: UseLog
) -> None:
    asked = ("two versions of one note", "my note is there twice")
    log.record(UseKind.OPENED, [UsedHit("sync conflict", "Sync.md", "", 1, (), "9c0d", asked)], time.time())
    (line,) = excerpt("learned", "MY note is there twice", "--vault", vault).out.splitlines()
    assert line.endswith("sync conflict ← my note is there twice ← two versions of one note  Sync.md")
    assert excerpt("learned", "--vault", vault, "--json").json["learned"][0]["earlier"] == list(asked)
    assert "the question from 1 event" in excerpt("learned", asked[0].upper(), "--clear", "--vault", vault).out
    assert [(event.query, event.earlier) for event in log.events()] == [("sync conflict", asked[1:])]
    assert "1 event" in excerpt("learned", "sync conflict", "--clear", "--vault", vault).out
    assert log.events() == ()


def test_only_what_was_learned_in_the_named_vault_is_forgotten(
    excerpt: Excerpt, vault: Path, tmp_path: Path, filled_log: UseLog
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    excerpt("learned", "--vault", other, "--clear", "--all")
    assert filled_log.events()


def test_a_log_that_cannot_be_removed_is_reported(excerpt: Excerpt, vault: Path, log: UseLog) -> None:
    log.file.mkdir(parents=True)
    answer = excerpt("learned", "--vault", vault, "--clear", "--all")
    assert answer.code == 3
    assert str(log.file) in answer.err


def test_commands_neither_record_nor_use_what_was_learned(excerpt: Excerpt, vault: Path, filled_log: UseLog) -> None:
    before = filled_log.file.read_bytes()
    assert excerpt("pack", "sync conflict", "--vault", vault).code == 0
    hits = excerpt("search", "sync conflict", "--vault", vault, "--json").json["hits"]
    assert all("reopened" not in hit["signals"] for hit in hits)
    assert filled_log.file.read_bytes() == before


def test_a_renamed_note_keeps_what_was_learned(excerpt: Excerpt, vault: Path, filled_log: UseLog) -> None:
    excerpt("index", "--vault", vault)
    (vault / "Sync.md").rename(vault / "Synchronising.md")
    excerpt("index", "--vault", vault)
    learned = excerpt("learned", "--vault", vault, "--json").json["learned"]
    assert [one["path"] for one in learned] == ["Synchronising.md", "Colour.md"]
