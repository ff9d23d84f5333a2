"""Tests of queries that are long or repeat themselves: what is searched of them, and how much work that is."""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import partialmethod
from itertools import product
from typing import Any

import pytest

from excerpt.search.bm25 import MAX_FUZZY_WORDS, WordIndex
from excerpt.search.engine import Engine
from excerpt.search.proximity import flatten_positions
from excerpt.search.query import MAX_CONDITIONS, MAX_QUERY_WORDS

UNKNOWN = ["q" + "".join(letters) for letters in product(string.ascii_lowercase, repeat=3)][:1_000]


class Counter:
    """Counts the calls of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        return self.function(*args, **options)


@pytest.fixture
def positions_read(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Count how often the positions of a word are read."""
    counter = Counter(flatten_positions)
    monkeypatch.setattr("excerpt.search.candidates.flatten_positions", counter)
    return counter


def test_the_positions_of_a_repeated_word_are_read_once(engine: Engine, positions_read: Counter) -> None:
    engine.search("lighthouse keeper " * 50)
    assert positions_read.calls == 2


@pytest.mark.parametrize(
    ("query", "words"), [("wiki-link lighthouse wiki", 4), ("wiki-link wiki-link", 2), ("wiki wiki-link wiki", 3)]
)
def test_a_part_of_a_compound_is_no_repeated_word_and_a_repeated_compound_is(
    engine: Engine, positions_read: Counter, query: str, words: int
) -> None:
    engine.search(query)
    assert positions_read.calls == words


def test_a_repeated_word_is_near_the_word_after_its_first_place(engine: Engine) -> None:
    hits = [engine.search(query).hits[0] for query in ("!p flour water salt", "!p flour water salt flour water")]
    once, repeated = ({signal.name: signal.value for signal in hit.signals}["proximity"] for hit in hits)
    assert repeated == once > 0


def test_the_first_words_of_a_page_are_searched_and_a_warning_says_so(engine: Engine) -> None:
    padding = " ".join(UNKNOWN[:MAX_QUERY_WORDS])
    found = engine.search(f"lighthouse keeper {padding}")
    assert found.hits[0].fragment.path == "Long.md"
    assert f"first {MAX_QUERY_WORDS} words" in found.warnings[0]
    assert sum(len(query.words.split()) for query in engine.parse(f"{padding} lighthouse keeper")) == MAX_QUERY_WORDS


def test_a_question_of_two_hundred_words_is_searched_whole(engine: Engine) -> None:
    assert engine.search(" ".join(UNKNOWN[:MAX_QUERY_WORDS])).warnings == ()


def test_alternatives_share_the_number_of_words(engine: Engine) -> None:
    half = " ".join(UNKNOWN[: MAX_QUERY_WORDS // 2 + 1])
    parsed = engine.parse(f"{half} | {half} | bread")
    assert [len(query.words.split()) for query in parsed] == [MAX_QUERY_WORDS // 2 + 1, MAX_QUERY_WORDS // 2 - 1]


def test_filters_phrases_and_exclusions_are_applied_up_to_a_number(engine: Engine) -> None:
    found = engine.search(" ".join(f'-path:{word} "{word}" -{word}' for word in UNKNOWN[:100]))
    assert f"{MAX_CONDITIONS} filters" in found.warnings[0]
    (query,) = engine.parse(" ".join(f"-path:{word}" for word in UNKNOWN[:100]))
    assert len(query.filters) == MAX_CONDITIONS


def test_a_few_unknown_words_are_compared_with_all_words_of_the_vault(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(WordIndex._similar_terms)
    monkeypatch.setattr(WordIndex, "_similar_terms", partialmethod(counter))
    engine.search(" ".join(UNKNOWN[:100]))
    assert counter.calls == MAX_FUZZY_WORDS
