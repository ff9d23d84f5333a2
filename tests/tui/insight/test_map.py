"""Tests of the map in the side panel: where matches are, and adding and removing filters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.app import App

from excerpt.base.settings import Paths, Settings
from excerpt.index.build import build
from excerpt.service.questions import AskMap
from excerpt.tui.app import ExcerptApp
from excerpt.tui.insight.controller import has_filter, remove_filter
from excerpt.tui.insight.map import INITIALLY_OPEN, MapPanel, MapRow, make_map_rows
from excerpt.tui.search.query_bar import QueryInput
from tests.tui.driver import (
    AppPilot,
    failing_answer,
    hit_list_of,
    notices_of,
    pane_of,
    press,
    screen_of,
    search,
    until,
    until_answered,
    until_index,
)
from tests.tui.examples import make_map


def panel_of(app: App[None]) -> MapPanel:
    return screen_of(app).query_one(MapPanel)


def field_of(app: App[None]) -> QueryInput:
    return screen_of(app).query_one("#query", QueryInput)


def visible_labels(app: App[None]) -> list[str]:
    return ["  " * row.depth + row.label for row in panel_of(app).rows]


async def insert_filter(pilot: AppPilot, label: str) -> None:
    """Select the branch with that label, and press the key for its filter."""
    at = next(place for place, row in enumerate(panel_of(pilot.app).rows) if row.label == label)
    await press(pilot, "g", *("j",) * at)
    before = field_of(pilot.app).value
    await pilot.press("space")
    await until(pilot, lambda: field_of(pilot.app).value != before, "the filter")
    await until_answered(pilot)


@pytest.mark.programs
async def test_the_map_counts_the_matches_of_the_list(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        result, shown = pane_of(app).result, panel_of(app).vault_map
        assert result is not None
        assert shown is not None
        assert shown.fragments == result.matched
        assert f"map of conflict · {result.matched} passages in {shown.notes} notes" in str(panel_of(app).border_title)


@pytest.mark.programs
async def test_a_wide_row_of_the_map_shows_a_bar_and_the_counts_and_the_filter(app: ExcerptApp) -> None:
    async with app.run_test(size=(200, 45)) as pilot:
        await search(pilot, "lentils", "unbound-map")
        drawn = next(
            panel_of(app).render_line(y).text for y, label in enumerate(visible_labels(app)) if "Cooking" in label
        )
        for shown in ("Cooking", "████████████████", " 1 note", 'path:"/Cooking/"'):
            assert shown.replace('"', "") in drawn.replace('"', "")


@pytest.mark.programs
async def test_branches_are_opened_and_closed_by_arrows_and_enter(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        at = visible_labels(app).index("tags")
        await press(pilot, *("j",) * at, "right")
        assert visible_labels(app)[at : at + 2] == ["tags", "  howto"]
        await press(pilot, "right")
        assert panel_of(app).cursor == at + 1
        await press(pilot, "left")
        assert panel_of(app).cursor == at
        await press(pilot, "left")
        assert "  howto" not in visible_labels(app)
        await press(pilot, "enter")
        assert "  howto" in visible_labels(app)


@pytest.mark.programs
async def test_one_key_inserts_the_filter_of_a_branch_and_the_list_follows(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "soft until conflict", "unbound-map")
        branch = next(row.branch for row in panel_of(app).rows if row.label == "Cooking")
        assert branch is not None
        await insert_filter(pilot, "Cooking")
        assert field_of(app).value == f"{branch.filter} soft until conflict"
        result = pane_of(app).result
        assert result is not None
        assert result.matched == branch.fragments
        assert {hit.fragment.path for hit in hit_list_of(app).hits} == {"Cooking/Lentil soup.md"}
        assert panel_of(app).has_focus


@pytest.mark.programs
async def test_pressing_the_key_again_removes_the_filter_of_a_branch(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "lentils", "unbound-map")
        await insert_filter(pilot, "Cooking")
        await press(pilot, "space")
        assert field_of(app).value == "lentils"


@pytest.mark.programs
async def test_filters_are_removed_one_by_one_the_last_first(app: ExcerptApp, vault: Path, user_paths: Paths) -> None:
    for day, note in enumerate(vault.rglob("*.md")):  # files of one time have no dates on the map
        os.utime(note, (day * 86_400, day * 86_400))
    build(vault, user_paths.index_folder(vault), Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        await press(pilot, *("j",) * visible_labels(app).index("tags"), "right")
        await insert_filter(pilot, "howto")
        once = field_of(app).value
        await press(pilot, *("j",) * (visible_labels(app).index("modified") - panel_of(app).cursor), "right")
        await insert_filter(pilot, visible_labels(app)[visible_labels(app).index("modified") + 1].strip())
        assert field_of(app).value not in {once, "conflict"}
        await press(pilot, "backspace")
        assert field_of(app).value == once
        await press(pilot, "backspace")
        assert field_of(app).value == "conflict"
        await press(pilot, "backspace")
        assert notices_of(app) == ["The query has no filter from the map."]


@pytest.mark.programs
async def test_a_filter_that_the_user_has_deleted_from_the_query_is_skipped(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "lentils", "unbound-map")
        await insert_filter(pilot, "Cooking")
        await press(pilot, "slash", "ctrl+u", *"soup", "shift+tab", "shift+tab")
        panel_of(app).focus()
        await press(pilot, "backspace")
        assert field_of(app).value == "soup"


@pytest.mark.programs
async def test_the_heading_of_a_tree_is_not_a_filter(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        await press(pilot, "g", "space")
        assert field_of(app).value == "conflict"
        assert notices_of(app) == ["This line has no filter. Select a branch."]


@pytest.mark.programs
async def test_the_map_follows_the_query_and_keeps_branches_open(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        await press(pilot, *("j",) * visible_labels(app).index("tags"), "right", "slash", "space", *"note")
        shown = panel_of(app).vault_map
        assert shown is not None
        assert shown.query == "conflict note"
        assert "  howto" in visible_labels(app)


@pytest.mark.programs
async def test_an_empty_query_maps_the_whole_vault_and_a_filter_alone_lists_its_notes(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_index(pilot)
        await press(pilot, "unbound-map")
        await until(pilot, lambda: panel_of(app).row_count > 0, "the map")
        assert "map of the whole vault" in str(panel_of(app).border_title)
        await insert_filter(pilot, "Cooking")
        result = pane_of(app).result
        assert result is not None
        assert {hit.fragment.path for hit in result.hits} == {"Cooking/Lentil soup.md"}


@pytest.mark.programs
async def test_the_map_works_in_a_window_of_sixty_by_fifteen(app: ExcerptApp) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        assert panel_of(app).size.height > 4
        assert panel_of(app).render_line(0).cell_length == panel_of(app).size.width - 1


@pytest.mark.programs
async def test_an_error_is_shown_in_place_of_the_map(app: ExcerptApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await search(pilot, "conflict", "unbound-map")
        monkeypatch.setattr(AskMap, "answer", failing_answer("It cannot be counted."))
        pane_of(app).search()
        await until(pilot, lambda: panel_of(app).row_count == 0, "the trouble")
        assert "It cannot be counted." in panel_of(app).render_line(0).text
        assert pane_of(app).side.is_answered


MAP = make_map("sync")


def row_names(rows: tuple[MapRow, ...]) -> list[str]:
    return ["  " * row.depth + row.label for row in rows]


def row_of(opened: set[str], label: str) -> MapRow:
    return next(row for row in make_map_rows(MAP, opened) if row.label == label)


def test_initially_folders_are_open_and_empty_kinds_hidden() -> None:
    rows = make_map_rows(MAP, INITIALLY_OPEN)
    assert row_names(rows) == ["folders", "  Sync", "  Kitchen", "  同步", "tags", "properties", "modified"]


def test_opening_a_branch_shows_its_children() -> None:
    kitchen = row_of({"folders"}, "Kitchen")
    rows = make_map_rows(MAP, {"folders", kitchen.key})
    assert row_names(rows)[2:5] == ["  Kitchen", "    Recipes [x]", "    Soup"]
    assert rows[3].parent == kitchen.key


def test_only_branches_with_children_can_be_opened() -> None:
    assert row_of({"folders"}, "Kitchen").is_open is False
    assert row_of({"folders"}, "Sync").is_open is None


def test_a_share_is_relative_to_the_largest_branch_of_its_kind() -> None:
    assert row_of({"tags"}, "sync").share == 1.0
    assert row_of({"tags"}, "howto").share == 30 / 512


def test_unlisted_values_are_counted_below_the_others() -> None:
    status = row_of({"properties"}, "status")
    rows = make_map_rows(MAP, {"properties", status.key})
    assert [(row.label, row.unlisted) for row in rows if row.parent == status.key] == [("done", 0), ("", 7)]


def test_a_closed_branch_of_the_map_names_its_children() -> None:
    assert row_of(set(), "folders").summary == "Sync, Kitchen, 同步"


def test_closed_years_list_every_year_between_and_twelve_months_each() -> None:
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
def test_a_filter_is_removed_wherever_it_is_in_the_query(query: str, condition: str, rest: str) -> None:
    assert has_filter(query, condition)
    assert remove_filter(query, condition) == rest


@pytest.mark.parametrize("query", ["-tag:x sync", "tag:xy sync", "mytag:x", ""])
def test_a_word_that_contains_the_filter_is_not_the_filter(query: str) -> None:
    assert not has_filter(query, "tag:x")
    assert remove_filter(query, "tag:x") == query


def test_a_branch_without_a_filter_is_in_no_query() -> None:
    assert not has_filter("sync", "")
