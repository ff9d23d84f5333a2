"""Tests of the help, which lists the keys."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from excerpt.tui.common.field import Field
from excerpt.tui.common.help import HelpRows
from tests.tui.driver import ScriptedApp, drawn_text, until

pytestmark = pytest.mark.programs


async def test_the_hint_says_that_escape_clears_the_filter_before_it_closes_the_help(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "esc close" in drawn_text(scripted), "the help")
        await pilot.press(*"pack")
        await until(pilot, lambda: "esc clear" in drawn_text(scripted), "the hint with a filter")
        await pilot.press("escape")
        await until(pilot, lambda: "esc close" in drawn_text(scripted), "the hint without a filter")
        assert scripted.screen.query_one("#keys-filter", Field).value == ""
        await pilot.press("escape")
        await until(pilot, lambda: not scripted.screen.query("#keys-filter"), "the screen behind the help")


async def test_a_key_that_cannot_be_used_is_dim_and_says_why_only_under_the_cursor(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1", *"copy pack")
        await until(pilot, lambda: "Copy the pack" in drawn_text(scripted), "the key")
        rows = scripted.screen.query_one(HelpRows)
        await until(pilot, lambda: "Not now: Nothing to copy: the pack is empty." in drawn_text(scripted), "the reason")
        assert drawn_text(scripted).casefold().count("not now") == 1
        (_, drawn) = (rows.render_line(row) for row in range(2))
        faint = rows.style_of("row--faint").color
        assert {segment.style.color for segment in drawn if segment.style and "Copy" in segment.text} == {faint}


async def test_the_sentence_of_the_row_under_the_cursor_is_whole_below_the_list(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1", *"go into the panel")
        rows = scripted.screen.query_one(HelpRows)
        await until(pilot, lambda: "go into" in str(rows.selected).casefold(), "the row")
        selected, about = rows.selected, scripted.screen.query_one("#about-key", Static)
        assert selected is not None
        below = " ".join(about.render_line(row).text.strip() for row in range(2))
        assert below.startswith(selected.what)
        assert selected.id in below


async def test_the_help_names_the_command_for_screen_readers(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1", *"screen reader")
        await until(pilot, lambda: "excerpt search" in drawn_text(scripted), "the command")


async def test_a_long_notice_is_shown_whole_above_the_keys(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        scripted.notify("word " * 40 + "end", markup=False)
        await pilot.press("f1")
        await until(pilot, lambda: bool(scripted.screen.query(HelpRows)), "the help")
        await pilot.pause()
        rows = scripted.screen.query_one(HelpRows)
        assert sum(rows.render_line(row).text.count("word") for row in range(rows.size.height)) == 40


async def test_the_help_begins_with_ten_first_steps_which_a_filter_leaves_out(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "First steps" in drawn_text(scripted), "the help")
        rows = scripted.screen.query_one(HelpRows)
        title, *steps = (rows.render_line(row).text for row in range(12))
        assert "First steps" in title
        keys = [step.lstrip("▌ ").split()[0] for step in steps[:10]]
        assert keys == ["letters", "↑↓", "⇥", "^y", "^o", "⏎", "^t", "^r", "esc", "^g"]
        await pilot.press(*"mark")
        await until(pilot, lambda: "First steps" not in drawn_text(scripted), "the filtered keys")


async def test_a_first_step_that_is_not_possible_now_says_why_under_the_cursor(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1", "down", "down", "down")
        await until(pilot, lambda: "Not now: Nothing to copy: the pack is empty." in drawn_text(scripted), "the reason")


async def test_the_help_of_another_tab_begins_with_its_own_keys(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f4", "f1")
        await until(pilot, lambda: "esc close" in drawn_text(scripted), "the help")
        assert "First steps" not in drawn_text(scripted)
