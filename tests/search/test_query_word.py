"""Tests of finding the word being typed in a query, and of completing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.search.query_word import apply_completion, is_one_letter_edit, remove_span, token_at


def at_bar(text: str) -> tuple[str, int]:
    """Return a text and its cursor position, marked by a bar."""
    return text.replace("▏", ""), text.index("▏")


@pytest.mark.parametrize(
    ("text", "operator", "value"),
    [
        ("sync tag:how▏", "tag", "how"),
        ("tag:▏", "tag", ""),
        ("#▏ sync", "#", ""),
        ("-#dra▏", "#", "dra"),
        ('path:"my no▏', "path", "my no"),
        ("-path:arch▏ sync", "path", "arch"),
        ("tag:ho▏wto", "tag", "ho"),
        ("syn▏", "", "syn"),
        ("sync ▏", "", ""),
        ("▏", "", ""),
        ("http://exa▏", "", "http://exa"),
        ("std::vec▏", "", "std::vec"),
        ("people.lead:a▏", "people.lead", "a"),
    ],
)
def test_the_word_at_the_cursor_is_divided_into_its_parts(text: str, operator: str, value: str) -> None:
    cursor_token = token_at(*at_bar(text))
    assert cursor_token is not None
    assert (cursor_token.operator, cursor_token.value) == (operator, value)


@pytest.mark.parametrize("text", ['"two dev▏', '"two devices"▏', 'path:"my notes"▏'])
def test_phrases_and_finished_words_are_not_completed(text: str) -> None:
    assert token_at(*at_bar(text)) is None


@pytest.mark.parametrize(
    ("text", "by", "expected"),
    [
        ("sync tag:how▏", "tag:howto", "sync tag:howto ▏"),
        ("sync tag:ho▏wtx more", "tag:howto", "sync tag:howto ▏more"),
        ("-#dra▏", "#draft", "-#draft ▏"),
        ("sta▏", "status:", "status:▏"),
        ("sync ▏", "tag:", "sync tag:▏"),
    ],
)
def test_a_completion_replaces_the_whole_word(text: str, by: str, expected: str) -> None:
    before, cursor = at_bar(text)
    cursor_token = token_at(before, cursor)
    assert cursor_token is not None
    assert apply_completion(before, cursor_token, by) == at_bar(expected)


def test_text_typed_at_the_cursor_is_distinguished_from_text_inserted_at_once() -> None:
    assert is_one_letter_edit("tag", "tag:")
    assert is_one_letter_edit("tag:h sync", "tag: sync")
    assert is_one_letter_edit("a restored query", "#")
    assert not is_one_letter_edit("", "tag:howto")
    assert not is_one_letter_edit("sync", "tag:howto sync")
    assert not is_one_letter_edit("sync", "lynch")


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("tag:a sync", "tag:a", "▏sync"),
        ("sync tag:a more", "tag:a", "sync ▏more"),
        ("sync tag:a", "tag:a", "sync ▏"),
        ("tag:a ", "tag:a", "▏"),
    ],
)
def test_removing_a_filter_leaves_one_space(text: str, part: str, expected: str) -> None:
    start = text.index(part)
    assert remove_span(text, start, start + len(part)) == at_bar(expected)


QUERIES = st.text(st.sampled_from('ab:#"-| \u540c/'), max_size=24)


@given(QUERIES, st.integers(0, 24))
def test_only_the_word_at_the_cursor_is_replaced(text: str, place: int) -> None:
    cursor = min(place, len(text))
    cursor_token = token_at(text, cursor)
    if cursor_token is not None:
        assert cursor_token.start <= cursor <= cursor_token.end
        query, at = apply_completion(text, cursor_token, "tag:x")
        assert query.startswith(text[: cursor_token.start])
        assert query.endswith(text[cursor_token.end :].lstrip())
        assert query[:at].endswith("tag:x ")
