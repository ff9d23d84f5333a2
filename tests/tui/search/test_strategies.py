"""Tests of the comparison of strategies for one query."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable

from excerpt.base.kinds import Strategy
from excerpt.base.model import Fragment, Hit, Result
from excerpt.tui.search.strategies import STRATEGY_PURPOSES, StrategiesScreen, compare_ranks, describe_unchanged_ranks
from excerpt.tui.search.why_view import WhyNot
from tests.tui.driver import ScriptedApp, hit_list_of, pane_of, screen_of, settle, show_results, until, until_screen

pytestmark = pytest.mark.programs


def result(strategy: Strategy, ids: str) -> Result:
    """Return a result whose hits have one-letter ids."""
    fragments = [Fragment(one, f"{one}.md", one.upper(), (), 0, 0, 1, 1, one, 1, "") for one in ids]
    return Result("query", strategy, strategy, tuple(Hit(fragment, 1.0) for fragment in fragments), len(ids), 1.0, 7)


def ranks_of(*lists: str) -> list[tuple[str, tuple[int | None, ...]]]:
    rows = compare_ranks([result(strategy, ids) for strategy, ids in zip(Strategy, lists, strict=False)])
    return [(row.name, row.ranks) for row in rows]


def test_each_fragment_has_its_rank_under_each_strategy_largest_differences_first() -> None:
    assert ranks_of("abc", "acd") == [("B", (2, None)), ("D", (None, 3)), ("C", (3, 2)), ("A", (1, 1))]


def test_only_the_first_ten_hits_of_each_strategy_are_compared() -> None:
    assert ranks_of("abcdefghijkl") == [(one.upper(), (rank,)) for rank, one in enumerate("abcdefghij", 1)]


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        (("abc", "adc"), "Same rank under all strategies: 1. A, 3. C"),
        (("ab", "ba"), "No hit has the same rank under all strategies."),
        (("ab", "ab"), "All strategies give the same list, in the same order."),
        (("", ""), "No strategy finds anything."),
    ],
)
def test_one_line_names_the_fragments_with_equal_ranks_under_all_strategies(lists: tuple[str, str], said: str) -> None:
    assert (
        describe_unchanged_ranks(
            compare_ranks([result(strategy, ids) for strategy, ids in zip(Strategy, lists, strict=False)])
        )
        == said
    )


async def open_comparison(pilot: Pilot[None]) -> StrategiesScreen:
    await pilot.press("unbound-compare")
    screen = await until_screen(pilot, StrategiesScreen)
    await until(pilot, lambda: bool(screen.rows), "the answers")
    return screen


async def test_enter_selects_the_strategy_that_ranks_the_fragment_highest(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 36)) as pilot:
        await show_results(pilot)
        dialog = await open_comparison(pilot)
        row = next(row for row in dialog.rows if row.ranks[1] == 1)
        await pilot.press(*["down"] * (dialog.rows.index(row) - dialog.query_one(DataTable).cursor_row))
        await pilot.press("enter")
        await settle(pilot)
        selected = hit_list_of(scripted).selected
        assert pane_of(scripted).strategy is Strategy.ADAPTIVE
        assert selected is not None
        assert selected.fragment.id == row.fragment.id


async def test_the_selected_fragment_is_selected_in_the_dialog_and_escape_changes_nothing(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=(60, 15)) as pilot:
        await show_results(pilot)
        selected = hit_list_of(scripted).selected
        dialog = await open_comparison(pilot)
        assert selected is not None
        assert dialog.rows[dialog.query_one(DataTable).cursor_row].fragment.id == selected.fragment.id
        await pilot.press("escape")
        await until(pilot, lambda: scripted.screen is screen_of(scripted), "the dialog to close")
        assert pane_of(scripted).strategy is Strategy.AUTO


async def test_a_long_title_is_shown_whole(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        dialog = await open_comparison(pilot)
        found = [result(Strategy.AUTO, "a"), result(Strategy.ADAPTIVE, "b")]
        long = "A title of many words that is far too long for the one line that there is, [bold]to its end"
        hit = replace(found[0].hits[0], fragment=replace(found[0].hits[0].fragment, title=long))
        dialog.show_results([replace(found[0], hits=(hit,)), found[1]])
        await pilot.pause()
        drawn = " ".join(" ".join(strip.text for strip in scripted.screen._compositor.render_strips()).split())
        assert all(word in drawn for word in long.split())


async def test_a_strategy_forced_in_the_query_is_labelled_as_forced(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await show_results(pilot)
        pane = pane_of(scripted)
        assert pane.result is not None
        pane.result = replace(pane.result, query="!s sync conflict", requested_strategy=Strategy.SEMANTIC)
        await open_comparison(pilot)
        await pilot.press("enter")
        await until(
            pilot, lambda: any("Remove the !" in toast.message for toast in scripted._notifications), "the toast"
        )
        assert pane.strategy is Strategy.AUTO


async def test_the_palette_explains_a_missing_note_and_accepts_its_name_in_one_read(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("unbound-why-not")
        assert scripted.screen is screen_of(scripted)
        await show_results(pilot)
        await pilot.press("unbound-why-not")
        await until(
            pilot,
            lambda: isinstance(scripted.screen, WhyNot) and bool(scripted.screen.query("#note:focus")),
            "the field",
        )


NOTICE_CELLS = 68
"""Cells of a notice at 80 columns, beside the sign before it and the key of the help."""


def test_the_purpose_of_every_strategy_is_whole_in_a_notice_at_80_columns() -> None:
    assert [each for each, purpose in STRATEGY_PURPOSES.items() if len(f"{each}: {purpose}") > NOTICE_CELLS] == []
