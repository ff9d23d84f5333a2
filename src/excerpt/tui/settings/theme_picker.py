"""The dialog that chooses a theme. Meanwhile the whole screen is shown in the selected theme."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip

from excerpt.text.display import visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.dialog import Dialog
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import line
from excerpt.tui.keymap import key_sign

_SHOW_DELAY_SECONDS = 0.06
"""Seconds that a row must be selected before its theme is shown, since applying a theme takes several frames."""


class ThemeList(RowList):
    """The list of themes, one row each: the name, and at the right whether it is dark or light."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Themes, focus on the list")

    DEFAULT_CSS = """
    ThemeList { background: $surface; }
    """

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        """Prepare the list; `rows` are pairs of a theme's name and its kind, such as "dark"."""
        super().__init__(id="themes")
        self.rows = tuple(rows)

    @property
    def row_count(self) -> int:
        return len(self.rows)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        name, kind = self.rows[row]
        left = [self.cursor_bar(selected), (f" {visible_line(name)}", Style.null())]
        return (line(left, [(f"{kind} ", self.style_of("row--faint"))], width, base),)


class ThemePicker(Dialog[str]):
    """The dialog that chooses a theme. Its result is the theme's name, or None if the previous theme is kept."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Themes")

    DEFAULT_CSS = """
    ThemePicker {
        align: right middle;
        background: $background 0%;
        & > .box { width: 34; margin: 0 2; padding: 0 1; }
        ThemeList { height: auto; max-height: 100%; }
    }
    """

    def __init__(self, names: Sequence[str], own_names: frozenset[str]) -> None:
        """Prepare the dialog. `names` are all themes to choose from, `own_names` are the user's own among them."""
        super().__init__()
        self._names = tuple(names)
        self._own_names = own_names
        self._previous_theme = ""
        self._debouncer = Debouncer(self.set_timer)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Theme"
            box.border_subtitle = Content(f"{key_sign('themes-keep')} keep · {key_sign('dialog-leave')} back")
            rows = ThemeList([(name, self._theme_kind(name)) for name in self._names])
            rows.styles.height = len(self._names)
            yield rows

    def on_mount(self) -> None:
        self._previous_theme = self.app.theme
        rows = self.query_one(ThemeList)
        rows.redraw_rows(self._names.index(self._previous_theme))
        rows.focus()

    def _theme_kind(self, name: str) -> str:
        theme = self.app.get_theme(name)
        kind = "dark" if theme is None or theme.dark else "light"
        return f"yours, {kind}" if name in self._own_names else kind

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._debouncer.schedule(_SHOW_DELAY_SECONDS, partial(self._apply_theme, self._names[event.row]))

    def _apply_theme(self, name: str) -> None:
        if self.is_current:
            self.app.theme = name

    def action_choose(self) -> None:
        name = self._names[self.query_one(ThemeList).cursor]
        self.app.theme = name
        self.dismiss(name)

    def action_leave(self) -> None:
        self.app.theme = self._previous_theme
        self.dismiss(None)
