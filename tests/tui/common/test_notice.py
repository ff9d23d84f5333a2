"""Tests of notices: one line over the footer, the newest in sight, an error not lost, the whole text in the help."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from excerpt.tui.common.help import HelpDialog, HelpRows
from excerpt.tui.search.query_bar import QueryStatus
from tests.tui.driver import AppPilot, ScriptedApp, drawn_text, until, until_screen, until_tabs

pytestmark = pytest.mark.programs

LONG = "The file is damaged at many places, which are named here one after the other until no line holds them."


def last_line(app: ScriptedApp) -> str:
    return drawn_text(app).splitlines()[-1].strip("▎ ")


async def wait_for_last_line(pilot: AppPilot, prefix: str) -> str:
    """Wait until the last line of the screen starts with `prefix`, and return it."""
    app = pilot.app
    assert isinstance(app, ScriptedApp)
    await until(pilot, lambda: last_line(app).startswith(prefix), f"the line {prefix!r}")
    return last_line(app)


async def test_a_notice_is_one_line_above_the_footer_and_leaves_the_help_key_visible(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24), notifications=True) as pilot:
        await until_tabs(pilot)
        before = drawn_text(scripted).splitlines()
        scripted.notify(f"Two\nlines. {LONG}", title="A title")
        line = await wait_for_last_line(pilot, "A title. Two lines. The file")
        assert line.endswith("…   F1 more")
        # Further up, the screen says when the vault is open.
        assert drawn_text(scripted).splitlines()[-8:-1] == before[-8:-1]


async def test_the_newest_notice_is_shown_and_an_error_returns_after_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24), notifications=True) as pilot:
        await until_tabs(pilot)
        scripted.notify(LONG, title="Broken", severity="error")
        await wait_for_last_line(pilot, "Broken.")
        scripted.notify("Copied.", timeout=0.5)
        await wait_for_last_line(pilot, "Copied.")
        await wait_for_last_line(pilot, "Broken.")


async def test_the_help_has_the_whole_text_of_the_notices(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24), notifications=True) as pilot:
        await until_tabs(pilot)
        scripted.notify(LONG, severity="error")
        await wait_for_last_line(pilot, "The file")
        await pilot.press("f1")
        await until_screen(pilot, HelpDialog)
        await pilot.pause()
        rows = scripted.screen.query_one(HelpRows)
        shown = " ".join(" ".join(rows.render_line(row).text for row in range(rows.size.height)).split())
        assert "Notices" in shown and "no line holds them." in shown


async def test_a_notice_covers_no_row_of_a_dialog(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24), notifications=True) as pilot:
        await until_tabs(pilot)
        for open_dialog in (scripted.action_switch_vault, lambda: pilot.press("ctrl+r")):
            result = open_dialog()
            if result is not None:
                await result
            await until(pilot, lambda: len(scripted.screen_stack) > 1, "a dialog")
            await pilot.pause()
            box = scripted.screen.query_one(".box")
            scripted.notify("Copied.")
            await wait_for_last_line(pilot, "Copied.")
            assert box.region.bottom < 24
            await pilot.press("escape")
            await until(pilot, lambda: len(scripted.screen_stack) == 1, "the end of it")


async def test_the_area_of_a_notice_is_redrawn_even_if_the_map_was_read_before_the_layout(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24), notifications=True) as pilot:
        await until_tabs(pilot)
        scripted.notify("Copied.")
        await wait_for_last_line(pilot, "Copied.")
        compositor = scripted.screen._compositor
        toast = scripted.screen.query_one(Toast)
        region = toast.region
        toast.display = False
        compositor._full_map_invalidated = True
        assert toast not in compositor.full_map
        assert region in compositor._dirty_regions


async def test_the_area_of_a_widget_shown_again_is_redrawn_even_if_the_map_was_read_before_the_layout(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        compositor = scripted.screen._compositor
        status = scripted.screen.query_one(QueryStatus)
        region = status.region
        status.display = False
        await pilot.pause()
        assert status not in compositor.full_map
        status.display = True
        compositor._full_map_invalidated = True
        assert status in compositor.full_map
        assert region in compositor._dirty_regions
