"""Tests of what other programs send: its JSON, its lines, and its length."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.base.errors import InputError
from excerpt.service.inputs import (
    MAX_ITEMS,
    MAX_QUERY_LENGTH,
    InputLine,
    check_count,
    check_input,
    find_leading_id,
    parse_json,
    split_lines,
)

# --- JSON -------------------------------------------------------------------------------------------------------------


def test_half_a_surrogate_pair_in_a_request_is_replaced_and_its_id_is_kept() -> None:
    assert parse_json(b'{"id": 1, "query": "a \\ud83d"}') == {"id": 1, "query": "a \ufffd"}
    assert parse_json(b'{"\\uDE00": ["\\ud83d\\ud83d"]}') == {"\ufffd": ["\ufffd\ufffd"]}


def test_a_surrogate_pair_is_a_character() -> None:
    assert parse_json(b'["\\ud83d\\ude00", "\\\\ud83d"]') == ["😀", "\\ud83d"]


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert parse_json('{"a": "é'.encode()[:-1] + b'"}') == {"a": "\ufffd"}


@pytest.mark.parametrize("data", [b"", b"hello", b'{"a": NaN}', b"[" * 100_000, b'{"a": 1' + b"0" * 5_000 + b"}"])
def test_invalid_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(data)


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"id": 7, "method": "sea', 7),
        (b'{"jsonrpc":"2.0","id":"a-1","params":{', "a-1"),
        (b'{"id":-5,"method":', -5),
        (b'{"method": "x", "id": 7', None),
        (b'{"id": true, ', None),
        (b"hello", None),
    ],
)
def test_the_id_at_the_start_of_a_broken_line_is_found(line: bytes, number: object) -> None:
    assert find_leading_id(line) == number


@example(b'{"id": 04329, ')
@example('{"id": \u0663,'.encode())
@example(b'{"id": "a\x00",')
@given(st.text(alphabet='0123-"\x00\x1fa\u0663', max_size=6).map(lambda text: f'{{"id": {text},'.encode()))
def test_reading_the_id_of_a_broken_line_never_fails(line: bytes) -> None:
    assert isinstance(find_leading_id(line), int | str | None)


# --- lines ------------------------------------------------------------------------------------------------------------


async def lines_of(*chunks: bytes, max_bytes: int) -> list[InputLine]:
    waiting = [*chunks, b""]

    async def read() -> bytes:
        return waiting.pop(0)

    return [line async for line in split_lines(read, max_bytes)]


async def test_lines_are_joined_from_chunks_and_blank_ones_dropped() -> None:
    assert [line.data for line in await lines_of(b"a\n\n  \nb", b"c\nd", max_bytes=10)] == [b"a", b"bc", b"d"]


@pytest.mark.parametrize(
    "chunks", [(b"x" * 11 + b"\nb\n",), (b"x" * 6, b"x" * 5 + b"\nb"), (b"x" * 11, b"x", b"\nb\n")]
)
async def test_only_the_beginning_of_an_oversized_line_is_kept(chunks: tuple[bytes, ...]) -> None:
    cut, after = await lines_of(*chunks, max_bytes=10)
    assert (cut.is_cut, cut.data[:10], after) == (True, b"x" * 10, InputLine(b"b"))


async def test_the_id_of_an_endless_line_is_found_without_keeping_the_line() -> None:
    (line,) = await lines_of(b'{"id":5,"query":"', *[b"x" * 1_000] * 1_000, max_bytes=10_000)
    assert line.is_cut
    assert find_leading_id(line.data) == 5
    assert len(line.data) <= 1_000


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_number_out_of_its_range_is_refused_with_the_range() -> None:
    check_count("limit", 1, 1, 10_000)
    check_count("limit", 10_000, 1, 10_000)
    with pytest.raises(InputError, match=r"limit must be at least 1, not 0\."):
        check_count("limit", 0, 1, 10_000)
    with pytest.raises(InputError, match=r"limit must be at most 10,000, not 10,001\. Ask for fewer"):
        check_count("limit", 10_001, 1, 10_000)


@pytest.mark.parametrize("value", ["5", 5.0, [5]])
def test_a_value_that_is_not_a_whole_number_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="limit must be a whole number"):
        check_count("limit", value, 1, 10_000)


def test_each_parameter_has_its_own_maximum_length() -> None:
    check_input("query", "a" * MAX_QUERY_LENGTH)
    check_input("answer", "a" * MAX_QUERY_LENGTH * 10)
    with pytest.raises(InputError, match="query has 10,001 characters, and at most 10,000 are allowed"):
        check_input("query", "a" * (MAX_QUERY_LENGTH + 1))


@pytest.mark.parametrize("value", [["a" * 10_001], {"tag": ["a" * 10_001]}, {"a" * 10_001: ""}])
def test_the_length_of_each_text_in_a_list_or_mapping_is_checked(value: object) -> None:
    with pytest.raises(InputError, match="A value of where has 10,001 characters"):
        check_input("where", value)


def test_the_number_of_texts_in_a_list_is_limited() -> None:
    check_input("tags", ["a"] * MAX_ITEMS)
    with pytest.raises(InputError, match="tags has more than 1,000 values"):
        check_input("tags", ["a"] * (MAX_ITEMS + 1))


@pytest.mark.parametrize("value", [5, None, b"a", ["a"]])
def test_a_query_that_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="query must be a text"):
        check_input("query", value)


def test_a_refusal_is_a_value_error_with_a_hint() -> None:
    with pytest.raises(ValueError, match="Give only the part that matters"):
        check_input("query", json.dumps(["x"] * 10_000))
