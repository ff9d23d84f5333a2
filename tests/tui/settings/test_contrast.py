"""Tests of the contrast of every text drawn by the widgets, in every theme."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.notifications import SeverityLevel
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input
from textual.widgets._toast import Toast

from excerpt.tui.search.query_bar import QueryBar, QuerySpan, QueryStatus
from excerpt.tui.settings.themes import find_theme_files, load_theme
from excerpt.tui.textual_patches import limit_colours
from tests.tui.contrast import READABLE, Pair, contrast, drawn_pairs, probe
from tests.tui.driver import ScriptedApp, press, screen_of, settle, show_start_list, until

SHIPPED = {name: load_theme(file) for name, file in find_theme_files(Path("no own ones")).items()}
SAFE = ("contrast-dark", "contrast-light")
ENHANCED = 7.0
"""The contrast that WCAG 2 (AAA) requires for text."""


def test_the_contrast_is_that_of_the_definition() -> None:
    assert contrast(Color.parse("white"), Color.parse("black")) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), Color.parse("white")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_line_above_the_pane_that_has_the_focus_is_told_from_others_without_colours(name: str) -> None:
    theme = SHIPPED[name]
    assert theme.accent
    greys = [Color.parse(colour).monochrome for colour in (theme.accent, theme.variables["border-blurred"])]
    assert contrast(*greys) >= 3


@pytest.mark.parametrize("name", SHIPPED)
def test_with_256_colours_the_selected_row_is_seen_and_can_be_read(name: str) -> None:
    theme = SHIPPED[name]
    colours = {**theme.to_color_system().generate(), **theme.variables}

    def drawn(variable: str) -> Color:
        style = limit_colours(Style(color=Color.parse(colours[variable]).rich_color), ColorSystem.EIGHT_BIT)
        assert style.color is not None
        return Color(*style.color.get_truecolor())

    assert drawn("surface-active") != drawn("background")
    for text in ("foreground", "text-soft", "text-faint", "primary", "secondary", "accent"):
        assert contrast(drawn(text), drawn("surface-active")) >= READABLE, text


class Looker:
    """A collector of the theme's colour pairs drawn on the screen, each with the place where it was first found."""

    def __init__(self, app: ScriptedApp) -> None:
        self.app = app
        theme, self.names = probe(load_theme(find_theme_files(Path("no own ones"))["harbour"]))
        app.register_theme(theme)
        app.theme = theme.name
        self.seen: dict[Pair, str] = {}

    def look(self) -> None:
        for (front, back), where in drawn_pairs(self.app.screen):
            self.seen.setdefault((self.names.get(front, front), self.names.get(back, back)), where)


DIALOGS = (
    "f1",
    "ctrl+r",
    "ctrl+g",
    "unbound-compare",
    "unbound-scope",
    "unbound-switch-vault",
)


async def enter_query(pilot: Pilot[None], query: str) -> None:
    pilot.app.screen.query_one("#query", Input).value = query
    await settle(pilot)


async def show_everything(pilot: Pilot[None], looker: Looker) -> None:
    """Show lists, context, panels, dialogs, tabs and notices: everything with its own colours."""
    await show_start_list(pilot)
    await press(pilot, "down")
    looker.look()
    await pilot.press("escape")
    await enter_query(pilot, "sync conflict")
    looker.look()
    await pilot.press("tab")
    await settle(pilot)
    await look_at_query(pilot, looker)
    for key in ("ctrl+o", "ctrl+t", "unbound-related", "unbound-map"):
        await press(pilot, key)
        looker.look()
    await pilot.press("escape")
    for key in (*DIALOGS, "theme"):
        await (pilot.app.run_action("change_theme") if key == "theme" else pilot.press(key))
        await until(pilot, lambda: pilot.app.screen is not screen_of(looker.app), f"what {key} opens")
        await pilot.pause(0.1)
        looker.look()
        while isinstance(dialog := pilot.app.screen, ModalScreen):
            dialog.dismiss()
            await until(pilot, lambda dialog=dialog: pilot.app.screen is not dialog, "it to close")  # type: ignore[misc]
    await enter_query(pilot, "conflict of interest")
    looker.look()
    for key in ("f3", "f4", "unbound-show-index"):
        await pilot.press(key)
        await pilot.pause(0.1)
        looker.look()
    severities: tuple[SeverityLevel, ...] = ("information", "warning", "error")
    for count, severity in enumerate(severities, 1):
        pilot.app.notify("Told.", severity=severity)
        await until(pilot, lambda count=count: len(pilot.app.screen.query(Toast)) >= count, "the notice")  # type: ignore[misc]
        await pilot.pause(0.1)
        looker.look()


async def look_at_query(pilot: Pilot[None], looker: Looker) -> None:
    """Show the chips of a filter and of a period, a warning and the menu."""
    bar = pilot.app.screen.query_one(QueryBar)
    query = bar.field.value
    bar.set_query("tag:sync conflict in 2024")
    await pilot.press("unbound-suggest")
    await until(pilot, lambda: bar.menu.is_open, "the menu")
    bar.field.query_spans = (
        QuerySpan(0, 8, "tag:sync"),
        QuerySpan(9, 17, "conflict", is_warning=True),
        QuerySpan(18, 25, "in 2024", filter="date:2024"),
    )
    bar.query_one(QueryStatus).warning = "doubted"
    await pilot.pause()
    looker.look()
    await pilot.press("escape")
    bar.set_query(query)
    await settle(pilot)


@pytest.mark.programs
async def test_whatever_is_drawn_can_be_read_in_every_theme(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 30), notifications=True) as pilot:
        looker = Looker(scripted)
        await show_everything(pilot, looker)
    assert len(looker.seen) > 25
    told: list[str] = []
    for name, theme in SHIPPED.items():
        colours = {**theme.to_color_system().generate(), **theme.variables}
        wanted = ENHANCED if name in SAFE else READABLE
        for (front, back), where in looker.seen.items():
            # A colour that is no variable of the theme is blended, which no theme can control.
            pair = [colours.get(one) for one in (front, back)]
            if None in pair or contrast(*(Color.parse(str(one)) for one in pair)) < wanted:
                told.append(f"{name}: {front} on {back}, of {where}")
    assert told == []
