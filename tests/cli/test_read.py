"""Tests of `excerpt read` and `excerpt peek`: lines of a note, and its summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt


def test_read_prints_the_requested_lines_only(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("read", "--vault", vault, "Synchronising#Conflicts")
    assert told.code == 0
    assert told.out.startswith("## Conflicts\n\nA sync conflict arises")
    assert "Sync.md:7-" in told.err


def test_read_as_json_has_the_location(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("read", "--vault", vault, "--json", "Colour:1").json
    assert list(told) == [
        *("path", "title", "heading_path", "line_start", "line_end", "lines", "tokens", "note_tokens", "text"),
    ]
    assert (told["path"], told["line_start"], told["line_end"]) == ("Colour.md", 1, 1)
    assert told["text"] == "The colour of a banana tells how ripe it is."


@pytest.mark.parametrize("name", ["read", "peek"])
def test_an_unknown_note_exits_with_1(excerpt: Excerpt, vault: Path, name: str) -> None:
    told = excerpt(name, "--vault", vault, "Color")
    assert (told.code, told.out) == (1, "")
    assert told.err.count("\n") == 1
    assert "Color." in told.err
    assert "Colour.md" in told.err


def test_read_prints_the_present_text_of_a_changed_note(excerpt: Excerpt, vault: Path) -> None:
    excerpt("index", "--vault", vault)
    (vault / "Colour.md").write_text("Green.\n", encoding="utf-8")
    assert excerpt("read", "--vault", vault, "Colour").out == "Green.\n"


def test_peek_shows_the_size_and_tags_and_first_lines_and_outline_of_a_note(excerpt: Excerpt, vault: Path) -> None:
    shown = excerpt("peek", "--vault", vault, "Sync").out
    assert "tags: howto" in shown
    assert "also: Synchronising" in shown
    assert "  Notes are synchronised between devices." in shown
    assert [line.split()[-1] for line in shown.split("outline")[1].strip().split("\n")] == [
        *("heading)", "Conflicts", "Devices"),
    ]


def test_peek_prints_json(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("peek", "--vault", vault, "--json", "Sync").json
    assert told["properties"] == {}
    assert list(told["outline"][1]) == ["level", "heading", "heading_path", "line_start", "line_end", "tokens"]
    assert told["tokens"] > sum(entry["tokens"] for entry in told["outline"][1:])
