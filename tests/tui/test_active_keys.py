"""Tests of disabled actions: the footer dims them, and their keys show the reason."""

from __future__ import annotations

import pytest

from excerpt.tui.common.footer import FooterKey, KeyBar, place_footer_keys
from excerpt.tui.common.help import HelpDialog
from excerpt.tui.keymap import is_typed
from excerpt.tui.pack.bar import PackState, pack_bar_disabled_reason
from excerpt.tui.pack.panel import PackPanelSelection, pack_disabled_reason
from excerpt.tui.search.hit_pane import HitState, SelectedRowKind, hit_disabled_reason
from tests.tui.driver import ScriptedApp, notices_of, pane_of, screen_of, type_query, until, until_screen, until_tabs

FOUND = HitState(has_query=True, row_kind=SelectedRowKind.FRAGMENT)
DROPPED = PackPanelSelection(2, 2, 3, is_dropped=True)


@pytest.mark.parametrize(
    ("action", "state", "reason"),
    [
        ("mark", HitState(), "Nothing is listed yet: type a query first."),
        ("edit", HitState(has_query=True), "This query has no hits."),
        ("mark", HitState(has_query=True, is_on_name=True), "The name of a note is selected, not a passage."),
        ("obsidian", HitState(row_kind=SelectedRowKind.MEMORY), "A memory is not a note of the vault."),
        ("remember", HitState(is_in_panel=True, selection=DROPPED), "Put it back first (x)."),
        ("mark_nearest", FOUND, "This works only for a query that no note answers."),
    ],
)
def test_disabled_actions_on_hits_give_their_reason(action: str, state: HitState, reason: str) -> None:
    assert hit_disabled_reason(action, state) == reason


@pytest.mark.parametrize(
    ("action", "state", "reason"),
    [
        ("copy_pack", PackState(), "Nothing to copy: the pack is empty."),
        (
            "copy_pack",
            PackState(has_no_answer=True),
            "Nothing to copy: no hit answers. Pack the nearest hits by p in the list.",
        ),
        ("save_pack", PackState(), "Nothing to write: the pack is empty."),
        ("clear_marks", PackState(has_pack=True), "Nothing is marked."),
        (
            "undo",
            PackState(has_pack=True),
            "Nothing to undo: u is for marks and passages, not scope, budget or format.",
        ),
        ("drop_earlier", PackState(), "Nothing is marked."),
        (
            "drop_earlier",
            PackState(has_marks=True),
            "All marks are in this list: ⇥ unmarks one, “Unmark all” of ^g all.",
        ),
    ],
)
def test_disabled_actions_of_the_pack_bar_give_their_reason(action: str, state: PackState, reason: str) -> None:
    assert pack_bar_disabled_reason(action, state) == reason


async def test_disabled_actions_of_query_side_panel_and_tab_give_their_reason(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        pane = pane_of(scripted)
        assert pane.disabled_reason("filter_time", ()) == "The query names no time, such as “last week”."
        assert pane.disabled_reason("scroll_view", (1,)) == "No panel is open: there is nothing to scroll."
        assert pane.disabled_reason("show_view", ("why",)) == "Nothing is listed yet: type a query first."
        assert pane.disabled_reason("show_view", ("map",)) == ""
        assert pane.disabled_reason("compare", ()) == "Type a query first, to compare strategies by their hits."


@pytest.mark.parametrize(
    ("action", "parameters", "selection", "told"),
    [
        ("drop", (), PackPanelSelection(), "The pack is empty."),
        ("own_scope", (), DROPPED, "Put it back first (x)."),
        ("own_scope", (), PackPanelSelection(2, 2, 3), "This hit is not in the pack."),
        ("shift", (1,), PackPanelSelection(2, 2, 3), "This hit is not in the pack."),
        ("shift", (1,), PackPanelSelection(0, 1, 1), "A pack of one passage has no other order."),
        ("shift", (1,), PackPanelSelection(1, 2, 3), "The passage is the last one of the pack already."),
        ("shift", (-1,), PackPanelSelection(0, 2, 3), "The passage is the first one of the pack already."),
        ("shift", (-1,), PackPanelSelection(1, 2, 3), ""),
        ("drop", (), PackPanelSelection(2, 2, 3), ""),
        ("down", (), PackPanelSelection(), ""),
    ],
)
def test_disabled_actions_of_the_pack_panel_give_their_reason(
    action: str, parameters: tuple[object, ...], selection: PackPanelSelection, told: str
) -> None:
    assert pack_disabled_reason(action, selection, parameters) == told


def test_enabled_actions_have_no_reason() -> None:
    hit = HitState(row_kind=SelectedRowKind.FRAGMENT, has_marks=True)
    pack = PackState(has_pack=True, has_marks=True, can_undo=True)
    assert [hit_disabled_reason(action, hit) for action in ("mark", "edit", "copy_fragment", "copy_link")] == [""] * 4
    assert [pack_bar_disabled_reason(action, pack) for action in ("copy_pack", "clear_marks", "undo")] == [""] * 3
    assert hit_disabled_reason("mark", HitState(is_in_panel=True)) == ""


def test_the_key_for_help_is_at_the_right_of_the_footer_and_the_other_keys_share_the_rest() -> None:
    mark, open_ = FooterKey("mark", "tab", "mark", 1), FooterKey("edit", "enter", "open", 3)
    help_ = FooterKey("help", "f1", "more", 7)
    assert place_footer_keys([mark, open_, help_], 78) == [(0, mark), (8, open_), (71, help_)]
    assert place_footer_keys([mark, open_, help_], 20) == [(0, mark), (13, help_)]


def footer_of(app: ScriptedApp) -> KeyBar:
    return screen_of(app).query_one(KeyBar)


def offered(app: ScriptedApp) -> set[str]:
    """Return the ids of the enabled keys in the footer."""
    return {each.id for each in footer_of(app).footer_keys if each.is_enabled}


@pytest.mark.programs
async def test_a_disabled_key_gives_its_reason_once_and_is_dimmed_in_the_footer(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        (copy,) = (each for each in footer_of(scripted).footer_keys if each.id == "copy-pack")
        assert not copy.is_enabled
        await pilot.press("ctrl+y", "ctrl+y")
        await until(pilot, lambda: len(scripted._notifications) > 0, "the reason")
        assert notices_of(scripted) == ["Nothing to copy: the pack is empty."]
        await pilot.press(*"sync")
        await until(pilot, lambda: "copy-pack" in offered(scripted), "the key in the footer")


@pytest.mark.programs
async def test_the_footer_is_the_same_for_query_and_list(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await type_query(pilot, "sync")
        before = footer_of(scripted).render().plain
        assert " ".join(before.split()) == "⇥ mark ^y copy ⏎ open ^t why ^o pack ^r remember F1 more"
        await pilot.press("escape")
        await pilot.pause()
        assert footer_of(scripted).render().plain == before


@pytest.mark.programs
@pytest.mark.parametrize(
    ("key", "panel"),
    [
        ("unbound-passage", "#preview"),
        ("unbound-related", "#related-notes"),
        ("unbound-map", "#map"),
        ("ctrl+o", "PackRows"),
    ],
)
async def test_a_panel_has_its_own_keys_after_the_first_three(scripted: ScriptedApp, key: str, panel: str) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        await type_query(pilot, "sync")
        before = footer_of(scripted).footer_keys
        await pilot.press(key)
        screen_of(scripted).query_one(panel).focus()
        await until(pilot, lambda: footer_of(scripted).footer_keys[3] != before[3], "the panel's keys")
        after = footer_of(scripted).footer_keys
        assert [each.id for each in after[:3]] == [each.id for each in before[:3]]
        assert [each.place for each in after] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.programs
async def test_the_footer_offers_no_action_without_a_key(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        for tab in ("f2", "f3", "f4"):
            await pilot.press(tab)
            await pilot.pause()
            assert not [offer for offer in footer.footer_keys if offer.key.startswith("unbound")]


async def test_the_footer_offers_no_key_that_the_query_would_type(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(200, 45)) as pilot:
        await until(pilot, lambda: screen_of(scripted).query_one("#query").has_focus, "the query")
        typed = {offer.key for offer in screen_of(scripted).query_one(KeyBar).footer_keys if is_typed(offer.key)}
        assert typed == set()


@pytest.mark.programs
async def test_a_click_in_the_footer_presses_the_key_under_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        await pilot.click(footer, offset=(footer.render().plain.index("more") + 1, 0))
        await until_screen(pilot, HelpDialog)


@pytest.mark.programs
async def test_the_footer_of_an_overview_follows_what_is_shown(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        await pilot.press("f3")
        await until(pilot, lambda: "overview-remember" in ids_of(scripted), "the tab's keys")
        assert "overview-copy" not in offered(scripted)
        await pilot.press(*"sync")
        await until(pilot, lambda: "overview-copy" in offered(scripted), "the key in the footer")
        await pilot.press("escape")
        await until(pilot, lambda: "overview-line-unfold" in offered(scripted), "the key of the lines")


def ids_of(app: ScriptedApp) -> set[str]:
    return {each.id for each in footer_of(app).footer_keys}


@pytest.mark.programs
async def test_the_footer_of_a_panel_follows_its_rows_and_selection(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 36)) as pilot:
        await until(pilot, lambda: "mark" in ids_of(scripted), "the keys")
        assert not {"mark", "edit"} & offered(scripted)
        await pilot.press("unbound-related", "slash", *"sync")
        await until(pilot, lambda: "mark" in offered(scripted), "the hits")
        screen_of(scripted).query_one("#related-notes").focus()
        await until(pilot, lambda: "related-follow" in offered(scripted), "the key of related notes")
        await pilot.press("unbound-map")
        await until(pilot, lambda: "map-open" in offered(scripted), "the keys of the map")
        assert "map-filter" not in offered(scripted)
        await pilot.press("down")
        await until(pilot, lambda: "map-filter" in offered(scripted), "the key of a branch")
