"""Tests of the rows that the app has below the cursor."""

from __future__ import annotations

import pytest

from excerpt.tui.picking import MIN_ROWS, Height


@pytest.mark.parametrize(
    ("height", "terminal_rows", "rows"),
    [
        (Height(15), 24, 15),
        (Height(15), 12, 11),  # the prompt keeps its row
        (Height(40, is_share=True), 50, 20),
        (Height(100, is_share=True), 24, 23),
        (Height(1, is_share=True), 24, MIN_ROWS),
    ],
)
def test_the_app_has_the_wanted_rows_as_far_as_the_terminal_has_them(
    height: Height, terminal_rows: int, rows: int
) -> None:
    assert height.rows(terminal_rows) == rows
