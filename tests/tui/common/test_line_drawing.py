"""Tests of drawing lines: styles, highlights, cutting and wrapping to a width in cells."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from excerpt.base.kinds import LinkKind
from excerpt.text.inline import visible_characters
from excerpt.text.line_context import Context, LineContext
from excerpt.tui.common.line_drawing import MAX_LINE_CHARS, StyledRun, TextStyle, WrittenLink, draw_line, wrap
from excerpt.tui.common.strips import fit, line, truncate_parts


def drawn_text(text: str, context: Context = Context.PROSE, *matches: tuple[int, int]) -> str:
    return "".join(run.text for run in draw_line(1, text, LineContext(context), matches).runs)


def styled_texts(
    text: str, text_style: TextStyle, context: Context = Context.PROSE, *matches: tuple[int, int]
) -> list[str]:
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
def test_markdown_markup_is_removed_or_drawn(text: str, shown: str) -> None:
    assert drawn_text(text) == shown


def test_a_heading_keeps_its_faint_marks() -> None:
    assert drawn_text("## Title") == "## Title"
    assert styled_texts("## Title", TextStyle.FAINT) == ["##"]
    assert styled_texts("## Title", TextStyle.HEADING) == ["##", " Title"]


def test_tags_are_coloured_and_headings_or_anchors_are_not() -> None:
    assert styled_texts("see #sync/mobile, not #1 nor a#b", TextStyle.TAG) == ["#sync/mobile"]


def test_a_completed_task_is_drawn_with_a_ticked_box() -> None:
    assert styled_texts("- [x] write it", TextStyle.DONE) == ["write it"]
    assert styled_texts("- [ ] write it", TextStyle.DONE) == []


def test_a_drawn_link_has_its_target_in_every_cell() -> None:
    line = draw_line(1, "[[Note#Part|a *name*]] and [text](a/b.md#c) at https://example.org.")
    primary = [(run.text, run.link) for run in line.runs if run.link]
    assert primary == [
        ("a *name*", WrittenLink(LinkKind.WIKILINK, "Note#Part")),
        ("text", WrittenLink(LinkKind.MARKDOWN, "a/b.md#c")),
        ("https://example.org", WrittenLink(LinkKind.MARKDOWN, "https://example.org")),
    ]


def test_code_is_drawn_unchanged() -> None:
    assert drawn_text("**x** = [[1]]", Context.CODE) == "**x** = [[1]]"
    assert drawn_text("> x > 1", Context.CODE) == "> x > 1"


def test_code_in_a_quote_keeps_the_bar_of_the_quote() -> None:
    assert drawn_text("> x > 1", Context.QUOTED_CODE) == "▎ x > 1"


def test_a_match_is_highlighted_where_its_characters_are_drawn() -> None:
    assert styled_texts("a **sync** b", TextStyle.MATCH, Context.PROSE, (4, 8)) == ["sync"]
    assert styled_texts("[[Some target|sync it]]", TextStyle.MATCH, Context.PROSE, (14, 18)) == ["sync"]


def test_an_oversized_line_states_how_much_is_missing() -> None:
    assert drawn_text("x" * (MAX_LINE_CHARS + 1234)).endswith(" … 1,234 more characters")


def test_continuation_lines_are_indented_under_the_text_of_their_item() -> None:
    assert draw_line(1, "- item").hanging_indent == 2
    assert draw_line(1, "- [ ] task").hanging_indent == 2
    assert draw_line(1, "10. item").hanging_indent == 4
    assert draw_line(1, "plain").hanging_indent == 0


hostile = st.text(alphabet=st.one_of(st.sampled_from("*_=`~[]()!|#<>%-+ \\\t\x1b\x07\u202e\u200b"), st.characters()))


@given(hostile, st.sampled_from(Context))
def test_any_text_is_drawn_and_none_is_executed(text: str, context: Context) -> None:
    line = text.replace("\n", " ")
    shown = drawn_text(line, context, (0, len(line)))
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u200b"]


@given(hostile)
def test_every_character_of_a_line_is_mapped_to_its_drawing(text: str) -> None:
    line = text.replace("\n", " ")
    assert len(visible_characters(line)) == len(line)


@given(st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1))
def test_letters_and_digits_are_never_removed(text: str) -> None:
    assert drawn_text(text) == text


PLAIN = Style.null()

words = st.text(alphabet=st.one_of(st.characters(categories=["L", "Nd", "P", "Zs"]), st.sampled_from("日本語 ")))


def wrapped_rows(text: str, width: int, hanging_indent: int = 0) -> list[str]:
    return ["".join(run.text for run in row) for row in wrap([StyledRun(text, TextStyle.PLAIN)], width, hanging_indent)]


def test_long_lines_are_wrapped_at_spaces() -> None:
    assert wrapped_rows("one two three", 8) == ["one two ", "three"]


def test_words_of_scripts_with_spaces_are_not_divided() -> None:
    for text in (
        "Заметки о синхронизации устройств и конфликтах",
        "Σημειώσεις για τον συγχρονισμό συσκευών",
        "הערות על סנכרון בין מכשירים שונים",
        "ملاحظات حول مزامنة الأجهزة المختلفة",
        "Il perché è già più là: caffè, città, età",
        "여러 기기에서 메모를 동기화하는 방법",
        "de\u0301ja\u0300 vu e\u0301te\u0301 passe\u0301",
    ):
        longest = max(cell_len(word) for word in text.split())
        for width in range(longest, cell_len(text)):
            assert " ".join(row.strip() for row in wrapped_rows(text, width)).split() == text.split(), (text, width)


def test_scripts_without_spaces_like_thai_are_divided_between_syllables() -> None:
    for text in (
        "การซิงค์โน้ตระหว่างอุปกรณ์หลายเครื่อง",
        "ການຊິງບັນທຶກລະຫວ່າງອຸປະກອນ",
        "ကိရိယာများအကြားမှတ်စုများ",
        "ការធ្វើសមកាលកម្មកំណត់ត្រា",
    ):
        wrapped = wrapped_rows(f"a {text}", 10)
        assert cell_len(wrapped[0]) > 6
        assert not [row for row in wrapped if unicodedata.category(row[0]).startswith("M")]


def test_a_latin_word_among_chinese_ones_is_not_divided_and_no_row_starts_with_a_full_stop() -> None:
    assert wrapped_rows("同步笔记Obsidian好", 14) == ["同步笔记", "Obsidian好"]
    assert wrapped_rows("同步笔记。", 8) == ["同步笔", "记。"]


def test_a_word_longer_than_the_line_is_divided() -> None:
    assert wrapped_rows("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_wide_characters_take_two_cells_and_may_be_divided_anywhere() -> None:
    assert wrapped_rows("日本語日本語", 5) == ["日本", "語日", "本語"]


def test_continuation_rows_are_narrower_by_their_indent() -> None:
    assert wrapped_rows("- one two three", 9, hanging_indent=2) == ["- one two", "three"]


def test_an_empty_line_is_one_row() -> None:
    assert wrapped_rows("", 10) == [""]


@given(words, st.integers(1, 40), st.integers(0, 10))
def test_no_row_is_too_wide_and_only_spaces_are_lost(text: str, width: int, hanging_indent: int) -> None:
    wrapped = wrapped_rows(text, max(width, 2), hanging_indent)
    assert all(cell_len(row) <= max(width, 2) for row in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


@given(words, st.integers(0, 30))
def test_a_truncated_line_fits_and_ends_with_an_ellipsis(text: str, cells: int) -> None:
    cut = fit(text, cells)
    assert cell_len(cut) <= cells
    assert cut == text or not cells or cut.endswith("…")


@given(st.lists(words, max_size=5), st.lists(words.map(lambda w: w[:5]), max_size=3), st.integers(1, 60))
def test_a_line_always_has_the_requested_width(left: list[str], right: list[str], width: int) -> None:
    strip = line([(text, PLAIN) for text in left], [(text, PLAIN) for text in right], width, PLAIN)
    assert strip.cell_length == width
    assert cell_len(strip.text) == width


def test_parts_are_truncated_at_the_width() -> None:
    assert [text for text, _ in truncate_parts([("Title", PLAIN), (" › Heading", PLAIN)], 9)] == ["Title", " ›…"]
    assert [text for text, _ in truncate_parts([("Title", PLAIN), (" › Heading", PLAIN)], 5)] == ["Titl…"]
    assert [text for text, _ in truncate_parts([("Title", PLAIN)], 5)] == ["Title"]
