"""Tests of the layout of a tab's panes at every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from excerpt.tui.common.split import (
    DEFAULT_LIST_SHARE,
    Split,
    SplitArrangement,
    Splitter,
    clamp_share,
    compute_arrangement,
)
from tests.tui.driver import (
    ScriptedApp,
    hit_list_of,
    press,
    preview_of,
    screen_of,
    settle,
    type_query,
    type_text,
    until,
)


def arrangement_of(
    columns: int,
    rows: int,
    share: float = DEFAULT_LIST_SHARE,
    *,
    context: bool = True,
    panel: bool = False,
) -> SplitArrangement:
    return compute_arrangement(share, columns, rows, context=context, panel=panel)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (60, 11, SplitArrangement(False, 11, False, False)),
        (80, 20, SplitArrangement(False, 9, True, False)),
        (120, 11, SplitArrangement(True, 55, True, False)),
        (200, 56, SplitArrangement(True, 92, True, False)),
    ],
)
def test_the_context_is_beside_a_wide_list_below_a_narrow_one_and_hidden_in_a_low_one(
    columns: int, rows: int, expected: SplitArrangement
) -> None:
    assert arrangement_of(columns, rows) == expected


def test_without_a_passage_to_show_the_list_has_the_whole_space() -> None:
    assert arrangement_of(140, 30, context=False) == SplitArrangement(True, 140, False, False)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (140, 30, SplitArrangement(True, 64, True, True)),
        (140, 12, SplitArrangement(True, 64, False, True)),
        (80, 20, SplitArrangement(False, 9, False, True)),
        (80, 11, SplitArrangement(False, 0, False, True)),
    ],
)
def test_a_panel_is_below_the_context_or_replaces_it_or_everything(
    columns: int, rows: int, expected: SplitArrangement
) -> None:
    assert arrangement_of(columns, rows, panel=True) == expected


def test_a_requested_passage_replaces_the_list_if_both_do_not_fit() -> None:
    assert compute_arrangement(
        DEFAULT_LIST_SHARE, 80, 11, context=True, panel=False, prefers_context=True
    ) == SplitArrangement(False, 0, True, False)
    assert compute_arrangement(
        DEFAULT_LIST_SHARE, 80, 20, context=True, panel=False, prefers_context=True
    ) == arrangement_of(80, 20)


def test_above_a_panel_the_list_has_a_share_of_its_own_unless_the_user_chose_one() -> None:
    split = Split()
    split.set_reactive(Split.stacked_share, 0.25)
    assert [split.arrangement_for(Size(columns, 20)).list_cells for columns in (80, 120)] == [5, 55]
    split.set_reactive(Split.share, 0.5)
    assert split.arrangement_for(Size(80, 20)).list_cells == 10


@given(st.floats(-1, 2), st.integers(56, 300), st.integers(13, 90), st.booleans(), st.booleans())
def test_no_pane_is_too_small_to_be_useful(share: float, columns: int, rows: int, context: bool, panel: bool) -> None:
    stand = arrangement_of(columns, rows, clamp_share(share), context=context, panel=panel)
    length, minimum = (columns, 28) if stand.is_side_by_side else (rows, 3)
    assert stand.list_cells >= minimum
    if stand.is_divided:
        assert length - stand.list_cells >= minimum


@pytest.mark.programs
async def test_the_border_can_be_dragged_beside_and_below(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await type_text(pilot, "sync")
        splitter = screen_of(scripted).query_one("#body Splitter", Splitter)
        await until(pilot, lambda: splitter.region.width == 1, "the border")
        await pilot.pause()
        await pilot.mouse_down(offset=(splitter.region.x, 10))
        await pilot.hover(offset=(80, 12))
        await pilot.mouse_up(offset=(80, 12))
        await until(pilot, lambda: splitter.region.x == 80, "the border where it was dragged to")
        await pilot.resize_terminal(90, 30)
        await until(pilot, lambda: preview_of(scripted).region.x == 0, "the panel below the list")
        await pilot.pause()
        await pilot.mouse_down(offset=(50, preview_of(scripted).region.y))
        await pilot.hover(offset=(50, 8))
        await pilot.mouse_up(offset=(50, 8))
        await until(pilot, lambda: preview_of(scripted).region.y == 8, "the panel where its border was dragged to")


@pytest.mark.programs
@pytest.mark.parametrize("size", [(120, 30), (80, 24), (80, 18)])
async def test_keys_move_the_border_beside_and_below(scripted: ScriptedApp, size: tuple[int, int]) -> None:
    async with scripted.run_test(size=size) as pilot:
        await type_query(pilot, "sync")
        await pilot.press("escape")
        split = screen_of(scripted).query_one("#body", Split)
        before = split.arrangement.list_cells
        await pilot.press(">")
        larger = split.arrangement.list_cells
        assert larger > before
        await pilot.press("<")
        assert before <= split.arrangement.list_cells < larger


@pytest.mark.programs
@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 30), (200, 60)])
async def test_the_panes_keep_their_sizes_when_hits_are_replaced_by_other_hits(
    scripted: ScriptedApp, size: tuple[int, int]
) -> None:
    async with scripted.run_test(size=size) as pilot:
        await type_text(pilot, "s")
        await until(pilot, lambda: bool(hit_list_of(scripted).region), "the list to be laid out")
        stood = hit_list_of(scripted).region, preview_of(scripted).region
        for letter in "ync conflict":
            await type_text(pilot, letter)
            assert (hit_list_of(scripted).region, preview_of(scripted).region) == stood


@pytest.mark.programs
async def test_a_focused_passage_that_no_longer_fits_loses_the_focus(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await type_text(pilot, "sync")
        preview_of(scripted).focus()
        await pilot.pause()
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert preview_of(scripted).region.area == 0
        assert scripted.focused is not None
        assert scripted.focused is not preview_of(scripted)


@pytest.mark.programs
async def test_a_passage_that_replaces_the_focused_list_takes_the_focus(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(60, 15)) as pilot:
        await type_text(pilot, "sync")
        await pilot.press("f3", "escape", "v")
        await pilot.pause()
        assert scripted.focused is screen_of(scripted).query_one("#overview-passage")


@pytest.mark.programs
async def test_a_dragged_list_height_is_kept_while_rows_are_selected(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync")
        body, rows = screen_of(scripted).query_one("#body", Split), hit_list_of(scripted)
        assert rows.size.height == 11
        body.resize(0.7)
        await pilot.pause()
        await press(pilot, "down")
        await settle(pilot)
        assert rows.size.height == 13
