"""Tests of cutting and wrapping lines to a width in cells."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from excerpt.tui.common.line_drawing import StyledRun, TextStyle, wrap
from excerpt.tui.common.strips import fit, line, truncate_parts

PLAIN = Style.null()

words = st.text(alphabet=st.one_of(st.characters(categories=["L", "Nd", "P", "Zs"]), st.sampled_from("日本語 ")))


def rows(text: str, width: int, hanging_indent: int = 0) -> list[str]:
    return ["".join(run.text for run in row) for row in wrap([StyledRun(text, TextStyle.PLAIN)], width, hanging_indent)]


def test_it_wraps_at_spaces() -> None:
    assert rows("one two three", 8) == ["one two ", "three"]


def test_words_of_every_script_that_has_spaces_stay_whole() -> None:
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
            assert " ".join(row.strip() for row in rows(text, width)).split() == text.split(), (text, width)


def test_thai_and_its_like_are_parted_between_syllables_as_they_have_no_spaces() -> None:
    for text in (
        "การซิงค์โน้ตระหว่างอุปกรณ์หลายเครื่อง",
        "ການຊິງບັນທຶກລະຫວ່າງອຸປະກອນ",
        "ကိရိယာများအကြားမှတ်စုများ",
        "ការធ្វើសមកាលកម្មកំណត់ត្រា",
    ):
        wrapped = rows(f"a {text}", 10)
        assert cell_len(wrapped[0]) > 6
        assert not [row for row in wrapped if unicodedata.category(row[0]).startswith("M")]


def test_a_latin_word_among_chinese_ones_stays_whole_and_no_row_begins_with_a_full_stop() -> None:
    assert rows("同步笔记Obsidian好", 14) == ["同步笔记", "Obsidian好"]
    assert rows("同步笔记。", 8) == ["同步笔", "记。"]


def test_a_word_longer_than_the_line_is_cut() -> None:
    assert rows("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_wide_characters_count_as_two_and_may_be_parted_anywhere() -> None:
    assert rows("日本語日本語", 5) == ["日本", "語日", "本語"]


def test_continuation_rows_leave_room_for_their_hang() -> None:
    assert rows("- one two three", 9, hanging_indent=2) == ["- one two", "three"]


def test_an_empty_line_is_one_row() -> None:
    assert rows("", 10) == [""]


@given(words, st.integers(1, 40), st.integers(0, 10))
def test_no_row_is_wider_than_the_line_and_nothing_but_spaces_is_lost(
    text: str, width: int, hanging_indent: int
) -> None:
    wrapped = rows(text, max(width, 2), hanging_indent)
    assert all(cell_len(row) <= max(width, 2) for row in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


@given(words, st.integers(0, 30))
def test_what_is_cut_fits_and_ends_with_an_ellipsis(text: str, cells: int) -> None:
    cut = fit(text, cells)
    assert cell_len(cut) <= cells
    assert cut == text or not cells or cut.endswith("…")


@given(st.lists(words, max_size=5), st.lists(words.map(lambda w: w[:5]), max_size=3), st.integers(1, 60))
def test_a_line_is_always_as_wide_as_asked(left: list[str], right: list[str], width: int) -> None:
    strip = line([(text, PLAIN) for text in left], [(text, PLAIN) for text in right], width, PLAIN)
    assert strip.cell_length == width
    assert cell_len(strip.text) == width


def test_parts_are_cut_where_the_room_ends() -> None:
    assert [text for text, _ in truncate_parts([("Title", PLAIN), (" › Heading", PLAIN)], 9)] == ["Title", " ›…"]
    assert [text for text, _ in truncate_parts([("Title", PLAIN), (" › Heading", PLAIN)], 5)] == ["Titl…"]
    assert [text for text, _ in truncate_parts([("Title", PLAIN)], 5)] == ["Title"]
