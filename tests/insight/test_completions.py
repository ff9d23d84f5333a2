"""Tests of completing a query's last word from the vault's terms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from excerpt.index.snapshot import Snapshot
from excerpt.insight.suggest import complete
from tests.search.library import MODIFIED, NOTES, TODAY, notes_allowed, open_vault


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    notes = {
        **NOTES,
        "Twice.md": "---\nstatus: seen twice\nStatus: seen twice\n---\nIt has one property in two spellings.\n",
    }
    snapshot = open_vault(tmp_path_factory.mktemp("completions"), notes, {**MODIFIED, "Twice.md": date(2024, 1, 2)})
    yield snapshot
    snapshot.close()


def offered(library: Snapshot, operator: str, begun: str) -> list[tuple[str, int]]:
    return [(one.text, one.count) for one in complete(library, operator, begun, TODAY)]


@pytest.mark.parametrize(
    ("operator", "begun", "expected"),
    [
        (
            "tag",
            "proj",
            [("tag:project", 2), ("tag:project/active", 1), ("tag:project/closed", 1), ("tag:projection", 1)],
        ),
        ("#", "PROJECT/", [("#project/active", 1), ("#project/closed", 1)]),
        ("tag", "clos", [("tag:project/closed", 1)]),
        ("tag", "uber", [("tag:Überblick", 1)]),
        ("path", "", [("path:/Projects/", 3), ("path:/Diary/", 2), ("path:/日记/", 1)]),
        ("path", "/di", [("path:/Diary/", 2)]),
        ("folder", "", [("folder:/Projects/", 3), ("folder:/Diary/", 2), ("folder:/日记/", 1)]),
        ("in", "/di", [("in:/Diary/", 2)]),
        ("sort", "", [("sort:-date", 0), ("sort:date", 0)]),
        ("before", "2025", [("before:2025", 4)]),
        ("file", "2024", [('file:"20240101 New year"', 0)]),
        ("title", "résu", [('title:"Résumé of Alpha"', 0)]),
        ("heading", "questions", [('heading:"Open questions"', 0), ('heading:"Settled questions"', 0)]),
        (
            "status",
            "",
            [("status:=done", 1), ('status:"=in progress"', 1), ('status:"=not done"', 1), ('status:"=seen twice"', 1)],
        ),
        ("Status", "pro", [('status:"=in progress"', 1)]),
        ("modified", "this", [("modified:this-week", 4), ("modified:this-month", 4), ("modified:this-year", 5)]),
        ("http", "", []),
        ("nothing", "x", []),
    ],
)
def test_what_begins_so_is_offered_with_how_many_notes_have_it(
    library: Snapshot, operator: str, begun: str, expected: list[tuple[str, int]]
) -> None:
    assert offered(library, operator, begun) == expected


@pytest.mark.parametrize(
    "operator", ["tag", "#", "path", "in", "status", "rating", "people.lead", "created", "date", "after"]
)
def test_every_filter_offered_finds_as_many_notes_as_it_says(library: Snapshot, operator: str) -> None:
    found = complete(library, operator, "", TODAY)
    assert found
    for one in found:
        assert len(notes_allowed(library, f"{one.text} ")) == one.count


def test_words_are_those_of_the_vault_as_they_are_written_then_filters_and_properties(library: Snapshot) -> None:
    assert offered(library, "", "quest") == [("questions", 2)]
    assert ("status:", 4) in offered(library, "", "sta")
    assert ("tag:", 0) in offered(library, "", "ta")
    assert {("folder:", 0), ("in:", 0), ("date:", 0), ("after:", 0), ("before:", 0)} <= set(offered(library, "", ""))
    assert ("people.lead:", 1) in offered(library, "", "")
