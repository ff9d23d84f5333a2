"""Tests of drawing a note's lines: markup is removed, styles applied, matches kept in place, no controls obeyed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.kinds import LinkKind
from excerpt.text.inline import visible_characters
from excerpt.text.line_context import Context, LineContext
from excerpt.tui.common.line_drawing import MAX_LINE_CHARS, TextStyle, WrittenLink, draw_line


def drawn(text: str, context: Context = Context.PROSE, *matches: tuple[int, int]) -> str:
    return "".join(run.text for run in draw_line(1, text, LineContext(context), matches).runs)


def inked(text: str, text_style: TextStyle, context: Context = Context.PROSE, *matches: tuple[int, int]) -> list[str]:
    """Return the runs of a line that have a style."""
    return [run.text for run in draw_line(1, text, LineContext(context), matches).runs if text_style in run.text_style]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold**, *italic* and ~~gone~~", "bold, italic and gone"),
        ("==marked== and `code **not bold**`", "marked and code **not bold**"),
        ("[[Note]] and [[Note|another name]]", "Note and another name"),
        ("![[Picture.png]]", "▣ Picture.png"),
        ("[text](https://example.org) ![alt](a.png)", "text ▣ alt"),
        ("![[Plans/Beds 2.png|300]] ![[Beds.png|a plan]] ![[Note|30x40]]", "▣ Beds 2.png ▣ a plan ▣ Note"),
        ("![](https://example.org/a/b.jpg) ![alt|300](a.png) ![100](b.png)", "▣ b.jpg ▣ alt ▣ b.png"),
        ("- [ ] open", "☐ open"),
        ("- [x] done", "☑ done"),
        ("* item", "• item"),
        ("  - nested", "  • nested"),
        ("> said", "▎ said"),
        ("> [!note] Keep both", "▎ ◆ Note · Keep both"),
        ("> [!note]-", "▎ ◆ Note"),
        ("> [!note] Note", "▎ ◆ Note"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("[not a link] and [[", "[not a link] and [["),
        ("| a | b |", "| a | b |"),
        ("\tindented", "    indented"),
    ],
)
def test_markdown_marks_are_taken_away_or_drawn(text: str, shown: str) -> None:
    assert drawn(text) == shown


def test_a_heading_keeps_its_marks_faint_so_that_its_level_shows_without_colours() -> None:
    assert drawn("## Title") == "## Title"
    assert inked("## Title", TextStyle.FAINT) == ["##"]
    assert inked("## Title", TextStyle.HEADING) == ["##", " Title"]


def test_tags_are_inked_and_headings_or_anchors_are_not_tags() -> None:
    assert inked("see #sync/mobile, not #1 nor a#b", TextStyle.TAG) == ["#sync/mobile"]


def test_a_done_task_is_inked_as_done() -> None:
    assert inked("- [x] write it", TextStyle.DONE) == ["write it"]
    assert inked("- [ ] write it", TextStyle.DONE) == []


def test_a_link_knows_where_it_leads() -> None:
    line = draw_line(1, "[[Note#Part|a *name*]] and [text](a/b.md#c) at https://example.org.")
    primary = [(run.text, run.link) for run in line.runs if run.link]
    assert primary == [
        ("a *name*", WrittenLink(LinkKind.WIKILINK, "Note#Part")),
        ("text", WrittenLink(LinkKind.MARKDOWN, "a/b.md#c")),
        ("https://example.org", WrittenLink(LinkKind.MARKDOWN, "https://example.org")),
    ]


def test_code_is_left_as_it_is() -> None:
    assert drawn("**x** = [[1]]", Context.CODE) == "**x** = [[1]]"
    assert drawn("> x > 1", Context.CODE) == "> x > 1"


def test_code_in_a_quote_keeps_the_bar_of_the_quote() -> None:
    assert drawn("> x > 1", Context.QUOTED_CODE) == "▎ x > 1"


def test_a_match_is_inked_where_its_characters_went() -> None:
    assert inked("a **sync** b", TextStyle.MATCH, Context.PROSE, (4, 8)) == ["sync"]
    assert inked("[[Some target|sync it]]", TextStyle.MATCH, Context.PROSE, (14, 18)) == ["sync"]


def test_a_line_too_long_to_draw_says_how_much_is_missing() -> None:
    assert drawn("x" * (MAX_LINE_CHARS + 1234)).endswith(" … 1,234 more characters")


def test_continuation_lines_hang_under_the_text_of_their_item() -> None:
    assert draw_line(1, "- item").hanging_indent == 2
    assert draw_line(1, "- [ ] task").hanging_indent == 2
    assert draw_line(1, "10. item").hanging_indent == 4
    assert draw_line(1, "plain").hanging_indent == 0


hostile = st.text(alphabet=st.one_of(st.sampled_from("*_=`~[]()!|#<>%-+ \\\t\x1b\x07\u202e\u200b"), st.characters()))


@given(hostile, st.sampled_from(Context))
def test_no_text_is_obeyed_or_refused(text: str, context: Context) -> None:
    line = text.replace("\n", " ")
    shown = drawn(line, context, (0, len(line)))
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u200b"]


@given(hostile)
def test_every_character_of_a_line_has_its_drawing(text: str) -> None:
    line = text.replace("\n", " ")
    assert len(visible_characters(line)) == len(line)


@given(st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1))
def test_letters_and_digits_are_never_taken_away(text: str) -> None:
    assert drawn(text) == text
