"""What an answer cites and quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.pack.answers import Answer, QuoteKind, read_answer


def cited(text: str) -> list[tuple[int, ...]]:
    return [citation.numbers for citation in read_answer(text).citations]


def quoted(text: str) -> list[str]:
    return [quotation.text for quotation in read_answer(text).quotations]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is so [1].", [(1,)]),
        ("It is so[1].", [(1,)]),
        ("It is so [1, 3].", [(1, 3)]),
        ("It is so [1; 3 and 5].", [(1, 3, 5)]),
        ("It is so [1-3], [2–3].", [(1, 2, 3), (2, 3)]),
        ("It is so [1][2].", [(1,), (2,)]),
        ("It is so [1] [2].", [(1,), (2,)]),
        (r"It is so \[1\].", [(1,)]),
        ("It is so [[1]].", [(1,)]),
        ("It is so [^1].", [(1,)]),
        ("It is so [Source 1], [sources 2, 3], [Quelle 4].", [(1,), (2, 3), (4,)]),
        ("It is so [1, lines 12-14] [2 §3].", [(1,), (2,)]),
        ("It is so 【1†L12-L15】【2:0†Sync.md】【3】.", [(1,), (2,), (3,)]),
        ("就是这样［1］。来源【来源 2】", [(1,), (2,)]),
        ("- **so** [1]\n- > so [2]", [(1,), (2,)]),
        ("| so | [1] |\n|---|---|\n| so | [2] |", [(1,), (2,)]),
        ("<details>so [1]</details>", [(1,)]),
    ],
)
def test_citations_are_read_as_models_write_them(text: str, numbers: list[tuple[int, ...]]) -> None:
    assert cited(text) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "[1](https://example.org) and [[1]](https://example.org)",
        "![1](picture.png)",
        "[the guide][1]",
        "as [1] says\n\n[1]: https://example.org",
        "[1]: Guides/Sync.md",
        "as said[^1]\n\n[^1]: by me",
        "- [x] done\n- [ ] open",
        "`a[1]` and ``b [2] ` ``",
        "```\na[1]\n```\n\n~~~\n[2]\n~~~",
        "in the interval [0, 1], from [0]",
        "since [2024], [3-1], [1.5], [Figure 1]",
        "[…] [a] [] [1",
    ],
)
def test_what_looks_like_a_citation_is_none(text: str) -> None:
    assert cited(text) == []


def test_a_footnote_of_the_answer_may_cite() -> None:
    assert cited("So it is[^1].\n\n[^1]: See [2].") == [(2,)]


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ('It says "two devices meet".', ["two devices meet"]),
        ("It says “two devices meet”.", ["two devices meet"]),
        ("Da steht „zwei Geräte“ und »zwei Notizen«.", ["zwei Geräte", "zwei Notizen"]),
        ("Il dit « deux appareils ».", ["deux appareils"]),
        ("笔记说「两台设备」和『笔记』。", ["两台设备", "笔记"]),
        ("Det står ”två enheter”.", ["två enheter"]),
        ("It says ‘two devices’ and the device's.", ["two devices"]),
        ('笔记说"两台设备"。', ["两台设备"]),
        ('a 5" disk and "two devices"', ["two devices"]),
        ('an open " mark and "two devices"', ["two devices"]),
        ('He said "as “two devices” do"', ["as “two devices” do"]),
        ("> Two devices\n> meet.", ["Two devices\nmeet."]),
        ("> “Two devices meet.”\n> — Sync.md [1]", ["Two devices meet."]),
        ("> Two devices.\n>\n> They meet.", ["Two devices.", "They meet."]),
        ("Type `excerpt pack QUERY` then `excerpt`.", ["excerpt pack QUERY"]),
        ('Type `x "two devices" y`.', ['x "two devices" y']),
    ],
)
def test_quotations_are_what_marks_blockquotes_and_long_code_spans_hold(text: str, passages: list[str]) -> None:
    assert quoted(text) == passages


@pytest.mark.parametrize(
    "text",
    [
        "It isn't the user's.",
        '<a href="a b c">x</a> [x](y "a b c")',
        "> [!note] Mind\n> that this is mine.",
        '```\nprint("a b c")\n```',
    ],
)
def test_what_looks_like_a_quotation_is_none(text: str) -> None:
    assert quoted(text) == []


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ('It says "two devices" [1].', [(1,)]),
        ('It says "two devices." [1]', [(1,)]),
        ('[1] says "two devices".', [(1,)]),
        ('"Two devices" [1] and "two notes" [2].', [(1,), (2,)]),
        ('"Two devices" [1][2].', [(1, 2)]),
        ('"Two devices" [1]. [2] says more.', [(1,)]),
        ('It says "two devices". Others [1] do not.', [()]),
        ('It says "two devices [1]".', [(1,)]),
        ("> Two devices. [1]", [(1,)]),
        ("As [1] says:\n\n> Two devices.", [(1,)]),
        ("> Two devices.\n\n[1]", [(1,)]),
        ("> Two devices.\n>\n> — Sync.md [1]", [(1,)]),
        ("Another thing [2].\n\n> Two devices.", [()]),
        ('| claim |\n|---|\n| "two devices" | \n', [()]),
        ('| claim | source |\n|---|---|\n| "two devices" | [1] |\n', [(1,)]),
    ],
)
def test_a_quotation_is_from_what_is_cited_beside_it(text: str, sources: list[tuple[int, ...]]) -> None:
    assert [quotation.cited for quotation in read_answer(text).quotations] == sources


def test_lines_are_those_of_the_answer() -> None:
    answer = read_answer('# A\r\n\r\none\r\n"two devices" [1]\r\n\r\n> three\r\n> [2]\r\n\r\n- x\r\n  - y [3]\r\n')
    assert [citation.line for citation in answer.citations] == [4, 7, 10]
    assert [quotation.line for quotation in answer.quotations] == [4, 6]


def sentences(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(sentence.text, sentence.cited) for sentence in read_answer(text).sentences]


def test_sentences_come_with_what_they_cite_and_without_the_citations() -> None:
    assert sentences("One is so [1]. Two is so.[2] Three, e.g. this, is v1.5. Four [3]\nis so! [4] says five.") == [
        ("One is so.", (1,)),
        ("Two is so.", (2,)),
        ("Three, e.g. this, is v1.5.", ()),
        ("Four\nis so!", (3,)),
        ("says five.", (4,)),
    ]


def test_a_full_stop_in_a_quotation_ends_no_sentence() -> None:
    assert sentences('It says "One. Two" here. And "three." Then four.') == [
        ('It says "One. Two" here.', ()),
        ('And "three."', ()),
        ("Then four.", ()),
    ]


def test_items_rows_and_lines_of_a_list_of_sources_are_sentences_titles_are_none() -> None:
    text = "# Title\n\n- one\n- two [1]\n\nSources:\n[1] A.md\n[2] B.md\n\n| a | b |\n|---|---|\n| c | [3] |"
    assert [numbers for _, numbers in sentences(text)] == [(), (1,), (), (1,), (2,), (3,)]


def test_chinese_sentences_end_without_a_space() -> None:
    assert sentences("冲突会发生[1]。下一句。[2]再一句") == [("冲突会发生。", (1,)), ("下一句。", (2,)), ("再一句", ())]


_STARTS = ["[1]", "[^1]", "[1]: x\n", "[^1]: y\n", "> ", "- ", "|", "|-|-|\n", "    ", "— ", "# ", "```\n", "\n\n"]
_INSIDE = [
    '"',
    "“",
    "”",
    "„",
    "«",
    "`",
    "two words ",
    "[a](b)",
    "<b>",
    "【1†",
    "】",
    "\\[",
    ". ",
    "…",
    "。",
    "\x00",
    "\ud800",
]
_PIECES = st.one_of(st.sampled_from(_STARTS), st.sampled_from(_INSIDE))


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_any_text_is_read(text: str) -> None:
    answer = read_answer(text)
    assert isinstance(answer, Answer)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    told = [part.line for parts in (answer.citations, answer.quotations, answer.sentences) for part in parts]
    assert all(1 <= line <= lines for line in told)
    assert all(quotation.text.strip() for quotation in answer.quotations)
    assert all(citation.numbers and min(citation.numbers) >= 1 for citation in answer.citations)


def test_the_kind_of_a_quotation_is_told() -> None:
    answer = read_answer('"a b" `c d e`\n\n> f')
    assert [quotation.kind for quotation in answer.quotations] == [QuoteKind.MARKS, QuoteKind.CODE, QuoteKind.BLOCK]
