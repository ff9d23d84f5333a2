"""Tests of themes: their files, their choice, and the contrast of every pair of colours that is drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
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

from excerpt.base.errors import SettingsError
from excerpt.base.settings import Paths, ScreenSettings, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search.query_bar import QueryBar, QuerySpan, QueryStatus
from excerpt.tui.settings.theme_picker import ThemeList, ThemePicker
from excerpt.tui.settings.themes import ThemeController, find_theme_files, load_theme
from excerpt.tui.textual_patches import BACKGROUND_QUESTION, BackgroundReported, expect_background_report, limit_colours
from tests.tui.contrast import READABLE, Pair, contrast, drawn_pairs, probe
from tests.tui.driver import ScriptedApp, notices_of, press, screen_of, settle, show_start_list, until
from tests.tui.terminal import TerminalApp

SHIPPED = find_theme_files(Path("no own themes"))


def test_a_dark_and_a_light_theme_ship() -> None:
    assert {load_theme(file).dark for file in SHIPPED.values()} == {True, False}
    assert {"excerpt-dark", "excerpt-light"} <= SHIPPED.keys()


@pytest.mark.parametrize(
    "text",
    [
        *("primary = 1", 'primry = "#fff"', 'primary = "nocolour"', "primary = ", 'primary = "#fff"\ndark = "yes"'),
        f"primary = {'[' * 100_000}",
    ],
    ids=lambda text: text[:20],
)
def test_a_broken_theme_is_refused_with_its_file_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        load_theme(file)


async def test_a_theme_of_the_user_can_be_used(vault: Path, user_paths: Paths) -> None:
    own = user_paths.config / "themes"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text('primary = "#ff0000"\nbackground = "#000010"\n')
    app = ExcerptApp(vault, replace(Settings(), screen=ScreenSettings(theme="mine")), user_paths)
    async with app.run_test():
        assert app.theme == "mine"
        assert app.screen.styles.background == Color.parse("#000010")


async def test_a_broken_or_unknown_theme_is_replaced_with_one_notice(vault: Path, user_paths: Paths) -> None:
    own = user_paths.config / "themes"
    own.mkdir(parents=True)
    (own / "broken.toml").write_text("primary = ")
    app = ExcerptApp(vault, replace(Settings(), screen=ScreenSettings(theme="nowhere")), user_paths)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "phosphor" in app.available_themes, "the themes")
        assert app.theme == "excerpt-dark"
        (notice,) = [notice for notice in notices_of(app) if notice.startswith("Settings.")]
        assert "no theme called nowhere" in notice
        assert "broken.toml" in notice


def app_with_themes(tmp_path: Path, **own: str) -> ScriptedApp:
    """Return an app with settings under `tmp_path`, and user themes given by name and text."""
    (tmp_path / "config/themes").mkdir(parents=True)
    for name, text in own.items():
        (tmp_path / f"config/themes/{name}.toml").write_text(text)
    return ScriptedApp(tmp_path)


async def open_theme_picker(pilot: Pilot[None]) -> ThemePicker:
    app = pilot.app
    await until(pilot, lambda: "phosphor" in app.available_themes, "the themes")
    await app.run_action("change_theme")
    await until(pilot, lambda: bool(app.screen.query(ThemeList)), "the list of themes")
    assert isinstance(app.screen, ThemePicker)
    return app.screen


@pytest.mark.programs
async def test_the_screen_previews_the_theme_under_the_cursor_and_escape_restores_the_old_one(
    tmp_path: Path,
) -> None:
    app = app_with_themes(tmp_path)
    async with app.run_test() as pilot:
        picker = await open_theme_picker(pilot)
        names = [name for name, _ in picker.query_one(ThemeList).rows]
        assert names == sorted(SHIPPED)
        await pilot.press("down")
        after = names[names.index("excerpt-dark") + 1]
        await until(pilot, lambda: app.theme == after, "the next theme")
        await pilot.press("escape")
        assert app.theme == "excerpt-dark"
    assert not (tmp_path / "config/excerpt.toml").exists()


@pytest.mark.programs
async def test_a_chosen_theme_is_written_to_the_settings_without_other_changes(
    tmp_path: Path,
) -> None:
    app = app_with_themes(tmp_path, mine='primary = "#88ff88"\nbackground = "#001000"\n')
    settings = tmp_path / "config/excerpt.toml"
    settings.write_text("[screen]  # mine\neditor = 'vi'\n")
    async with app.run_test() as pilot:
        picker = await open_theme_picker(pilot)
        assert picker.query_one(ThemeList).rows[-1] == ("mine", "yours, dark")
        await pilot.press("end", "enter")
        await until(pilot, lambda: "mine" in settings.read_text().replace("# mine", ""), "the file")
        assert app.theme == "mine"
    assert settings.read_text() == "[screen]  # mine\neditor = 'vi'\ntheme = \"mine\"\n"


@pytest.mark.programs
async def test_a_theme_of_the_user_is_redrawn_when_its_file_is_saved(tmp_path: Path) -> None:
    app = app_with_themes(tmp_path, mine='primary = "#88ff88"\nbackground = "#001000"\n')
    file = tmp_path / "config/themes/mine.toml"
    async with app.run_test() as pilot:
        await until(pilot, lambda: "mine" in app.available_themes, "the themes")
        app.theme = "mine"
        app.reload_changed_theme()
        file.write_text('primary = "#88ff88"\nbackground = "#ff0000"\n')
        os.utime(file, ns=(1, 1))
        app.reload_changed_theme()
        await until(pilot, lambda: screen_of(app).styles.background.r > 200, "the new ground")
        file.write_text("primary = ")
        os.utime(file, ns=(2, 2))
        app.reload_changed_theme()
        await until(pilot, lambda: any("mine.toml" in toast.message for toast in app._notifications), "the toast")
        assert app.theme == "mine"


def test_a_theme_is_reloaded_once_per_saving_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('primary = "#88ff88"\n')
    themes = ThemeController(tmp_path)
    assert themes.load_if_changed("mine") is None
    os.utime(file, ns=(1, 1))
    assert themes.load_if_changed("mine") is not None
    assert themes.load_if_changed("mine") is None
    assert themes.load_if_changed("excerpt-dark") is None


def test_a_theme_that_defines_only_two_colours_is_readable(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('primary = "#8888ff"\nbackground = "#101018"\n')
    theme = load_theme(file)
    colours = {**theme.to_color_system().generate(), **theme.variables}
    texts = ("foreground", "text-soft", "text-faint", "text-muted", "block-cursor-foreground")
    grounds = ("background", "surface", "surface-active")
    pairs = [(text, ground) for text in texts for ground in grounds]
    assert [pair for pair in pairs if contrast(*(Color.parse(colours[one]) for one in pair)) < READABLE] == []


_MACHADO = {
    "protan": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deutan": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritan": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""Matrices of linear RGB without one kind of cone: Machado, Oliveira and Fernandes 2009, severity 1."""


def seen_by(kind: str, colour: Color) -> Color:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    mixed = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear, strict=True)))) for row in _MACHADO[kind]]
    red, green, blue = (p * 12.92 if p <= 0.0031308 else 1.055 * p ** (1 / 2.4) - 0.055 for p in mixed)
    return Color(round(red * 255), round(green * 255), round(blue * 255))


@pytest.mark.parametrize("kind", _MACHADO)
@pytest.mark.parametrize("name", ["clear-dark", "clear-light"])
def test_the_colours_for_good_and_bad_differ_with_every_kind_of_colour_vision(name: str, kind: str) -> None:
    theme = load_theme(SHIPPED[name])
    assert theme.success
    good = seen_by(kind, Color.parse(theme.success))
    for other in (theme.warning, theme.error, theme.accent):
        assert other
        bad = seen_by(kind, Color.parse(other))
        apart = sum((a - b) ** 2 for a, b in zip(good.rgb, bad.rgb, strict=True)) ** 0.5
        assert apart > 60, (name, kind, other, apart)


# --- the terminal's background ----------------------------------------------------------------------------------------


class AskedApp(TerminalApp):
    """An app on an emulated terminal that keeps what was written to it."""

    def __init__(self, data: Path, settings: Settings) -> None:
        super().__init__(data, settings, (80, 24))
        self.written = ""

    def write(self, data: str) -> None:
        self.written += data
        super().write(data)


@pytest.fixture(autouse=True)
def usual_escape_delay() -> Iterator[None]:
    yield
    expect_background_report(is_expected=False)


async def test_the_terminal_is_asked_for_its_background_after_the_first_frame(tmp_path: Path, home: Path) -> None:
    app = AskedApp(tmp_path, Settings())
    async with app.run_test(size=app.size_now, headless=False) as pilot:
        await until(pilot, lambda: BACKGROUND_QUESTION in app.written, "the question")
        assert " more" in app.written.partition(BACKGROUND_QUESTION)[0]


@pytest.mark.parametrize(
    ("background", "theme"), [("#ffffff", "excerpt-light"), ("#fdf6e3", "excerpt-light"), ("#002b36", "excerpt-dark")]
)
async def test_the_theme_follows_the_background_of_the_terminal(
    scripted: ScriptedApp, background: str, theme: str
) -> None:
    async with scripted.run_test() as pilot:
        scripted.post_message(BackgroundReported(Color.parse(background)))
        await pilot.pause()
        assert scripted.theme == theme
        assert scripted.screen.styles.background == Color.parse(scripted.current_theme.background or "")


async def test_with_a_theme_in_the_settings_the_terminal_is_not_asked(tmp_path: Path, home: Path) -> None:
    app = AskedApp(tmp_path, Settings(screen=ScreenSettings(theme="harbour")))
    async with app.run_test(size=app.size_now, headless=False) as pilot:
        await until(pilot, lambda: "phosphor" in app.available_themes, "the themes")
        app.post_message(BackgroundReported(Color.parse("#ffffff")))
        await pilot.pause()
        assert app.theme == "harbour"
        assert BACKGROUND_QUESTION not in app.written


@pytest.mark.programs
async def test_removing_the_theme_from_the_settings_restores_the_theme_by_the_terminal(tmp_path: Path) -> None:
    app = ScriptedApp(tmp_path, Settings(screen=ScreenSettings(theme="harbour")))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "phosphor" in app.available_themes, "the themes")
        app.post_message(BackgroundReported(Color.parse("#ffffff")))
        app.call_later(app.use_settings, Settings())
        await until(pilot, lambda: app.theme == "excerpt-light", "the light theme")


SHIPPED_THEMES = {name: load_theme(file) for name, file in find_theme_files(Path("no own ones")).items()}
SAFE = ("contrast-dark", "contrast-light")
ENHANCED = 7.0
"""The contrast that WCAG 2 (AAA) requires for text."""


def test_the_contrast_equals_its_definition() -> None:
    assert contrast(Color.parse("white"), Color.parse("black")) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), Color.parse("white")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", SHIPPED_THEMES)
def test_the_focused_pane_is_recognisable_without_colours(name: str) -> None:
    theme = SHIPPED_THEMES[name]
    assert theme.accent
    greys = [Color.parse(colour).monochrome for colour in (theme.accent, theme.variables["border-blurred"])]
    assert contrast(*greys) >= 3


@pytest.mark.parametrize("name", SHIPPED_THEMES)
def test_with_256_colours_the_selected_row_is_visible_and_readable(name: str) -> None:
    theme = SHIPPED_THEMES[name]
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
    "unbound-index",
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
    for key in ("f3", "f4"):
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
async def test_everything_drawn_is_readable_in_every_theme(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(100, 30), notifications=True) as pilot:
        looker = Looker(scripted)
        await show_everything(pilot, looker)
    assert len(looker.seen) > 25
    told: list[str] = []
    for name, theme in SHIPPED_THEMES.items():
        colours = {**theme.to_color_system().generate(), **theme.variables}
        wanted = ENHANCED if name in SAFE else READABLE
        for (front, back), where in looker.seen.items():
            # A colour that is no variable of the theme is blended, which no theme can control.
            pair = [colours.get(one) for one in (front, back)]
            if None in pair or contrast(*(Color.parse(str(one)) for one in pair)) < wanted:
                told.append(f"{name}: {front} on {back}, of {where}")
    assert told == []
