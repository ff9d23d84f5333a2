"""Tests of the palette: every action by name, those available here first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.widgets import OptionList

from excerpt.base.kinds import Format
from excerpt.service.note_files import NoteFile
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from excerpt.tui.palette import CommandRow, list_commands
from excerpt.tui.programs import ProgramLauncher
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.query_bar import QueryMenu
from excerpt.tui.search.side_panel import PanelView
from excerpt.tui.settings.theme_picker import ThemePicker
from tests.tui.driver import AppPilot, ScriptedApp, drawn_lines, pane_of, post_keys, screen_of, until, until_tabs

pytestmark = pytest.mark.programs

TABS = [place for place in CONTEXTS if place.partition(",")[0].removesuffix(" tab") in ("Search", "Overview", "Memory")]


async def test_every_action_of_the_tabs_is_listed_once_those_of_the_focus_first(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        found = list_commands(scripted.screen)
        names = [command.what for command in found]
        assert len(set(names)) == len(names)
        assert {key.what for place in TABS for key in CONTEXTS[place] if not key.is_movement} <= set(names)
        assert found[0].what == "List the keys that work here", "F1 is the terminal's own in some"
        here = [command.is_active for command in found]
        assert here == sorted(here, reverse=True)


async def test_movements_of_the_cursor_are_no_commands_of_the_palette(scripted: ScriptedApp) -> None:
    moves = {key.what for place in CONTEXTS.values() for key in place if key.is_movement}
    assert {"Next passage", "A page down", "Next pane: query, list, panel, pack", "Delete a letter"} <= moves
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert not moves & {command.what for command in list_commands(scripted.screen)}


async def test_enabled_commands_come_before_disabled_ones(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)):
        enabled = [each.is_enabled for each in list_commands(scripted.screen) if each.is_active]
        assert True in enabled and False in enabled
        assert enabled == sorted(enabled, reverse=True)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_a_command_is_one_line_ending_with_its_keys(scripted: ScriptedApp, size: tuple[int, int]) -> None:
    async with scripted.run_test(size=size) as pilot:
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in scripted.screen.query(OptionList)), "its list")
        await pilot.pause()
        shown = [" ".join(line.split()) for line in drawn_lines(scripted.screen.query_one(OptionList))]
        first = shown.index("List the keys that work here F1")
        assert shown[first + 1 : first + 3] == ["Next strategy ^s", "Remember the passage ^r"]


async def test_a_dialogs_own_keys_are_in_its_palette(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: scripted.screen is not screen_of(scripted), "the form")
        assert "Keep the memory" in [command.what for command in list_commands(scripted.screen)]
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in scripted.screen.query(OptionList)), "its list")


async def listed_commands(pilot: AppPilot, *keys: str) -> list[str]:
    """Return the commands that the palette lists after these keys."""
    await until_tabs(pilot)
    await pilot.press("ctrl+g", *keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    options = pilot.app.screen.query_one(OptionList)
    rows = [options.get_option_at_index(at).prompt for at in range(options.option_count)]
    return [str(row._what) for row in rows if isinstance(row, CommandRow)]


async def test_the_palette_lists_the_commands_that_have_the_typed_words(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        assert sorted(await listed_commands(pilot, *"sav")) == ["Save the query", "Saved queries: run or delete one"]


async def test_the_palette_finds_words_in_any_order(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        assert await listed_commands(pilot, *"tab", "space", *"memory") == ["Go to the Memory tab"]


async def test_the_palette_finds_letters_if_no_command_has_the_typed_words(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        assert "Save the query" in await listed_commands(pilot, *"svquery")


async def test_of_commands_with_the_typed_word_that_with_the_shorter_name_is_first(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        assert (await listed_commands(pilot, *"theme"))[0] == "Change the theme"


async def test_a_command_that_begins_with_what_is_typed_is_first(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        listed = await listed_commands(pilot, *"the", "space", *"index")
        assert listed[0].startswith("The index: ")
        assert len(listed) > 1


async def test_a_command_in_which_a_word_begins_with_what_is_typed_comes_before_one_with_it_inside_a_word(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        listed = await listed_commands(pilot, *"the")
        begins = [" the" in f" {name}".casefold() for name in listed]
        assert begins == sorted(begins, reverse=True)


@pytest.mark.parametrize("text", ["change the theme", "theme"])
async def test_enter_right_after_a_burst_of_letters_runs_the_best_match_of_all_of_them(
    scripted: ScriptedApp, text: str
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        post_keys(scripted, "ctrl+g", *("space" if letter == " " else letter for letter in text), "enter")
        await until(pilot, lambda: isinstance(scripted.screen, ThemePicker), "the themes")


@dataclass(frozen=True)
class Reached:
    """Letters of the list and names for the palette that lead to one action.

    `is_there` gets the pane and the files that were opened in Obsidian or written as a copy.
    """

    letters: str
    names: Sequence[str]
    is_there: Callable[[SearchPane, Sequence[Path]], bool]


def is_view(view: PanelView) -> Callable[[SearchPane, object], bool]:
    """Return a check that the side panel is visible with that view."""
    return lambda pane, _: bool(pane.side.region) and pane.side.view is view


REACHED = {
    "next view": Reached("v", ("next view",), is_view(PanelView.WHY)),
    "scope": Reached("s", ("scope",), lambda pane, _: isinstance(pane.app.screen, ScopeDialog)),
    "budget": Reached("b", ("token budget",), lambda pane, _: isinstance(pane.app.screen, BudgetDialog)),
    "format": Reached("f", ("format",), lambda pane, _: pane.pack_format is not Format.MARKDOWN),
    "Obsidian": Reached("O", ("obsidian",), lambda pane, files: [file.name for file in files] == [first_note(pane)]),
    "copy one": Reached("y", ("copy only the passage",), lambda _, files: [file.suffix for file in files] == [".md"]),
}


def first_note(pane: SearchPane) -> str:
    return Path(pane.query_one(HitList).hits[0].fragment.path).name


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_clipboard: None) -> Callable[[], Sequence[Path]]:
    """Return a function that gives the files opened in Obsidian or written as a copy."""
    opened: list[Path] = []

    async def open_in_obsidian(_: ProgramLauncher, file: Path, *__: object) -> bool:
        opened.append(file)
        return False

    monkeypatch.setattr(MainScreen, "_find_note_file", lambda _, path: NoteFile(Path(path), ""))
    monkeypatch.setattr(ProgramLauncher, "open_in_obsidian", open_in_obsidian)
    return lambda: (*opened, *(tmp_path / "state").rglob("copies/*"))


async def test_the_preview_is_visible_without_a_key_and_returns_after_the_other_views(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        pane = await list_hits(pilot)
        assert is_view(PanelView.PASSAGE)(pane, ())
        await pilot.press("escape")
        for view in (PanelView.WHY, PanelView.RELATED, PanelView.MAP, PanelView.PASSAGE):
            await pilot.press("v")
            assert is_view(view)(pane, ())


@pytest.mark.parametrize("what", REACHED)
async def test_actions_without_a_typing_key_are_reachable_from_the_list(
    what: str, scripted: ScriptedApp, files: Callable[[], Sequence[Path]]
) -> None:
    reached = REACHED[what]
    async with scripted.run_test(size=(80, 24)) as pilot:
        pane = await list_hits(pilot)
        await pilot.press("escape")
        assert not reached.is_there(pane, files())
        await pilot.press(*reached.letters)
        await until(pilot, lambda: reached.is_there(pane, files()), what)


@pytest.mark.parametrize("what", REACHED)
async def test_actions_without_a_typing_key_are_reachable_from_the_palette(
    what: str, scripted: ScriptedApp, files: Callable[[], Sequence[Path]]
) -> None:
    reached = REACHED[what]
    async with scripted.run_test(size=(80, 24)) as pilot:
        pane = await list_hits(pilot)
        assert not reached.is_there(pane, files())
        for name in reached.names:
            await run_by_name(pilot, name)
        await until(pilot, lambda: reached.is_there(pane, files()), what)


async def test_earlier_queries_are_reachable_from_the_palette(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        pane = await list_hits(pilot)
        await pilot.press("escape", "slash", "ctrl+u")
        await run_by_name(pilot, "history")
        await until(pilot, lambda: [one.label for one in pane.query_one(QueryMenu).choices] == ["e"], "the query")


async def list_hits(pilot: AppPilot) -> SearchPane:
    """Show the hits of several notes."""
    pane = pane_of(pilot.app)
    await pilot.press("e")
    await until(pilot, lambda: pane.query_one(HitList).row_count > 3 and pane.is_up_to_date, "the hits")
    return pane


async def run_by_name(pilot: AppPilot, name: str) -> None:
    """Run the first command that the palette finds."""
    await pilot.press("ctrl+g", *("space" if letter == " " else letter for letter in name))
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette), "the palette")
    await pilot.press("enter")
    await until(pilot, lambda: not isinstance(pilot.app.screen, CommandPalette), "its end")
