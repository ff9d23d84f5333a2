"""Tests of parsing citations and quotations out of an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.pack.check.answer import CitedAnswer, QuoteKind, parse_answer


def citation_numbers(text: str) -> list[tuple[int, ...]]:
    return [citation.numbers for citation in parse_answer(text).citations]


def quotation_texts(text: str) -> list[str]:
    return [quotation.text for quotation in parse_answer(text).quotations]


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
def test_citations_in_the_forms_of_models_are_parsed(text: str, numbers: list[tuple[int, ...]]) -> None:
    assert citation_numbers(text) == numbers


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
def test_text_that_only_resembles_a_citation_is_no_citation(text: str) -> None:
    assert citation_numbers(text) == []


def test_a_footnote_of_the_answer_may_be_a_citation() -> None:
    assert citation_numbers("So it is[^1].\n\n[^1]: See [2].") == [(2,)]


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
        ("It says 'two devices meet'.", ["two devices meet"]),
        ("('two devices')[1] and *'two notes'*", ["two devices", "two notes"]),
        ("'the users' notes are here' [1]", ["the users' notes are here"]),
        ("'delete the keys' and 'the rest'", ["delete the keys", "the rest"]),
        ("'delete the keys' and go on", ["delete the keys"]),
        ("'Tis the season to do' [1]", ["Tis the season to do"]),
        ("他说'两台设备'。", ["两台设备"]),
        ("‚zwei Geräte‘ und ›zwei Notizen‹ und ‹deux›", ["zwei Geräte", "zwei Notizen", "deux"]),
        ("Det står ’två enheter’.", ["två enheter"]),
        ("''two devices'' and \\\"two notes\\\"", ["two devices", "two notes"]),
        ("&quot;two devices&quot; &#34;meet a&#34; &#x22;b c&#x22;", ["two devices", "meet a", "b c"]),
        ("&ldquo;two devices&rdquo; &laquo;a b&raquo; &lsquo;c d&rsquo;", ["two devices", "a b", "c d"]),
        ('"AT&amp;T pays" and `"a &amp; b"`', ["AT&T pays", '"a &amp; b"']),
        ('<q>two devices</q> and <q cite="a b c">two notes</q>', ["two devices", "two notes"]),
        ("It says <blockquote>two devices</blockquote> so.", ["two devices"]),
        ("<blockquote>\n\nTwo devices.\n\nThey meet.\n\n</blockquote>\n\nSo.", ["Two devices.", "They meet."]),
        ("<blockquote>\nTwo devices.\n<footer>— Sync.md</footer>\n</blockquote>", ["Two devices."]),
        ('He said "two "or three" devices" so', ['two "or three" devices']),
        ("He said “two “or three” devices” so", ["two “or three” devices"]),
        ("He said 'two \"or three\" devices' so", ['two "or three" devices']),
        ('yes and "no and "two devices" so', ["two devices"]),
        ('a "6" pipe is wide" one', ['6" pipe is wide']),
        ('"Two devices\n\nmeet." [1]', ["Two devices", "meet."]),
        ('"Two devices.\n\n"They meet." [1]', ["Two devices.", "They meet."]),
        ("“One.\n\n“Two.\n\n“Three.” [1]", ["One.", "Two.", "Three."]),
        ("“One.\n\nTwo.\n\nThree.” [1]", ["One.", "Two.", "Three."]),
        ("> “Two devices.\n>\n> “They meet.”", ["Two devices.", "They meet."]),
        ("“两台设备。\n\n它们相遇。”他说，“是的。”", ["两台设备。", "它们相遇。", "是的。"]),
        ("Type `excerpt pack QUERY` then `excerpt`.", ["excerpt pack QUERY"]),
        ('Type `x "two devices" y`.', ['x "two devices" y']),
    ],
)
def test_quotation_marks_blockquotes_and_long_code_spans_are_quotations(text: str, passages: list[str]) -> None:
    assert quotation_texts(text) == passages


@pytest.mark.parametrize(
    "text",
    [
        "It isn't the user's.",
        "The users' notes from the '90s, 5' 6\" tall, rock 'n' roll; 'tis James' cat on rockin' chairs.",
        "the ’90s, rock ’n’ roll, the users’ notes and don’t",
        "`keep`'s value, **it**'s, [a](b)'s and the keys'",
        "the 'nother users' notes, goin' on",
        '<a href="a b c">x</a> [x](y "a b c")',
        "> [!note] Mind\n> that this is mine.",
        '```\nprint("a b c")\n```',
    ],
)
def test_text_that_only_resembles_a_quotation_is_no_quotation(text: str) -> None:
    assert quotation_texts(text) == []


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
        ('"Two devices\n\nmeet." [1]', [(1,), (1,)]),
        ("As [1] says: “One.\n\n“Two.”", [(1,), (1,)]),
        ("As [1] says:\n\n<blockquote>two devices</blockquote>", [(1,)]),
        ("<q>two devices</q> [1]", [(1,)]),
        ('| claim | source |\n|---|---|\n| "two devices" | [1] |\n', [(1,)]),
    ],
)
def test_a_quotation_belongs_to_the_citation_beside_it(text: str, sources: list[tuple[int, ...]]) -> None:
    assert [quotation.cited for quotation in parse_answer(text).quotations] == sources


def test_citations_and_quotations_have_the_line_numbers_of_the_answer() -> None:
    answer = parse_answer('# A\r\n\r\none\r\n"two devices" [1]\r\n\r\n> three\r\n> [2]\r\n\r\n- x\r\n  - y [3]\r\n')
    assert [citation.line for citation in answer.citations] == [4, 7, 10]
    assert [quotation.line for quotation in answer.quotations] == [4, 6]


def sentences(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(sentence.text, sentence.cited) for sentence in parse_answer(text).sentences]


def test_sentences_are_given_with_their_citations_removed() -> None:
    assert sentences("One is so [1]. Two is so.[2] Three, e.g. this, is v1.5. Four [3]\nis so! [4] says five.") == [
        ("One is so.", (1,)),
        ("Two is so.", (2,)),
        ("Three, e.g. this, is v1.5.", ()),
        ("Four\nis so!", (3,)),
        ("says five.", (4,)),
    ]


def test_a_full_stop_in_a_quotation_does_not_end_the_sentence() -> None:
    assert sentences('It says "One. Two" here. And "three." Then four.') == [
        ('It says "One. Two" here.', ()),
        ('And "three."', ()),
        ("Then four.", ()),
    ]


def test_list_items_and_table_rows_are_sentences_and_titles_are_not() -> None:
    text = "# Title\n\n- one\n- two [1]\n\nSources:\n[1] A.md\n[2] B.md\n\n| a | b |\n|---|---|\n| c | [3] |"
    assert [numbers for _, numbers in sentences(text)] == [(), (1,), (), (1,), (2,), (3,)]


def test_chinese_sentences_end_without_a_space() -> None:
    assert sentences("冲突会发生[1]。下一句。[2]再一句") == [("冲突会发生。", (1,)), ("下一句。", (2,)), ("再一句", ())]


@pytest.mark.parametrize(
    ("text", "unchecked"),
    [
        ('So.\n\nIt says "two devices [1].', [(3, '"two devices [1].', "nothing closes this quotation mark")]),
        ("'You must delete it [1].", [(1, "'You must delete it [1].", "nothing closes this quotation mark")]),
        ("It says “two devices.\n\nThey meet.", [(1, "“two devices.", "nothing closes this quotation mark")]),
        ('So. Two devices" [1]', [(1, 'Two devices"', "nothing opens this quotation mark")]),
        ("So: <q>two devices", [(1, "<q>two devices", "nothing closes this quotation mark")]),
        ("So.\n\n<blockquote>two devices", [(3, "<blockquote>two devices", "nothing closes this tag")]),
        ('It says "two devices\n\n# A title\n\nmeet"', [(1, '"two devices'), (5, 'meet"')]),
    ],
)
def test_an_unpaired_quotation_mark_is_reported(text: str, unchecked: list[tuple[object, ...]]) -> None:
    found = [(each.line, each.text, each.reason) for each in parse_answer(text).unchecked]
    assert [each[: len(told)] for each, told in zip(found, unchecked, strict=True)] == unchecked


@pytest.mark.parametrize("text", ['a 5" disk', 'the " sign, the “x” mark and `"`', "'Tis so", '> "two devices'])
def test_an_apostrophe_or_inch_sign_is_not_reported_as_unpaired(text: str) -> None:
    assert parse_answer(text).unchecked == ()


_APOSTROPHES = [
    "don't", "it's", "users' notes", "the '90s", "5' 6\" tall", "rock 'n' roll", "'tis so", "James' cat", "o' clock",
    "rockin' chairs", "`code`'s", "**bold**'s", "l'eau", "d'un", "'em all", "boss' desk", "keys',",
    "Hans', the", "'s avonds",
]  # fmt: skip


@given(st.lists(st.sampled_from([*_APOSTROPHES, "and", "notes.", "(so)", "- 2,", "well"]), max_size=12), st.booleans())
def test_apostrophes_are_not_quotation_marks(words: list[str], curly: bool) -> None:
    text = " ".join(words)
    assert quotation_texts(text.replace("'", "’") if curly else text) == []
    assert parse_answer(text).unchecked == ()


@given(
    st.lists(st.sampled_from(["two", "devices", "don't", "meet,", "it's", "so"]), min_size=2, max_size=8),
    st.sampled_from(["'{}'", "‘{}’", '"{}"', "&quot;{}&quot;", "<q>{}</q>", "‚{}‘", "«{}»", "「{}」", "“{}”"]),
    st.sampled_from(["", "It don't say: ", "The '90s, ", "James' cat "]),
    st.sampled_from(["", " [1].", ", so it isn't.", " and the rest"]),
)
def test_a_quotation_among_apostrophes_is_found(words: list[str], marks: str, before: str, after: str) -> None:
    inner = " ".join(["Two", *words, "end"])
    assert quotation_texts(f"{before}{marks.format(inner)}{after}") == [inner]


def test_a_citation_of_many_sources_is_one_range() -> None:
    assert [each.ranges for each in parse_answer("[1-999] [2, 4]").citations] == [
        (range(1, 1000),),
        (range(2, 3), range(4, 5)),
    ]


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
    "'",
    "’",
    "‘",
    "&quot;",
    "<q>",
    "</q>",
    "<blockquote>",
    "</blockquote>",
    "\n\n",
]
_PIECES = st.one_of(st.sampled_from(_STARTS), st.sampled_from(_INSIDE))


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_any_text_can_be_parsed(text: str) -> None:
    answer = parse_answer(text)
    assert isinstance(answer, CitedAnswer)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    told = [part.line for parts in (answer.citations, answer.quotations, answer.sentences) for part in parts]
    assert all(1 <= line <= lines for line in told)
    assert all(quotation.text.strip() for quotation in answer.quotations)
    assert all(citation.numbers and min(citation.numbers) >= 1 for citation in answer.citations)


def test_each_quotation_is_given_with_its_kind() -> None:
    answer = parse_answer('"a b" `c d e`\n\n> f')
    assert [quotation.kind for quotation in answer.quotations] == [QuoteKind.MARKS, QuoteKind.CODE, QuoteKind.BLOCK]
