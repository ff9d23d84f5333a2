"""How the panes of a tab stand, at every size and wish."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.settings import Density, Placing, ScreenSettings
from excerpt.tui.panes import CONTEXT, LIST, PANEL, Arrangement, Panes, arranged, beginning, next_zoom

AUTO = Panes()
PANES = st.builds(
    Panes,
    placing=st.sampled_from(Placing),
    share=st.floats(0, 1),
    zoomed=st.sampled_from(["", LIST, CONTEXT, PANEL, "gone"]),
)


def shown(columns: int, rows: int, panes: Panes = AUTO, *, context: bool = True, panel: bool = False) -> Arrangement:
    return arranged(panes, columns, rows, context=context, panel=panel)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (60, 11, Arrangement(False, 11, False, False)),
        (80, 20, Arrangement(False, 9, True, False)),
        (120, 11, Arrangement(True, 55, True, False)),
        (200, 56, Arrangement(True, 92, True, False)),
    ],
)
def test_by_itself_the_context_stands_beside_a_wide_list_below_a_narrow_one_and_leaves_a_low_one_alone(
    columns: int, rows: int, expected: Arrangement
) -> None:
    assert shown(columns, rows) == expected


def test_a_chosen_place_holds_at_any_width_that_has_room_for_it() -> None:
    beside, below = Panes(Placing.BESIDE), Panes(Placing.BELOW)
    assert [shown(columns, 20, beside).beside for columns in (50, 60, 80, 200)] == [False, True, True, True]
    assert not shown(200, 40, below).beside


def test_without_a_context_the_list_has_all_the_room() -> None:
    assert shown(140, 30, context=False) == Arrangement(True, 140, False, False)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (140, 30, Arrangement(True, 64, True, True)),
        (140, 12, Arrangement(True, 64, False, True)),
        (80, 20, Arrangement(False, 9, False, True)),
        (80, 11, Arrangement(False, 0, False, True)),
    ],
)
def test_a_panel_stands_with_the_context_then_in_its_place_then_in_that_of_the_list(
    columns: int, rows: int, expected: Arrangement
) -> None:
    assert shown(columns, rows, panel=True) == expected


def test_a_panel_below_has_the_height_it_wants() -> None:
    assert arranged(AUTO, 80, 20, context=True, panel=True, least=0.75).first == 5


def test_one_pane_can_have_all_the_room() -> None:
    zoomed = {pane: shown(140, 30, AUTO.zooming(pane), panel=True) for pane in (LIST, CONTEXT, PANEL)}
    assert zoomed[LIST] == Arrangement(True, 140, False, False, LIST)
    assert zoomed[CONTEXT] == Arrangement(True, 0, True, False, CONTEXT)
    assert zoomed[PANEL] == Arrangement(True, 0, False, True, PANEL)


def test_a_pane_that_is_not_there_is_not_zoomed() -> None:
    assert shown(140, 30, AUTO.zooming(PANEL)) == shown(140, 30)


@given(PANES, st.tuples(st.integers(1, 300), st.integers(1, 100)), st.booleans(), st.booleans(), st.floats(0, 1))
def test_something_is_always_in_sight_and_all_of_it_within_the_body(
    panes: Panes, size: tuple[int, int], context: bool, panel: bool, least: float
) -> None:
    columns, rows = size
    found = arranged(panes, columns, rows, context=context, panel=panel, least=least)
    length = columns if found.beside else rows
    assert found.first > 0 or found.context or found.panel
    assert (not found.context or context) and (not found.panel or panel)
    assert 0 <= found.first <= length
    assert not found.divided or found.first < length


def test_the_list_gets_wider_and_narrower_but_never_all_or_nothing() -> None:
    assert AUTO.wider(2).share == pytest.approx(0.56)
    assert [AUTO.wider(steps).share for steps in (-99, 99)] == [0.15, 0.85]


@pytest.mark.parametrize(
    ("wide", "turn"),
    [
        (True, [Placing.BELOW, Placing.BESIDE, Placing.AUTO]),
        (False, [Placing.BESIDE, Placing.BELOW, Placing.AUTO]),
    ],
)
def test_the_key_first_puts_the_context_where_it_does_not_stand(wide: bool, turn: list[Placing]) -> None:
    panes, seen = AUTO, []
    for _ in turn:
        panes = panes.next_placing(wide=wide)
        seen.append(panes.placing)
    assert seen == turn


def test_the_pane_with_the_focus_is_zoomed_and_back() -> None:
    zoomed = next_zoom(AUTO, CONTEXT, [LIST, CONTEXT])
    assert zoomed.zoomed == CONTEXT
    assert next_zoom(zoomed, CONTEXT, [LIST, CONTEXT]).zoomed == ""


def test_while_typing_one_pane_after_the_other_is_zoomed() -> None:
    panes, seen = AUTO, []
    for _ in range(4):
        panes = next_zoom(panes, "", [LIST, CONTEXT])
        seen.append(panes.zoomed)
    assert seen == [LIST, CONTEXT, "", LIST]


def test_at_the_start_the_panes_stand_as_they_were_left_but_for_a_zoom_that_hides_the_list() -> None:
    left = Panes(Placing.BELOW, 0.3, CONTEXT, Density.COMPACT)
    assert beginning(left, ScreenSettings()) == replace(left, zoomed="")
    assert beginning(replace(left, zoomed=LIST), ScreenSettings()).zoomed == LIST
    assert beginning(None, ScreenSettings()) == AUTO


def test_what_the_settings_ask_for_goes_before_how_the_panes_were_left() -> None:
    wanted = ScreenSettings(context=Placing.BESIDE, density=Density.COMPACT)
    begun = beginning(Panes(Placing.BELOW), wanted)
    assert (begun.placing, begun.density) == (Placing.BESIDE, Density.COMPACT)
