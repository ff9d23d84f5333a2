"""Tests of the stored names of notes besides their titles."""

from __future__ import annotations

import json

import numpy as np
import pytest

from excerpt.corpus.links import target_file_name
from excerpt.corpus.names import DIGEST_DTYPE, LENGTH_DTYPE, NameTerms, digest_texts
from excerpt.index.names import tokenize_names


def names_of(found: NameTerms) -> list[list[int]]:
    """Return the term digests of each name."""
    ends = np.cumsum(np.frombuffer(found.lengths, LENGTH_DTYPE))
    return [part.tolist() for part in np.split(np.frombuffer(found.terms, DIGEST_DTYPE), ends[:-1])]


def stored_names(*names: list[str]) -> list[list[int]]:
    return [digest_texts(terms).tolist() for terms in names]


def link_row(target: str, text: str | None) -> tuple[int, str, str, None, None, str | None]:
    return 1, "markdown", target, None, None, text


def test_the_names_beside_the_title_are_aliases_and_a_differing_file_name_and_a_differing_first_heading() -> None:
    labels = [("tag", "", "plant"), ("alias", "", "Love apple")]
    sections = [(0, 0, "", ""), (1, 2, "Before", ""), (2, 1, "Growing tomatoes", ""), (3, 1, "Later", "")]
    found = tokenize_names("Garden/tomato.md", "Tomatoes", "en", labels=labels, sections=sections, links=[])
    assert found.own == 3
    assert names_of(found) == stored_names(["love", "appl"], ["tomato"], ["grow", "tomato"])


def test_a_file_named_like_the_title_is_not_another_name() -> None:
    found = tokenize_names(
        "Garden/Tomatoes.md", "Tomatoes", "en", labels=[], sections=[(1, 1, "Tomatoes", "")], links=[]
    )
    assert (found.own, found.terms, found.targets) == (0, b"", "[]")


def test_link_texts_follow_the_names_of_a_note_once_per_target() -> None:
    links = [
        link_row("Tea.md", "hot drink"),
        link_row("Cup.md", None),
        link_row("Tea.md", "hot drink"),
        link_row("Cup.md", "hot drink"),
    ]
    found = tokenize_names("b.md", "Drinks", "en", labels=[], sections=[], links=links)
    assert found.own == 1
    assert names_of(found) == stored_names(["b"], ["hot", "drink"], ["hot", "drink"])
    assert json.loads(found.targets) == ["Tea.md", "Cup.md"]
    assert np.frombuffer(found.files, DIGEST_DTYPE).tolist() == digest_texts(["b", "tea", "cup"]).tolist()


def test_a_name_without_a_word_is_left_out() -> None:
    found = tokenize_names(
        "Tea.md", "Tea", "en", labels=[("alias", "", "!")], sections=[], links=[link_row("Cup.md", "→")]
    )
    assert (found.own, found.lengths, found.targets) == (0, b"", "[]")


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("../b/Tea", "b/tea.md"),
        ("b\\Tea.md", "b/Tea.md"),
        (" Tea ", "b/Tea.markdown"),
        ("/b/./Tea", "b/Tea.md"),
        ("b/Cafe\u0301", "b/Caf\u00e9.md"),
        (" Tea.md", "b/ Tea.md"),
    ],
    ids=["relative", "backslash", "spaces", "from the root", "composition", "space in the name"],
)
def test_the_file_name_in_a_link_target_is_stored_with_the_link(target: str, path: str) -> None:
    assert target_file_name(target) == target_file_name(path)
