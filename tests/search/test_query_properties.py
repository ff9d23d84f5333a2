"""Property tests: any text is a valid query and is parsed quickly."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.kinds import FilterKind
from excerpt.search.query import (
    FILTER_KINDS,
    MAX_ALTERNATIVES,
    MAX_KEYWORDS,
    MEMORY_FILTER_KINDS,
    KnownNames,
    Query,
    format_filter,
    literal_query,
    parse_alternatives,
    suggest_filters,
)
from tests.growth import grows_about_linearly

PROPERTIES = frozenset({"status"})
TAGS = frozenset({"project"})

ANY_TEXT = st.text(alphabet=st.characters(), max_size=200) | st.lists(
    st.sampled_from(
        [
            *'"-|#:<>=*.! \t\n\x00\ud800',
            "tag:",
            "tga:",
            "befroe:",
            "in:",
            "after:",
            "modified:",
            "2025-",
            "7d",
            "path:",
            "status:",
            "#project",
            " | ",
            "ab",
            "猫",
        ]
    )
).map("".join)


@given(ANY_TEXT)
@example("\ud800:\udfff")
@example('tag:"\x00')
def test_every_string_is_a_query(typed: str) -> None:
    queries = parse_alternatives(typed, PROPERTIES, TAGS)
    assert 1 <= len(queries) <= MAX_ALTERNATIVES
    for query in queries:
        assert '"' not in query.words
        assert all(phrase.strip() for phrase in (*query.phrases, *query.excluded_phrases))
        assert all(query.excluded)
        assert all(one.value.strip() for one in query.filters)
        assert not (query.open_word and not query.words[-1].isalnum())


@given(ANY_TEXT)
def test_no_letter_is_lost(typed: str) -> None:
    """Check that every letter of the input, except an operator's own, is somewhere in some query."""
    if typed.lstrip()[:2].lower() in ("!a", "!p", "!s", "!h"):
        return
    kept = "".join(
        part
        for query in parse_alternatives(typed, PROPERTIES, TAGS)
        for part in (
            query.words,
            *query.excluded,
            *query.excluded_phrases,
            *(f"{f.kind}{f.name}{f.value}" for f in query.filters),
        )
    )
    assert {c for c in typed if c.isalnum()} <= set(kept) | set("tagsaliasinafter")


@given(ANY_TEXT, st.sampled_from([FILTER_KINDS, MEMORY_FILTER_KINDS]))
@example("tga:x", FILTER_KINDS)
@example("-statsu:*", FILTER_KINDS)
def test_what_a_hint_is_of_stays_a_word_and_would_be_a_filter(typed: str, kinds: Mapping[str, FilterKind]) -> None:
    queries = parse_alternatives(typed, PROPERTIES, TAGS, kinds)
    for hint in suggest_filters(typed, KnownNames(PROPERTIES, TAGS, kinds)):
        assert typed[hint.start : hint.end] == hint.written
        assert any(hint.written in word for query in queries for word in (query.words, *query.excluded))
        offered = parse_alternatives(f"{hint.instead}{typed[hint.end :]}", PROPERTIES, TAGS, kinds)
        assert offered[0].filters


@given(ANY_TEXT, st.sampled_from(["tag:project", "-path:a", "modified:7d", "status:x", "-#project", "file:a"]))
def test_a_filter_in_front_changes_nothing_else(typed: str, one: str) -> None:
    if typed.lstrip().startswith("!") or any(c in typed for c in '|"'):
        return
    before, after = parse_alternatives(typed, PROPERTIES, TAGS), parse_alternatives(f"{one} {typed}", PROPERTIES, TAGS)
    assert len(before) == len(after) == 1
    if one == "-#project" and len(before[0].words.split()) > MAX_KEYWORDS:
        return  # in prose, a sign before a word is part of the text
    assert after[0].words.split() == before[0].words.split()
    assert after[0].excluded == before[0].excluded
    assert set(after[0].filters) >= set(before[0].filters)
    assert after[0].filters


@pytest.mark.programs
@pytest.mark.parametrize(
    "unit",
    [
        *("a", " ", "a ", '"', '" ', '"a" ', "-", "-a ", "-ab ", "#", "#project ", "tag:", "tag:x ", 'tag:"', "path:*"),
        *(
            "modified:",
            "modified:7d ",
            "| ",
            "a | ",
            ":",
            "::",
            "a:",
            "\x00",
            "\ud800",
            "猫",
            '猫"',
            "e\u0301",
            "\\",
            "<>=",
        ),
        *("tga:x ", 'tga:"x" ', 'tga:"', "tga:x;", "in:* "),
        *("status:>", "2025-", "\u200b", "\U0001f600 ", "!a ", "\n"),
    ],
)
def test_the_work_of_reading_a_query_grows_with_its_length(unit: str) -> None:
    assert parse_alternatives((unit * 10_000)[:10_000], PROPERTIES, TAGS)
    assert grows_about_linearly(lambda size: _read((unit * size)[:size]), 10_000)


def _read(typed: str) -> None:
    parse_alternatives(typed, PROPERTIES, TAGS)
    suggest_filters(typed, KnownNames(PROPERTIES, TAGS, FILTER_KINDS))


@given(st.text(alphabet='ab -#:!|"\\\\/12.p', max_size=14))
def test_a_literal_query_has_words_alone(text: str) -> None:
    (query,) = parse_alternatives(literal_query(text), {"a", "b", "p", "ab"})
    assert query == Query(query.words, open_word=query.open_word)


@given(st.sampled_from(["tag", "-path", "status", "-my key"]), st.text(alphabet='ab "<>=/', min_size=1, max_size=8))
def test_a_filter_as_text_is_read_as_that_filter(name: str, value: str) -> None:
    conditions = parse_alternatives(format_filter(name, value), {"status", "my key"})[0].filters
    for condition in conditions:
        assert condition.value == value.strip()
        assert condition.negated == name.startswith("-")
