"""Tests of the last filter for lines before the terminal."""

from __future__ import annotations

import sys
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from excerpt.text.display import visible_line
from excerpt.tui.common.line_filters import ControlCharacterFilter


@cache
def obeyed() -> list[str]:
    """Return all characters that are shown as something else."""
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    return [c for c, shown in zip(every, visible_line(every), strict=True) if shown != c]


def after(text: str) -> str:
    return "".join(segment.text for segment in ControlCharacterFilter().apply([Segment(text)], Color(0, 0, 0)))


def test_what_a_terminal_would_obey_is_gone() -> None:
    assert after("a\x1b[31mb\u202ec\u2066d\x9b2Je\rf\x00g") == "a[31mbcd2Jefg"


@pytest.mark.programs
def test_whatever_is_shown_otherwise_is_gone() -> None:
    assert [c for c in obeyed() if after(f"a{c}b") == f"a{c}b"] == []


def test_letters_of_any_script_and_joined_emoji_stay() -> None:
    text = "naïve 笔记 किताब می‌خواهم 👩‍👩‍👧"
    assert after(text) == text


JOINED = "a क笔👩❤\u0301\u094d\u200c\u200d\ufe0f\u00ad"


@given(st.text() | st.lists(st.sampled_from(JOINED) | st.deferred(lambda: st.sampled_from(obeyed()))).map("".join))
@example("\U000e0000")
@example("a\u200d\u200bb")
def test_a_line_stays_as_wide_as_it_was_laid_out_and_holds_nothing_to_obey(text: str) -> None:
    drawn = after(text)
    assert cell_len(drawn) == cell_len(text)
    assert drawn == visible_line(drawn)
