"""Tests of the speed of a build and its remaining time: nothing is shown until it is known."""

from __future__ import annotations

import pytest

from excerpt.model import Progress
from excerpt.text.display import format_duration
from excerpt.tui.index.controller import BuildRate, BuildSamples, done_share, format_rate

MB = 1_000_000


def at(seconds: float, notes: int, size: int, total: int = 100 * MB) -> Progress:
    return Progress("reading", notes, 1_000, size, total, "a.md", 1, 0, seconds)


def after(*steps: Progress) -> BuildSamples:
    pace = BuildSamples()
    for step in steps:
        pace = pace.with_progress(step)
    return pace


def steadily(seconds: int, notes: int = 10, size: int = MB) -> list[Progress]:
    """Return the progress of a build that does that many notes and bytes in each second."""
    return [at(float(second), second * notes, second * size) for second in range(seconds + 1)]


def test_in_the_first_second_there_is_no_rate() -> None:
    assert after(at(0.0, 0, 0), at(0.9, 50, MB)).rate is None


def test_the_rate_is_that_of_the_last_seconds_not_of_the_whole_build() -> None:
    fast = steadily(60)
    slow = [at(60.0 + second, 600 + second, 60 * MB + second * 1000) for second in range(1, 12)]
    assert after(*fast, *slow).rate == BuildRate(1.0, 1000.0)


def test_a_time_left_is_told_once_the_rate_is_steady() -> None:
    steps = steadily(8)
    assert after(*steps[:4]).seconds_left(steps[3]) is None
    assert after(*steps).seconds_left(steps[8]) == pytest.approx(92)


def test_no_time_left_is_told_while_the_rate_leaps() -> None:
    steps = [*steadily(4), at(6.0, 41, 4 * MB + 1), at(8.0, 42, 4 * MB + 2)]
    assert after(*steps).seconds_left(steps[-1]) is None


def test_another_build_begins_anew() -> None:
    assert after(*steadily(8), at(0.2, 0, 0)).rate is None


def test_a_pause_is_no_part_of_the_rate() -> None:
    """Leave pauses out, since the seconds of a build are its working time."""
    steps = steadily(8)
    assert after(*steps, steps[-1], *[at(9.0, 90, 9 * MB)]).rate == BuildRate(10.0, MB)


def test_what_is_done_is_told_by_bytes_and_else_by_notes() -> None:
    assert done_share(at(1.0, 10, 50 * MB)) == 0.5
    assert done_share(at(1.0, 10, 0, 0)) == 0.01


def test_rates_are_told_as_a_person_reads_them() -> None:
    steps = steadily(8, notes=400)
    assert format_rate(after(*steps), steps[-1]) == "400 notes/s · 1.0 MB/s · about 2 min left"
    assert format_rate(after(*steps[:3]), steps[2]) == "400 notes/s · 1.0 MB/s"
    assert format_rate(BuildSamples(), steps[0]) == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "a few seconds"), (12, "about 10 s"), (48, "about 50 s"), (80, "about 1 min")]
)
def test_a_time_is_told_as_exactly_as_a_guess_may_be(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
