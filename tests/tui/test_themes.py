"""Theme files: those that ship can be read by everyone, those of the user are checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.color import Color

from excerpt.errors import SettingsError
from excerpt.settings import Places, ScreenSettings, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.themes import load_theme, theme_files

SHIPPED = theme_files(Path("no own themes"))


def test_a_dark_and_a_light_one_ship() -> None:
    assert {load_theme(file).dark for file in SHIPPED.values()} == {True, False}
    assert {"excerpt-dark", "excerpt-light"} <= SHIPPED.keys()


@pytest.mark.parametrize(
    "text", ["primary = 1", 'primry = "#fff"', 'primary = "nocolour"', "primary = ", 'primary = "#fff"\ndark = "yes"']
)
def test_a_broken_theme_is_refused_with_its_file_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        load_theme(file)


async def test_a_theme_of_the_users_own_is_used(vault: Path, places: Places) -> None:
    own = places.config / "themes"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text('primary = "#ff0000"\nbackground = "#000010"\n')
    app = ExcerptApp(vault, replace(Settings(), screen=ScreenSettings(theme="mine")), places)
    async with app.run_test():
        assert app.theme == "mine"
        assert app.screen.styles.background == Color.parse("#000010")


async def test_a_broken_or_unknown_theme_falls_back_and_is_told_in_one_toast(vault: Path, places: Places) -> None:
    own = places.config / "themes"
    own.mkdir(parents=True)
    (own / "broken.toml").write_text("primary = ")
    app = ExcerptApp(vault, replace(Settings(), screen=ScreenSettings(theme="nowhere")), places)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme == "excerpt-dark"
        (toast,) = [toast for toast in app._notifications if toast.title == "Settings"]
        assert "no theme called nowhere" in toast.message
        assert "broken.toml" in toast.message
