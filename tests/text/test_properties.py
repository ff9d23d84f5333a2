"""Tests of properties that are written in the text of a note."""

from __future__ import annotations

import pytest

from excerpt.text.markdown import parse_note
from excerpt.text.properties import MAX_PROPERTIES


def properties(text: str) -> dict[str, tuple[str, ...]]:
    return dict(parse_note("note.md", text).properties)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("rating:: 4", "rating", "4"),
        ("# Film\n\nSeen.\nrating:: 4\nAgain.", "rating", "4"),
        ("**Rating**:: 4", "Rating", "4"),
        ("**Rating::** 4", "Rating", "4"),
        ("- rating:: 4", "rating", "4"),
        ("- [ ] rating:: 4", "rating", "4"),
        ("> rating:: 4", "rating", "4"),
        ("due date:: 2025-03-01", "due date", "2025-03-01"),
        ("Größe:: 4 m", "Größe", "4 m"),
        ("评分:: 4", "评分", "4"),
        ("rating::4", "rating", "4"),
        ("评分::很好", "评分", "很好"),
        ("up::[[Ada]]", "up", "[[Ada]]"),
        ("up:: [[Ada]]", "up", "[[Ada]]"),
        ("A film of [rating:: 4] stars.", "rating", "4"),
        ("A film (rating:: 4) of stars.", "rating", "4"),
        ("See [up:: [[Ada]]] there.", "up", "[[Ada]]"),
        ("| [rating:: 4] |\n|---|", "rating", "4"),
    ],
)
def test_a_property_in_the_text_is_read(text: str, name: str, value: str) -> None:
    assert properties(text) == {name: (value,)}


@pytest.mark.parametrize(
    "text",
    [
        "`rating:: 4`",
        "```\nrating:: 4\n```",
        "    rating:: 4",
        "std::vector is a class.",
        "Use grammar::fa here.",
        "map :: (a -> b) -> [a] -> [b]",
        "rating::",
        "rating::\n4",
        "[CWinApp::AddDocTemplate](x.md)",
        "the `a`:: b",
        "::: warning",
        "https://x.example/a:: b",
    ],
)
def test_text_that_is_not_a_property_is_not_read(text: str) -> None:
    assert properties(text) == {}


def test_the_property_values_of_frontmatter_and_text_are_joined() -> None:
    assert properties("---\nrating: 3\n---\n\nrating:: 4\n\nrating:: 3\n") == {"rating": ("3", "4")}


def test_a_note_has_a_limited_number_of_properties() -> None:
    text = "\n\n".join(f"a:: {number}" for number in range(MAX_PROPERTIES + 100))
    assert len(properties(text)["a"]) == MAX_PROPERTIES


@pytest.mark.parametrize("piece", ["[a::", "(a::", "[a:: [[", "**a", "a:: [", "`a::", "- [ ] a"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * 6_000
    assert parse_note("note.md", text).text == text


def test_many_backticks_take_linear_time() -> None:
    text = ("a:: 1 " + "`" * 40_000 + "\n\n") * 10
    assert properties(text)["a"] == ("1 " + "`" * 40_000,)
