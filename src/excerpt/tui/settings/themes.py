"""Theme files: those shipped with excerpt, and the user's own in the folder `themes` of the settings folder.

A file may define as few as two colours: the others are derived from them, so that text stays readable. The variables of
Textual's widgets are set to colours of excerpt, because their defaults are blends whose contrast a theme cannot set.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import Theme

from excerpt.base.errors import SettingsError
from excerpt.base.settings import MAX_SETTINGS_BYTES, Paths
from excerpt.base.state_files import read_text

_PACKAGE_FOLDER = Path(__file__).parents[1] / "themes"
_SOURCE_FOLDER = Path(__file__).parents[4] / "themes"
DARK_THEME, LIGHT_THEME = "excerpt-dark", "excerpt-light"
"""The themes for terminals with a dark and with a light background, of which one is used if no theme is set."""

DARK_DEFAULTS = {
    "text-soft": "#a3a9b6",
    "text-faint": "#8f97a6",
    "match-foreground": "#ffe08a",
    "match-background": "#4a3d12",
    "highlight-background": "#3a4a1e",
    "ink-code": "#c9a5e8",
    "surface-active": "#252b38",
}
LIGHT_DEFAULTS = {
    "text-soft": "#545b66",
    "text-faint": "#606772",
    "match-foreground": "#3d2f00",
    "match-background": "#ffe08a",
    "highlight-background": "#dcefc0",
    "ink-code": "#7a3e9d",
    "surface-active": "#e3ecf7",
}
"""Defaults of excerpt's own theme variables, used with Textual's themes and if a theme file does not set them."""

_SOURCE_OF_TEXTUAL_VARIABLE = {
    "text": "foreground",
    "text-muted": "text-soft",
    "text-disabled": "text-faint",
    "foreground-muted": "text-soft",
    "foreground-disabled": "text-faint",
    "block-cursor-foreground": "foreground",
    "block-cursor-background": "surface-active",
    "block-cursor-blurred-foreground": "foreground",
    "block-cursor-blurred-background": "surface-active",
    "block-hover-background": "surface-active",
    "input-cursor-foreground": "background",
    "input-cursor-background": "foreground",
    "input-selection-foreground": "match-foreground",
    "input-selection-background": "match-background",
    "screen-selection-foreground": "match-foreground",
    "screen-selection-background": "match-background",
    "button-foreground": "foreground",
    "button-color-foreground": "background",
    "link-color": "primary",
    "link-color-hover": "foreground",
    "link-background-hover": "surface-active",
    **{f"text-{kind}": kind for kind in ("primary", "secondary", "accent", "success", "warning", "error")},
    **{f"{kind}-muted": "panel" for kind in ("primary", "secondary", "accent", "success", "warning", "error")},
}
"""For each theme variable of Textual's widgets, the variable or colour whose value it gets."""

TEXTUAL_CSS = """
Screen:inline { height: 100%; border: none; }
Input:focus, TextArea:focus, OptionList:focus { background-tint: $background 0%; }
Button:disabled { color: $text-disabled; opacity: 100%; text-opacity: 100%; }
TextArea { background: $background; & > .text-area--cursor-line { background: $background; } }
ToastRack { height: 1; margin: 0; padding: 0 10 0 0; overflow: hidden; }
ToastHolder { dock: bottom; }
Toast {
    width: 100%; max-width: 100%; height: 1; margin: 0; padding: 0 1; background: $panel;
    text-wrap: nowrap; text-overflow: ellipsis;
    &.-information { border-left: wide $success; }
    &.-warning { border-left: wide $warning; }
    &.-error { border-left: wide $error; }
}
CommandPalette {
    #--container { background: $surface; width: 90%; max-width: 100; }
    & > .command-palette--help-text { color: $text-soft; text-style: not dim not bold; }
    SearchIcon { color: $accent; }
}
"""
"""CSS for Textual's widgets.

It removes tints and dimmed text, whose contrast a theme cannot control. Notices are one line over the footer, which
leaves room for its last key, the help. Each covers the ones before it, which show again if they last longer.
"""


class _ThemeFile(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of a theme file. Colours are `#rrggbb` or CSS names. `variables` set theme variables by name."""

    primary: str
    dark: bool = True
    secondary: str | None = None
    accent: str | None = None
    foreground: str | None = None
    background: str | None = None
    surface: str | None = None
    panel: str | None = None
    success: str | None = None
    warning: str | None = None
    error: str | None = None
    luminosity_spread: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.15
    variables: dict[str, str] = msgspec.field(default_factory=dict)


def find_theme_files(own_folder: Path) -> dict[str, Path]:
    """Return the theme files by theme name. A file in the user's folder replaces a shipped one of the same name."""
    folders = (_PACKAGE_FOLDER if _PACKAGE_FOLDER.is_dir() else _SOURCE_FOLDER, own_folder)
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.toml"))}


def load_theme(file: Path) -> Theme:
    """Read a theme file and return its theme, named after the file. Raises SettingsError if it is invalid."""
    try:
        theme_file = msgspec.convert(tomllib.loads(read_text(file, MAX_SETTINGS_BYTES)), _ThemeFile)
        for value in (*msgspec.structs.asdict(theme_file).values(), *theme_file.variables.values()):
            if isinstance(value, str):
                Color.parse(value)
    except (OSError, ValueError, RecursionError, ColorParseError) as error:
        raise SettingsError(f"The theme {file} cannot be used: {error}.") from error
    values = msgspec.structs.asdict(theme_file)
    own_variables = values.pop("variables")
    colours = {**Theme(name=file.stem, **values).to_color_system().generate()}
    derived = {
        **_derive_variables(
            Color.parse(colours["foreground"]), Color.parse(colours["background"]), dark=theme_file.dark
        ),
        **own_variables,
    }
    textual = {name: derived.get(source) or colours[source] for name, source in _SOURCE_OF_TEXTUAL_VARIABLE.items()}
    return Theme(name=file.stem, variables={**textual, **derived}, **values)


def _derive_variables(foreground: Color, background: Color, *, dark: bool) -> dict[str, str]:
    """Return excerpt's own theme variables, derived from a theme's foreground and background colours."""
    return {
        **(DARK_DEFAULTS if dark else LIGHT_DEFAULTS),
        "text-soft": foreground.blend(background, 0.25).hex,
        "text-faint": foreground.blend(background, 0.35).hex,
        "surface-active": background.blend(foreground, 0.12).hex,
    }


class ThemeController:
    """Loads themes from the shipped files and from the user's `own_folder`, and detects changed files."""

    def __init__(self, own_folder: Path) -> None:
        self._own_folder = own_folder
        self._files = find_theme_files(own_folder)
        self._last_stamp = ("", 0)

    def load_first(self, name: str, registered_themes: Mapping[str, Theme]) -> tuple[Theme, list[str]]:
        """Return the theme `name` for the first frame, and one sentence for each problem.

        The theme is read from its file, else taken from `registered_themes` (by name), else it is the default theme.
        """
        file = self._files.get(name)
        problems = []
        if file is not None:
            try:
                return load_theme(file), []
            except SettingsError as error:
                problems = [str(error)]
        elif name not in registered_themes:
            problems = [f"There is no theme called {name}."]
        return registered_themes[name] if name in registered_themes else load_theme(self._files[DARK_THEME]), problems

    def load_others(self, known_names: Collection[str]) -> tuple[list[Theme], list[str]]:
        """Return the themes of all files but those in `known_names`, and one sentence for each problem.

        This reads many files: call it in a thread.
        """
        themes: list[Theme] = []
        problems: list[str] = []
        for name, file in self._files.items():
            if name not in known_names:
                try:
                    themes.append(load_theme(file))
                except SettingsError as error:
                    problems.append(str(error))
        return themes, problems

    def load_if_changed(self, name: str) -> Theme | None:
        """Return the user's own theme `name` if its file has changed since the last call for this name; else None.

        Raises SettingsError if the file has become invalid.
        """
        file = self._files.get(name)
        if file is None or file.parent != self._own_folder:
            return None
        try:
            stamp = name, file.stat().st_mtime_ns
        except OSError:
            return None
        last_stamp, self._last_stamp = self._last_stamp, stamp
        return load_theme(file) if last_stamp[0] == name and last_stamp != stamp else None

    def list_theme_names(self, known_names: Collection[str], current: str) -> tuple[list[str], frozenset[str]]:
        """Return the names of the themes to choose from, and which of them are the user's own.

        These are the file themes in `known_names` and the `current` theme.
        """
        names = [name for name in self._files if name in known_names]
        own_names = frozenset(name for name, file in self._files.items() if file.parent == self._own_folder)
        return names if current in names else [*names, current], own_names


def save_theme(user_paths: Paths, vault: Path | None, name: str) -> Path:
    """Write the theme's name into the settings, and return the file.

    The file is the vault's settings file if that sets a theme, else the user's. Raises SettingsError.
    """
    from excerpt.base.settings_file import change_setting, new_settings_text
    from excerpt.tui.keymap import bindable_actions

    file = user_paths.settings_file
    if vault is not None:
        of_vault = user_paths.vault_settings_file(vault)
        with suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            if "theme" in tomllib.loads(read_text(of_vault, MAX_SETTINGS_BYTES)).get("screen", {}):
                file = of_vault
    change_setting(file, "screen.theme", name, new_settings_text(user_paths, None, bindable_actions()))
    return file
