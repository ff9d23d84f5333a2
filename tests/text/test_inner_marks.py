"""Marks within words: which are removed, and that offsets lead back to the text as written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text import inline
from excerpt.text.inner_marks import MAX_LINE_CHARACTERS, join_marked_words


def joined(text: str) -> str:
    result = join_marked_words(text)
    return text if result is None else result.text


def record_parsed_lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each line is added that is parsed from now on."""
    parsed: list[str] = []

    def parse(line: str) -> list[inline.InlineSpan]:
        parsed.append(line)
        return []

    monkeypatch.setattr(inline, "inline_spans", parse)
    return parsed


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("un**believ**able", "unbelievable"),
        ("**un**believable and believ**able**", "**unbelievable and believable**"),
        ("un***believ***able", "unbelievable"),
        ("an **im**portant *un*believ**able** thing", "an **important *un*believable** thing"),
        ("Haus**tür**en und Fähr**männer**", "Haustüren und Fährmänner**"),
        ("не**вероят**но", "невероятно"),
        ("απί**στευ**το", "απίστευτο"),
        ("これは**日本**語です", "これは日本語です"),
        ("这是**数据**库", "这是数据库"),
        ("ไป**มา**แล้ว", "ไปมาแล้ว"),
        ("वि**श्व**विद्यालय", "विश्वविद्यालय"),
        ("un<b>believ</b>able", "unbelievable"),
        ("un<B>believ</B>able", "unbelievable"),
        ("H<sub>2</sub>O", "H2O"),
        ("> a quote: un**believ**able\n\n- item: **un**kind", "> a quote: unbelievable\n\n- item: **unkind"),
        ("| un**believ**able | **un**kind |", "| unbelievable | **unkind |"),
        ("one\n\n```\na**b**c\n```\n\nun**believ**able", "one\n\n```\na**b**c\n```\n\nunbelievable"),
        ("```sh\necho $$\n```\n\nun**believ**able", "```sh\necho $$\n```\n\nunbelievable"),
        ("A dinner of $$\n\nun**believ**able", "A dinner of $$\n\nunbelievable"),
        ("from $$ to\n\nun**believ**able, $$ and so on", "from $$ to\n\nunbelievable, $$ and so on"),
        ("$$\na**b**c\n$$\n\nun**believ**able", "$$\na**b**c\n$$\n\nunbelievable"),
    ],
)
def test_markdown_marks_between_letters_are_removed(written: str, read: str) -> None:
    assert joined(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "a**b is a power",
        "2**8 or 2**16",
        "x**2 + y**2",
        "`a**b**c` in code",
        "```\nun**believ**able\n```",
        "text\n\n    a**b**c",
        "$a**b**c$ and\n\n$$\na**b**c\n$$\n\n> $$ x\n> a**b**c $$",
        "volume = width*height*depth",
        "if a==b==c:",
        "photo*graph*er and high==light==er",
        r"un\*\*believ\*\*able",
        "snake_case_name and un__believ__able",
        "Leser*innen und Hörer*innen",
        "~~old~~new and a note<sup>1</sup> of it",
        "| a**b | c**d |",
        "if a==b or c==d:",
        "plain **bold** text, *emphasis*, „**Wort**“ and 「**词**」",
        "x<i>y, x<b>y and x</u>y",
        "vector<T>x and line<br>break",
        "",
    ],
)
def test_marks_that_are_not_within_a_word_stay(text: str) -> None:
    assert joined(text) == text


def test_a_range_in_the_joined_text_is_that_of_the_word_as_written() -> None:
    text = "so un**believ**able, **un**kind"
    result = join_marked_words(text)
    assert result is not None
    for word, written in (("so", "so"), ("unbelievable", "un**believ**able"), ("unkind", "un**kind")):
        start = result.text.index(word)
        first, last = result.written_range(start, start + len(word))
        assert text[first:last] == written


@given(st.text(st.sampled_from("ab日é2 *=`<b>/|\n$\\"), max_size=60))
def test_joining_a_word_removes_only_its_marks(text: str) -> None:
    result = join_marked_words(text)
    if result is None:
        return
    kept = [result.written_range(at, at + 1)[0] for at in range(len(result.text))]
    assert [text[at] for at in kept] == list(result.text)
    assert kept == sorted(set(kept))
    removed = "".join(text[at] for at in sorted(set(range(len(text))) - set(kept)))
    assert not set(removed) - set("*=<>/b")


def test_a_line_without_a_pair_of_marks_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = record_parsed_lines(monkeypatch)
    join_marked_words("x**y is a power\nvolume*of*it\none<b>two\n")
    assert parsed == []


def test_a_line_is_parsed_once_for_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = record_parsed_lines(monkeypatch)
    for _ in range(2):
        join_marked_words("an un**repeat**able line\n" * 3)
    assert parsed == ["an un**repeat**able line"]


def test_a_line_of_data_is_not_parsed() -> None:
    text = "un**believ**able " * (MAX_LINE_CHARACTERS // 16)
    assert joined(text) == text
