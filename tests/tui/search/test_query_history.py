"""Tests of the query history: what it keeps, moving back in it, and its file."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from excerpt.tui.search import query_history
from excerpt.tui.search.query_history import HistoryCursor, QueryHistory, add_query, forget_query, read_history


def test_each_query_is_listed_once_newest_first() -> None:
    assert QueryHistory.from_queries(["sync", "soup", "sync"]).queries == ("sync", "soup")


def test_an_unfinished_query_is_left_out() -> None:
    assert QueryHistory.from_queries(["soup", "sync", "sync conflict", "sync conflict tag:howto"]).queries == (
        "sync conflict tag:howto",
        "soup",
    )


def test_the_history_is_searched_by_words_in_any_order_and_case() -> None:
    assert QueryHistory.from_queries(["Sync conflict", "soup"]).filter_by("CONFL sy") == ("Sync conflict",)


def test_the_cursor_moves_to_older_queries_and_back_and_stops_at_both_ends() -> None:
    step_history = HistoryCursor(QueryHistory.from_queries(["first", "second"])).step(1)
    assert step_history is not None
    assert step_history.query == "second"
    older = step_history.step(1)
    assert older is not None
    assert older.query == "first"
    assert older.step(1) is None
    assert step_history.step(-1) is None


def test_an_added_query_is_read_back_from_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "notes.jsonl"
    for query in ("sync", 'a "quoted" 冲突 \udc80', "soup"):
        add_query(file, query)
    assert read_history(file).queries == ("soup", 'a "quoted" 冲突 \udc80', "sync")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_forgotten_query_is_removed_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    for query in ("sync", "soup"):
        add_query(file, query)
    forget_query(file, "sync")
    assert read_history(file).queries == ("soup",)


def test_a_line_of_a_killed_process_loses_no_other_query(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    add_query(file, "sync")
    with file.open("ab") as opened:
        opened.write(b'{"query": "so')
    add_query(file, "soup")
    assert read_history(file).queries == ("soup", "sync")


def test_a_large_file_is_reduced_to_the_newest_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_history, "_COMPACT_ABOVE_BYTES", 100)
    file = tmp_path / "notes.jsonl"
    for _ in range(5):
        for query in ("sync", "soup", "lentils"):
            add_query(file, query)
    assert file.stat().st_size <= 150
    assert read_history(file).queries == ("lentils", "soup", "sync")


def test_concurrent_apps_lose_no_query(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    asked = [f"query {letter}{number}" for letter in "ab" for number in range(9)]
    threads = [threading.Thread(target=add_query, args=(file, query)) for query in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_history(file).queries) == sorted(asked)
