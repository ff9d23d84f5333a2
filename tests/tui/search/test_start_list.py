"""Tests of the start list: what it has, how many rows, and what its keys do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from excerpt.base.model import Memory, Source
from excerpt.insight.results import DatedNote
from excerpt.memory.memory_file import make_memory
from excerpt.memory.results import SourceCheck, SourceStatus
from excerpt.memory.store import FolderMemoryStore
from excerpt.service.note_files import NoteFile
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.pane import MemoryList
from excerpt.tui.messages import EditRequested
from excerpt.tui.search.query_history import add_query
from excerpt.tui.search.start_list import MAX_ROWS, StartController, StartList, StartRow
from tests.tui.driver import (
    ManualEngine,
    ScriptedApp,
    ScriptedEngine,
    drawn_lines,
    drawn_text,
    open_index,
    pane_of,
    press,
    screen_of,
    show_start_list,
    type_query,
    until,
    until_result,
)
from tests.tui.examples import NEWEST_NOTES, VAULT

# --- without a screen -------------------------------------------------------------------------------------------------


def make_controller() -> tuple[StartController, ManualEngine]:
    engine = ManualEngine()
    return StartController(engine, on_change=lambda: None), engine


def texts(controller: StartController, room: int = 100) -> list[str]:
    return [row.text for row in controller.rows(room)]


def make_finding(number: int) -> Memory:
    source = Source("Sync/Conflicts.md", 8, 8, "", ())
    return Memory(f"id-{number}", f"finding {number}\nmore", (), "", f"2026-03-{number + 1:02}T09:00:00Z", "", source)


def checks_of(memories: Sequence[Memory], *stale: int) -> tuple[SourceCheck, ...]:
    return tuple(SourceCheck(SourceStatus.CHANGED, each) for each in memories if int(each.id[3:]) in stale)


def test_an_empty_part_of_the_start_list_is_omitted() -> None:
    controller, engine = make_controller()
    controller.request(())
    assert texts(controller) == []
    engine.answer("newest", (DatedNote("a.md", "A", date(2026, 3, 1)),))
    assert [(row.part, row.text, row.detail) for row in controller.rows(9)] == [("newest notes", "A", "2026-03-01")]


def test_each_part_has_at_most_five_rows_and_an_equal_share_of_a_small_list() -> None:
    controller, engine = make_controller()
    controller.request([f"query {number}" for number in range(9)])
    engine.answer("newest", NEWEST_NOTES)
    assert len(texts(controller)) == 2 * MAX_ROWS
    assert texts(controller, room=3) == ["query 0", "query 1", NEWEST_NOTES[0].title]
    assert texts(controller, room=0) == ["query 0", NEWEST_NOTES[0].title]


def test_newest_notes_of_the_same_title_are_told_apart_by_their_folders() -> None:
    controller, engine = make_controller()
    controller.request(())
    engine.answer("newest", tuple(DatedNote(path, "Log", date(2026, 3, 1)) for path in ("work/Log.md", "home/Log.md")))
    assert [(row.text, row.folder) for row in controller.rows(9)] == [("Log", "work"), ("Log", "home")]


def test_a_vault_without_dates_and_queries_has_headings_to_search_for() -> None:
    controller, engine = make_controller()
    controller.request(())
    engine.answer("newest", ())
    engine.answer("first_queries", ("How do I sync?", "Lentil soup"))
    assert [(row.text, row.query) for row in controller.rows(9)] == [
        ("How do I sync?", "How do I sync?"),
        ("Lentil soup", "Lentil soup"),
    ]
    controller.request(("soup",))
    engine.answer("newest", ())
    assert texts(controller) == ["soup"]
    assert not engine.questions


def test_headings_to_search_for_are_requested_once() -> None:
    controller, engine = make_controller()
    controller.request(())
    engine.answer("newest", ())
    engine.answer("first_queries", ("How do I sync?", "Lentil soup"))
    controller.request(())
    engine.answer("newest", ())
    assert not engine.questions
    assert texts(controller) == ["How do I sync?", "Lentil soup"]


def test_a_typed_query_cancels_the_requests_for_notes_and_memories() -> None:
    controller, engine = make_controller()
    controller.request(())
    controller.check_memories([make_finding(0)])
    controller.stop()
    assert not engine.questions


def test_sources_are_checked_in_small_groups_newest_memories_first() -> None:
    controller, engine = make_controller()
    memories = [make_finding(number) for number in range(20)]
    controller.check_memories(memories)
    asked = engine.questions["stale_memories"].memories
    assert [each.id for each in asked] == [f"id-{number}" for number in range(19, 11, -1)]
    while "stale_memories" in engine.questions:
        asked = engine.questions["stale_memories"].memories
        engine.answer("stale_memories", checks_of(asked, 3, 15))
    assert texts(controller) == ["finding 15", "finding 3"]


def test_at_most_as_many_sources_are_checked_as_are_listed() -> None:
    controller, engine = make_controller()
    controller.check_memories([make_finding(number) for number in range(20)])
    engine.answer("stale_memories", checks_of(engine.questions["stale_memories"].memories, *range(20)))
    assert not engine.questions
    assert len(texts(controller)) == MAX_ROWS


def test_listed_memories_stay_until_their_new_checks_arrive() -> None:
    controller, engine = make_controller()
    memories = [make_finding(0)]
    controller.check_memories(memories)
    engine.answer("stale_memories", checks_of(memories, 0))
    controller.check_memories(memories)
    assert texts(controller) == ["finding 0"]
    engine.answer("stale_memories", ())
    assert texts(controller) == []


# --- on the screen ----------------------------------------------------------------------------------------------------


@pytest.fixture
def app_with_start_list(scripted: ScriptedApp) -> ScriptedApp:
    """Return an app with two recent queries, a memory whose source changed, and five notes."""
    add_query(scripted.scripted_places.history_file(VAULT), "lentil soup")
    add_query(scripted.scripted_places.history_file(VAULT), "sync [conflict]")
    source = Source("Sync/Conflicts.md", 8, 8, "", ("Conflicts",))
    FolderMemoryStore(scripted.scripted_places.memory_folder(VAULT)).remember(
        make_memory("The newer one is kept.", source=source)
    )
    return scripted


async def test_a_query_stops_the_requests_of_the_start_list(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_start_list(pilot)
        cancelled: list[str] = []
        monkeypatch.setattr(pane_of(scripted)._engine, "cancel", cancelled.append)
        await type_query(pilot, "sync")
        assert "newest" in cancelled


async def test_an_empty_query_lists_recent_queries_stale_memories_and_new_notes(
    app_with_start_list: ScriptedApp,
) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        rows = await show_start_list(pilot)
        lines = [line.strip() for line in drawn_lines(rows)]
        assert "recent queries    sync [conflict]" in lines[0]
        assert lines[1] == "lentil soup"
        assert lines[2].startswith("changed memories  The newer one is kept.")
        assert lines[2].endswith("source changed")
        assert lines[3].startswith("newest notes      [/red] conflict")
        assert "Search 171 notes" in drawn_text(app_with_start_list)


@pytest.mark.programs
async def test_down_moves_into_the_list_and_up_from_its_first_row_back(app_with_start_list: ScriptedApp) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        rows = await show_start_list(pilot)
        field = pane_of(app_with_start_list).query_one("#query")
        await press(pilot, "down")
        assert (rows.has_focus, rows.cursor) == (True, 0)
        assert drawn_lines(rows)[0].startswith("▌")
        await press(pilot, "down", "j", "up", "k")
        assert (rows.has_focus, rows.cursor) == (True, 0)
        await press(pilot, "up")
        assert field.has_focus
        assert not drawn_lines(rows)[0].startswith("▌")


@pytest.mark.programs
async def test_enter_runs_a_recent_query_and_letters_are_typed_into_it(app_with_start_list: ScriptedApp) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        rows = await show_start_list(pilot)
        await press(pilot, "down", "down", "enter")
        assert pane_of(app_with_start_list).query_text == "lentil soup"
        assert not rows.display
        await press(pilot, "s")
        assert pane_of(app_with_start_list).query_text == "lentil soups"


@pytest.mark.programs
async def test_a_click_runs_a_recent_query(app_with_start_list: ScriptedApp) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        await show_start_list(pilot)
        await pilot.click(StartList, offset=(25, 1))
        await until(pilot, lambda: pane_of(app_with_start_list).query_text == "lentil soup", "the query")


@pytest.mark.programs
async def test_enter_shows_a_changed_memory_in_its_tab(app_with_start_list: ScriptedApp) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        await show_start_list(pilot)
        await press(pilot, "down", "down", "down", "enter")
        memories = screen_of(app_with_start_list).query_one(MemoryList)
        await until(pilot, lambda: memories.selected is not None, "the memory")
        assert memories.selected is not None
        assert memories.selected.text.strip() == "The newer one is kept."


@pytest.mark.programs
async def test_enter_opens_a_note(app_with_start_list: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_file(_screen: MainScreen, _note: NoteFile, message: EditRequested) -> bool:
        opened.append(message.path)
        return True

    monkeypatch.setattr(MainScreen, "_open_file", open_file)
    monkeypatch.setattr(MainScreen, "_find_note_file", lambda screen, path: NoteFile(Path(path), ""))
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        await show_start_list(pilot)
        await press(pilot, "down", "G", "enter")
        await until(pilot, lambda: bool(opened), "the note")
        assert opened == [NEWEST_NOTES[-1].path]


@pytest.mark.programs
async def test_the_list_gives_way_to_hits_and_returns_when_the_query_is_cleared(
    app_with_start_list: ScriptedApp,
) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        rows = await show_start_list(pilot)
        await type_query(pilot, "sync")
        assert not rows.display
        await press(pilot, "ctrl+u")
        await until(pilot, lambda: rows.display, "the list")


@pytest.mark.programs
async def test_a_key_for_a_hit_gives_the_reason_why_it_does_nothing(app_with_start_list: ScriptedApp) -> None:
    async with app_with_start_list.run_test(size=(80, 24)) as pilot:
        await show_start_list(pilot)
        await press(pilot, "down", "y")
        assert [notice.message for notice in app_with_start_list._notifications] == [
            "Nothing is listed yet: type a query first."
        ]
        await press(pilot, "escape")
        assert pane_of(app_with_start_list).query_one("#query").has_focus


async def test_without_anything_to_list_only_the_hint_is_shown(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await open_index(pilot)
        assert not scripted.screen.query_one(StartList).display
        assert "Search 171 notes" in drawn_text(scripted)
        await press(pilot, "down")
        assert pane_of(scripted).query_one("#query").has_focus


async def test_a_click_on_a_heading_searches_for_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await open_index(pilot)
        engine, rows = screen_of(scripted).index.engine, screen_of(scripted).query_one(StartList)
        assert isinstance(engine, ScriptedEngine)
        engine.first_queries = ("sync conflict", "lentil soup")
        pane_of(scripted).repeat_requests()
        await until(pilot, lambda: len(rows.rows) == 2, "the headings")
        await pilot.pause()
        assert drawn_lines(rows)[0].split() == ["queries", "to", "try", "sync", "conflict"]
        await pilot.click(StartList, offset=(25, 1))
        await until_result(pilot, "lentil soup")


async def test_a_newest_note_shows_the_folder_that_tells_it_apart(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        rows = await show_start_list(pilot)
        rows.rows = (StartRow("newest notes", "Log", path="work/Log.md", folder="work"),)
        assert "Log in work " in rows.draw_row(0, 80, False, rows.base_style)[0].text
