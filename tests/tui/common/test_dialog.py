"""Tests of what all dialogs share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from excerpt.tui.common.dialog import fit_hints


def test_hints_are_dropped_from_the_end_except_the_key_that_closes() -> None:
    hints = ("enter run", "s save", "d delete", "esc close")
    assert fit_hints(hints, 60) == "enter run · s save · d delete · esc close"
    assert fit_hints(hints, 35) == "enter run · s save · esc close"
    assert fit_hints(hints, 3) == "esc close"


@given(st.lists(st.text(min_size=1), min_size=2), st.integers(0, 80))
def test_hints_fit_the_width_or_are_only_the_key_that_closes(hints: list[str], cells: int) -> None:
    assert (shown := fit_hints(hints, cells)) == hints[-1] or cell_len(shown) <= cells
