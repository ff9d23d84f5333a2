"""The index behind the screen: built by a child process, followed, mended, told about."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.screens.confirm import Confirm
from excerpt.tui.widgets.index_pane import FileList, IndexPane
from excerpt.tui.widgets.notice import Notice
from tests.tui.conftest import (
    pane_of,
    places_under,
    screen_of,
    search,
    status_of,
    titles,
    top_screen,
    until,
    write_notes,
)


async def test_a_vault_without_an_index_is_indexed_by_itself(tmp_path: Path, home: Path) -> None:
    vault = tmp_path / "new"
    write_notes(vault)
    app = ExcerptApp(vault, Settings(), places_under(home))
    async with app.run_test() as pilot:
        await search(pilot, app, "lentils")
        assert titles(app)[0] == "Lentil soup"


async def test_a_note_changed_since_is_found_after_an_update(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await until(pilot, lambda: not screen_of(app).indexing, "the first look")
        await pilot.press("f5")
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")


async def test_an_empty_vault_says_so(tmp_path: Path, home: Path) -> None:
    (tmp_path / "empty").mkdir()
    app = ExcerptApp(tmp_path / "empty", Settings(), places_under(home))
    async with app.run_test() as pilot:
        notice = screen_of(app).query_one("#notice", Notice)
        await until(pilot, lambda: notice.said.title == "No notes here", "the sentence")
        assert notice.display


async def test_skipped_files_are_listed_with_their_reason(vault: Path, places: Places) -> None:
    (vault / "Zeros.md").write_bytes(b"\0" * 100)
    app = ExcerptApp(vault, Settings(), places)
    async with app.run_test() as pilot:
        await pilot.press("f4")
        files = screen_of(app).query_one(FileList)
        await until(pilot, lambda: [file.path for _, file in files.files] == ["Zeros.md"], "the skipped file")
        assert files.files[0][1].reason


async def test_a_damaged_index_is_mended_and_the_search_works(vault: Path, places: Places) -> None:
    for file in places.index_folder(vault).rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    app = ExcerptApp(vault, Settings(), places)
    async with app.run_test() as pilot:
        await search(pilot, app, "lentils")
        assert titles(app)[0] == "Lentil soup"


async def test_a_rebuild_is_asked_for_and_done(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await until(pilot, lambda: status_of(app) is not None and not screen_of(app).indexing, "the index")
        before = status_of(app)
        await pilot.press("f4", "r")
        assert isinstance(top_screen(app), Confirm)
        await pilot.press("n", "r", "y")
        await until(pilot, lambda: status_of(app) != before, "another index")
        pane = screen_of(app).query_one(IndexPane)
        await until(pilot, lambda: pane.progress is None, "the end")
        assert pane.trouble is None


async def test_a_vault_that_another_excerpt_indexes_is_read_all_the_same(
    app: ExcerptApp, vault: Path, places: Places
) -> None:
    lock = next(iter(places.index_folder(vault).glob("*.lock")), None)
    if lock is None:
        pytest.skip("the index keeps its lock elsewhere")
    with FileLock(lock):
        async with app.run_test() as pilot:
            await search(pilot, app, "lentils")
            assert titles(app)[0] == "Lentil soup"


async def test_a_vault_that_vanishes_is_told_without_ending_the_app(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "lentils")
        await until(pilot, lambda: not screen_of(app).indexing, "the first look")
        shutil.rmtree(vault)
        await pilot.press("f5", "f4")
        pane = screen_of(app).query_one(IndexPane)
        await until(pilot, lambda: pane.trouble is not None, "the trouble")
        assert pane.trouble is not None
        assert pane.trouble.sentence
        assert pane_of(app).result is not None
