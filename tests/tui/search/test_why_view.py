"""Tests of the score as a waterfall chart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.search.ranking import SIGNALS
from excerpt.tui.search.why_view import SIGNAL_LEGEND, WaterfallBar, waterfall_bars

STYLE_CLASSES = ("plus", "minus")
PARTS = st.lists(st.floats(-3, 3).filter(lambda part: abs(part) > 1e-3), min_size=1, max_size=12)


def test_each_part_begins_where_the_one_before_ended() -> None:
    steps = waterfall_bars([0.5, 0.25, 0.25], STYLE_CLASSES)
    assert [step.draw_bar(8) for step in steps] == ["████", "    ██", "      ██"]


def test_what_takes_away_goes_back_and_has_another_ink() -> None:
    assert waterfall_bars([1.0, -0.5], STYLE_CLASSES) == [
        WaterfallBar(0.0, 1.0, "plus"),
        WaterfallBar(0.5, 1.0, "minus", is_loss=True),
    ]


def test_a_loss_is_told_from_a_gain_without_colours() -> None:
    gain, loss = waterfall_bars([1.0, -0.5], STYLE_CLASSES)
    assert (gain.draw_bar(8), loss.draw_bar(8)) == ("████████", "    ░░░░")
    cost, help_ = waterfall_bars([1.0, -0.5], STYLE_CLASSES, is_cost=True)
    assert (cost.draw_bar(8), help_.draw_bar(8)) == ("░░░░░░░░", "    ████")


@given(PARTS, st.integers(1, 60))
def test_every_part_is_seen_and_none_is_wider_than_the_line(parts: list[float], width: int) -> None:
    for step in waterfall_bars(parts, STYLE_CLASSES):
        cells = step.draw_bar(width)
        assert cells.strip()
        assert len(cells) <= width


@given(PARTS)
def test_the_steps_are_as_long_as_the_parts_beside_each_other(parts: list[float]) -> None:
    steps = waterfall_bars(parts, STYLE_CLASSES)
    whole = abs(parts[0]) / (steps[0].end - steps[0].start)
    assert [(step.end - step.start) * whole for step in steps] == pytest.approx([abs(part) for part in parts])


def test_the_legend_has_every_signal_so_that_no_name_is_cut() -> None:
    assert set(SIGNALS) <= set(SIGNAL_LEGEND)
