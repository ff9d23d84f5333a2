"""Tests of marks kept between sessions; errors in their file never block the app."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from excerpt.kinds import Scope
from excerpt.model import Span
from excerpt.pack.selection import NO_MARKS, MarkedFragment, PackOverrides, SavedMarks, read_marks, write_marks
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.session import StateFile
from tests.tui.driver import (
    AppPilot,
    hit_list_of,
    pane_of,
    screen_of,
    search,
    until,
    until_answered,
    until_index,
)

KEPT = SavedMarks(
    "sync", (MarkedFragment("a" * 12, "A.md", (Span(1, 3),)),), PackOverrides(scopes=(("a" * 12, Scope.NOTE),))
)


def keeper_of(file: Path, failed: Callable[[str], None]) -> StateFile[SavedMarks]:
    return StateFile(file, read_marks, write_marks, failed)


def unused(reason: str) -> None:
    raise AssertionError(reason)


async def test_what_was_kept_last_is_in_the_file_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    keeper = keeper_of(file, unused)
    await keeper.read()
    keeper.save_soon(SavedMarks("s", KEPT.marks))
    keeper.save_soon(KEPT)
    await keeper.write_pending()
    assert read_marks(file) == KEPT


async def test_with_the_last_mark_the_file_goes(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    write_marks(file, KEPT)
    keeper = keeper_of(file, unused)
    assert await keeper.read() == KEPT
    keeper.save_soon(NO_MARKS)
    await keeper.write_pending()
    assert not file.exists()


async def test_nothing_is_written_before_the_file_was_read(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    write_marks(file, KEPT)
    keeper = keeper_of(file, unused)
    keeper.save_soon(NO_MARKS)
    await keeper.write_pending()
    assert read_marks(file) == KEPT


async def test_a_file_that_cannot_be_written_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "folder").write_text("")
    keeper = keeper_of(tmp_path / "folder" / "marks.json", told.append)
    await keeper.read()
    keeper.save_soon(KEPT)
    await keeper.write_pending()
    keeper.save_soon(SavedMarks("other", KEPT.marks))
    await keeper.write_pending()
    assert told == [os.strerror(20)] or told == [os.strerror(17)]


@pytest.mark.programs
async def test_marks_and_what_is_wished_for_them_are_one_line_at_the_next_start_until_they_are_taken_up(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab", "ctrl+o", "s", "s", "enter")
        await until(pilot, lambda: bool(pane_of(app).pack.choices.mark_overrides.scopes), "the scope")
        await until_answered(pilot)
        marks, overrides = pane_of(app).pack.choices.marks, pane_of(app).pack.choices.mark_overrides
    assert read_marks(user_paths.marks_file(vault)) == SavedMarks("conflict", marks, overrides)
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test() as pilot:
        await until_index(pilot)
        bar = screen_of(again).query_one(PackBar)
        assert bar.mark_count == 0
        await search(pilot, "conflict")
        line = screen_of(again).query_one("#before")
        assert (line.display, "● 1 mark from last time: o add, x clear" in str(line.render())) == (True, True)
        await pilot.press("escape", "o")
        await until(pilot, lambda: bar.mark_count == 1 and pane_of(again).is_up_to_date, "the pack of the marks")
        assert bar.pack is not None
        assert bar.pack.query == "conflict"
        assert {mark.fragment_id for mark in marks} <= {each for one in bar.pack.passages for each in one.fragment_ids}
        await search(pilot, "conflict")
        assert hit_list_of(again).marked_ids == {mark.fragment_id for mark in marks}


@pytest.mark.programs
@pytest.mark.parametrize("damage", ["", "{", '{"marks": 7}'])
async def test_a_damaged_file_of_marks_is_none(app: ExcerptApp, vault: Path, user_paths: Paths, damage: str) -> None:
    file = user_paths.marks_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text(damage)
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        assert screen_of(app).query_one(PackBar).mark_count == 0


@pytest.mark.programs
async def test_the_question_of_a_pack_of_marks_is_the_last_one_asked(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab", "ctrl+u")
        bar = screen_of(app).query_one(PackBar)
        await until(pilot, lambda: pane_of(app).result is None and pane_of(app).is_up_to_date, "the pack")
        assert bar.pack is not None
        assert bar.pack.query == "conflict"


async def mark_conflict(pilot: AppPilot) -> None:
    """Mark the best fragment on conflicts, and wait for its pack."""
    await search(pilot, "conflict")
    await pilot.press("tab")
    await until(
        pilot, lambda: pane_of(pilot.app).is_up_to_date and bool(pane_of(pilot.app).pack.choices.marks), "the pack"
    )


def packed_paths(app: ExcerptApp) -> list[str]:
    pack = screen_of(app).query_one(PackBar).pack
    return [one.path for one in pack.passages] if pack is not None else []


@pytest.mark.programs
@pytest.mark.usefixtures("living")
async def test_marks_of_a_note_that_was_renamed_since_are_on_it_at_the_next_start(
    app: ExcerptApp, vault: Path, user_paths: Paths
) -> None:
    async with app.run_test() as pilot:
        await mark_conflict(pilot)
        (path,) = packed_paths(app)
    (vault / "renamed").mkdir()
    (vault / path).rename(vault / "renamed" / "Other.md")
    again = ExcerptApp(vault, Settings(), user_paths)
    async with again.run_test() as pilot:
        await until_index(pilot)
        await pilot.press("unbound-show-earlier")
        await until(pilot, lambda: packed_paths(again) == ["renamed/Other.md"], "the pack of the marks")
    assert [mark.path for mark in read_marks(user_paths.marks_file(vault)).marks] == ["renamed/Other.md"]


@pytest.mark.programs
@pytest.mark.usefixtures("living")
async def test_marks_go_with_a_note_that_is_renamed_while_the_app_runs(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await mark_conflict(pilot)
        (path,) = packed_paths(app)
        (vault / path).rename(vault / "Other.md")
        await pilot.press("unbound-update")
        await until(pilot, lambda: packed_paths(app) == ["Other.md"], "the pack of the marks")
        assert [mark.path for mark in pane_of(app).pack.choices.marks] == ["Other.md"]
        assert pane_of(app).query_one(HitList).marked_ids == pane_of(app).pack.choices.marked_ids
