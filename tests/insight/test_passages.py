"""Tests of Markdown converted to plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.insight.passages import extract_prose, split_sentences


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("See [[Sync]] and [[Notes/Sync#Conflicts|what to do]].", "See Sync and what to do."),
        ("See [[Notes/Sync#Conflicts]].", "See Sync > Conflicts."),
        ("In a table, [[Sync\\|so]].", "In a table, so."),
        ("A [link](../a%20b.md) and ![a picture](x.png) and <https://example.com/a>.", "A link and  and ."),
        (
            "**Bold**, *slanted*, ==marked==, ~~gone~~, __both__ and _this_.",
            "Bold, slanted, marked, gone, both and this.",
        ),
        ("Call `_CrtDumpMemoryLeaks` in `<crtdbg.h>`.", "Call _CrtDumpMemoryLeaks in <crtdbg.h>."),
        ("A snake_case_name and 2 * 3 * 4.", "A snake_case_name and 2 * 3 * 4."),
        ("<b>Bold</b> &amp; &lt;plain&gt;", "Bold & <plain>"),
        ("Text. %%a comment%% <!-- another -->More. ^block-1", "Text.  More."),
        (r"Not \*slanted\*.", "Not *slanted*."),
    ],
)
def test_markup_links_and_addresses_are_removed(written: str, read: str) -> None:
    assert extract_prose(written) == read


def test_a_code_block_is_replaced_by_the_same_number_of_empty_lines() -> None:
    assert extract_prose("Before.\n```python\nx = 1\n```\nAfter.") == "Before.\n\n\n\nAfter."


@given(st.text(alphabet=st.sampled_from("ab `*_[]()!#|\n~=$%<>\\&;\ue000\ue0011.") | st.characters(), max_size=60))
def test_the_number_of_lines_is_kept_except_in_comments(text: str) -> None:
    assert extract_prose(text).count("\n") == text.count("\n")


def test_each_sentence_has_the_line_on_which_it_begins() -> None:
    text = "## A heading\n\nOne is here. Two is there!\n\n- an item\n> [!tip] Three is quoted.\n\n| a | b |\n"
    assert [(one.text, one.line, one.begins_line, one.whole) for one in split_sentences(text)] == [
        ("One is here.", 2, True, True),
        ("Two is there!", 2, False, True),
        ("an item", 4, True, False),
        ("Three is quoted.", 5, True, True),
    ]


def test_chinese_sentences_end_without_a_space() -> None:
    assert [one.text for one in split_sentences("笔记同步。文件加密！")] == ["笔记同步。", "文件加密！"]


def test_a_version_or_an_abbreviation_does_not_end_a_sentence() -> None:
    assert len(list(split_sentences("Since 1.0.21 this works, e.g. for files."))) == 1
