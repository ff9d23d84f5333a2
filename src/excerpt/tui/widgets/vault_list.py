"""Vaults to choose from, one line each: why it is listed, its name, where it is, and when it was opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.text.visible import visible_line
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import Part, fit, line
from excerpt.tui.vault_rows import Kind, VaultRow

_KIND = 9
"""Cells for why it is listed."""
_NAME = 24
"""Cells for its name, at most a third of the line."""


class VaultList(RowList, can_focus=False):
    """The field above it keeps the focus."""

    ROW_HEIGHT = 1
    COMPONENT_CLASSES: ClassVar[set[str]] = {"vault--kind", "vault--name", "vault--missing"}

    DEFAULT_CSS = """
    VaultList {
        background: $surface;
        & > .vault--kind { color: $text-soft; }
        & > .vault--name { text-style: bold; }
        & > .vault--missing { color: $warning; }
    }
    """

    rows: reactive[tuple[VaultRow, ...]] = reactive((), init=False)
    missing: reactive[frozenset[Path]] = reactive(frozenset(), init=False)
    """Those of the rows that are not there."""

    class Chosen(Message):
        """A row was clicked."""

    def __init__(self, home: Path, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._home = home

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def selected(self) -> VaultRow | None:
        return self.rows[self.cursor] if self.rows else None

    def watch_rows(self) -> None:
        self.rows_changed()

    def watch_missing(self) -> None:
        self.rows_changed(self.cursor)

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        if event.y + self.scroll_offset.y < self.row_count:
            self.post_message(self.Chosen())

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        vault = self.rows[row]
        gone = vault.path in self.missing
        bar: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        room = min(_NAME, width // 3)
        name = _name_in(visible_line(vault.name), room)
        name += " " * (room - cell_len(name))
        left: list[Part] = [
            bar,
            (f"{vault.kind:<{_KIND}}", self.style_of("vault--kind")),
            (f"{name} ", self.style_of("row--faint" if gone else "vault--name")),
        ]
        told = "not there" if gone else vault.told
        right: list[Part] = [(f"{told} ", self.style_of("vault--missing" if gone else "vault--kind"))] if told else []
        left_over = width - _KIND - room - 3 - (cell_len(told) + 2 if told else 0)
        above = visible_line(vault.above(self._home))
        above = fit(above, left_over) if vault.kind is Kind.GUIDE else _end_of(above, left_over)
        left.append((above, self.style_of("vault--kind")))
        return (line(left, right, width, base),)


def _name_in(name: str, cells: int) -> str:
    """A name, without the folders between the first and the last where there is no room for them."""
    first, *_, last = name.split("/") if "/" in name else ("", name)
    short = f"{first}/…/{last}" if cell_len(name) > cells and name.count("/") > 1 else name
    return fit(short, cells)


def _end_of(path: str, cells: int) -> str:
    """`path`, cut to `cells` at its beginning, since folders differ in what stands last."""
    if cell_len(path) <= cells:
        return path
    while path and cell_len(path) > cells - 1:
        path = path[1:]
    return f"…{path}" if cells > 0 else ""
