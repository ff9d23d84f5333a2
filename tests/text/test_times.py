"""Tests of times formatted for people."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.display import format_age, local_day, local_time

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
    assert format_age(1_000_000_000 - seconds, 1_000_000_000) == told


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 4_000_000_000))
def test_an_age_has_at_most_four_cells(then: float, now: int) -> None:
    assert 1 <= len(format_age(then, now)) <= 4


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs another time zone")
@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "2262-04-12T00:00:00Z"])
@pytest.mark.parametrize("zone", ["UTC+12", "UTC-14"])
def test_a_time_at_the_end_of_the_calendar_is_shown_wherever_the_reader_is(
    stamp: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert abs(int(local_day(stamp)[:4]) - int(stamp[:4])) <= 1
        assert len(local_time(stamp)) == len("2026-03-01 14:05")
    finally:
        monkeypatch.undo()
        time.tzset()
