"""Tests of splitting a fragment into sentences and of choosing those nearest to a question."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from excerpt.search.nearest_sentences import split_sentences


def sentences_of(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split_sentences(text)]


def test_paragraphs_and_items_are_divided_into_sentences() -> None:
    paragraph, items = (
        "One is here. Two goes on\nover a line! Yes.",
        "- an item of it\n- [x] done it all. And more of it",
    )
    text = f"# A title here\n\n{paragraph}\n\n{items}"
    assert sentences_of(text) == [
        "One is here.",
        "Two goes on\nover a line!",
        "an item of it",
        "done it all.",
        "And more of it",
    ]


def test_code_tables_headings_and_callout_markers_are_not_sentences() -> None:
    code, table = "```sh\nrun the whole thing now\n```", "| a b c | d e f |"
    assert sentences_of(f"## A long heading here\n{code}\n{table}\n> [!tip] Do it this way\n") == []


def test_a_script_without_spaces_is_divided_at_its_full_stops() -> None:
    assert sentences_of("两台设备修改了笔记。旧版本会另存为文件。") == ["两台设备修改了笔记。", "旧版本会另存为文件。"]


@given(st.text(alphabet=st.one_of(st.sampled_from("\n .!?#`|>-。ab"), st.characters())))
def test_sentences_are_in_order_and_never_empty(text: str) -> None:
    found = list(split_sentences(text))
    assert all(text[one.start : one.end].strip() for one in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
