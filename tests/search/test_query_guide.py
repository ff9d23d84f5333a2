"""Tests of the guide to the query language: its operators are operators, its words are words."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from excerpt.search.query import (
    FILTER_KINDS,
    MEMORY_FILTER_KINDS,
    KnownNames,
    Query,
    parse_alternatives,
    suggest_filters,
)
from excerpt.text.dates import is_period

PAGE, MEMORIES = (
    files("excerpt").joinpath("demo", name).read_text(encoding="utf-8") for name in ("Query language.md", "Memories.md")
)
PROPERTIES = frozenset({"status", "rating", "due", "date-created", "people.lead", "level"})


def code(heading: str, page: str = PAGE) -> list[str]:
    """Return the code spans at the start of each item of the list under a heading."""
    under = page.split(f"## {heading}\n")[1].split("\n## ", maxsplit=1)[0]
    items = re.findall(r"^- ((?:`[^`]+`(?:, | )?)+)(?: …)?:", under, re.MULTILINE)
    return [found for item in items for found in re.findall("`([^`]+)`", item)]


def code_in(sentence: str) -> list[str]:
    """Return the code spans after the bold start of a sentence, up to the end of its line."""
    return re.findall("`([^`]+)`", PAGE.split(f"**{sentence}**")[1].split("\n")[0])


def is_operator(query: Query) -> bool:
    asked = (query.filters, query.phrases, query.excluded, query.excluded_phrases, query.strategy, query.sort)
    return any(asked)


@pytest.mark.parametrize("typed", code("All of it on one page")[1:])
def test_an_operator_of_the_guide_is_one(typed: str) -> None:
    queries = parse_alternatives(typed, PROPERTIES)
    assert len(queries) == 2 if "|" in typed else is_operator(queries[0])


@pytest.mark.parametrize("typed", code("Recall", MEMORIES))
def test_a_filter_of_the_memories_is_one(typed: str) -> None:
    assert parse_alternatives(typed, kinds=MEMORY_FILTER_KINDS)[0].is_filter_only


def test_what_the_guide_tells_of_is_told_with_what_it_offers() -> None:
    wrong, right, words = (
        code_in("A filter with a typing error is a word, and excerpt suggests the filter")[at : at + 3]
        for at in (0, 3, 6)
    )
    told = [suggest_filters(typed, KnownNames(PROPERTIES, frozenset(), FILTER_KINDS)) for typed in (*wrong, *words)]
    assert [tuple(hint.instead for hint in one) for one in told] == [*((name,) for name in right), (), (), ()]


@pytest.mark.parametrize("value", code("Times"))
def test_a_time_of_the_guide_is_one(value: str) -> None:
    assert is_period(value)


@pytest.mark.parametrize(
    "typed", [*code_in("Words with signs find themselves"), "-split operator", "git commit -m", "-5"]
)
def test_a_word_of_the_guide_is_one(typed: str) -> None:
    assert f"`{typed}`" in PAGE
    assert parse_alternatives(typed, PROPERTIES, frozenset())[0].words == typed
