"""Tests of the session: the next start restores it, and an error in it never blocks the app."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.kinds import Fill, Format, Scope, Strategy
from excerpt.settings import Paths, ScreenSettings, SearchSettings, Settings
from excerpt.tui.common.bars import TabBar
from excerpt.tui.common.split import DEFAULT_LIST_SHARE
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.session import (
    NEW_SESSION,
    SelectedPosition,
    Session,
    SessionController,
    drop_default_values,
    find_row,
    read_session,
    write_session,
)
from tests.tui.driver import (
    ScriptedApp,
    hit_list_of,
    open_index,
    pane_of,
    post_keys,
    screen_of,
    settle,
    type_query,
    until,
    until_result,
)
from tests.tui.examples import make_hit

KEPT = Session(
    "search",
    "sync",
    SelectedPosition("a" * 12, "Notes/A [x].md", 12),
    Strategy.SEMANTIC,
    Scope.NOTE,
    8000,
    Format.XML,
    0.61,
)
VAULT = Path("/home/ada/notes")


def test_a_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "session.json"
    write_session(file, KEPT)
    assert read_session(file) == KEPT
    assert [each.name for each in file.parent.iterdir()] == ["session.json"]


@pytest.mark.parametrize(
    "damage", ["", "{", "7", '{"query": 7}', '{"strategy": "best"}', '{"budget": 0}', '{"share": "wide"}']
)
def test_a_file_that_makes_no_sense_is_a_new_session(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "session.json"
    file.write_text(damage)
    assert read_session(file) == NEW_SESSION


def test_a_query_longer_than_anyone_wants_back_is_a_new_session(tmp_path: Path) -> None:
    write_session(tmp_path / "session.json", replace(KEPT, query="x" * 10_001))
    assert read_session(tmp_path / "session.json") == NEW_SESSION


def test_what_was_selected_is_found_by_its_id_else_nearby_in_its_note() -> None:
    hits = [make_hit("a", 1, "A.md"), make_hit("b", 9, "B.md"), make_hit("c", 30, "B.md")]
    assert find_row(SelectedPosition("c", "B.md", 9), hits) == 2
    assert find_row(SelectedPosition("gone", "B.md", 22), hits) == 2
    assert find_row(SelectedPosition("gone", "Gone.md", 1), hits) is None


def test_what_was_selected_is_looked_for_in_the_first_answer_to_its_query_alone(tmp_path: Path) -> None:
    before, hits = (
        replace(KEPT, place=SelectedPosition("b", "B.md", 9)),
        [make_hit("a", 1, "A.md"), make_hit("b", 9, "B.md")],
    )
    session = SessionController(tmp_path / "session.json", before, print)
    assert session.take_row_to_select("sync", hits) == 1
    assert session.take_row_to_select("sync", hits) is None
    assert SessionController(tmp_path / "session.json", before, print).take_row_to_select("sync conflict", hits) is None


def test_what_is_as_the_settings_say_is_no_change_by_hand() -> None:
    settings = Settings()
    search, pack = settings.search, settings.pack
    as_set = Session("memory", "sync", None, search.strategy, pack.scope, pack.budget, pack.format, DEFAULT_LIST_SHARE)
    assert drop_default_values(as_set, settings) == Session("memory", "sync")
    assert drop_default_values(replace(as_set, budget=8000), settings).budget == 8000


async def test_nothing_is_written_before_it_is_known_what_the_file_holds(tmp_path: Path) -> None:
    session = SessionController(tmp_path / "session.json", NEW_SESSION, print)
    session.save_soon(KEPT)
    await session.write_pending()
    assert not (tmp_path / "session.json").exists()
    session.start_saving()
    session.save_soon(KEPT)
    await session.write_pending()
    assert read_session(tmp_path / "session.json") == KEPT


def session_file(data: Path) -> Path:
    return Paths(data, data, data, data / "state").session_file(VAULT)


@pytest.mark.programs
async def test_query_selection_tab_and_the_way_of_packing_are_there_again(tmp_path: Path) -> None:
    app = ScriptedApp(tmp_path)
    async with app.run_test(size=(120, 30)) as pilot:
        await open_index(pilot)
        await pilot.press(*"sync")
        await until_result(pilot, "sync")
        await pilot.press("down", "ctrl+s", "unbound-budget-up", "unbound-format", "unbound-fill")
        pane_of(app).scope = Scope.SECTION
        await until_result(pilot, "sync")
        before = pane_of(app).selected
        await pilot.press("f4")
        await until(pilot, lambda: screen_of(app).query_one(TabBar).active == "memory", "the tab")
        app.exit()
    again = ScriptedApp(tmp_path)
    async with again.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: screen_of(again).query_one(TabBar).active == "memory", "the tab")
        await open_index(pilot)
        await until_result(pilot, "sync")
        pane = pane_of(again)
        assert pane.selected is not None and pane.selected == before
        assert pane.selected is not pane.query_one(HitList).hits[0]
        assert (pane.strategy, pane.scope) == (Strategy.ADAPTIVE, Scope.SECTION)
        assert pane.budget > Settings().pack.budget
        assert pane.pack_format is not Format.MARKDOWN
        assert pane.fill is Fill.BUDGET


@pytest.mark.programs
async def test_the_list_begins_with_the_best_hit_if_the_selection_of_last_time_has_room_too(
    tmp_path: Path,
) -> None:
    app = ScriptedApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_index(pilot)
        await type_query(pilot, "litres")
        await pilot.press("down", "down")
        await settle(pilot)
        app.exit()
    again = ScriptedApp(tmp_path)
    async with again.run_test(size=(80, 24)) as pilot:
        await open_index(pilot)
        await until_result(pilot, "litres")
        await settle(pilot)
        rows = hit_list_of(again)
        assert (rows.cursor, rows.scroll_offset.y) == (2, 0)


@pytest.mark.programs
async def test_a_tab_that_was_gone_to_while_the_app_began_stays(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, may_go_on, resumed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def read_slowly(*_: object) -> None:
        begins.set()
        await may_go_on.wait()

    monkeypatch.setattr(SearchPane, "open_query_store", read_slowly)
    monkeypatch.setattr(SearchPane, "load_saved_marks", lambda *_: resumed.set())
    async with scripted.run_test(size=(120, 30)) as pilot:
        bar = screen_of(scripted).query_one(TabBar)
        async with asyncio.timeout(30):  # the screen is blocked, so that a pilot would wait for it
            await begins.wait()
            post_keys(scripted, "f4")
            while bar.active != "memory":
                await asyncio.sleep(0.01)
        may_go_on.set()
        await until(pilot, resumed.is_set, "the session")
        assert bar.active == "memory"


@pytest.mark.programs
async def test_the_query_comes_back_selected_so_that_typing_takes_its_place(tmp_path: Path) -> None:
    write_session(session_file(tmp_path), Session(query="merging versions"))
    app = ScriptedApp(tmp_path)
    async with app.run_test() as pilot:
        await open_index(pilot)
        await until_result(pilot, "merging versions")
        await pilot.press(*"sync")
        await until_result(pilot, "sync")
        assert pane_of(app).query_one(HitList).cursor == 0


@pytest.mark.programs
async def test_what_the_settings_say_holds_unless_it_was_changed_by_hand(tmp_path: Path) -> None:
    async with ScriptedApp(tmp_path).run_test() as pilot:
        await pilot.press("x", "ctrl+q")
    settings = Settings(search=SearchSettings(strategy=Strategy.SEMANTIC))
    again = ScriptedApp(tmp_path, settings)
    async with again.run_test() as pilot:
        assert pane_of(again).query_text == "x"
        assert pane_of(again).strategy is Strategy.SEMANTIC
        await open_index(pilot)


@pytest.mark.programs
async def test_without_restore_nothing_comes_back_and_nothing_is_kept(tmp_path: Path) -> None:
    file = session_file(tmp_path)
    write_session(file, Session(query="from before"))
    app = ScriptedApp(tmp_path, Settings(screen=ScreenSettings(restore=False)))
    async with app.run_test() as pilot:
        await open_index(pilot)
        assert pane_of(app).query_text == ""
        await pilot.press(*"sync")
        await until_result(pilot, "sync")
    assert read_session(file).query == "from before"


@pytest.mark.programs
async def test_a_state_folder_that_cannot_be_written_is_said_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    app = ScriptedApp(tmp_path)
    async with app.run_test() as pilot:
        await open_index(pilot)
        await pilot.press(*"sync")
        screen_of(app).save_session()
        await until(pilot, lambda: any("cannot be saved" in n.message for n in app._notifications), "the notice")
        await until_result(pilot, "sync")
