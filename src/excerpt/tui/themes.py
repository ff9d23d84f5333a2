"""Themes are files: those that ship with excerpt, and the user's own in `themes/` of the settings folder.

A file need say little: what it does not is made of what it says, so that a theme of two colours can be read. The
variables of Textual's own widgets are given excerpt's, as theirs are blends that no theme can hold to a contrast.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import Theme

from excerpt.errors import SettingsError

_PACKAGED = Path(__file__).parent / "themes"
_SOURCE = Path(__file__).parents[3] / "themes"

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
"""Variables of excerpt's own, for Textual's themes, and where a file's colours do not make them."""

_OF_TEXTUAL = {
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
"""Variables of Textual's widgets, and which of the theme's they are."""

CSS_OF_TEXTUAL = """
Input:focus, TextArea:focus { background-tint: $background 0%; }
TextArea { background: $background; & > .text-area--cursor-line { background: $background; } }
Toast {
    width: auto; max-width: 100%; padding: 0 1; background: $panel;
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
"""Textual's widgets without the tints and dimmed text that no theme can hold to a contrast."""


class _ThemeFile(msgspec.Struct, forbid_unknown_fields=True):
    """A theme file: colours as `#rrggbb` or CSS names."""

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


def theme_files(own: Path) -> dict[str, Path]:
    """Theme names and their files; one of the user's own takes the place of a shipped one of its name."""
    folders = (_PACKAGED if _PACKAGED.is_dir() else _SOURCE, own)
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.toml"))}


def load_theme(file: Path) -> Theme:
    """The theme of a file, named like it. Raises SettingsError."""
    try:
        found = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8-sig")), _ThemeFile)
        for value in (*msgspec.structs.asdict(found).values(), *found.variables.values()):
            if isinstance(value, str):
                Color.parse(value)
    except (OSError, ValueError, RecursionError, ColorParseError) as error:
        raise SettingsError(f"The theme {file} cannot be used: {error}.") from error
    said = msgspec.structs.asdict(found)
    own = said.pop("variables")
    colours = {**Theme(name=file.stem, **said).to_color_system().generate()}
    made = {**_made(Color.parse(colours["foreground"]), Color.parse(colours["background"]), dark=found.dark), **own}
    textual = {name: made.get(source) or colours[source] for name, source in _OF_TEXTUAL.items()}
    return Theme(name=file.stem, variables={**textual, **made}, **said)


def _made(foreground: Color, background: Color, *, dark: bool) -> dict[str, str]:
    """excerpt's own variables of a theme that says none: softer text and the selected row, of its two main colours."""
    return {
        **(DARK_DEFAULTS if dark else LIGHT_DEFAULTS),
        "text-soft": foreground.blend(background, 0.25).hex,
        "text-faint": foreground.blend(background, 0.35).hex,
        "surface-active": background.blend(foreground, 0.12).hex,
    }
