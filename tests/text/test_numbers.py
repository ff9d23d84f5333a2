"""Tests that numbered terms equal the terms of `terms_of`, for any text alone or together with others."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from excerpt.text.numbers import TermEncoder, TermIds
from excerpt.text.words import terms_of

PARTS = [
    *(
        "state-of-the-art",
        "R&D",
        "1.0.21",
        "snake_case",
        "docs/readme.md",
        "PowerShell",
        "HTTPServer2",
        "C++20",
        "don't",
    ),
    *(
        "U.S.A",
        "the",
        "Notifications",
        "数据库",
        "水",
        "かな",
        "ﾃﾞｰﾀ",
        "한국어로",
        "ภาษาไทย",
        "မြန်မာ",
        "Häuser",
        "cafe\u0301",
    ),
    *("\ud800", "\ud801x", "\u00ad", "_", "a" * 200, " ", "\n", "'", "-"),
]
TEXTS = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=5)), max_size=12).map(" ".join)
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sampled_from(["en", "de", "zh", "ru", ""])), max_size=5)
Found = list[tuple[bytes, int]]


def expected_occurrences(text: str, language: str) -> Found:
    terms, positions = terms_of(text, language)
    return [(term.encode("utf-8", "replace"), at) for term, at in zip(terms, positions, strict=True)]


@given(DOCUMENTS)
def test_the_terms_of_several_documents_are_kept_apart(documents: list[tuple[str, str]]) -> None:
    encoder = TermEncoder()
    found = encoder.decode([encoder.encode(text, language) for text, language in documents])
    by_document: defaultdict[int, Found] = defaultdict(list)
    for term, doc, at in zip(found.terms.tolist(), found.docs.tolist(), found.positions.tolist(), strict=True):
        by_document[doc].append((encoder.lexicon.names[term], at))
    assert found.doc_count == len(documents)
    assert [by_document[n] for n in range(len(documents))] == [
        expected_occurrences(*document) for document in documents
    ]


@given(DOCUMENTS)
def test_the_cached_terms_of_a_text_equal_the_computed_ones(documents: list[tuple[str, str]]) -> None:
    encoder = TermEncoder()
    for text, language in documents * 2:
        terms, positions = encoder.terms_of(text, language)
        found = [(encoder.lexicon.names[term], at) for term, at in zip(terms, positions, strict=True)]
        assert found == expected_occurrences(text, language)


def test_terms_that_cannot_be_stored_share_a_number() -> None:
    lexicon = TermIds()
    assert lexicon["\ud800"] == lexicon["\udfff"] == lexicon["?"]
    assert lexicon.names == [b"?"]
