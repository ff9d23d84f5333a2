"""Tests of what all dialogs share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from excerpt.tui.common.dialog import fit_hints


def test_of_the_hints_the_last_ones_but_the_way_out_go_first_where_there_is_no_room() -> None:
    hints = ("enter run", "s save", "d delete", "esc close")
    assert fit_hints(hints, 60) == "enter run · s save · d delete · esc close"
    assert fit_hints(hints, 35) == "enter run · s save · esc close"
    assert fit_hints(hints, 3) == "esc close"


@given(st.lists(st.text(min_size=1), min_size=2), st.integers(0, 80))
def test_what_is_hinted_fits_or_is_the_way_out_alone(hints: list[str], cells: int) -> None:
    assert (shown := fit_hints(hints, cells)) == hints[-1] or cell_len(shown) <= cells
