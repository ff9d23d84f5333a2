"""Tests of saved queries: found by name, never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.errors import SavedQueriesError
from excerpt.search.saved_queries import SavedQueries, change_saved, read_saved

TWO = SavedQueries().with_query("weekly", "modified:7d").with_query("Open conflicts", "conflict status:open")


def test_saved_queries_are_sorted_by_name_ignoring_case() -> None:
    assert [one.name for one in TWO.queries] == ["Open conflicts", "weekly"]


def test_saving_under_an_existing_name_replaces_the_query() -> None:
    saved = TWO.with_query("  WEEKLY ", "modified:7d sync")
    assert [one.query for one in saved.queries] == ["conflict status:open", "modified:7d sync"]


def test_saved_queries_are_read_back(tmp_path: Path) -> None:
    file = tmp_path / "data" / "notes.json"
    change_saved(file, lambda _: TWO)
    change_saved(file, lambda saved: saved.with_query("半", 'a "quoted" \udc80'))
    assert read_saved(file).queries == TWO.with_query("半", 'a "quoted" \udc80').queries


@pytest.mark.parametrize("broken", ["{", '{"queries": [{"name": 3}]}', ""])
def test_an_invalid_file_of_saved_queries_is_reported_and_never_overwritten(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "notes.json"
    file.write_text(broken, encoding="utf-8")
    with pytest.raises(SavedQueriesError, match=r"notes\.json cannot be read"):
        change_saved(file, lambda saved: saved.with_query("new", "sync"))
    assert file.read_text(encoding="utf-8") == broken


def test_a_failed_write_keeps_the_saved_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "notes.json"
    change_saved(file, lambda _: TWO)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("excerpt.base.state_files.os.fsync", full)
    with pytest.raises(SavedQueriesError, match="No space left"):
        change_saved(file, lambda saved: saved.without("weekly"))
    monkeypatch.undo()
    assert read_saved(file) == TWO
    assert [one.name for one in tmp_path.iterdir() if one.suffix != ".lock"] == ["notes.json"]
