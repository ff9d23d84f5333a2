"""Tests of the window of a note around a fragment: exact line numbers and match positions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.model import Fragment, Section, Span
from excerpt.service.note_questions import LINES_AROUND, LINES_AROUND_WHOLE, WindowOptions, drop_stop_words
from excerpt.tui.common.line_drawing import TextStyle
from excerpt.tui.note.window import NoteWindow, draw_window, spans_by_line


def fragment_of(note: str, first: int, last: int) -> Fragment:
    text = "\n".join(note.split("\n")[first - 1 : last])
    return Fragment("f", "Note.md", "Note", (), 0, 0, first, last, text, 1, "d")


def text_of(window: NoteWindow, number: int) -> str:
    return next("".join(run.text for run in line.runs) for line in window.lines if line.number == number)


def matches_by_line(window: NoteWindow) -> list[tuple[int, str]]:
    return [(line.number, run.text) for line in window.lines for run in line.runs if TextStyle.MATCH in run.text_style]


def test_a_short_note_is_shown_whole_with_its_line_numbers() -> None:
    note = "one\ntwo\nthree\n"
    window = draw_window(note, fragment_of(note, 2, 2), ())
    assert [line.number for line in window.lines] == [1, 2, 3]
    assert (window.above, window.below, window.line_count) == (0, 0, 3)


def test_a_long_note_shows_the_lines_around_the_fragment_and_counts_the_rest() -> None:
    note = "\n".join(f"line {number}" for number in range(1, 1001))
    window = draw_window(note, fragment_of(note, 500, 502), ())
    assert (window.above, window.below) == (500 - LINES_AROUND - 1, 1000 - 502 - LINES_AROUND)
    assert text_of(window, 500) == "line 500"


PAGES = "# no heading\n- no list\n\nsecond page"


def test_an_attachment_is_shown_as_prose_with_page_numbers() -> None:
    sections = [
        Section(0, 0, "", (), 1, 1, ()),
        Section(1, 1, "Page 7", ("Page 7",), 1, 2, (), "page=7"),
        Section(2, 1, "Page 8", ("Page 8",), 4, 4, (), "page=8"),
    ]
    page = replace(fragment_of(PAGES, 4, 4), kind="pdf", place="page=8")
    window = draw_window(PAGES, page, (), headings=sections)
    assert text_of(window, 1) == "# no heading"
    assert text_of(window, 2) == "- no list"
    assert [window.margin_label(number) for number in (1, 2, 3, 4)] == ["7", "", "", "8"]


def test_a_match_is_highlighted_on_its_line_of_the_window() -> None:
    note = "# Title\n\nalpha beta\ngamma alpha\n"
    fragment = fragment_of(note, 3, 4)
    spans = [Span(at, at + 5) for at in (fragment.text.index("alpha"), fragment.text.rindex("alpha"))]
    assert matches_by_line(draw_window(note, fragment, spans)) == [(3, "alpha"), (4, "alpha")]


def test_a_match_across_a_line_end_is_split() -> None:
    assert spans_by_line(fragment_of("ab\ncd", 1, 2), [Span(1, 4)]) == {1: [(1, 2)], 2: [(0, 1)]}


@pytest.mark.parametrize(
    ("note", "number", "shown"),
    [
        ("---\ntags: [**x**]\n---\n**y**", 2, "tags  **x**"),
        ("---\ntags: [x]\n---\n**y**", 4, "y"),
        ("```\n**x**\n```\n**y**", 2, "**x**"),
        ("```\n**x**\n```\n**y**", 4, "y"),
        ("~~~~\n```\n**x**\n~~~~\n**y**", 3, "**x**"),
        ("> ```\n> **x**\n\n**y**", 2, "▎ **x**"),
        ("> ```\n> **x**\n\n**y**", 4, "y"),
        ("- item\n  ```\n  **x**\n  ```\n**y**", 3, "  **x**"),
    ],
)
def test_code_and_frontmatter_are_recognised_from_earlier_lines(note: str, number: int, shown: str) -> None:
    assert text_of(draw_window(note, fragment_of(note, 1, 1), ()), number) == shown


def shown(note: str, *, aligned: bool = True) -> list[str]:
    """Return the lines of a note as drawn with room for all its columns."""
    lines = draw_window(note, fragment_of(note, 1, 1), ()).lines
    return ["".join(run.text for run in (aligned and line.aligned) or line.runs) for line in lines]


def styled_texts(note: str, text_style: TextStyle) -> list[str]:
    runs = (run for line in draw_window(note, fragment_of(note, 1, 1), ()).lines for run in line.runs)
    return [run.text for run in runs if text_style in run.text_style]


def test_frontmatter_is_a_table_of_names_and_values_without_yaml_syntax() -> None:
    note = '---\naliases:\n  - One name\ntags: [a, b/c]\ntitle: "A: b"\nsee: "[[Other|it]]"\ndraft: true\n---\nText'
    assert [line.strip("─ ").rstrip() for line in shown(note)] == [
        "properties",
        "aliases",
        "• One name",
        "tags     a, b/c",
        "title    A: b",
        "see      it",
        "draft    ☑",
        "",
        "Text",
    ]
    assert styled_texts(note, TextStyle.TAG) == ["a, b/c"]
    assert styled_texts(note, TextStyle.LINK) == ["it"]


def test_nested_frontmatter_is_shown_unchanged() -> None:
    assert shown("---\nnested:\n    deep: {a: 1}\n---")[2] == "    deep: {a: 1}"


def test_the_columns_of_a_table_are_aligned_for_any_content() -> None:
    note = "| a | b |\n|---|:-:|\n| **bold** | x |\n|古い版|`c|d`|\n"
    assert shown(note) == ["│ a      │ b   │", "├────────┼─────┤", "│ bold   │ x   │", "│ 古い版 │ c|d │"]


def test_a_table_without_outer_bars_is_aligned_and_one_too_wide_is_unchanged() -> None:
    assert shown("a | b\n--|--\n1 | 2") == ["a │ b", "──┼──", "1 │ 2"]
    wide = f"| {'x' * 300} | b |\n|---|---|\n| 1 | 2 |"
    assert shown(wide) == shown(wide, aligned=False)


def test_code_is_coloured_by_its_language_if_it_is_named() -> None:
    assert styled_texts("```python\ndef f(): # why\n```", TextStyle.COMMENT) == ["# why"]
    assert styled_texts("```python\ndef f(): # why\n```", TextStyle.KEYWORD) == ["def"]
    assert styled_texts("```\ndef f(): # why\n```", TextStyle.KEYWORD) == []
    assert styled_texts("```no-such-language\ndef f()\n```", TextStyle.KEYWORD) == []


@pytest.mark.parametrize(
    ("kind", "text_style"),
    [("note", TextStyle.CALLOUT), ("TIP", TextStyle.TIP), ("bug", TextStyle.DANGER), ("faq", TextStyle.WARNING)],
)
def test_the_bar_of_a_callout_has_the_colour_of_its_kind_on_every_line(kind: str, text_style: TextStyle) -> None:
    note = f"> [!{kind}] Title\n> body\n\n> quote"
    assert [text for text in styled_texts(note, text_style) if text.startswith("▎")] == ["▎ ", "▎ "]


def test_a_whole_note_is_shown_around_the_requested_line_and_the_rest_counted() -> None:
    note = "\n".join(f"line {number}" for number in range(1, 20_001))
    fragment = fragment_of(note, 10, 12)
    window = draw_window(note, fragment, (), WindowOptions(whole=True))
    assert (window.above, len(window.lines)) == (0, 12 + LINES_AROUND_WHOLE)
    far = draw_window(note, fragment, (), WindowOptions(whole=True, line=15_000))
    assert far.contains(15_000) and not far.contains(10)
    assert far.text(15_000, 15_001) == "line 15000\nline 15001"


structure = st.text(alphabet=st.one_of(st.sampled_from("\n\n|-:`>[]!#*a \t\x1b\u202e古"), st.characters()))


@given(structure, st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_any_note_is_shown_and_every_line_is_drawn_once(note: str, spans: list[tuple[int, int]]) -> None:
    lines = note.split("\n")
    window = draw_window(note, fragment_of(note, 1, len(lines)), [Span(a, b) for a, b in spans])
    numbers = [line.number for line in window.lines]
    assert numbers == list(range(1, len(numbers) + 1))
    drawn = "".join(run.text for line in window.lines for run in (*line.runs, *line.aligned))
    assert not [c for c in drawn if c < " " or c in "\x7f\u202e"]
    assert window.line_count - len(numbers) == window.below


def test_stop_words_of_the_query_are_highlighted_only_if_it_has_no_other_words() -> None:
    text = "How to keep it, and how long"
    how, keep = Span(0, 3), Span(7, 11)
    assert drop_stop_words(text, (how, keep), "how do I keep it", "en") == [keep]
    assert drop_stop_words(text, (how,), "how to", "en") == [how]


def test_stop_words_that_start_like_a_query_word_are_not_highlighted() -> None:
    text = "the thermometer"
    the, thermometer = Span(0, 3), Span(4, 15)
    assert drop_stop_words(text, (the, thermometer), "the", "en") == [thermometer]
    assert drop_stop_words(text, (the, thermometer), "th", "en") == [thermometer]


def test_words_of_the_questions_frame_are_not_highlighted() -> None:
    text = "put the lamp between my plants"
    put, lamp, between = Span(0, 3), Span(8, 12), Span(13, 20)
    assert drop_stop_words(text, (put, lamp, between), "where do I put a lamp between", "en") == [lamp]
    ich = Span(5, 8)
    assert drop_stop_words("habe ich Notizen", (ich, Span(9, 16)), "wie habe ich Notizen", "de") == [Span(9, 16)]


def continued(note: str) -> list[int]:
    """Return the numbers of the lines that continue a wrapped paragraph."""
    return [line.number for line in draw_window(note, fragment_of(note, 1, 1), ()).lines if line.is_continued]


WRAPPED = (
    "You can disconnect loopback sessions with interactive tokens and then\n"
    "reconnect to them from the same session or a different session on the same\n"
    "computer."
)


def test_lines_wrapped_at_a_fixed_width_continue_their_paragraph() -> None:
    assert continued(WRAPPED) == [2, 3]
    assert continued(f"- {WRAPPED}".replace("\n", "\n  ")) == [2, 3]


@pytest.mark.parametrize(
    "note",
    [
        "A line that its author ended early, though it is rather long.\n"
        "And the next line is much longer than the one above it, as one sees.",
        f"{WRAPPED.replace(chr(10), ' ')}\nA sentence a line.",
        f"{WRAPPED.partition(chr(10))[0]}  \n{WRAPPED.partition(chr(10))[2].partition(chr(10))[0][:60]}",
        "```\n" + WRAPPED + "\n```",
        "> " + WRAPPED.replace("\n", "\n> "),
        "| " + WRAPPED.replace("\n", " |\n| "),
        "Short lines\nof a list\nof words",
        WRAPPED.replace("\n", "\n- "),
        WRAPPED.replace("\n", "\n\n"),
        "# " + WRAPPED.partition("\n")[0] + "\nText",
    ],
)
def test_other_lines_stay_lines(note: str) -> None:
    assert continued(note) == []
