"""Tests of a session: queries and marks kept, and opened, marked and copied hits logged for ranking."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from textual.widgets import Static

from excerpt.base.kinds import Fill, Format, Scope, Strategy
from excerpt.base.settings import Paths, ScreenSettings, SearchSettings, Settings
from excerpt.search import usage
from excerpt.search.usage import UsedHit, UseEvent, UseLog
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.footer import KeyBar
from excerpt.tui.common.split import DEFAULT_LIST_SHARE
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.messages import CopyRequested, EditRequested
from excerpt.tui.palette import list_commands
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.why_view import WhyView
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
    AppPilot,
    ScriptedApp,
    drawn_lines,
    hit_list_of,
    open_index,
    pane_of,
    post_keys,
    screen_of,
    search,
    search_and_wait,
    settle,
    side_of,
    type_query,
    until,
    until_answered,
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
def test_if_the_file_of_the_session_is_invalid_a_new_session_begins(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "session.json"
    file.write_text(damage)
    assert read_session(file) == NEW_SESSION


def test_if_the_saved_query_is_too_long_a_new_session_begins(tmp_path: Path) -> None:
    write_session(tmp_path / "session.json", structs.replace(KEPT, query="x" * 10_001))
    assert read_session(tmp_path / "session.json") == NEW_SESSION


def test_the_selection_is_restored_by_its_id_or_nearby_in_its_note() -> None:
    hits = [make_hit("a", 1, "A.md"), make_hit("b", 9, "B.md"), make_hit("c", 30, "B.md")]
    assert find_row(SelectedPosition("c", "B.md", 9), hits) == 2
    assert find_row(SelectedPosition("gone", "B.md", 22), hits) == 2
    assert find_row(SelectedPosition("gone", "Gone.md", 1), hits) is None


def test_the_selection_is_restored_only_in_the_first_result_of_its_query(tmp_path: Path) -> None:
    before, hits = (
        structs.replace(KEPT, place=SelectedPosition("b", "B.md", 9)),
        [make_hit("a", 1, "A.md"), make_hit("b", 9, "B.md")],
    )
    session = SessionController(tmp_path / "session.json", before, print)
    assert session.take_row_to_select("sync", hits) == 1
    assert session.take_row_to_select("sync", hits) is None
    assert SessionController(tmp_path / "session.json", before, print).take_row_to_select("sync conflict", hits) is None


def test_a_choice_equal_to_the_settings_is_not_a_manual_change() -> None:
    settings = Settings()
    search, pack = settings.search, settings.pack
    as_set = Session("memory", "sync", None, search.strategy, pack.scope, pack.budget, pack.format, DEFAULT_LIST_SHARE)
    assert drop_default_values(as_set, settings) == Session("memory", "sync")
    assert drop_default_values(structs.replace(as_set, budget=8000), settings).budget == 8000


async def test_the_session_is_not_saved_before_it_was_read(tmp_path: Path) -> None:
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
async def test_a_new_start_restores_the_query_and_the_selection_and_the_tab_and_the_pack_options(
    tmp_path: Path,
) -> None:
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
async def test_the_list_starts_with_the_best_hit_if_the_restored_selection_fits_too(
    tmp_path: Path,
) -> None:
    app = ScriptedApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await open_index(pilot)
        await type_query(pilot, "litres")
        await pilot.press("escape", "right", "down", "down")
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
async def test_a_tab_opened_during_the_start_is_kept(scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch) -> None:
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
async def test_the_restored_query_is_selected_so_that_typing_replaces_it(tmp_path: Path) -> None:
    write_session(session_file(tmp_path), Session(query="merging versions"))
    app = ScriptedApp(tmp_path)
    async with app.run_test() as pilot:
        await open_index(pilot)
        await until_result(pilot, "merging versions")
        await pilot.press(*"sync")
        await until_result(pilot, "sync")
        assert pane_of(app).query_one(HitList).cursor == 0


@pytest.mark.programs
async def test_settings_apply_unless_changed_by_hand(tmp_path: Path) -> None:
    async with ScriptedApp(tmp_path).run_test() as pilot:
        await pilot.press("x", "ctrl+q")
    settings = Settings(search=SearchSettings(strategy=Strategy.SEMANTIC))
    again = ScriptedApp(tmp_path, settings)
    async with again.run_test() as pilot:
        assert pane_of(again).query_text == "x"
        assert pane_of(again).strategy is Strategy.SEMANTIC
        await open_index(pilot)


@pytest.mark.programs
async def test_with_the_setting_restore_off_the_session_is_neither_restored_nor_saved(tmp_path: Path) -> None:
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
async def test_an_unwritable_state_folder_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    app = ScriptedApp(tmp_path)
    async with app.run_test() as pilot:
        await open_index(pilot)
        await pilot.press(*"sync")
        screen_of(app).save_session()
        await until(pilot, lambda: any("cannot be saved" in n.message for n in app._notifications), "the notice")
        await until_result(pilot, "sync")


@pytest.fixture
def log(vault: Path, user_paths: Paths) -> UseLog:
    return UseLog(user_paths.use_file(vault))


def events_by_act(events: tuple[UseEvent, ...]) -> list[tuple[str, str, str]]:
    return [(event.kind.value, event.query, event.path) for event in events]


async def until_copied(pilot: AppPilot, user_paths: Paths, count: int) -> None:
    await until(pilot, lambda: len(list(user_paths.copies_folder().glob("*.md"))) == count, "the copy")


@pytest.mark.programs
async def test_opening_a_hit_is_logged_with_its_query_and_the_notes_above(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("down", "down")
        hit, hits = hit_list_of(app).selected, hit_list_of(app).hits
        assert hit is not None
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
    (event,) = log.events()
    assert events_by_act((event,)) == [("opened", "conflict", hit.fragment.path)]
    assert (event.fragment, event.rank) == (hit.fragment.id, hits.index(hit) + 1)
    assert event.above == tuple(dict.fromkeys(one.fragment.path for one in hits))[:1]


@pytest.mark.programs
async def test_copying_a_pack_of_the_best_hits_logs_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


@pytest.mark.programs
async def test_copying_marked_hits_is_one_event_for_the_queries_of_their_marks(
    app: ExcerptApp, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil", "tab", "ctrl+u")
        await search(pilot, "conflict", "tab")
        await until_answered(pilot)
        assert log.events() == ()
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(log.events()), "the events")
    events = log.events()
    assert [(event.kind.value, event.query) for event in events] == [("marked", "lentil"), ("marked", "conflict")]
    assert sum(event.share for event in events) == pytest.approx(1)


@pytest.mark.programs
async def test_a_removed_mark_logs_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("tab", "up", "tab")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


@pytest.mark.programs
@pytest.mark.parametrize("keys", [("up", "tab"), ("escape", "u")], ids=["unmarked", "undone"])
async def test_a_mark_taken_back_after_its_pack_was_copied_is_forgotten(
    app: ExcerptApp, log: UseLog, quiet_clipboard: None, keys: tuple[str, ...]
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil", "tab")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(log.events()), "the event")
        await pilot.press(*keys)
        await until(pilot, lambda: log.events() == (), "the log without it")


@pytest.mark.programs
async def test_marks_cleared_for_the_next_pack_stay_learned(
    app: ExcerptApp, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil", "tab")
        await until_answered(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(log.events()), "the event")
        pane_of(app).pack_bar.action_clear_marks()
        await settle(pilot)
    assert [event.kind.value for event in log.events()] == ["marked"]


@pytest.mark.programs
async def test_copying_a_fragment_is_logged(app: ExcerptApp, log: UseLog, quiet_clipboard: None) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("unbound-copy-fragment")
        await until(pilot, lambda: bool(log.events()), "the event")
    assert events_by_act(log.events()) == [("copied", "lentil", "Cooking/Lentil soup.md")]


@pytest.mark.programs
async def test_a_question_that_nothing_answers_is_logged_with_what_its_rewording_found(
    app: ExcerptApp, log: UseLog, quiet_clipboard: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "READING_SECONDS", 0.0)
    async with app.run_test() as pilot:
        await search(pilot, "qqxx vvbb")
        await pilot.press("ctrl+u")
        await search(pilot, "lentil")
        await pilot.press("unbound-copy-fragment")
        await until(pilot, lambda: bool(log.events()), "the event")
    (event,) = log.events()
    assert (event.query, event.earlier) == ("lentil", ("qqxx vvbb",))


@pytest.mark.programs
async def test_copying_a_memory_logs_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(CopyRequested("a thought", "Memory", None))
        await until_copied(pilot, user_paths, 1)
    assert log.events() == ()


@pytest.mark.programs
async def test_opening_a_file_that_is_not_a_hit_logs_nothing(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(EditRequested("Sync.md", 1))
        await until(pilot, editor_arguments.exists, "the editor")
    assert log.events() == ()


@pytest.mark.programs
async def test_a_note_that_cannot_be_opened_is_not_logged(app: ExcerptApp, log: UseLog) -> None:
    async with app.run_test() as pilot:
        screen_of(app).post_message(EditRequested("Gone.md", 1, used=UsedHit("gone", "Gone.md", "", 1)))
        await until(pilot, lambda: bool(app._notifications), "the toast")
    assert log.events() == ()


@pytest.mark.programs
async def test_learning_that_is_switched_off_logs_nothing(
    vault: Path, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    settings = Settings()
    settings = replace(settings, search=replace(settings.search, learn=False))
    app = ExcerptApp(vault, settings, user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        await pilot.press("unbound-copy-fragment")
        await until_copied(pilot, user_paths, 1)
    assert not log.file.parent.exists()


@pytest.mark.programs
async def test_an_unwritable_log_is_reported_once_and_stops_nothing(
    app: ExcerptApp, user_paths: Paths, log: UseLog, quiet_clipboard: None
) -> None:
    log.file.mkdir(parents=True)
    async with app.run_test() as pilot:
        await search(pilot, "lentil")
        for count in (1, 2):
            await pilot.press("unbound-copy-fragment")
            await until_copied(pilot, user_paths, count)
        await until(pilot, lambda: any("cannot be saved" in toast.message for toast in app._notifications), "the toast")
        await pilot.pause()
        told = [toast for toast in app._notifications if "cannot be saved" in toast.message]
    assert len(told) == 1
    assert told[0].severity == "information"


@pytest.mark.programs
async def test_forget_this_removes_what_raised_the_selected_hit(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        before = hit_list_of(app).hits
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
        await pilot.press("ctrl+u")
        await search(pilot, "lentil", "ctrl+u")
        await search(pilot, "conflict")
        selected = hit_list_of(app).selected
        assert selected is not None
        assert [use.query for use in selected.past_uses] == ["conflict"]
        assert drawn_lines(hit_list_of(app))[0].startswith("▌↺ ")
        await pilot.press("unbound-forget-uses")
        await until(pilot, lambda: hit_list_of(app).hits == before, "the list of before")
    assert log.events() == ()


@pytest.mark.programs
async def test_a_click_in_the_explanation_forgets_the_past_uses_of_a_hit(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await search(pilot, "conflict")
        await pilot.press("enter")
        await until(pilot, lambda: bool(log.events()), "the event")
        await pilot.press("ctrl+u")
        await search(pilot, "lentil", "ctrl+u")
        await search(pilot, "conflict", "ctrl+t")
        view = screen_of(app).query_one(WhyView).query_one(Static)
        await until(pilot, lambda: "Forget this" in "".join(drawn_lines(view)), "what can be forgotten")
        line = next(at for at, text in enumerate(drawn_lines(view)) if "Forget this" in text)
        await pilot.click(view, offset=(3, line))
        await until(pilot, lambda: log.events() == (), "nothing")


# --- finding again, from start to end ---------------------------------------------------------------------------------


async def open_selected(pilot: AppPilot, log: UseLog) -> str:
    """Open the selected hit in the editor, wait for the event, and return the id of its fragment."""
    hit, count = hit_list_of(pilot.app).selected, len(log.events())
    assert hit is not None
    await pilot.press("enter")
    await until(pilot, lambda: len(log.events()) > count, "the event")
    return hit.fragment.id


async def search_again(pilot: AppPilot, log: UseLog) -> str:
    """Open the second hit of a query, clear it, type it again, and return the id of that hit's fragment."""
    rows = await search_and_wait(pilot, "keep")
    rows.select_fragment(rows.hits[1].fragment.id)
    fragment = await open_selected(pilot, log)
    await pilot.press("ctrl+u")
    await until(pilot, lambda: pane_of(pilot.app).result is None, "the empty query")
    await search(pilot, "keep")
    await settle(pilot)
    return fragment


def first_fragment(app: ExcerptApp) -> str:
    return hit_list_of(app).hits[0].fragment.id


async def show_why(pilot: AppPilot) -> None:
    """Show why the selected hit has its rank, and focus that view."""
    await pilot.press("ctrl+t")
    await until_answered(pilot)
    side_of(pilot.app).why.focus()
    await pilot.pause()


@pytest.mark.programs
async def test_the_list_keeps_order_and_cursor_after_a_hit_was_opened(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test() as pilot:
        await search_and_wait(pilot, "keep")
        await pilot.press("down")
        hits, cursor = hit_list_of(app).hits, hit_list_of(app).cursor
        await open_selected(pilot, log)
        assert (hit_list_of(app).hits, hit_list_of(app).cursor) == (hits, cursor)
        pane_of(app).repeat_requests()
        await settle(pilot)
        assert (hit_list_of(app).hits, hit_list_of(app).cursor) == (hits, cursor)


@pytest.mark.programs
async def test_an_opened_hit_is_first_when_its_query_is_typed_again_and_why_says_so(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await search_again(pilot, log)
        assert first_fragment(app) == opened
        await show_why(pilot)
        assert "You opened it for “keep” on" in " ".join(drawn_lines(why_text(app)))


@pytest.mark.programs
async def test_why_forgets_by_a_key_in_the_footer_and_shows_the_new_rank(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await search_again(pilot, log)
        assert not names_forget(app)
        await show_why(pilot)
        assert names_forget(app)
        await pilot.press("x")
        await until(pilot, lambda: first_fragment(app) != opened, "the list without it")
        await until_answered(pilot)
        selected = hit_list_of(app).selected
        assert selected is not None
        assert selected.fragment.id == opened
        assert not names_forget(app)
        assert drawn_lines(why_text(app))[0].startswith("2nd hit, in the 1st note:")
    assert log.events() == ()


@pytest.mark.programs
async def test_a_click_on_forget_this_forgets_the_past_uses_of_the_hit(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        opened = await search_again(pilot, log)
        await pilot.press("ctrl+t")
        await until_answered(pilot)
        why = why_text(app)
        lines = drawn_lines(why)
        row = next(number for number, line in enumerate(lines) if "Forget this" in line)
        await pilot.click(why, offset=(lines[row].index("Forget this") + 3, row))
        await until(pilot, lambda: first_fragment(app) != opened, "the list without it")
    assert log.events() == ()


@pytest.mark.programs
async def test_why_of_a_hit_never_opened_offers_nothing_to_forget(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        await search_and_wait(pilot, "conflict")
        await show_why(pilot)
        assert not names_forget(app)
        assert "Forget this" not in " ".join(drawn_lines(why_text(app)))


@pytest.mark.programs
async def test_the_palette_offers_forget_this_once_for_any_focus(
    editor_arguments: Path, app: ExcerptApp, log: UseLog
) -> None:
    async with app.run_test(size=(140, 36)) as pilot:
        await search_again(pilot, log)
        for focus_why in (False, True):
            if focus_why:
                await show_why(pilot)
            offers = [each for each in list_commands(app.screen) if each.what.startswith("Forget this")]
            assert [(each.is_active, each.is_enabled) for each in offers] == [(True, True)]


def why_text(app: ExcerptApp) -> Static:
    return side_of(app).why.query_one(Static)


def names_forget(app: ExcerptApp) -> bool:
    return "why-forget" in {each.id for each in screen_of(app).query_one(KeyBar).footer_keys}
