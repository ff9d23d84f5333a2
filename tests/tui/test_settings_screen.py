"""The settings on the screen: written to their file as they are changed, in effect at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, Static

from excerpt.kinds import Scope
from excerpt.settings import Density, Settings, load_settings
from excerpt.tui.indexing import Indexing
from excerpt.tui.screens.dialog import Box
from excerpt.tui.screens.settings import SettingsScreen
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.widgets.pack_bar import PackBar
from excerpt.tui.widgets.setting_list import SettingList
from tests.tui.conftest import until
from tests.tui.still import StillApp


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def app(tmp_path: Path) -> StillApp:
    return StillApp(tmp_path, Settings())


def list_of(app: StillApp) -> SettingList:
    return app.screen.query_one(SettingList)


def go_to(app: StillApp, label: str) -> None:
    rows = list_of(app)
    rows.cursor = next(at for at, row in enumerate(rows.rows) if row.field.label == label)


async def test_a_change_is_in_effect_at_once_and_in_the_file(app: StillApp, config: Path) -> None:
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        await pilot.press("right")
        await until(pilot, lambda: app.theme != "excerpt-dark", "another theme")
        assert load_settings(config / "excerpt.toml").screen.theme == app.theme
        pane = app.still.query_one(SearchPane)
        go_to(app, "Scope")
        await pilot.press("right")
        await until(pilot, lambda: pane.scope is Scope.SECTION, "another scope")
        go_to(app, "Rows")
        await pilot.press("space")
        await until(pilot, lambda: pane.panes.density is Density.COMPACT, "other rows")
        go_to(app, "Scope")
        await pilot.press("backspace")
        await until(pilot, lambda: pane.scope is Scope.NEIGHBORS, "the default")
        assert "scope" not in (config / "excerpt.toml").read_text()


async def test_every_key_counts_however_fast_and_leaving_right_behind_them_loses_none(
    app: StillApp, config: Path
) -> None:
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        go_to(app, "Scope")
        screen = app.screen
        assert isinstance(screen, SettingsScreen)
        screen.action_step(1)
        screen.action_step(1)
        await screen.action_side()
        screen.action_step(-1)
        screen.action_leave()
        pane = app.still.query_one(SearchPane)
        await until(pilot, lambda: app.screen is app.still and pane.scope is Scope.SECTION, "the last one to hold")
        assert load_settings(config / "excerpt.toml").pack.scope is Scope.NOTE
        assert [load_settings(file).pack.scope for file in (config / "vaults").iterdir()] == [Scope.SECTION]


async def test_what_is_typed_is_for_the_setting_it_was_begun_for_or_for_none(app: StillApp, config: Path) -> None:
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        go_to(app, "Budget")
        await pilot.press("enter", *"1234", "tab")
        assert not app.screen.query_one("#typed").display
        await pilot.press("v", "down", "escape")
        assert app.screen is app.still
        assert not config.exists()


async def test_what_is_typed_wrong_is_told_below_the_field_and_what_is_typed_right_holds(
    app: StillApp, config: Path
) -> None:
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        go_to(app, "Budget")
        await pilot.press("enter", *"many", "enter")
        assert "whole number" in str(app.screen.query_one("#meaning", Static).content)
        assert app.screen.query_one("#typed", Input).has_focus
        await pilot.press("home", "shift+end", *"1234", "enter")
        await until(pilot, lambda: app.still.query_one(PackBar).wanted.budget == 1234, "the budget")
        assert list_of(app).has_focus
        await pilot.press("enter", "5", "escape")
        assert len(app.screen_stack) == 2
        await pilot.press("escape")
        assert len(app.screen_stack) == 1
        assert load_settings(config / "excerpt.toml").pack.budget == 1234


async def test_the_keys_named_are_those_of_the_selected_setting(app: StillApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        for label, named in (("Rows", "←→ change · v"), ("Budget", "←→ change · ⏎ type · v"), ("Editor", "⏎ type · v")):
            go_to(app, label)
            await pilot.pause()
            assert str(app.screen.query_one(Box).border_subtitle).startswith(named), label
        go_to(app, "Rows")
        await pilot.press("right")
        await until(pilot, lambda: "⌫ default" in str(app.screen.query_one(Box).border_subtitle), "the way back")


async def test_this_vault_alone_has_a_file_of_its_own(app: StillApp, config: Path) -> None:
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        await until(pilot, lambda: bool(list_of(app).rows), "the settings")
        go_to(app, "Question")
        await pilot.press("v", "right")
        await until(pilot, lambda: app.still.settings.pack.question, "the question")
        assert not (config / "excerpt.toml").exists()
        assert [load_settings(file).pack.question for file in (config / "vaults").iterdir()] == [True]
        await pilot.press("v")
        row = list_of(app).selected
        assert row is not None
        assert (row.value, row.overruled) == (False, True)


async def test_a_broken_file_is_told_and_not_written_over_till_it_is_mended(app: StillApp, config: Path) -> None:
    config.mkdir()
    (config / "excerpt.toml").write_text("[pack\n")
    async with app.run_test() as pilot:
        await pilot.press("alt+p")
        meaning = app.screen.query_one("#meaning", Static)
        await until(pilot, lambda: "not valid TOML" in str(meaning.content), "what is wrong")
        await pilot.press("v", "right")
        assert "not valid TOML" in str(meaning.content)
        assert not list_of(app).rows
        assert (config / "excerpt.toml").read_text() == "[pack\n"
        (config / "excerpt.toml").write_text("[pack]\nbudget = 777\n")
        await app.still.reread()
        assert [row.value for row in list_of(app).rows if row.field.label == "Budget"] == [777]


async def test_a_file_that_was_changed_elsewhere_is_taken_up_and_what_was_chosen_by_key_stays(
    app: StillApp, config: Path
) -> None:
    async with app.run_test() as pilot:
        await pilot.press("ctrl+e")
        config.mkdir()
        (config / "excerpt.toml").write_text('[pack]\nbudget = 777\n[screen]\nkeys.copy-pack = "ctrl+g"\n')
        await app.still.reread()
        assert app._keymap == {"copy-pack": "ctrl+g"}
        pane = app.still.query_one(SearchPane)
        assert (pane.budget, pane.scope) == (777, Scope.SECTION)
        (config / "excerpt.toml").write_text("[pack]\nbugdet = 777\n")
        await app.still.reread()
        toasts = app._notifications
        await until(pilot, lambda: any("mean pack.budget" in toast.message for toast in toasts), "what is wrong")


async def test_a_tokenizer_that_was_changed_has_the_vault_read_by_it(app: StillApp, config: Path) -> None:
    ended: list[str] = []

    class Running(Indexing):
        running = True

        def end(self) -> None:
            ended.append("the process that counts by the other one")

    config.mkdir()
    async with app.run_test() as pilot:
        app.still.index.process = Running(app.still.vault, print)
        (config / "excerpt.toml").write_text("[pack]\nbudget = 777\n")
        await app.still.reread()
        assert not ended
        (config / "excerpt.toml").write_text('[pack]\ntokenizer = "cl100k"\n')
        await app.still.reread()
        await until(pilot, lambda: bool(ended), "the end of the process")
        assert not app.still.index.process.running
