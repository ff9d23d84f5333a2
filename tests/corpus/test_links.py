"""Tests of link resolution: a link points to the note that Obsidian would open."""

from __future__ import annotations

import pytest

from excerpt.corpus.links import LinkResolver

TARGETS = LinkResolver(
    [
        "Home.md",
        "projects/Plan.md",
        "projects/deep/Plan.md",
        "projects/v1.2 notes.md",
        "archive/Old Plan.markdown",
        "archive/deep/Only.md",
        "Café.md",
    ]
)


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("Home", "projects/Plan.md", "Home.md"),
        ("home", "projects/Plan.md", "Home.md"),
        ("Home.md", "projects/Plan.md", "Home.md"),
        ("Plan", "Home.md", "projects/Plan.md"),
        ("Plan", "projects/deep/Plan.md", "projects/deep/Plan.md"),
        ("deep/Plan", "Home.md", "projects/deep/Plan.md"),
        ("../Plan.md", "projects/deep/Plan.md", "projects/Plan.md"),
        ("./deep/Plan.md", "projects/Plan.md", "projects/deep/Plan.md"),
        ("/projects/Plan", "archive/deep/Only.md", "projects/Plan.md"),
        ("projects\\Plan", "Home.md", "projects/Plan.md"),
        ("Old Plan", "Home.md", "archive/Old Plan.markdown"),
        ("v1.2 notes", "Home.md", "projects/v1.2 notes.md"),
        ("Cafe\u0301", "Home.md", "Café.md"),
        ("", "Home.md", "Home.md"),
        ("lan", "Home.md", None),
        ("Missing", "Home.md", None),
        ("../../etc/passwd", "Home.md", None),
    ],
)
def test_a_target_resolves_to_the_note_obsidian_would_open(target: str, source: str, path: str | None) -> None:
    assert TARGETS.resolve(target, source) == path


def test_an_alias_is_not_a_link_target() -> None:
    assert LinkResolver(["Home.md"]).resolve("Start page", "Home.md") is None
