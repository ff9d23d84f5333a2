"""Tests of `excerpt map`, as text and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.cli.conftest import Excerpt


def all_branches(told: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for branch in told:
        yield branch
        yield from all_branches(branch["branches"])


def test_a_map_counts_what_a_search_with_its_filters_finds(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("map", "--vault", vault, "--json", "devices")
    assert told.code == 0
    assert told.json["query"] == "devices"
    kinds = ("folders", "tags", "properties", "modified", "created")
    assert list(told.json) == ["query", "fragments", "notes", *kinds, "generation"]
    assert told.json["fragments"] == excerpt("search", "--vault", vault, "--json", "devices").json["matched"]
    found = [branch for kind in kinds for branch in all_branches(told.json[kind])]
    assert "tag:howto" in [branch["filter"] for branch in found]
    for branch in found:
        assert list(branch) == ["label", "filter", "fragments", "notes", "branches", "unlisted"]
        narrowed = excerpt("search", "--vault", vault, "--json", "--no-refresh", f"{branch['filter']} devices")
        assert narrowed.json["matched"] == branch["fragments"]


def test_the_text_of_a_map_has_counts_bars_and_filters(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("map", "--vault", vault)
    folders, cooking = told.out.split("\n")[:2]
    assert folders.split() == ["folders", "fragments", "notes"]
    assert cooking.split() == ["Cooking", "1", "1", "█" * 16, "path:/Cooking/"]
    assert re.findall(r"\d+ [a-z]+", told.err) == ["5 matching", "3 notes"]


def test_depth_and_top_limit_what_is_shown(excerpt: Excerpt, vault: Path) -> None:
    for number in range(3):
        (vault / f"{number}.md").write_text(f"---\ntags: [a{number}/b]\n---\nText.\n", encoding="utf-8")
    shown = excerpt("map", "--vault", vault, "tag:a0 | tag:a1 | tag:a2", "--depth", "1", "--top", "2").out
    assert "tag:a0 " in f"{shown.split()} ".replace("'", " ")
    assert "tag:a0/b" not in shown
    assert "… 1 more" in shown


def test_values_that_are_unique_to_notes_are_only_counted(excerpt: Excerpt, vault: Path) -> None:
    for number in range(5):
        text = f"---\nslug: note-{number}\nstate: open\n---\nText.\n"
        (vault / f"{number}.md").write_text(text, encoding="utf-8")
    shown = excerpt("map", "--vault", vault, "text").out
    assert "… 5 values, each of one note" in shown
    assert "slug:=note-0" not in shown
    assert "state:=open" in shown


def test_a_map_without_matches_exits_with_1(excerpt: Excerpt, vault: Path) -> None:
    told = excerpt("map", "--vault", vault, '"no such phrase"')
    assert (told.code, told.out) == (1, "")
    assert told.err.count("\n") == 1
