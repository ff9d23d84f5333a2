"""Tests of the JSON of overview, related, map, read and peek on the guide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from excerpt.vault.known_vaults import DEMO
from tests import commands

pytestmark = pytest.mark.programs


def printed(shell: Mapping[str, str], *words: str) -> Any:
    """Return the JSON that a command prints."""
    return json.loads(commands.printed(*words, "--vault", DEMO, "--no-refresh", "--json", environment=shell))


def test_overview_and_map_count_the_same_matches_as_a_search(shell: Mapping[str, str]) -> None:
    found = printed(shell, "search", "token budget", "--limit", "1")
    overview = printed(shell, "overview", "token budget")
    assert overview["topic"] == "token budget"
    assert overview["matched"] == found["matched"]
    assert overview["main_notes"][0]["path"] == "Token budget.md"
    assert all(overview[part] for part in ("sections", "passages", "themes", "related"))
    tree = printed(shell, "map", "token budget")
    assert tree["fragments"] == found["matched"]
    assert {"folders", "tags", "properties", "modified", "created"} < set(tree)
    assert set(tree["tags"][0]) == {"label", "filter", "fragments", "notes", "branches", "unlisted"}


def test_related_read_and_peek_name_lines_of_the_note(shell: Mapping[str, str]) -> None:
    related = printed(shell, "related", "Token budget", "--limit", "3")
    assert related["path"] == "Token budget.md"
    nearest = related["notes"][0]
    assert nearest["score"] == pytest.approx(sum(signal["part"] for signal in nearest["signals"].values()))
    here = nearest["matches"][0]["passage"]
    text = printed(shell, "read", f"{here['path']}:{here['line_start']}-{here['line_end']}")
    lines = (DEMO / here["path"]).read_text(encoding="utf-8").split("\n")
    assert text["text"] == "\n".join(lines[here["line_start"] - 1 : here["line_end"]])
    peeked = printed(shell, "peek", nearest["path"])
    assert peeked["title"] == nearest["title"]
    assert peeked["lines"] == len((DEMO / nearest["path"]).read_text(encoding="utf-8").rstrip("\n").split("\n"))
    assert peeked["outline"]
