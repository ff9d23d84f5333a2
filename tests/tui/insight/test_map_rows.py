"""Tests of the rows of the map, and of its filters in a query."""

from __future__ import annotations

import pytest

from excerpt.tui.insight.controller import has_filter, remove_filter
from excerpt.tui.insight.map import INITIALLY_OPEN, MapRow, make_map_rows
from tests.tui.examples import make_map

MAP = make_map("sync")


def named(rows: tuple[MapRow, ...]) -> list[str]:
    return ["  " * row.depth + row.label for row in rows]


def row_of(opened: set[str], label: str) -> MapRow:
    return next(row for row in make_map_rows(MAP, opened) if row.label == label)


def test_at_first_the_folders_are_open_and_a_kind_that_nothing_matches_in_is_not_there() -> None:
    rows = make_map_rows(MAP, INITIALLY_OPEN)
    assert named(rows) == ["folders", "  Sync", "  Kitchen", "  同步", "tags", "properties", "modified"]


def test_a_branch_that_is_opened_shows_what_is_below_it() -> None:
    kitchen = row_of({"folders"}, "Kitchen")
    rows = make_map_rows(MAP, {"folders", kitchen.key})
    assert named(rows)[2:5] == ["  Kitchen", "    Recipes [x]", "    Soup"]
    assert rows[3].parent == kitchen.key


def test_only_what_has_something_below_it_can_be_opened() -> None:
    assert row_of({"folders"}, "Kitchen").is_open is False
    assert row_of({"folders"}, "Sync").is_open is None


def test_a_share_is_that_of_the_largest_branch_of_its_kind() -> None:
    assert row_of({"tags"}, "sync").share == 1.0
    assert row_of({"tags"}, "howto").share == 30 / 512


def test_values_that_are_not_listed_are_counted_below_the_others() -> None:
    status = row_of({"properties"}, "status")
    rows = make_map_rows(MAP, {"properties", status.key})
    assert [(row.label, row.unlisted) for row in rows if row.parent == status.key] == [("done", 0), ("", 7)]


def test_a_closed_row_names_what_is_below_it() -> None:
    assert row_of(set(), "folders").summary == "Sync, Kitchen, 同步"


def test_closed_years_show_each_year_between_and_a_year_its_twelve_months() -> None:
    assert row_of(set(), "modified").summary == "▁ █"
    assert row_of({"modified"}, "2024").summary == " ▁▃ █▂      "


@pytest.mark.parametrize(
    ("query", "condition", "rest"),
    [
        ('path:"/a b/" sync', 'path:"/a b/"', "sync"),
        ("tag:x this | tag:x that", "tag:x", "this | that"),
        ("sync tag:x", "tag:x", "sync "),
        ("tag:x ", "tag:x", ""),
    ],
)
def test_a_filter_is_taken_off_wherever_it_stands(query: str, condition: str, rest: str) -> None:
    assert has_filter(query, condition)
    assert remove_filter(query, condition) == rest


@pytest.mark.parametrize("query", ["-tag:x sync", "tag:xy sync", "mytag:x", ""])
def test_another_word_that_holds_the_filter_is_not_the_filter(query: str) -> None:
    assert not has_filter(query, "tag:x")
    assert remove_filter(query, "tag:x") == query


def test_a_branch_that_no_filter_leads_to_stands_in_no_query() -> None:
    assert not has_filter("sync", "")
