"""Tests of notes: read by name or by lines, summarised, and listed newest first."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from excerpt.base.errors import NotFoundError
from excerpt.base.settings import Settings
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.insight.notes import OutlineEntry, list_newest_notes, peek, read
from excerpt.text.tokens import open_tokenizer
from tests.search.library import open_vault

PLAN = """---
title: The plan
aliases: [Scheme]
tags: [work/now]
status: open
with: [Ada, Bob]
---

Before any heading, see [[Beta]], [[Gone]] and [[Beta|again]].

# Why

Because.

## In short

It pays.

# How

By hand.

## In short

Slowly.
"""
BLOCKS = """A paragraph
of two lines ^para

> A quotation.

^quote

- one
- two ^two
  - inside two
- three

^list

| a | b |
|---|---|
| 1 | 2 |

^table

```
code ^code
```

# Heading ^head
"""
NOTES = {
    "Work/Plan.md": PLAN,
    "Work/Beta.md": "# Beta\n\nBack to [[Plan]].\n",
    "Old/Beta.md": "---\naliases: [Twin]\n---\nAn older one.\n",
    "Old/Other.md": "---\naliases: [Twin]\n---\nAnother.\n",
    "Log 12:30.md": "one\ntwo\nthree\n",
    "C#.md": "Sharp.\n",
    "Empty.md": "",
    "Blocks.md": BLOCKS,
    "Pictured.md": "![A plan](plan.svg) of [[Gone.md]] and [[Release 1.2]], ![[Scans/all.PDF]]\n",
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    root = tmp_path_factory.mktemp("reading")
    (root / "outside.md").write_text("Not of the vault.\n", encoding="utf-8")
    opened = open_vault(root, NOTES)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["Work/Plan.md", "Work/Plan", "plan", "Plan.md", "The plan", "scheme", "/Work/Plan"])
def test_a_note_is_found_by_path_file_name_title_and_alias(snapshot: Snapshot, name: str) -> None:
    found = read(snapshot, name)
    assert (found.path, found.title) == ("Work/Plan.md", "The plan")
    assert found.text == PLAN.removesuffix("\n")
    assert (found.line_start, found.line_end, found.lines) == (1, 25, 25)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("Plan:11", (11, 11)),
        ("Plan:11-13", (11, 13)),
        ("The plan:24-", (24, 25)),
        ("Plan:20-99", (20, 25)),
        ("Plan#Why", (11, 17)),
        ("Plan#in  SHORT", (15, 17)),
        ("Plan#How#In short", (23, 25)),
    ],
)
def test_lines_and_sections_of_a_note_are_read(snapshot: Snapshot, name: str, lines: tuple[int, int]) -> None:
    found = read(snapshot, name)
    assert (found.line_start, found.line_end) == lines
    assert found.text.split("\n") == PLAN.split("\n")[lines[0] - 1 : lines[1]]
    assert found.tokens == open_tokenizer(snapshot.tokenizer).count(found.text)
    assert found.note_tokens == snapshot.note_tokens("Work/Plan.md")


@pytest.mark.parametrize(("name", "text"), [("Log 12:30", "one\ntwo\nthree"), ("Log 12:30:2", "two"), ("C#", "Sharp.")])
def test_a_note_name_that_looks_like_lines_or_a_heading_is_read_as_a_name(
    snapshot: Snapshot, name: str, text: str
) -> None:
    assert read(snapshot, name).text == text


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        ("^para", (1, 2)),
        ("^PARA", (1, 2)),
        ("^quote", (4, 6)),
        ("^two", (9, 10)),
        ("^list", (8, 13)),
        ("^table", (15, 19)),
        ("^head", (25, 25)),
    ],
)
def test_a_block_is_read_by_its_id(snapshot: Snapshot, block: str, lines: tuple[int, int]) -> None:
    found = read(snapshot, f"Blocks#{block}")
    assert (found.line_start, found.line_end) == lines


@pytest.mark.parametrize("block", ["^gone", "^", "^code"])
def test_an_unknown_block_is_named_in_the_error(snapshot: Snapshot, block: str) -> None:
    with pytest.raises(NotFoundError, match=re.escape(f"Blocks.md has no block {block}.")):
        read(snapshot, f"Blocks#{block}")


def test_an_empty_note_is_read(snapshot: Snapshot) -> None:
    assert read(snapshot, "Empty").text == ""
    assert peek(snapshot, "Empty").outline == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Plam", "Did you mean Work/Plan.md?"),
        ("Twin", "2 notes are called Twin. Name one of them by its path: Old/Beta.md, Old/Other.md."),
        ("Plan#Where", "Work/Plan.md has no heading Where."),
        ("Plan:27", "Work/Plan.md has no line 27: it has 25 lines."),
        ("Plan:0-3", "no line 0"),
        ("Plan:9-3", "are not in Work/Plan.md"),
        ("", "No note"),
        ("   :3", "No note"),
    ],
)
def test_an_unknown_name_is_an_error(snapshot: Snapshot, name: str, said: str) -> None:
    with pytest.raises(NotFoundError) as error:
        read(snapshot, name)
    assert said in str(error.value)


@pytest.mark.parametrize(
    "name", ["../outside.md", "../outside", "Work/../../outside.md", "{root}/outside.md", "/etc/passwd"]
)
def test_no_note_name_reads_a_file_outside_the_vault(snapshot: Snapshot, name: str) -> None:
    root = Path(snapshot.status().vault).parent
    with pytest.raises(NotFoundError):
        read(snapshot, name.format(root=root))


def test_the_outline_of_a_notebook_is_its_headings_not_its_cells(tmp_path: Path) -> None:
    texts = ["Before.", "# Plan\n\nOne.", "Two.", "## Costs\n\nThree.", "# Result\n\nFour."]
    cells = [{"cell_type": "markdown", "source": text} for text in texts]
    snapshot = open_vault(tmp_path, {"Plan.ipynb": json.dumps({"nbformat": 4, "cells": cells})})
    outline = peek(snapshot, "Plan.ipynb").outline
    assert [(entry.level, entry.heading, entry.place) for entry in outline] == [
        (1, "Cell 1", "cell=1"),
        (1, "Plan", "cell=2"),
        (2, "Costs", "cell=4"),
        (1, "Result", "cell=5"),
    ]
    plan = read(snapshot, f"Plan.ipynb:{outline[1].line_start}-{outline[1].line_end}").text
    assert [text in plan for text in ("Before.", "One.", "Two.", "Three.", "Four.")] == [False, True, True, True, False]
    snapshot.close()


def test_peek_summarises_a_note(snapshot: Snapshot) -> None:
    found = peek(snapshot, "Scheme", first_lines=3)
    assert (found.path, found.title, found.aliases, found.tags) == (
        *("Work/Plan.md", "The plan", ("Scheme",), ("work/now",)),
    )
    assert found.properties == (("status", "open"), ("with", "Ada"), ("with", "Bob"))
    assert found.beginning == "Before any heading, see [[Beta]], [[Gone]] and [[Beta|again]].\n\n# Why"
    assert (found.line_start, found.line_end) == (9, 11)
    assert (found.lines, found.size, found.tokens) == (25, len(PLAN), snapshot.note_tokens("Work/Plan.md"))
    assert (found.links_to, found.linked_from, found.links_nowhere) == (1, 1, 1)


def test_an_image_is_not_listed_as_a_missing_note(snapshot: Snapshot) -> None:
    assert peek(snapshot, "Pictured").links_nowhere == 2


def test_the_outline_has_the_tokens_of_each_section_with_its_subsections(snapshot: Snapshot) -> None:
    outline = peek(snapshot, "Plan").outline
    assert [(entry.level, entry.heading, entry.line_start, entry.line_end) for entry in outline[1:]] == [
        (1, "Why", 11, 17),
        (2, "In short", 15, 17),
        (1, "How", 19, 25),
        (2, "In short", 23, 25),
    ]
    assert (outline[0].level, outline[0].heading) == (0, "")
    for entry in outline:
        assert entry.tokens == count_tokens(snapshot, entry)


def count_tokens(snapshot: Snapshot, entry: OutlineEntry) -> int:
    lines = PLAN.removesuffix("\n").split("\n")[entry.line_start - 1 : entry.line_end]
    return open_tokenizer(snapshot.tokenizer).count("\n".join(lines))


TODAY = date(2026, 3, 10)
OWN = "---\ncreated: {}\n---\n# Note\n\nText.\n"


def newest(folder: Path, notes: Mapping[str, tuple[str, str]], limit: int = 9) -> list[tuple[str, str]]:
    """Return the paths and days of the newest of `notes`, which have a text and the day of their file's change."""
    for path, (text, changed) in notes.items():
        (folder / "vault").mkdir(exist_ok=True)
        (folder / "vault" / path).write_text(text, encoding="utf-8")
        seconds = datetime.fromisoformat(f"{changed}T12:00:00").replace(tzinfo=UTC).timestamp()
        os.utime(folder / "vault" / path, (seconds, seconds))
    build(folder / "vault", folder / "index", Settings())
    snapshot = Snapshot.open(folder / "index", Settings())
    try:
        return [(note.path, note.day.isoformat()) for note in list_newest_notes(snapshot, limit, TODAY)]
    finally:
        snapshot.close()


def test_the_date_of_a_note_takes_precedence_over_the_time_of_its_file(tmp_path: Path) -> None:
    notes = {
        "old.md": (OWN.format("2020-05-06"), "2026-03-09"),
        "2026-03-07.md": ("# A day\n", "2025-01-01"),
        "plain.md": ("# Plain\n", "2026-03-08"),
    }
    assert newest(tmp_path, notes) == [
        ("plain.md", "2026-03-08"),
        ("2026-03-07.md", "2026-03-07"),
        ("old.md", "2020-05-06"),
    ]
    assert newest(tmp_path, notes, limit=1) == [("plain.md", "2026-03-08")]


def test_a_note_dated_in_the_future_has_the_day_of_its_file(tmp_path: Path) -> None:
    notes = {"plan.md": (OWN.format("2027-01-01"), "2026-01-02"), "plain.md": ("# Plain\n", "2026-03-08")}
    assert newest(tmp_path, notes) == [("plain.md", "2026-03-08"), ("plan.md", "2026-01-02")]


def test_in_a_copied_vault_only_notes_with_a_date_are_listed_as_newest(tmp_path: Path) -> None:
    notes = {"dated.md": (OWN.format("2025-05-06"), "2026-03-08"), "plain.md": ("# Plain\n", "2026-03-08")}
    assert newest(tmp_path, notes) == [("dated.md", "2025-05-06")]


def test_an_empty_vault_has_no_newest_notes(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    assert newest(tmp_path, {}) == []
