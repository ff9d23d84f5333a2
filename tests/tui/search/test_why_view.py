"""Tests of the score as a waterfall chart."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Hit, Signal
from excerpt.search.ranking import SIGNALS
from excerpt.tui.search.why_view import SIGNAL_LEGEND, WaterfallBar, render_explanation, split_signals, waterfall_bars
from tests.tui.examples import make_explanation, make_hit

STYLE_CLASSES = ("plus", "minus")
PARTS = st.lists(st.floats(-3, 3).filter(lambda part: abs(part) > 1e-3), min_size=1, max_size=12)


def test_the_bar_of_each_signal_starts_where_the_previous_bar_ends() -> None:
    steps = waterfall_bars([0.5, 0.25, 0.25], STYLE_CLASSES)
    assert [step.draw_bar(8) for step in steps] == ["████", "    ██", "      ██"]


def test_the_bar_of_a_negative_signal_points_back_in_another_colour() -> None:
    assert waterfall_bars([1.0, -0.5], STYLE_CLASSES) == [
        WaterfallBar(0.0, 1.0, "plus"),
        WaterfallBar(0.5, 1.0, "minus", is_loss=True),
    ]


def test_without_colours_the_bar_of_a_negative_signal_looks_different() -> None:
    gain, loss = waterfall_bars([1.0, -0.5], STYLE_CLASSES)
    assert (gain.draw_bar(8), loss.draw_bar(8)) == ("████████", "    ░░░░")
    cost, help_ = waterfall_bars([1.0, -0.5], STYLE_CLASSES, is_cost=True)
    assert (cost.draw_bar(8), help_.draw_bar(8)) == ("░░░░░░░░", "    ████")


@given(PARTS, st.integers(1, 60))
def test_the_bar_of_every_signal_is_visible_and_within_the_line(parts: list[float], width: int) -> None:
    for step in waterfall_bars(parts, STYLE_CLASSES):
        cells = step.draw_bar(width)
        assert cells.strip()
        assert len(cells) <= width


@given(PARTS)
def test_the_lengths_of_the_bars_are_proportional_to_the_parts_of_the_score(parts: list[float]) -> None:
    steps = waterfall_bars(parts, STYLE_CLASSES)
    whole = abs(parts[0]) / (steps[0].end - steps[0].start)
    assert [(step.end - step.start) * whole for step in steps] == pytest.approx([abs(part) for part in parts])


def test_the_legend_has_every_signal_with_its_full_name() -> None:
    assert set(SIGNALS) <= set(SIGNAL_LEGEND)


def hit_with_parts(**parts: float) -> Hit:
    """Return a hit whose signals have these parts, with a weight of 1."""
    signals = tuple(Signal(name, part, 1.0, part) for name, part in parts.items())
    return replace(make_hit("Sync"), score=sum(parts.values()), signals=signals, confidence=Confidence.NOTHING)


MANY = hit_with_parts(
    **{"words": 0.5, "coverage": 0.01, "title": 0.0, "anchor": 0.2, "heading": 0.1, "note": 0.3, "links": 0.02},
    **{"attachment": -0.4, "meaning": 0.15, "recency": 0.01},
)


def test_the_six_signals_with_the_largest_effect_come_first() -> None:
    strongest, weaker = split_signals(MANY.signals)
    assert [signal.name for signal in strongest] == ["words", "attachment", "note", "anchor", "meaning", "heading"]
    assert [signal.name for signal in weaker] == ["links", "coverage", "recency"]


def test_a_single_weaker_signal_is_shown_with_the_others() -> None:
    strongest, weaker = split_signals(hit_with_parts(**dict.fromkeys("abcdefg", 0.1)).signals)
    assert (len(strongest), weaker) == (7, [])


def drawn_explanation(hit: Hit) -> list[str]:
    """Return the lines of the explanation of a hit, without the spaces between columns."""
    colours: defaultdict[str, str] = defaultdict(lambda: "white")
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(render_explanation(make_explanation("sync", Strategy.AUTO, hit), colours))
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_several_weaker_signals_are_summed_in_one_row_and_listed_below() -> None:
    lines = drawn_explanation(MANY)
    assert any(line.startswith("3 weaker 0.040") for line in lines)
    at = lines.index("The 3 weaker signals:")
    assert [line.split()[0] for line in lines[at + 2 : at + 5]] == ["links", "coverage", "recency"]
    assert at > next(number for number, line in enumerate(lines) if line.startswith("score"))


def test_signals_without_points_and_common_words_are_explained() -> None:
    lines = drawn_explanation(MANY)
    assert "89 % of the first hit's score; no points for title" in lines
    assert "conflict: similar spelling (×0.28)" in lines
    assert "common word (×0.35)" in lines
