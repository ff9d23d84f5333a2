"""Tests of the map in the side panel: where matches are, and adding and removing filters."""

from __future__ import annotations

import pytest

from excerpt.tui.app import ExcerptApp
from excerpt.tui.insight.map import MapPanel
from excerpt.tui.questions import AskMap
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.query_bar import QueryInput
from tests.tui.asked import failing
from tests.tui.conftest import AppPilot, pane_of, screen_of, search, until


def panel_of(app: ExcerptApp) -> MapPanel:
    return screen_of(app).query_one(MapPanel)


def field_of(app: ExcerptApp) -> QueryInput:
    return screen_of(app).query_one(QueryInput)


def labels(app: ExcerptApp) -> list[str]:
    return ["  " * row.depth + row.label for row in panel_of(app).rows]


def toasts(app: ExcerptApp) -> list[str]:
    return [toast.message for toast in app._notifications]


async def press(pilot: AppPilot, app: ExcerptApp, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await settled(pilot, app)


async def settled(pilot: AppPilot, app: ExcerptApp) -> None:
    pane = pane_of(app)

    def known() -> bool:
        shown = panel_of(app).vault_map
        query = pane.result.query if pane.result is not None else field_of(app).value
        return pane.is_up_to_date and pane.side.is_answered and (shown is None or shown.query == query)

    await until(pilot, known, "the map")
    await pilot.pause()


async def opened_on(pilot: AppPilot, app: ExcerptApp, query: str) -> None:
    await search(pilot, app, query)
    await press(pilot, app, "unbound-map")
    await until(pilot, lambda: panel_of(app).row_count > 0, "the map")


async def put(pilot: AppPilot, app: ExcerptApp, label: str) -> None:
    """Select the branch with that label, and press the key for its filter."""
    at = next(place for place, row in enumerate(panel_of(app).rows) if row.label == label)
    await press(pilot, app, "g", *("j",) * at)
    before = field_of(app).value
    await pilot.press("space")
    await until(pilot, lambda: field_of(app).value != before, "the filter")
    await settled(pilot, app)


async def test_it_counts_what_the_list_counts(app: ExcerptApp) -> None:
    async with app.run_test(size=(140, 45)) as pilot:
        await opened_on(pilot, app, "conflict")
        result, shown = pane_of(app).result, panel_of(app).vault_map
        assert result is not None
        assert shown is not None
        assert shown.fragments == result.matched
        assert f"map of conflict · {result.matched} fragments in {shown.notes} notes" in str(panel_of(app).border_title)


async def test_a_row_has_its_bar_counts_and_filter_where_there_is_room(app: ExcerptApp) -> None:
    async with app.run_test(size=(200, 45)) as pilot:
        await opened_on(pilot, app, "lentils")
        drawn = next(panel_of(app).render_line(y).text for y, label in enumerate(labels(app)) if "Cooking" in label)
        for shown in ("Cooking", "████████████████", " 1 note", 'path:"/Cooking/"'):
            assert shown.replace('"', "") in drawn.replace('"', "")


async def test_branches_are_opened_and_shut_by_arrows_and_by_enter(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        at = labels(app).index("tags")
        await press(pilot, app, *("j",) * at, "right")
        assert labels(app)[at : at + 2] == ["tags", "  howto"]
        await press(pilot, app, "right")
        assert panel_of(app).cursor == at + 1
        await press(pilot, app, "left")
        assert panel_of(app).cursor == at
        await press(pilot, app, "left")
        assert "  howto" not in labels(app)
        await press(pilot, app, "enter")
        assert "  howto" in labels(app)


async def test_one_key_puts_a_branch_into_the_query_and_the_list_follows(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "soft until conflict")
        branch = next(row.branch for row in panel_of(app).rows if row.label == "Cooking")
        assert branch is not None
        await put(pilot, app, "Cooking")
        assert field_of(app).value == f"{branch.filter} soft until conflict"
        result = pane_of(app).result
        assert result is not None
        assert result.matched == branch.fragments
        assert {hit.fragment.path for hit in screen_of(app).query_one(HitList).hits} == {"Cooking/Lentil soup.md"}
        assert panel_of(app).has_focus


async def test_the_same_key_takes_it_off_again(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "lentils")
        await put(pilot, app, "Cooking")
        await press(pilot, app, "space")
        assert field_of(app).value == "lentils"


async def test_filters_are_taken_off_one_by_one_the_last_one_first(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        await press(pilot, app, *("j",) * labels(app).index("tags"), "right")
        await put(pilot, app, "howto")
        once = field_of(app).value
        await press(pilot, app, *("j",) * (labels(app).index("modified") - panel_of(app).cursor), "right")
        await put(pilot, app, labels(app)[labels(app).index("modified") + 1].strip())
        assert field_of(app).value not in {once, "conflict"}
        await press(pilot, app, "backspace")
        assert field_of(app).value == once
        await press(pilot, app, "backspace")
        assert field_of(app).value == "conflict"
        await press(pilot, app, "backspace")
        assert toasts(app) == ["No filter of the map is in the query."]


async def test_a_filter_that_was_taken_out_by_hand_is_not_looked_for(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "lentils")
        await put(pilot, app, "Cooking")
        await press(pilot, app, "slash", "ctrl+u", *"soup", "shift+tab", "shift+tab")
        panel_of(app).focus()
        await press(pilot, app, "backspace")
        assert field_of(app).value == "soup"


async def test_the_heading_of_a_tree_is_no_filter(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        await press(pilot, app, "g", "space")
        assert field_of(app).value == "conflict"
        assert toasts(app) == ["Choose a branch: this line has no filter."]


async def test_it_follows_the_query_and_keeps_its_branches_open(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        await press(pilot, app, *("j",) * labels(app).index("tags"), "right", "slash", "space", *"note")
        shown = panel_of(app).vault_map
        assert shown is not None
        assert shown.query == "conflict note"
        assert "  howto" in labels(app)


async def test_without_a_query_it_is_that_of_the_whole_vault_and_a_filter_alone_lists(app: ExcerptApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen_of(app).index.state.status is not None, "the index")
        await press(pilot, app, "unbound-map")
        await until(pilot, lambda: panel_of(app).row_count > 0, "the map")
        assert "map of the whole vault" in str(panel_of(app).border_title)
        await put(pilot, app, "Cooking")
        result = pane_of(app).result
        assert result is not None
        assert {hit.fragment.path for hit in result.hits} == {"Cooking/Lentil soup.md"}


async def test_it_breaks_nothing_in_a_window_of_sixty_by_fifteen(app: ExcerptApp) -> None:
    async with app.run_test(size=(60, 15)) as pilot:
        await opened_on(pilot, app, "conflict")
        assert panel_of(app).size.height > 4
        assert panel_of(app).render_line(0).cell_length == panel_of(app).size.width - 1


async def test_what_went_wrong_is_said_in_its_place(app: ExcerptApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await opened_on(pilot, app, "conflict")
        monkeypatch.setattr(AskMap, "answer", failing("It cannot be counted."))
        pane_of(app).search()
        await until(pilot, lambda: panel_of(app).row_count == 0, "the trouble")
        assert "It cannot be counted." in panel_of(app).render_line(0).text
        assert pane_of(app).side.is_answered
