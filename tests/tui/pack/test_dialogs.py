"""Tests of the dialogs of the pack: each choice is shown with the pack that it would give."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList, Static

from excerpt.base.kinds import Scope
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from tests.tui.driver import (
    AppPilot,
    ScriptedApp,
    options_of,
    pane_of,
    screen_of,
    settle,
    show_results,
    until,
    until_screen,
)

pytestmark = pytest.mark.programs


async def open_scopes(pilot: AppPilot) -> ScopeDialog:
    await show_results(pilot)
    await pilot.press("escape", "s")
    dialog = await until_screen(pilot, ScopeDialog)
    await until(pilot, lambda: all("tokens" in option for option in options_of(dialog)), "the tokens")
    return dialog


async def test_each_scope_is_listed_with_the_tokens_of_its_pack(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = await open_scopes(pilot)
        for label, option in zip(
            ("hit only", "paragraphs around", "section", "whole note"), options_of(dialog), strict=True
        ):
            assert option.startswith(label)
        bar = screen_of(scripted).query_one(PackBar)
        assert bar.pack is not None
        assert f" {bar.pack.tokens:,} tokens · " in options_of(dialog)[1]


async def test_the_chosen_scope_is_used_for_the_pack(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = await open_scopes(pilot)
        section = options_of(dialog)[2]
        await pilot.press("s", "enter")
        await until(pilot, lambda: pane_of(scripted).scope is Scope.SECTION, "the scope")
        await settle(pilot)
        bar = screen_of(scripted).query_one(PackBar)
        assert bar.pack is not None
        assert f" {bar.pack.tokens:,} tokens · " in section


async def test_scopes_cycle_from_widest_to_narrowest_and_escape_changes_nothing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = await open_scopes(pilot)
        await pilot.press("s", "s", "s")
        assert dialog.query_one(OptionList).highlighted == 0
        await pilot.press("escape")
        assert pane_of(scripted).scope is Scope.NEIGHBORS


async def open_budget(pilot: AppPilot) -> BudgetDialog:
    await show_results(pilot)
    await pilot.press("escape", "b")
    return await until_screen(pilot, BudgetDialog)


def message_of(dialog: BudgetDialog) -> str:
    return str(dialog.query_one("#message", Static).content)


async def test_the_pack_of_the_typed_budget_is_shown_while_typing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = await open_budget(pilot)
        assert "/4,000 tokens · enough" in message_of(dialog)
        await pilot.press(*"100")
        await until(pilot, lambda: "/100 tokens · full" in message_of(dialog), "the pack of 100 tokens")
        assert pane_of(scripted).budget == 4_000


async def test_an_invalid_budget_is_explained_while_typing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        dialog = await open_budget(pilot)
        await pilot.press("7")
        assert message_of(dialog) == "A budget is between 50 and 1,000,000 tokens."
        await pilot.press("k")
        await until(pilot, lambda: "/7,000 tokens" in message_of(dialog), "the pack of 7,000 tokens")
