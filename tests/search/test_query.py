from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.model import Strategy
from excerpt.search.query import parse


def test_words_are_words() -> None:
    query = parse("sync conflict")
    assert query.words == "sync conflict"
    assert query.phrases == ()
    assert query.strategy is None


@pytest.mark.parametrize(
    ("typed", "strategy"),
    [
        ("!a", Strategy.ADAPTIVE),
        ("!p", Strategy.PROXIMITY),
        ("!s", Strategy.SEMANTIC),
        ("!h", Strategy.HYBRID),
        ("!H", Strategy.HYBRID),
    ],
)
def test_a_leading_mark_forces_a_strategy(typed: str, strategy: Strategy) -> None:
    query = parse(f"  {typed} sync")
    assert query.strategy is strategy
    assert query.words == "sync"


@pytest.mark.parametrize("typed", ["!x sync", "!sync", "sync !a", "! a", "tag:", "-", "|", "a:b"])
def test_unknown_syntax_is_words(typed: str) -> None:
    query = parse(typed)
    assert query.strategy is None
    assert query.words == typed


def test_a_quoted_phrase_is_required_and_its_words_are_asked_for() -> None:
    query = parse('sync "two devices" now')
    assert query.phrases == ("two devices",)
    assert query.words.split() == ["sync", "two", "devices", "now"]


def test_a_phrase_still_being_typed_is_words() -> None:
    query = parse('sync "two dev')
    assert query.phrases == ()
    assert query.words.split() == ["sync", "two", "dev"]


def test_an_empty_phrase_asks_for_nothing() -> None:
    assert parse('"" sync " "').phrases == ()


def test_quotation_marks_in_a_whole_sentence_are_its_writers() -> None:
    query = parse('what does the manual mean by "conflict" of devices')
    assert query.phrases == ()
    assert '"' not in query.words


@pytest.mark.parametrize(("typed", "is_open"), [("syn", True), ("syn ", False), ('"syn"', False), ("C++", False)])
def test_the_last_word_is_open_until_it_is_ended(typed: str, is_open: bool) -> None:
    assert parse(typed).open_word is is_open


@given(st.text())
def test_every_string_is_a_query(typed: str) -> None:
    query = parse(typed)
    assert '"' not in query.words
    assert all(phrase.strip() for phrase in query.phrases)
