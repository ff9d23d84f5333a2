"""Tests of spans of inline Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.inline import SpanKind, inline_spans, readable_text


@pytest.mark.parametrize(
    ("text", "kind", "whole", "read", "value"),
    [
        ("a `code` b", SpanKind.CODE, "`code`", "code", "code"),
        ("a `` a`b `` b", SpanKind.CODE, "`` a`b ``", "a`b", "a`b"),
        ("cost $x+y$ now", SpanKind.MATH, "$x+y$", "x+y", "x+y"),
        ("an *emphasis* here", SpanKind.EMPHASIS, "*emphasis*", "emphasis", ""),
        ("a __strong__ word", SpanKind.STRONG, "__strong__", "strong", ""),
        ("~~gone~~", SpanKind.STRIKE, "~~gone~~", "gone", ""),
        ("a ==mark== b", SpanKind.HIGHLIGHT, "==mark==", "mark", ""),
        ("see [label](Note%20A.md)", SpanKind.LINK, "[label](Note%20A.md)", "label", "Note%20A.md"),
        ("![alt](a.png)", SpanKind.IMAGE, "![alt](a.png)", "alt", "a.png"),
        ("see [[Note#Part|label]]", SpanKind.WIKILINK, "[[Note#Part|label]]", "label", "Note#Part"),
        ("see [[Note]]", SpanKind.WIKILINK, "[[Note]]", "", "Note"),
        ("![[a.png|200]]", SpanKind.EMBED, "![[a.png|200]]", "200", "a.png"),
        (
            "at https://example.org/a.",
            SpanKind.URL,
            "https://example.org/a",
            "https://example.org/a",
            "https://example.org/a",
        ),
        (
            "at <https://example.org>",
            SpanKind.URL,
            "<https://example.org>",
            "https://example.org",
            "https://example.org",
        ),
        ("a #tag/part b", SpanKind.TAG, "#tag/part", "#tag/part", "tag/part"),
        ("a %%secret%% b", SpanKind.COMMENT, "%%secret%%", "", "%%secret%%"),
        ("a <b> c", SpanKind.HTML, "<b>", "", "<b>"),
        ("the end ^an-id", SpanKind.BLOCK_ID, "^an-id", "", "an-id"),
        (r"a \* b", SpanKind.ESCAPE, r"\*", r"\*", "*"),
        ("a &amp; b", SpanKind.ENTITY, "&amp;", "&amp;", "&"),
    ],
)
def test_each_kind_of_inline_span_has_a_position_and_a_text_and_a_value(
    text: str, kind: SpanKind, whole: str, read: str, value: str
) -> None:
    (span,) = inline_spans(text)
    assert span.kind is kind
    assert text[span.start : span.end] == whole
    assert text[span.text_start : span.text_end] == read
    assert span.value == value


def test_nested_inline_spans_are_listed_after_the_span_around_them() -> None:
    text = "**a [*b*](c) d** `**e**`"
    assert [(span.kind, text[span.start : span.end]) for span in inline_spans(text)] == [
        (SpanKind.STRONG, "**a [*b*](c) d**"),
        (SpanKind.LINK, "[*b*](c)"),
        (SpanKind.EMPHASIS, "*b*"),
        (SpanKind.CODE, "`**e**`"),
    ]


@pytest.mark.parametrize("text", ["a `[[code]] #tag`", "$[[x]]$", '<a href="#tag">', "[[Note#tag]]"])
def test_code_maths_html_and_links_contain_no_link_or_tag(text: str) -> None:
    assert [span.kind for span in inline_spans(text)].count(SpanKind.TAG) == 0
    assert len(inline_spans(text)) == 1


MARKUP = st.sampled_from([*"*_~=`[]()!<>#%$\\&;:/|^ \nab", "**", "==", "[[", "]]", "https://a.b", "](a)"])

ADDRESSED = (SpanKind.LINK, SpanKind.IMAGE, SpanKind.WIKILINK, SpanKind.EMBED)


@given(st.lists(MARKUP, max_size=30).map("".join))
def test_spans_are_in_the_text_ascending_and_nested(text: str) -> None:
    open_ends: list[int] = []
    last = 0
    for span in inline_spans(text):
        assert 0 <= span.start < span.end <= len(text)
        assert span.start <= span.text_start <= span.text_end <= span.end
        if span.kind in ADDRESSED:
            assert span.start <= span.value_start <= span.value_end <= span.end
        assert span.start >= last
        last = span.start
        while open_ends and open_ends[-1] <= span.start:
            open_ends.pop()
        assert not open_ends or span.end <= open_ends[-1]
        open_ends.append(span.end)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The wheel[^1] spins[^speed], and turns [^2].", "The wheel spins, and turns ."),
        ("[^speed]: By day.", "By day."),
        ("> [^1]: In a quote.", "> In a quote."),
        ("- [^1]: In a list.", "- In a list."),
        ("use [^abc] in a regex", "use [^abc] in a regex"),
        ("[^a-z]+ are no letters", "[^a-z]+ are no letters"),
        (r"an escaped \[^1]", "an escaped [^1]"),
        (r"an escaped word\[^note]", "an escaped word[^note]"),
        ("code `a[^1]`", "code a[^1]"),
    ],
)
def test_footnote_marks_are_hidden_and_text_that_looks_similar_is_not(text: str, read: str) -> None:
    assert readable_text(text) == read
