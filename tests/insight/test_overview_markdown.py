"""Tests of an overview as Markdown: it keeps its budget, and every line names a note."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.insight.overview import overview
from excerpt.insight.overview_parts import Overview
from excerpt.search.engine import Engine
from excerpt.settings import Settings
from excerpt.text.tokens import open_tokenizer
from tests.insight.bees import NOTES
from tests.search.library import open_vault

HEADINGS = ["Main notes", "Key passages", "Sections that matter", "Themes", "Stands out here", "Related notes"]
LARGE = 100_000


def headings_of(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, re.M)


def lines_of(text: str) -> list[str]:
    return [line for line in text.split("\n")[3:] if line and not line.startswith("## ")]


@given(st.integers(0, 900), st.sampled_from(["o200k", "cl100k", "chars/4"]))
def test_no_overview_is_above_its_budget(hives: Overview, budget: int, tokenizer: str) -> None:
    text = replace(hives, budget=budget, tokenizer=tokenizer).text
    assert open_tokenizer(tokenizer).count(text) <= budget


@given(st.integers(60, 900))
def test_every_line_names_a_note_and_lines_that_are_there(hives: Overview, budget: int) -> None:
    for line in lines_of(replace(hives, budget=budget).text):
        named = re.findall(r"`([^`]+\.md)(?::(\d+)(?:-(\d+))?)?`", line)
        assert named, line
        for path, first, last in named:
            assert path in NOTES
            assert int(last or first or 1) <= NOTES[path].count("\n") + 1


def test_with_room_every_part_is_there_in_its_order(hives: Overview) -> None:
    found = headings_of(replace(hives, budget=LARGE).text)
    assert found == [*HEADINGS, "When (created; 5 notes without)", "Also named"]


def test_with_room_every_item_is_there(hives: Overview) -> None:
    text = replace(hives, budget=LARGE).text
    parts = (
        hives.main_notes,
        hives.passages,
        hives.sections,
        hives.themes,
        hives.standouts,
        hives.related,
        hives.names,
    )
    assert len(lines_of(text)) == sum(map(len, parts)) + 2


def test_what_falls_away_falls_from_the_end(hives: Overview) -> None:
    everything = headings_of(replace(hives, budget=LARGE).text)
    kept = [headings_of(replace(hives, budget=budget).text) for budget in range(0, 500, 10)]
    assert all(found == [one for one in everything if one in found] for found in kept)
    first_with = {name: next(at for at, found in enumerate(kept) if name in found) for name in everything[:4]}
    assert sorted(first_with, key=lambda name: first_with[name]) == everything[:4]


def test_no_room_is_no_text(hives: Overview) -> None:
    assert replace(hives, budget=10).text == ""


def test_nothing_found_is_no_text(beekeeper: Engine) -> None:
    assert overview(beekeeper, "zxqvb wkkjr").text == ""


@pytest.mark.parametrize("name", ["a`b", "`", "[x](y)", "# c", "d\u202e", "e\x1b[31m"])
def test_odd_names_stay_on_their_line(tmp_path: Path, name: str) -> None:
    snapshot = open_vault(tmp_path, {f"{name}.md": f"---\ntitle: '{name.strip(chr(27))}\n\n  ## x'\n---\nA hive.\n"})
    text = overview(Engine(snapshot, Settings()), "hive").text
    snapshot.close()
    assert headings_of(text) == ["Main notes", "Key passages"]
    assert len(lines_of(text)) == 2
    assert "\x1b" not in text
    assert "\u202e" not in text
