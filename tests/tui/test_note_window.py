"""The window of a note around a fragment: true lines, true places of matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.model import Fragment, Span
from excerpt.tui.line_drawing import Ink
from excerpt.tui.note_window import REACH, NoteWindow, spans_by_line, window_around


def fragment_of(note: str, first: int, last: int) -> Fragment:
    text = "\n".join(note.split("\n")[first - 1 : last])
    return Fragment("f", "Note.md", "Note", (), 0, 0, first, last, text, 1, "d")


def text_of(window: NoteWindow, number: int) -> str:
    return next("".join(run.text for run in line.runs) for line in window.lines if line.number == number)


def matches(window: NoteWindow) -> list[tuple[int, str]]:
    return [(line.number, run.text) for line in window.lines for run in line.runs if Ink.MATCH in run.ink]


def test_a_short_note_is_shown_whole_with_its_own_line_numbers() -> None:
    note = "one\ntwo\nthree\n"
    window = window_around(note, fragment_of(note, 2, 2), ())
    assert [line.number for line in window.lines] == [1, 2, 3]
    assert (window.above, window.below, window.line_count) == (0, 0, 3)


def test_of_a_long_note_the_lines_around_the_fragment_are_shown_and_the_rest_counted() -> None:
    note = "\n".join(f"line {number}" for number in range(1, 1001))
    window = window_around(note, fragment_of(note, 500, 502), ())
    assert (window.above, window.below) == (500 - REACH - 1, 1000 - 502 - REACH)
    assert text_of(window, 500) == "line 500"


def test_a_match_stands_on_its_line() -> None:
    note = "# Title\n\nalpha beta\ngamma alpha\n"
    fragment = fragment_of(note, 3, 4)
    spans = [Span(at, at + 5) for at in (fragment.text.index("alpha"), fragment.text.rindex("alpha"))]
    assert matches(window_around(note, fragment, spans)) == [(3, "alpha"), (4, "alpha")]


def test_a_match_over_a_line_end_is_split() -> None:
    assert spans_by_line(fragment_of("ab\ncd", 1, 2), [Span(1, 4)]) == {1: [(1, 2)], 2: [(0, 1)]}


@pytest.mark.parametrize(
    ("note", "number", "shown"),
    [
        ("---\ntags: [**x**]\n---\n**y**", 2, "tags: [**x**]"),
        ("---\ntags: [x]\n---\n**y**", 4, "y"),
        ("```\n**x**\n```\n**y**", 2, "**x**"),
        ("```\n**x**\n```\n**y**", 4, "y"),
        ("~~~~\n```\n**x**\n~~~~\n**y**", 3, "**x**"),
        ("> ```\n> **x**\n\n**y**", 2, "▎ **x**"),
        ("> ```\n> **x**\n\n**y**", 4, "y"),
        ("- item\n  ```\n  **x**\n  ```\n**y**", 3, "  **x**"),
    ],
)
def test_code_and_frontmatter_are_known_from_the_lines_before(note: str, number: int, shown: str) -> None:
    assert text_of(window_around(note, fragment_of(note, 1, 1), ()), number) == shown


@given(st.text(), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_no_note_is_refused_and_every_line_is_drawn_once(note: str, spans: list[tuple[int, int]]) -> None:
    lines = note.split("\n")
    window = window_around(note, fragment_of(note, 1, len(lines)), [Span(a, b) for a, b in spans])
    numbers = [line.number for line in window.lines]
    assert numbers == list(range(1, len(numbers) + 1))
    assert window.line_count - len(numbers) == window.below
