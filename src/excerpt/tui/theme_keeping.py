"""The part of the app that goes by themes: which there are, which is shown, how another is chosen and kept."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from textual.app import App
from textual.theme import Theme

from excerpt.errors import SettingsError
from excerpt.settings import Places, Settings
from excerpt.tui.themes import DARK_DEFAULTS, LIGHT_DEFAULTS, load_theme, theme_files
from excerpt.tui.vault_host import VaultHost

_DEFAULT_THEME = "excerpt-dark"
_LOOK = 1.0
"""Seconds between looks whether the file of the theme in use was changed."""


class ThemeKeeping(VaultHost, inherit_bindings=False):
    """State: the themes' files, what is wrong with any, and when the one in use was last changed (ns)."""

    _theme_files: Mapping[str, Path] = MappingProxyType({})
    _theme_changed = 0

    def __init__(
        self, vault: Path | None, settings: Settings, places: Places, environment: Mapping[str, str], said: str = ""
    ) -> None:
        super().__init__(vault, settings, places, environment, said)
        self._problems: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK_DEFAULTS if self.current_theme.dark else LIGHT_DEFAULTS

    def use_theme(self, name: str) -> None:
        """Load the one theme that the first frame needs; without it, the default."""
        self._theme_files = theme_files(self._own_themes)
        file = self._theme_files.get(name)
        if file is not None:
            try:
                self.register_theme(load_theme(file))
            except SettingsError as error:
                self._problems.append(str(error))
        if name not in self.available_themes:
            if file is None:
                self._problems.append(f"There is no theme called {name}.")
            name = _DEFAULT_THEME
            self.register_theme(load_theme(self._theme_files[name]))
        # By the watcher, all that is parsed until the first frame would be parsed once more.
        self.set_reactive(App.theme, name)
        dark = self.current_theme.dark
        classes = {f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}
        self.update_classes(classes, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    async def load_other_themes(self) -> None:
        """After the first frame; what is wrong is told in one toast, with what else is."""
        themes, problems = await asyncio.to_thread(_loaded, self._theme_files, frozenset(self.available_themes))
        for theme in themes:
            self.register_theme(theme)
        self._problems += [problem for problem in problems if problem not in self._problems]
        self.tell_problems()
        self.set_interval(_LOOK, self._look_at_theme)

    def tell_problems(self) -> None:
        if self._problems:
            self.notify("\n".join(self._problems), title="Settings", severity="warning", timeout=12, markup=False)
        self._problems = []

    @property
    def _own_themes(self) -> Path:
        return self._places.config / "themes"

    # --- changed in an editor -----------------------------------------------------------------------------------------

    def _look_at_theme(self) -> None:
        """Show the user's own theme as its file is now: who makes one sees each change when it is saved."""
        file = self._theme_files.get(self.theme)
        if file is None or file.parent != self._own_themes:
            return
        with suppress(OSError):
            changed = file.stat().st_mtime_ns
            before, self._theme_changed = self._theme_changed, changed
            if before and changed != before:
                self._show_anew(file)

    def _show_anew(self, file: Path) -> None:
        try:
            self.register_theme(load_theme(file))
        except SettingsError as error:
            self.notify(str(error), title="Theme", severity="warning", markup=False)
            return
        self.mutate_reactive(App.theme)

    def watch_theme(self, old: str, new: str) -> None:
        if old != new:
            self._theme_changed = 0

    # --- another one --------------------------------------------------------------------------------------------------

    def action_change_theme(self) -> None:
        from excerpt.tui.screens.theme_picker import ThemePicker

        if isinstance(self.screen, ThemePicker):
            return
        names = [name for name in self._theme_files if name in self.available_themes]
        if self.theme not in names:
            names.append(self.theme)
        own = frozenset(name for name, file in self._theme_files.items() if file.parent == self._own_themes)
        self.push_screen(ThemePicker(names, own), self._theme_chosen)

    def _theme_chosen(self, name: str | None) -> None:
        if name is not None:
            self.run_worker(self._keep_theme(name), group="theme")

    async def _keep_theme(self, name: str) -> None:
        try:
            file = await asyncio.to_thread(_write_theme, self._places, self._vault, name)
        except SettingsError as error:
            self.notify(f"{error} {name} is shown until you leave.", title=error.title, severity="error", markup=False)
            return
        self.notify(f"{name} is the theme from now on, by {file}.", markup=False)


def _loaded(files: Mapping[str, Path], known: frozenset[str]) -> tuple[list[Theme], list[str]]:
    themes: list[Theme] = []
    problems: list[str] = []
    for name, file in files.items():
        if name not in known:
            try:
                themes.append(load_theme(file))
            except SettingsError as error:
                problems.append(str(error))
    return themes, problems


def _write_theme(places: Places, vault: Path | None, name: str) -> Path:
    """Put the theme into the file that it is read from: the vault's own, if that names one. Raises SettingsError."""
    from excerpt.settings_edit import begin_with, change_setting
    from excerpt.tui.keymap import bindable

    file = places.settings_file
    if vault is not None:
        of_vault = places.vault_settings_file(vault)
        with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            if "theme" in tomllib.loads(of_vault.read_text(encoding="utf-8-sig")).get("screen", {}):
                file = of_vault
    change_setting(file, "screen.theme", name, begin_with(places, None, bindable()))
    return file
