"""The index behind the screen: built by a child process, followed, mended, told about."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from excerpt.index.build import build
from excerpt.index.writer import LOCK
from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.key_bar import KeyBar
from excerpt.tui.common.notice import Notice
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.index.controller import Watch
from excerpt.tui.screens.confirm import Confirm
from excerpt.tui.screens.emptied import Emptied
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.widgets.index_pane import FileList, IndexPane
from excerpt.tui.widgets.preview import Preview
from tests.tui.conftest import (
    AppPilot,
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

pytestmark = pytest.mark.usefixtures("living")


def bar(app: ExcerptApp) -> str:
    """How the index stands, as the tab bar has it."""
    return screen_of(app).query_one(TabBar).state


def keys_shown(app: ExcerptApp) -> set[str | None]:
    return {binding.id for binding in screen_of(app).query_one(KeyBar).shown}


def toasts(app: ExcerptApp) -> list[str]:
    return [toast.message for toast in app._notifications]


def shown(preview: Preview) -> str:
    """The text in the context."""
    window = preview.window
    return "\n".join(run.text for line in window.lines for run in line.runs) if window is not None else ""


async def watched(pilot: AppPilot, app: ExcerptApp) -> None:
    """The vault was looked at, and changes are seen from now on."""
    await until(pilot, lambda: bar(app).endswith("watching"), "the first look")


async def test_a_vault_without_an_index_is_indexed_by_itself(tmp_path: Path, home: Path) -> None:
    vault = tmp_path / "new"
    write_notes(vault)
    app = ExcerptApp(vault, Settings(), places_under(home))
    async with app.run_test() as pilot:
        await search(pilot, app, "lentils")
        assert titles(app)[0] == "Lentil soup"


async def test_a_note_changed_while_closed_is_found(app: ExcerptApp, vault: Path) -> None:
    (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")


async def test_a_change_in_the_vault_comes_into_the_list_by_itself(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        await watched(pilot, app)
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")
        (vault / "Walrus.md").rename(vault / "Sea cow.md")
        await until(pilot, lambda: titles(app)[:1] == ["Sea cow"], "its new name")


async def test_the_selection_stays_in_its_place_when_its_fragment_is_edited(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, app, "conflict")
        await watched(pilot, app)
        rows, preview = screen_of(app).query_one(HitList), screen_of(app).query_one("#preview", Preview)
        await pilot.press("down")
        before = rows.selected
        assert before is not None
        note = vault / before.fragment.path
        note.write_text(note.read_text().replace("conflict", "conflict, marmalade"))
        await until(pilot, lambda: "marmalade" in (rows.selected or before).fragment.text, "the new text")
        assert rows.selected is not None
        assert rows.selected.fragment.path == before.fragment.path
        await until(pilot, lambda: "marmalade" in shown(preview), "the new text in the context")


async def test_a_better_hit_than_the_best_is_seen_though_nothing_was_selected_by_hand(
    app: ExcerptApp, vault: Path
) -> None:
    for number in range(20):
        (vault / f"Filler {number}.md").write_text(f"# Filler {number}\n\nA quag of sort {number}.\n")
    async with app.run_test() as pilot:
        await search(pilot, app, "quagga")
        await watched(pilot, app)
        (vault / "Quagga.md").write_text("# Quagga\n\nThe quagga is gone; a quagga was half a zebra.\n")
        await until(pilot, lambda: titles(app)[:1] == ["Quagga"], "the new note")
        rows = screen_of(app).query_one(HitList)
        assert rows.scroll_offset.y <= rows.cursor * rows.ROW_HEIGHT
        assert rows.scroll_offset.y == 0


async def test_what_another_process_commits_is_taken_up(app: ExcerptApp, vault: Path, places: Places) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        await watched(pilot, app)
        await pilot.press("unbound-show-index", "p")
        await until(pilot, lambda: bar(app).endswith("paused"), "the pause")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await asyncio.to_thread(build, vault, places.index_folder(vault), Settings())
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")


async def test_a_pause_keeps_changes_for_later(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        await watched(pilot, app)
        await pilot.press("unbound-show-index", "p")
        await until(pilot, lambda: bar(app).endswith("paused"), "the pause")
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await pilot.press("u")
        assert "Walrus" not in titles(app)
        await pilot.press("p")
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")
        assert bar(app).endswith("watching")


async def test_keys_that_have_nothing_to_act_on_are_not_in_the_footer(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await watched(pilot, app)
        await pilot.press("unbound-show-index")
        assert {"index-pause", "index-update"} <= keys_shown(app)
        assert not {"index-resume", "index-cancel"} & keys_shown(app)
        await pilot.press("p")
        await until(pilot, lambda: "index-resume" in keys_shown(app), "the other key")
        assert "index-pause" not in keys_shown(app)


async def test_an_update_that_was_asked_for_is_answered(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await watched(pilot, app)
        await pilot.press("unbound-update")
        await until(pilot, lambda: "Nothing had changed." in toasts(app), "the answer")


async def test_an_indexing_process_that_dies_is_told_and_started_again(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "walrus")
        await watched(pilot, app)
        await pilot.press("unbound-show-index")
        process = screen_of(app).index.process._process
        assert process is not None
        process.kill()
        pane = screen_of(app).query_one(IndexPane)
        await until(pilot, lambda: pane.index.watch is Watch.ENDED, "the end")
        assert pane.index.trouble is not None
        assert pane.index.trouble.title == "The indexing process ended early"
        (vault / "Walrus.md").write_text("The walrus swims in the cold sea.\n")
        await pilot.press("unbound-update")
        await until(pilot, lambda: titles(app)[:1] == ["Walrus"], "the new note")
        await watched(pilot, app)


async def test_a_vault_that_lost_its_notes_keeps_its_index_unless_told_otherwise(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await watched(pilot, app)
        for note in vault.rglob("*.md"):
            note.unlink()
        await until(pilot, lambda: isinstance(top_screen(app), Emptied), "the question")
        await pilot.press("enter")
        assert top_screen(app) is screen_of(app)
        await search(pilot, app, "lentils")
        assert titles(app)[0] == "Lentil soup"
        assert bar(app) == "no notes there, see F5"
        await pilot.press("unbound-update")
        await until(pilot, lambda: isinstance(top_screen(app), Emptied), "the question, asked for")
        await pilot.press("y", "n", "tab", "enter")
        await until(pilot, lambda: (status := status_of(app)) is not None and not status.notes, "the empty index")
        await until(pilot, lambda: titles(app) == [], "the empty list")


async def test_the_question_about_lost_notes_goes_when_they_are_back(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await watched(pilot, app)
        notes = {note: note.read_text() for note in vault.rglob("*.md")}
        for note in notes:
            note.unlink()
        await until(pilot, lambda: isinstance(top_screen(app), Emptied), "the question")
        for note, text in notes.items():
            note.write_text(text)
        await until(pilot, lambda: top_screen(app) is screen_of(app), "the end of the question")
        await until(pilot, lambda: bar(app) == "4 notes · watching", "the state")


async def test_the_question_about_lost_notes_waits_until_nobody_types(
    app: ExcerptApp, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.tui.main_screen._IDLE", 0.2)
    async with app.run_test() as pilot:
        await watched(pilot, app)
        for note in vault.rglob("*.md"):
            note.unlink()
        await until(pilot, lambda: bool(screen_of(app).index.state.emptied), "the loss")
        await pilot.press(*"lentil")
        await until(pilot, lambda: isinstance(top_screen(app), Emptied), "the question")
        assert pane_of(app).query_text.startswith("lent")


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
        await pilot.press("unbound-show-index")
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
        await until(pilot, lambda: status_of(app) is not None and not screen_of(app).index.state.at_work, "the index")
        before = status_of(app)
        await pilot.press("unbound-show-index", "r")
        assert isinstance(top_screen(app), Confirm)
        await pilot.press("n", "r", "y")
        await until(pilot, lambda: status_of(app) != before, "another index")
        pane = screen_of(app).query_one(IndexPane)
        await until(pilot, lambda: pane.index.progress is None, "the end")
        assert pane.index.trouble is None


async def test_a_vault_that_another_excerpt_indexes_is_read_all_the_same(
    app: ExcerptApp, vault: Path, places: Places
) -> None:
    async with app.run_test() as pilot:
        with FileLock(places.index_folder(vault) / LOCK):
            await search(pilot, app, "lentils")
            assert titles(app)[0] == "Lentil soup"
            await until(pilot, lambda: bar(app) == "indexed by another excerpt", "the state")
        await until(pilot, lambda: bar(app) == "4 notes · watching", "its own turn")


async def test_a_vault_that_vanishes_is_told_without_ending_the_app(app: ExcerptApp, vault: Path) -> None:
    async with app.run_test() as pilot:
        await search(pilot, app, "lentils")
        await until(pilot, lambda: not screen_of(app).index.state.at_work, "the first look")
        shutil.rmtree(vault)
        await pilot.press("unbound-update", "unbound-show-index")
        pane = screen_of(app).query_one(IndexPane)
        await until(pilot, lambda: pane.index.trouble is not None, "the trouble")
        assert pane.index.trouble is not None
        assert pane.index.trouble.sentence
        assert pane_of(app).result is not None
