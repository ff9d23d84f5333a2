"""Numbers in words."""

from __future__ import annotations

import pytest

from excerpt.text.display import percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.001, "<1 %"),
        (0.005, "<1 %"),
        (0.01, "1 %"),
        (0.36, "36 %"),
        (0.996, "99 %"),
        (0.99999, "99 %"),
        (1.0, "100 %"),
    ],
)
def test_nothing_and_all_are_said_only_of_what_is_exactly_that(share: float, said: str) -> None:
    assert percent(share) == said
    assert percent(share, "") == percent(share).replace(" ", "")
