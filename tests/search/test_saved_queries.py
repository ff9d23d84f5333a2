"""Tests of saved queries: found by name, never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.errors import SavedQueriesError
from excerpt.search.saved_queries import SavedQueries, change_saved, read_saved

TWO = SavedQueries().with_query("weekly", "modified:7d").with_query("Open conflicts", "conflict status:open")


def test_they_are_in_the_order_of_their_names_whatever_the_case() -> None:
    assert [one.name for one in TWO.queries] == ["Open conflicts", "weekly"]


def test_a_name_holds_one_query_the_one_saved_last() -> None:
    saved = TWO.with_query("  WEEKLY ", "modified:7d sync")
    assert [one.query for one in saved.queries] == ["conflict status:open", "modified:7d sync"]


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "data" / "notes.json"
    change_saved(file, lambda _: TWO)
    change_saved(file, lambda saved: saved.with_query("半", 'a "quoted" \udc80'))
    assert read_saved(file).queries == TWO.with_query("半", 'a "quoted" \udc80').queries


@pytest.mark.parametrize("broken", ["{", '{"queries": [{"name": 3}]}', ""])
def test_a_file_that_makes_no_sense_is_named_and_never_written_over(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "notes.json"
    file.write_text(broken, encoding="utf-8")
    with pytest.raises(SavedQueriesError, match=r"notes\.json cannot be read"):
        change_saved(file, lambda saved: saved.with_query("new", "sync"))
    assert file.read_text(encoding="utf-8") == broken


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "notes.json"
    change_saved(file, lambda _: TWO)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("excerpt.state_files.os.fsync", full)
    with pytest.raises(SavedQueriesError, match="No space left"):
        change_saved(file, lambda saved: saved.without("weekly"))
    monkeypatch.undo()
    assert read_saved(file) == TWO
    assert [one.name for one in tmp_path.iterdir() if one.suffix != ".lock"] == ["notes.json"]
