"""Times as a person reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.display import age

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "now"),
        (HOUR - 1, "now"),
        (HOUR, "1h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (14 * DAY, "2w"),
        (63 * DAY, "2mo"),
        (730 * DAY, "2y"),
    ],
)
def test_an_age_is_told_in_the_largest_unit_that_tells_it_well(seconds: int, told: str) -> None:
    assert age(1_000_000_000 - seconds, 1_000_000_000) == told


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 4_000_000_000))
def test_an_age_has_at_most_four_cells(then: float, now: int) -> None:
    assert 1 <= len(age(then, now)) <= 4
