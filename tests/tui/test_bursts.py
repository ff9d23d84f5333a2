"""Tests of keys that arrive before the first is handled: a slow line, a key held down, a fast typist.

What is tested is shared by all screens and dialogs, so no module has this name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.command import CommandPalette
from textual.widgets import Input, OptionList, TextArea

from excerpt.base.kinds import Strategy
from excerpt.base.model import Memory
from excerpt.base.settings import Paths, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.results import MemoryRelation, SimilarMemory
from excerpt.memory.store import FolderMemoryStore
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.memory_worker import MergeOffers
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.index.controller import IndexController
from excerpt.tui.key_table import CONTEXTS, FIELD_KEYS
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.form import OfferList, RememberDialog
from excerpt.tui.memory.pane import MemoryList
from excerpt.tui.pack.dialogs import BudgetDialog
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.vault_chooser import VaultChooser
from tests.tui.driver import (
    ScriptedApp,
    drawn_text,
    hit_list_of,
    pane_of,
    post_keys,
    screen_of,
    search,
    show_results,
    until,
    until_tabs,
)

pytestmark = pytest.mark.programs


def value_of(app: ExcerptApp, field: str) -> str:
    """Return the text of a field of the front screen; "" if the field does not exist yet."""
    for found in app.screen.query(field):
        if isinstance(found, Input | TextArea):
            return found.value if isinstance(found, Input) else found.text
    return ""


# --- dialogs close once -----------------------------------------------------------------------------------------------


async def test_enter_pressed_twice_opens_a_vault_once(app: ExcerptApp, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await app.run_action("switch_vault")
        await pilot.press(*f"{other}/")
        await until(pilot, lambda: isinstance(s := app.screen, VaultChooser) and bool(s.rows), "the folder")
        post_keys(app, "enter", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen.vault == other, "the other vault")
        assert len(app.screen_stack) == 1


async def test_dismissing_a_dialog_closes_those_above_it_and_only_once(scripted: ScriptedApp) -> None:
    answers: list[object] = []
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = RememberDialog("text", "")
        scripted.push_screen(dialog, answers.append)
        await pilot.press("f1")
        assert len(scripted.screen_stack) == 3
        dialog.dismiss(None)
        dialog.dismiss(None)
        await pilot.pause()
        assert scripted.screen_stack == [screen_of(scripted)]
        assert answers == [None]


async def test_keys_before_and_after_a_dialog_do_nothing_in_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        for _ in range(3):
            post_keys(scripted, "unbound-compare", "down", "up", "escape", "down", "enter", "up", "down")
            await pilot.pause()
            await pilot.press("escape")
        await until(pilot, lambda: scripted.screen is screen_of(scripted), "the end of the dialog")


async def test_text_typed_right_after_escape_from_a_dialog_goes_to_the_query(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        for opening in ("f1", "unbound-switch-vault", "ctrl+g", "unbound-saved", "ctrl+r", "unbound-settings"):
            post_keys(scripted, opening, "escape", "a", "b")
            await until(pilot, lambda: value_of(scripted, "#query") == "ab", f"the query after {opening}")
            assert scripted.screen is screen_of(scripted)
            await pilot.press("ctrl+u")


# --- typed text is not lost -------------------------------------------------------------------------------------------


async def test_text_right_after_the_key_of_a_dialog_goes_into_its_field(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        for opening in ("f1", "unbound-switch-vault", "ctrl+g"):
            post_keys(scripted, opening, *"abc")
            await until(pilot, lambda: scripted.screen is not screen_of(scripted), f"the dialog of {opening}")
            await until(pilot, lambda: scripted.screen.query_one(Input).value == "abc", f"the text after {opening}")
            await pilot.press("escape", "escape")
            await until(pilot, lambda: scripted.screen is screen_of(scripted), "the main screen")


async def test_a_reason_typed_fast_is_saved_with_the_memory(scripted: ScriptedApp) -> None:
    kept: list[object] = []
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        for key in ("ctrl+s", "enter"):
            scripted.push_screen(RememberDialog("text", ""), kept.append)
            post_keys(scripted, *"sync", "tab", *"because", key)
            await until(pilot, lambda: scripted.screen is screen_of(scripted), f"the form gone by {key}")
            assert [(one.tags, one.why) for one in kept[-1:]] == [(("sync",), "because")]  # type: ignore[attr-defined]


async def test_text_after_a_key_that_moves_to_a_field_goes_into_the_field(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"sync")
        await until(pilot, lambda: hit_list_of(scripted).row_count > 1, "the hits")
        post_keys(scripted, "escape", "j", "slash", *"ab")
        await until(pilot, lambda: value_of(scripted, "#query") == "syncab", "the text")


TAKEN_BY_DIALOG: Mapping[str, tuple[tuple[str, ...], str]] = {
    "the keys": (("f1",), "#keys-filter"),
    "the keys from a list": (("escape", "question_mark"), "#keys-filter"),
    "the palette": (("ctrl+g",), "Input"),
    "the form for a hit": (("ctrl+r",), "#tags"),
    "the form from the list": (("escape", "m"), "#tags"),
    "the form for a new memory": (("f4", "ctrl+r"), "TextArea"),
    "the form with a memory in it": (("f4", "escape", "e"), "#tags"),
    "the vaults": (("unbound-switch-vault",), "Input"),
    "a budget": (("unbound-budget",), "Input"),
    "why not": (("unbound-why-not",), "#note"),
}
"""Keys that open each dialog with a field."""


@pytest.fixture
def with_memory(tmp_path: Path) -> None:
    user_paths = Paths(tmp_path / "config", tmp_path, tmp_path, tmp_path)
    FolderMemoryStore(user_paths.memory_folder(Path("/home/ada/notes"))).remember(
        make_memory("Soup keeps for three days.")
    )


@pytest.mark.parametrize(("keys", "field"), TAKEN_BY_DIALOG.values(), ids=TAKEN_BY_DIALOG)
async def test_text_that_arrives_together_with_the_key_of_a_dialog_goes_into_the_dialog(
    with_memory: None, scripted: ScriptedApp, keys: tuple[str, ...], field: str
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        query = value_of(scripted, "#query")
        if "f4" in keys:
            await pilot.press("f4")
            await until(pilot, lambda: screen_of(scripted).query_one(MemoryList).row_count > 0, "the memory")
        post_keys(scripted, *keys, *"abc", "left", "left", "d")
        await until(pilot, lambda: scripted.screen is not screen_of(scripted), "the dialog")
        await until(pilot, lambda: value_of(scripted, field) == "adbc", "the text in the dialog")
        assert screen_of(scripted).query_one("#query", Input).value == query
        assert screen_of(scripted).query_one("#filter", Input).value == ""


async def test_a_paste_right_after_the_key_of_a_dialog_goes_into_its_field(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        post_keys(scripted, "ctrl+r", "a")
        scripted.post_message(events.Paste("sync, plan"))
        post_keys(scripted, "b")
        await until(pilot, lambda: isinstance(scripted.screen, RememberDialog), "the form")
        await until(pilot, lambda: value_of(scripted, "#tags") == "async, planb", "the text in the form")


async def test_a_query_a_dialog_key_and_its_tags_can_arrive_together(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "merging")
        post_keys(app, "ctrl+u", *"lentil soup", "ctrl+r", *"kitchen", "tab", *"dinner")
        await until(pilot, lambda: isinstance(app.screen, RememberDialog), "the form")
        await until(pilot, lambda: value_of(app, "#why") == "dinner", "the reason")
        assert value_of(app, "#tags") == "kitchen"
        assert "Simmer red lentils" in app.screen.query_one(TextArea).text
        assert pane_of(app).query_text == "lentil soup"


@pytest.mark.parametrize(
    ("command", "screen", "field", "value"),
    [
        ("Remember the passage", RememberDialog, "#tags", "12"),
        ("Type the token budget", BudgetDialog, "Input", "12"),
        ("Go to the Memory tab", MainScreen, "#filter", "12"),
    ],
)
async def test_a_palette_command_with_enter_and_text_can_arrive_together(
    scripted: ScriptedApp, command: str, screen: type[object], field: str, value: str
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        query = value_of(scripted, "#query")
        post_keys(scripted, "ctrl+g", *command, "enter", *"12")
        reached = lambda: isinstance(scripted.screen, screen) and value_of(scripted, field) == value  # noqa: E731
        await until(pilot, reached, "the text where the command led")
        assert screen_of(scripted).query_one("#query", Input).value == query


async def test_keys_of_dialogs_without_a_field_can_arrive_together(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(IndexController, "send_command", lambda _index, command: asked.append(command))
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        query = value_of(scripted, "#query")
        before = scripted.theme
        post_keys(scripted, "unbound-change-theme", "j", "enter")
        await until(
            pilot, lambda: scripted.theme != before and scripted.screen is screen_of(scripted), "the next theme"
        )
        post_keys(scripted, "unbound-compare", "j", "enter")
        await until(pilot, lambda: pane_of(scripted).strategy is not Strategy.AUTO, "a strategy of the second row")
        post_keys(scripted, "unbound-index", *["tab"] * 3, "enter", "y")
        await until(pilot, lambda: asked == ["rebuild"], "the rebuild, agreed to")
        assert screen_of(scripted).query_one("#query", Input).value == query


async def test_a_vault_path_and_a_query_can_arrive_together(app: ExcerptApp, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with app.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        post_keys(app, "unbound-switch-vault", *f"{other}/", "enter", *"abc")
        await until(pilot, lambda: screen_of(app).vault == other and value_of(app, "#query") == "abc", "the query")


async def test_text_after_a_key_that_opens_nothing_is_kept_in_order(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        post_keys(scripted, "unbound-compare", *"abcd", "left", "e")
        await until(pilot, lambda: value_of(scripted, "#query") == "abced", "the text in the query")
        assert scripted.screen is screen_of(scripted)


async def test_keys_held_back_for_a_dialog_are_handled_if_the_dialog_does_not_open(
    scripted: ScriptedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.tui.app._MAX_HOLD_SECONDS", 0.1)
    monkeypatch.setattr(SearchPane, "is_opening", True)
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        post_keys(scripted, "unbound-compare", *"abc")
        await until(pilot, lambda: value_of(scripted, "#query") == "abc", "the text in the query")


# --- panes before their first layout ----------------------------------------------------------------------------------


async def test_the_next_pane_right_after_the_key_of_a_tab_is_in_that_tab(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await pilot.press(*"sync")
        await until(pilot, lambda: hit_list_of(scripted).row_count > 1, "the hits")
        for tab in ("f3", "f4", "unbound-show-index"):
            await pilot.press(tab)
            post_keys(scripted, "f2", "shift+tab", "j")
            rows = hit_list_of(scripted)
            await until(pilot, lambda r=rows: r.has_focus and r.cursor == 1, f"the list after {tab}")  # type: ignore[misc]
            await pilot.press("k", "slash")


# --- the palette ------------------------------------------------------------------------------------------------------


async def test_the_next_pane_is_the_panel_whose_view_was_just_opened(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await show_results(pilot)
        await pilot.press("escape")
        post_keys(scripted, "v", "v", "shift+tab")
        side = pane_of(scripted).side
        await until(pilot, lambda: side.view == "related" and side.has_focus_within, "the panel to have the focus")


async def test_the_palette_can_be_paged_before_it_is_drawn(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        for key in ("pageup", "pagedown", "up", "down", "home", "end"):
            post_keys(scripted, "ctrl+g", key, key, key)
            await until(pilot, lambda: isinstance(scripted.screen, CommandPalette), "the palette")
            await until(pilot, lambda: scripted.screen.query_one(OptionList).option_count > 0, "its lines")
            post_keys(scripted, key, key, "escape")
            await until(pilot, lambda: scripted.screen is screen_of(scripted), f"the main screen after {key}")


async def test_enter_pressed_twice_in_the_palette_runs_one_command(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        post_keys(scripted, "ctrl+g", *"Go to the Memory tab")
        await until(pilot, lambda: isinstance(scripted.screen, CommandPalette), "the palette")
        await until(pilot, lambda: scripted.screen.query_one(OptionList).option_count == 1, "its line")
        post_keys(scripted, "down", "enter", "enter", "enter")
        await until(pilot, lambda: screen_of(scripted).query_one(TabBar).active == "memory", "the tab")
        assert scripted.screen_stack == [screen_of(scripted)]


# --- pending queries run first ----------------------------------------------------------------------------------------


async def test_enter_right_after_the_last_letter_opens_the_best_hit_of_the_whole_query(
    editor_arguments: Path, app: ExcerptApp
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "merging")
        post_keys(app, "ctrl+u", *"lentil soup", "enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert "Lentil soup.md" in editor_arguments.read_text()


async def test_a_move_and_a_mark_right_after_the_last_letter_apply_to_its_result(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "soup")
        post_keys(app, "ctrl+u", *"sync conflict", "down", "tab")
        rows = hit_list_of(app)
        await until(pilot, lambda: bool(rows.marked_ids), "the mark")
        assert pane_of(app).query_text == "sync conflict"
        assert rows.marked_ids == {rows.hits[1].fragment.id}


async def test_a_pack_copied_right_after_the_last_letter_answers_the_whole_query(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "merging")
        post_keys(app, "ctrl+u", *"lentil soup", "ctrl+y")
        await until(pilot, lambda: bool(list(user_paths.copies_folder().glob("*.md"))), "the copy")
        (file,) = user_paths.copies_folder().glob("*.md")
        assert "Simmer red lentils" in file.read_text(encoding="utf-8").split("\n## [2]")[0]


# --- keys with alt ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("\x1bc\x1b[A", [("alt+c", None), ("up", None)]),
        ("\x1bb\x1bc", [("ctrl+left", None), ("alt+c", None)]),
        ("\x1bJ", [("alt+shift+j", None)]),
        ("\x1b.\x1bé", [("alt+full_stop", None), ("alt+é", None)]),
        ("\x1b\x1b[A", [("escape", "\x1b"), ("up", None)]),
        ("\x1b\x14\x1b\r", [("escape", "\x1b"), ("ctrl+t", "\x14"), ("enter", "\r")]),
        ("aé\x1b[1;3D", [("a", "a"), ("é", "é"), ("alt+left", None)]),
    ],
)
def test_a_character_with_alt_is_never_typed(scripted: ScriptedApp, sent: str, read: object) -> None:
    keys = [one for one in XTermParser().feed(sent) if isinstance(one, events.Key)]
    assert [(key.key, key.character) for key in keys] == read


# --- fields -----------------------------------------------------------------------------------------------------------


def test_a_key_handled_by_a_field_does_nothing_outside_it() -> None:
    edits = {key for binding in FIELD_KEYS if "delete" in binding.action for key in binding.keys.split(",")} | {
        "ctrl+d"
    }
    assert edits >= {"ctrl+u", "ctrl+k", "ctrl+w"}
    for place in ("Search", "Overview", "Memory", "Opening a vault", "Remember", "Everywhere", "Always"):
        taken = {
            key: binding.id for binding in CONTEXTS[place] if binding.has_priority for key in binding.keys.split(",")
        }
        assert not edits & taken.keys(), place


async def test_clearing_the_memory_filter_undoes_nothing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await pilot.press("f4", *"soup", "ctrl+u")
        assert value_of(scripted, "#filter") == ""


# --- the position in a list -------------------------------------------------------------------------------------------


async def test_an_automatic_selection_stays_on_the_best_hit_while_the_index_grows(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "sync conflict")
        rows = hit_list_of(app)
        hits = tuple(row.hit for row in rows.rows)  # one of each note, so that none is folded in another order
        rows.show((*hits[1:], hits[0]), "sync conflict", is_repeat=True)
        assert rows.cursor == 0
        rows.action_down()
        selected = rows.selected
        rows.show(hits, "sync conflict", is_repeat=True)
        assert rows.selected is selected


async def test_returning_from_another_tab_keeps_the_scroll_position_of_the_list(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 12)) as pilot:
        await until_tabs(pilot)
        await pilot.press(*"e")
        rows = hit_list_of(scripted)
        await until(pilot, lambda: rows.row_count > 8, "the hits")
        await pilot.press(*["down"] * 7, "up", "up")
        await pilot.pause()
        before = rows.scroll_offset.y
        assert 0 < before < rows.first_line_of(rows.cursor)
        rows.scroll_to(y=0, animate=False, force=True)
        for tab in ("f3", "f4", "unbound-show-index"):
            await pilot.press(tab)
            await pilot.pause()
            await pilot.press("f2")
            await pilot.pause()
            assert rows.scroll_offset.y == 0, tab


async def test_earlier_marks_restored_before_the_index_is_open_are_packed_with_it_silently(
    app: ExcerptApp, user_paths: Paths, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "sync conflict")
        await pilot.press("tab")
        await until(pilot, lambda: pane_of(app).pack.newest_pack is not None, "the pack")
    open_index = EngineWorker.open
    monkeypatch.setattr(EngineWorker, "open", lambda _worker: None)
    again = ExcerptApp(vault, Settings(), user_paths)
    monkeypatch.setattr(again, "notify", lambda message, **_: said.append(message))
    async with again.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(pane_of(again).pack.earlier_or_unlisted_marks), "the line of the marks")
        await pilot.press("unbound-show-earlier")
        await pilot.pause(0.3)
        open_index(screen_of(again).index.engine)
        await until(pilot, lambda: pane_of(again).pack.newest_pack is not None, "the pack of the marks")
    assert not [one for one in said if "no index" in one]


# --- a small window ---------------------------------------------------------------------------------------------------


async def test_an_existing_memory_offered_for_merging_is_visible_in_a_small_window(scripted: ScriptedApp) -> None:
    memory = Memory("a", "The newer one is kept.", (), "", "2026-03-01T14:05:00+00:00", "2026-03-01T14:05:00+00:00")
    async with scripted.run_test(size=(60, 20)) as pilot:
        await until_tabs(pilot)
        dialog = RememberDialog("The newer one is kept.", "Sync/Conflicts.md › Conflicts, line 8")
        scripted.push_screen(dialog)
        await until(pilot, lambda: dialog.is_mounted, "the form")
        alike = tuple(SimilarMemory(memory, MemoryRelation.TEXT, likeness) for likeness in (0.9, 0.8))
        dialog.show_offers(MergeOffers(alike, ()))
        await pilot.pause()
        offers = dialog.query_one(OfferList)
        assert dialog.find_widget(offers).visible_region.height >= 1
        shown = drawn_text(scripted)
        assert "◆" in shown


async def test_similar_memories_that_arrive_while_the_form_closes_are_dropped(scripted: ScriptedApp) -> None:
    async with scripted.run_test() as pilot:
        await until_tabs(pilot)
        dialog = RememberDialog("The newer one is kept.", "Sync/Conflicts.md › Conflicts, line 8")
        scripted.push_screen(dialog)
        await until(pilot, lambda: dialog.is_mounted, "the form")
        await dialog.query_one(".box").remove()
        dialog.show_offers(MergeOffers((), ("kitchen",)))
