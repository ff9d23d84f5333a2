from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.model import Span
from excerpt.search import highlight
from excerpt.search.highlight import MAX_SPANS, SpanList, TermSpanFinder, merge_ranges
from excerpt.text.words import analyze, query_terms


def highlighted_texts(text: str, query: str, language: str = "en") -> list[str]:
    terms = frozenset(term for word in query_terms(query, [language]) for term in word.terms)
    return [text[span.start : span.end] for span in TermSpanFinder().find(text, terms, language)]


def test_all_forms_of_a_word_are_highlighted() -> None:
    assert highlighted_texts("Syncing conflicts: a conflict.", "conflicted sync") == [
        "Syncing",
        "conflicts",
        "conflict",
    ]


def test_only_the_word_is_highlighted_without_its_surroundings() -> None:
    assert highlighted_texts("**(bold)** _bold_, [bold](x)", "bold") == ["bold", "bold", "bold"]


def test_a_word_with_emphasis_inside_is_highlighted_whole() -> None:
    assert highlighted_texts("an un**believ**able, **un**believable story", "unbelievable story") == [
        *("un**believ**able", "un**believable", "story"),
    ]
    assert highlighted_texts("これは**日本**語です", "日本語", "ja") == ["日本**語"]


def test_a_name_that_begins_with_a_dot_is_highlighted_without_its_marks() -> None:
    assert highlighted_texts("_.NET_ runs; see _on .NET_", ".NET") == [".NET", ".NET"]


def test_a_part_of_a_compound_is_highlighted_alone() -> None:
    assert highlighted_texts("the open_file call", "file") == ["file"]


def test_a_whole_compound_is_one_span() -> None:
    assert highlighted_texts("all state-of-the-art tools", "state-of-the-art") == ["state-of-the-art"]


def test_text_without_spaces_is_highlighted_by_character() -> None:
    assert highlighted_texts("新しい保管庫を作成", "保管庫", "ja") == ["保管庫"]
    assert highlighted_texts("新しい保管庫", "庫", "ja") == ["庫"]


def test_latin_words_beside_chinese_characters_are_highlighted() -> None:
    assert highlighted_texts("Obsidianの同期", "obsidian 同期", "ja") == ["Obsidian", "同期"]


def test_half_width_characters_are_highlighted() -> None:
    assert highlighted_texts("ﾉｰﾄを同期", "ノート", "ja") == ["ﾉｰﾄ"]


def test_matches_in_thai_text_are_highlighted() -> None:
    assert highlighted_texts("เครื่องทำน้ำอุ่น", "น้ำ", "th") == ["น้ำ"]


def test_a_word_is_highlighted_by_the_stemming_of_the_notes_language() -> None:
    assert highlighted_texts("die Häuser", "Haus", "de") == ["Häuser"]


def test_plain_words_are_highlighted_beside_accents_and_typographic_marks() -> None:
    assert highlighted_texts("“Synced” notes — the café’s conflict", "sync conflict café") == [
        "Synced",
        "café’s",
        "conflict",
    ]


def test_a_compound_is_highlighted_if_its_parts_are_searched() -> None:
    assert highlighted_texts("a basic_string of basic characters", "basic_string") == ["basic_string", "basic"]


def test_a_compound_with_punctuation_is_highlighted_whole_after_a_similar_word() -> None:
    text = "see `const` (con.3) and warning/level"
    found = TermSpanFinder().find(text, frozenset({"con.3", "con", "warning/level", "warn"}), "en")
    assert [text[span.start : span.end] for span in found] == ["con.3", "warning/level"]


def test_without_terms_nothing_is_highlighted() -> None:
    assert TermSpanFinder().find("some text 保管", frozenset(), "en") == ()


@pytest.mark.parametrize("word", ["kettle ", "kettle-{}a ", "é{}a-kettle "])
def test_only_the_first_thousand_matches_of_a_long_text_are_highlighted(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    counts: list[int] = []

    def count_and_merge(ranges: SpanList) -> tuple[Span, ...]:
        counts.append(len(ranges))
        return merge_ranges(ranges)

    monkeypatch.setattr(highlight, "merge_ranges", count_and_merge)
    text = "".join(word.format(number) for number in range(4_000))
    spans = TermSpanFinder().find(text, frozenset({"kettl"}), "en")
    assert spans == TermSpanFinder().find(text[: len(text) // 2], frozenset({"kettl"}), "en")
    assert counts == [MAX_SPANS, MAX_SPANS]


def test_overlapping_spans_are_joined_and_adjacent_ones_are_not() -> None:
    spans = merge_ranges([(4, 6), (0, 3), (2, 4)])
    assert [(span.start, span.end) for span in spans] == [(0, 4), (4, 6)]


LETTERS = "ab-_.+#/&' \nAéßAB12"
CHARACTERS = ["日", "本", "ノ", "ﾉ", "ｶﾞ", "한", "글", "กา", "น้ำ", "人", "々", " ", "a"]


def from_analysis(text: str, data: st.DataObject) -> tuple[frozenset[str], tuple[Span, ...]]:
    """Draw some terms of the text; return them with their spans from the analysis."""
    found = analyze(text, "en")
    terms = frozenset(data.draw(st.lists(st.sampled_from(found.terms), max_size=3)) if found.terms else ())
    pieces = zip(found.terms, found.starts, found.ends, strict=True)
    return terms, merge_ranges([(start, end) for term, start, end in pieces if term in terms])


@given(st.text(st.one_of(st.sampled_from(LETTERS), st.characters(max_codepoint=0x6FF, codec="utf-8"))), st.data())
def test_highlights_equal_those_of_the_full_analysis(text: str, data: st.DataObject) -> None:
    terms, expected = from_analysis(text, data)
    assert TermSpanFinder().find(text, terms, "en") == expected


def test_a_term_that_begins_with_a_dot_is_highlighted_with_it() -> None:
    assert TermSpanFinder().find("Learn .NET now", frozenset({".net"}), "en") == (Span(6, 10),)


@given(st.lists(st.sampled_from(CHARACTERS), max_size=20).map("".join), st.data())
def test_highlights_in_scripts_without_spaces_include_those_of_the_full_analysis(
    text: str, data: st.DataObject
) -> None:
    terms, expected = from_analysis(text, data)
    spans = TermSpanFinder().find(text, terms, "en")
    assert all(any(span.start <= mark.start and mark.end <= span.end for span in spans) for mark in expected)


ODD_WORDS = """
    dying lying tied skies sky flies e-mail re-do U.S.A. R&D C++ C++20 c++11 C# 1.0.21 v1.2 don't can't user's O'Neil
    wiki_link WikiLink a/b.c a@b.com x&y HTTPServers PDFs snake_case_name early ugly news generously happily ' - _ Ünder
    café ski skis using use owing try why flying bias later past exceed succeeding
"""


@given(st.lists(st.sampled_from(ODD_WORDS.split()), max_size=8))
def test_skipping_texts_by_the_quick_check_loses_no_highlight(words: list[str]) -> None:
    text = " ".join(words)
    found = analyze(text, "en")
    for term in set(found.terms):
        expected = [(s, e) for t, s, e in zip(found.terms, found.starts, found.ends, strict=True) if t == term]
        assert TermSpanFinder().find(text, frozenset({term}), "en") == merge_ranges(expected)
