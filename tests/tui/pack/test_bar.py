"""Tests of the pack bar: one count, what has room, what a mark would do, and clicks on its options."""

from __future__ import annotations

import pytest
from textual.geometry import Offset
from textual.widgets import Input

from excerpt.kinds import Confidence, Fill, Format, Scope, StopReason, Strategy
from excerpt.model import PackResult
from excerpt.service.packer import MarkCost
from excerpt.settings import PackSettings
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from excerpt.tui.pack.labels import pack_summary, scope_label
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    drawn_lines,
    hit_list_of,
    notices_of,
    open_index,
    pane_of,
    screen_of,
    settle,
    show_results,
    type_query,
    until,
    until_answered,
    until_screen,
)

pytestmark = pytest.mark.programs


def make_pack(stopped: StopReason, *, needs: tuple[int, ...] = ()) -> PackResult:
    return PackResult("q", Strategy.AUTO, 4_000, "o200k", (), (), "", 240, 0.0, 7, stopped=stopped, needs=needs)


@pytest.mark.parametrize(
    ("result", "mark_count", "end"),
    [
        (make_pack(StopReason.ENOUGH), 0, "240/4,000 tokens · enough"),
        (make_pack(StopReason.BUDGET, needs=(310,)), 0, "240/4,000 tokens · full: the next needs 310"),
        (make_pack(StopReason.LIMIT), 0, "240/4,000 tokens · best 8 hits"),
        (make_pack(StopReason.END), 0, "240/4,000 tokens · all hits"),
        (make_pack(StopReason.END), 2, "240/4,000 tokens · 2 marked"),
        (make_pack(StopReason.NO_ANSWER), 0, "0 passages · nothing answers"),
    ],
)
def test_a_pack_ends_with_the_reason_why_it_stopped(result: PackResult, mark_count: int, end: str) -> None:
    assert pack_summary(result, PackSettings(), mark_count).endswith(end)


def test_scopes_are_named_from_narrow_to_wide() -> None:
    assert [scope_label(scope) for scope in Scope] == ["hit only", "paragraphs around", "section", "whole note"]


def bar_of(pilot: AppPilot) -> PackBar:
    return screen_of(pilot.app).query_one(PackBar)


def text_of(bar: PackBar) -> str:
    return drawn_lines(bar)[0]


async def click(pilot: AppPilot, text: str) -> None:
    """Click on a text of the bar."""
    bar = bar_of(pilot)
    await pilot.click(bar, offset=Offset(text_of(bar).index(text) + 1, 0))


async def test_a_wide_bar_shows_all_and_a_narrow_one_the_size_of_the_pack(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        for part in ("passages · ", "/4,000 tokens ▓", "░ · ", " · markdown · paragraphs around", " mark: only this, "):
            assert part in text_of(bar)
        await pilot.resize_terminal(30, 24)
        await pilot.pause()
        assert text_of(bar) == "2 passages · 280/4,000 toke…"


async def test_the_bar_shows_the_same_options_whichever_row_is_selected(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        for cost in (MarkCost("a", 8, is_first_mark=False), MarkCost("a", 1_108, is_first_mark=True)):
            bar.cost = cost
            await pilot.pause()
            assert " · paragraphs around" not in text_of(bar)


async def test_a_click_on_the_budget_opens_its_dialog(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "4,000 tokens")
        await until_screen(pilot, BudgetDialog)


async def test_a_click_on_the_scope_opens_its_dialog(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "paragraphs around")
        await until_screen(pilot, ScopeDialog)


async def test_a_click_on_the_format_takes_the_next_one(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await click(pilot, "markdown")
        await until(pilot, lambda: pane_of(scripted).pack_format is Format.XML, "the format")
        await until_answered(pilot)
        assert " · xml" in text_of(bar_of(pilot))


async def test_an_option_under_the_mouse_has_another_background(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar = bar_of(pilot)
        at = text_of(bar).index("markdown")
        await pilot.hover(bar, offset=Offset(at + 1, 0))
        await until(pilot, lambda: bool(bar.highlight_link_id), "the hover")
        (line,) = bar.render_lines(bar.size.region)
        backgrounds = {segment.text: segment.style.bgcolor for segment in line if segment.style is not None}
        assert backgrounds["markdown"] != backgrounds["paragraphs around"]


async def test_a_hit_that_is_in_the_pack_beside_a_mark_is_said_to_be_there(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        pane, rows = pane_of(scripted), hit_list_of(scripted)
        pane.scope = Scope.NOTE
        await pilot.press("tab")
        await settle(pilot)
        marked = {mark.path for mark in pane.pack.choices.marks}
        beside = next(
            row
            for row, hit in enumerate(rows.hits)
            if hit.fragment.path in marked and hit.fragment.id not in pane.pack.choices.marked_ids
        )
        rows.select_fragment(rows.hits[beside].fragment.id)
        await settle(pilot)
        assert text_of(bar_of(pilot)).endswith(" mark: in the pack already")


async def show_unanswered(pilot: AppPilot) -> None:
    """Search for words that no fragment has together."""
    await open_index(pilot)
    await type_query(pilot, "binary lentils")
    result = pane_of(pilot.app).result
    assert result is not None
    assert (result.confidence, len(result.hits) > 1) == (Confidence.NOTHING, True)


async def test_what_nothing_answers_is_not_packed_until_a_key_packs_the_nearest_hits(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_unanswered(pilot)
        bar = bar_of(pilot)
        assert text_of(bar).startswith("0 passages · nothing answers")
        await pilot.press("ctrl+y")
        await until(pilot, lambda: bool(notices_of(scripted)), "the reason")
        assert notices_of(scripted) == ["Nothing to copy: no hit answers. Pack the nearest hits by p in the list."]
        await pilot.press("escape", "p")
        await settle(pilot)
        assert bar.mark_count == min(3, len(hit_list_of(scripted).hits))
        assert bar.pack is not None
        assert bar.pack.passages
        await pilot.press("u")
        await settle(pilot)
        assert bar.mark_count == 0


async def test_the_key_that_packs_the_nearest_hits_is_offered_only_if_nothing_answers(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        await pilot.press("escape")
        assert "pack 3 nearest" not in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]
        screen_of(scripted).query_one("#query", Input).value = ""
        await pilot.press("slash")
        await show_unanswered(pilot)
        assert "pack 3 nearest" not in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]
        await pilot.press("escape")
        await settle(pilot)
        assert "p pack 3 nearest" in drawn_lines(screen_of(scripted).query_one("KeyBar"))[0]


async def test_the_pack_stops_when_it_has_enough_or_fills_the_budget(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await show_results(pilot)
        bar, pane = bar_of(pilot), pane_of(scripted)
        assert " · enough · " in text_of(bar)
        packed = pane.pack.newest_pack
        assert packed is not None
        assert "scores far below the best" in {row.reason for row in packed.left_out}
        await pilot.press("unbound-fill")
        await settle(pilot)
        assert pane.fill is Fill.BUDGET
        assert " · all hits · " in text_of(bar)
