"""Tests of copying links, and of picking: enter prints links or the pack in place of opening the note."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList

from excerpt.base.kinds import LinkForm
from excerpt.base.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.footer import KeyBar
from excerpt.tui.common.help import HelpDialog
from excerpt.tui.picking import PickOptions
from excerpt.tui.search.link_dialog import LinkDialog
from tests.tui.driver import (
    AppPilot,
    hit_list_of,
    notices_of,
    options_of,
    pane_of,
    press,
    screen_of,
    search,
    until,
    until_screen,
)

pytestmark = pytest.mark.programs


async def open_links(pilot: AppPilot, query: str, *keys: str) -> LinkDialog:
    await search(pilot, query, *keys, "escape")
    await pilot.press("Y")
    return await until_screen(pilot, LinkDialog)


async def copied_by(pilot: AppPilot, user_paths: Paths) -> str:
    """Wait until a text is copied, and return it."""
    folder = user_paths.copies_folder()
    await until(pilot, lambda: folder.is_dir() and any(folder.iterdir()), "the copy")
    await until(pilot, lambda: bool(notices_of(pilot.app)), "the notice")
    return max(folder.iterdir()).read_text()


async def test_each_form_is_listed_with_the_link_to_the_selected_passage(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        assert options_of(await open_links(pilot, "conflict")) == [
            "wikilink   [[Sync#Conflicts]]",
            "Markdown   [Sync › Conflicts](Sync.md#Conflicts)",
            "path:line  Sync.md:9",
            "path       Sync.md",
        ]


async def test_the_chosen_form_is_copied_and_selected_the_next_time(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        await open_links(pilot, "conflict")
        await pilot.press("Y", "enter")
        assert await copied_by(pilot, user_paths) == "[Sync › Conflicts](Sync.md#Conflicts)"
        await pilot.press("Y")
        dialog = await until_screen(pilot, LinkDialog)
        assert dialog.query_one(OptionList).highlighted == 1
        assert screen_of(app)._collect_session().link is LinkForm.MARKDOWN


async def test_with_marks_the_links_lead_to_the_marked_passages(
    app: ExcerptApp, user_paths: Paths, quiet_clipboard: None
) -> None:
    async with app.run_test() as pilot:
        dialog = await open_links(pilot, "lentil", "tab")
        assert "[[Lentil soup]]" in options_of(dialog)[0]
        await pilot.press("escape", "slash", "ctrl+u")
        await open_links(pilot, "conflict", "tab")
        await pilot.press("enter")
        assert (await copied_by(pilot, user_paths)).splitlines() == ["[[Lentil soup]]", "[[Sync#Conflicts]]"]


# --- picking ----------------------------------------------------------------------------------------------------------


def picking_app(vault: Path, user_paths: Paths, pick: PickOptions) -> ExcerptApp:
    return ExcerptApp(vault, Settings(), user_paths, {}, pick=pick)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (LinkForm.WIKILINK, "[[Sync#Conflicts]]"),
        (LinkForm.LINES, "{vault}/Sync.md:9"),
        (None, "A sync conflict arises"),
    ],
)
async def test_enter_quits_with_the_picked_passages(
    vault: Path, user_paths: Paths, form: LinkForm | None, text: str
) -> None:
    app = picking_app(vault, user_paths, PickOptions(form, "conflict"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: bool(hit_list_of(app).hits), "the hits")
        assert any(key.label == "print" for key in screen_of(app).query_one(KeyBar).footer_keys)
        await pilot.press("enter")
        await until(pilot, lambda: app.picked_text is not None, "the text")
    assert text.format(vault=vault) in (app.picked_text or "")


async def test_escape_moves_to_the_list_and_then_quits(vault: Path, user_paths: Paths) -> None:
    app = picking_app(vault, user_paths, PickOptions(LinkForm.PATH, "conflict"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: bool(hit_list_of(app).hits), "the hits")
        await press(pilot, "escape")
        assert hit_list_of(app).has_focus
        await pilot.press("escape")
        await pilot.pause()
        assert app._exit
    assert app.picked_text is None


async def test_the_help_describes_enter_while_picking(vault: Path, user_paths: Paths) -> None:
    app = picking_app(vault, user_paths, PickOptions(LinkForm.PATH, "conflict"))
    async with app.run_test() as pilot:
        await until(pilot, lambda: bool(hit_list_of(app).hits), "the hits")
        await pilot.press("f1")
        groups = (await until_screen(pilot, HelpDialog))._groups
        rows = {row.id: (group.is_active, row.disabled_reason) for group in groups for row in group.rows}
        assert rows["accept"] == (True, "")
        assert rows["edit"] == (True, "Here another action has this key.")


async def test_nothing_is_printed_if_enter_opens_notes(app: ExcerptApp) -> None:
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        assert pane_of(app).check_action("accept", ()) is False
        assert pane_of(app).check_action("edit", ()) is True
