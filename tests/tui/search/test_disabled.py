"""Tests of disabled actions: the footer hides them, and their keys show the reason."""

from __future__ import annotations

import pytest

from excerpt.kinds import Strategy
from excerpt.tui.common.bars import FooterKey, KeyBar, fit_footer_keys
from excerpt.tui.keymap import is_typed
from excerpt.tui.pack.panel import PackPanelSelection, pack_disabled_reason
from excerpt.tui.search.disabled import SearchState, SelectedRowKind, search_disabled_reason
from tests.tui.driver import ScriptedApp, notices_of, pane_of, screen_of, until

FOUND = SearchState(has_query=True, row_kind=SelectedRowKind.FRAGMENT, has_pack=True)


@pytest.mark.parametrize(
    ("action", "scene", "told"),
    [
        ("mark", SearchState(), "Nothing is listed yet: type a query first."),
        ("edit", SearchState(has_query=True), "This query has no hits."),
        ("mark", SearchState(has_query=True, is_on_name=True), "The name of a note is selected, not a passage."),
        ("copy_pack", SearchState(), "Nothing to copy: the pack is empty."),
        ("obsidian", SearchState(row_kind=SelectedRowKind.MEMORY), "A memory is not a note of the vault."),
        ("add_to_gold", SearchState(row_kind=SelectedRowKind.MEMORY), "A memory is not a note of the vault."),
        (
            "add_to_gold",
            SearchState(row_kind=SelectedRowKind.FRAGMENT),
            "Type a query first: the question that the passage answers.",
        ),
        ("scroll_view", FOUND, "The side panel is hidden: there is nothing to scroll."),
        ("compare", SearchState(has_query=True), "Type a query first, to compare strategies by their hits."),
        ("clear_marks", FOUND, "Nothing is marked."),
        ("undo", FOUND, "Nothing to undo."),
        ("remember", SearchState(is_in_panel=True), "Only a passage that is in the pack can be remembered here."),
    ],
)
def test_the_search_says_what_is_missing(action: str, scene: SearchState, told: str) -> None:
    assert search_disabled_reason(action, scene) == told


@pytest.mark.parametrize(
    ("action", "parameters", "selection", "told"),
    [
        ("drop", (), PackPanelSelection(), "The pack is empty."),
        ("own_scope", (), PackPanelSelection(2, 2, 3), "Only a passage that is in the pack has its own scope."),
        ("shift", (1,), PackPanelSelection(2, 2, 3), "Only a passage that is in the pack can be moved."),
        ("shift", (1,), PackPanelSelection(0, 1, 1), "A pack of one passage has no other order."),
        ("shift", (1,), PackPanelSelection(1, 2, 3), "The passage is the last one of the pack already."),
        ("shift", (-1,), PackPanelSelection(0, 2, 3), "The passage is the first one of the pack already."),
        ("shift", (-1,), PackPanelSelection(1, 2, 3), ""),
        ("drop", (), PackPanelSelection(2, 2, 3), ""),
        ("down", (), PackPanelSelection(), ""),
    ],
)
def test_the_pack_panel_says_what_is_missing(
    action: str, parameters: tuple[object, ...], selection: PackPanelSelection, told: str
) -> None:
    assert pack_disabled_reason(action, selection, parameters) == told


def test_the_search_does_what_it_can() -> None:
    done = SearchState(row_kind=SelectedRowKind.FRAGMENT, has_marks=True, has_pack=True, can_undo=True)
    every = (
        "mark",
        "edit",
        "copy_fragment",
        "show_view",
        "copy_pack",
        "clear_marks",
        "undo",
        "strategy",
    )
    assert [search_disabled_reason(action, done) for action in every] == [""] * len(every)
    assert search_disabled_reason("mark", SearchState(is_in_panel=True)) == ""


def test_help_and_quit_keep_their_place_in_the_footer() -> None:
    every = [FooterKey("mark", "tab", "mark"), FooterKey("edit", "enter", "open")]
    last = [FooterKey("help", "f1", "help"), FooterKey("quit", "ctrl+q", "quit")]
    assert fit_footer_keys([*every, *last], 26) == [every[0], *last]
    assert fit_footer_keys([*last, *every], 80) == [*every, *last]


async def test_a_key_that_has_nothing_to_do_says_why_once_and_is_not_in_the_footer(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        assert "copy-pack" not in {offer.id for offer in footer.footer_keys}
        await pilot.press("ctrl+y", "ctrl+y")
        await until(pilot, lambda: len(scripted._notifications) > 0, "the reason")
        assert notices_of(scripted) == ["Nothing to copy: the pack is empty."]
        await pilot.press(*"sync")
        await until(pilot, lambda: "copy-pack" in {offer.id for offer in footer.footer_keys}, "the key in the footer")
        await pilot.press("escape")
        await until(
            pilot, lambda: "space" in {o.key for o in footer.footer_keys if o.label == "mark"}, "the list's own key"
        )


async def test_the_footer_offers_nothing_that_has_no_key(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        for tab in ("f2", "f3", "f4"):
            await pilot.press(tab)
            await pilot.pause()
            assert not [offer for offer in footer.footer_keys if offer.key.startswith("unbound")]


async def test_the_footer_offers_no_key_that_the_query_takes_as_a_character(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(200, 45)) as pilot:
        await until(pilot, lambda: screen_of(scripted).query_one("#query").has_focus, "the query")
        typed = {offer.key for offer in screen_of(scripted).query_one(KeyBar).footer_keys if is_typed(offer.key)}
        assert typed == set()


async def test_a_click_in_the_footer_presses_the_key_under_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        x = footer.render().plain.index("strategy") + 1
        await pilot.click(footer, offset=(x, 0))
        await until(pilot, lambda: pane_of(scripted).strategy is not Strategy.AUTO, "another strategy")


async def test_the_footer_of_an_overview_follows_what_is_shown(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 24)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)
        await pilot.press("f3")
        await until(pilot, lambda: "overview-back" in {offer.id for offer in footer.footer_keys}, "the tab's keys")
        assert "overview-copy" not in {offer.id for offer in footer.footer_keys}
        await pilot.press(*"sync")
        await until(
            pilot, lambda: "overview-copy" in {offer.id for offer in footer.footer_keys}, "the key in the footer"
        )
        await pilot.press("escape")
        first_key = ("overview-line-unfold", "right")
        await until(
            pilot, lambda: first_key in {(offer.id, offer.key) for offer in footer.footer_keys}, "its first key"
        )


async def test_the_footer_of_a_panel_follows_what_is_listed_and_selected_in_it(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 36)) as pilot:
        footer = screen_of(scripted).query_one(KeyBar)

        async def offered(label: str) -> None:
            await until(pilot, lambda: label in {offer.label for offer in footer.footer_keys}, label)

        await pilot.press("unbound-related")
        await offered("view")
        assert not {"mark", "open", "follow"} & {offer.label for offer in footer.footer_keys}
        await pilot.press("slash", *"sync")
        await offered("copy pack")
        screen_of(scripted).query_one("#related-notes").focus()
        await offered("follow")
        await pilot.press("unbound-map")
        await offered("unfold")
        assert "filter" not in {offer.label for offer in footer.footer_keys}
        await pilot.press("down")
        await offered("filter")


def test_why_needs_a_row_and_the_map_none() -> None:
    nothing = SearchState()
    assert search_disabled_reason("show_view", nothing, ("why",)) == "Nothing is listed yet: type a query first."
    assert search_disabled_reason("show_view", nothing, ("map",)) == ""
