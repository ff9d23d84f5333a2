"""Tests of the layout of a tab's panes at every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.tui.common.split import DEFAULT_LIST_SHARE, SplitArrangement, clamp_share, compute_arrangement


def shown(
    columns: int,
    rows: int,
    share: float = DEFAULT_LIST_SHARE,
    *,
    context: bool = True,
    panel: bool = False,
    min_second: float = 0,
) -> SplitArrangement:
    return compute_arrangement(share, columns, rows, context=context, panel=panel, min_second=min_second)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (60, 11, SplitArrangement(False, 11, False, False)),
        (80, 20, SplitArrangement(False, 9, True, False)),
        (120, 11, SplitArrangement(True, 55, True, False)),
        (200, 56, SplitArrangement(True, 92, True, False)),
    ],
)
def test_the_context_stands_beside_a_wide_list_below_a_narrow_one_and_leaves_a_low_one_alone(
    columns: int, rows: int, expected: SplitArrangement
) -> None:
    assert shown(columns, rows) == expected


def test_without_a_context_the_list_has_all_the_room() -> None:
    assert shown(140, 30, context=False) == SplitArrangement(True, 140, False, False)


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (140, 30, SplitArrangement(True, 64, True, True)),
        (140, 12, SplitArrangement(True, 64, False, True)),
        (80, 20, SplitArrangement(False, 9, False, True)),
        (80, 11, SplitArrangement(False, 0, False, True)),
    ],
)
def test_a_panel_stands_below_the_context_or_takes_its_place_or_that_of_all(
    columns: int, rows: int, expected: SplitArrangement
) -> None:
    assert shown(columns, rows, panel=True) == expected


def test_a_context_that_is_asked_for_takes_the_place_of_the_list_where_there_is_no_room_for_both() -> None:
    assert compute_arrangement(
        DEFAULT_LIST_SHARE, 80, 11, context=True, panel=False, prefers_context=True
    ) == SplitArrangement(False, 0, True, False)
    assert compute_arrangement(DEFAULT_LIST_SHARE, 80, 20, context=True, panel=False, prefers_context=True) == shown(
        80, 20
    )


def test_a_panel_below_the_list_gets_the_least_that_it_wants() -> None:
    assert shown(80, 20, panel=True, min_second=0.75).list_cells == 5


@given(st.floats(-1, 2), st.integers(56, 300), st.integers(13, 90), st.booleans(), st.booleans())
def test_no_pane_is_too_small_to_tell_anything(
    share: float, columns: int, rows: int, context: bool, panel: bool
) -> None:
    stand = shown(columns, rows, clamp_share(share), context=context, panel=panel)
    length, min_second = (columns, 28) if stand.is_side_by_side else (rows, 3)
    assert stand.list_cells >= min_second
    if stand.is_divided:
        assert length - stand.list_cells >= min_second
