"""Two pages for who opens excerpt for the first time: how to find and take along, how to keep and go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.table import Table
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from excerpt.tui.bindings import bindings
from excerpt.tui.key_rows import Key
from excerpt.tui.keymap import key_sign, keys_of, shown_key
from excerpt.tui.keys import PLACES
from excerpt.tui.screens.dialog import Dialog

EXAMPLE = "token budget"
"""What is searched for behind the tour of the demo vault."""


@dataclass(frozen=True, slots=True)
class Page:
    """`rows` are keys and what they do, each short enough for a window of 60 columns."""

    title: str
    rows: tuple[tuple[str, str], ...]


def pages(keymap: Mapping[str, str]) -> tuple[Page, ...]:
    """The tour, with the user's own keys."""

    def key(*ids: str) -> str:
        return " ".join(shown_key(keys_of(_binding(id_), keymap)[0]) for id_ in ids)

    return (
        Page(
            "Find, and take along",
            (
                ("type", "words or a question: the best come first"),
                (key("up", "down"), "choose one; its context is shown"),
                (key("mark"), "mark it for the pack, count its tokens"),
                (key("copy-pack"), "copy the pack with sources, for a prompt"),
                (key("edit"), "open the note in your editor"),
            ),
        ),
        Page(
            "Keep, and go on",
            (
                (key("remember"), f"keep it as a memory; {key('show-memory')} lists them"),
                (key("scope"), "grow the pack around its hits, or not"),
                (key("budget-down", "budget-up"), "a smaller or larger token budget"),
                (key("why"), "why a fragment stands where it stands"),
                (key("help"), "the keys that work here"),
                (key("palette"), "every command, by name"),
                (key("switch-vault"), "open your own notes"),
            ),
        ),
    )


def _binding(id_: str) -> Key:
    return next(binding for place in PLACES.values() for binding in place if binding.id == id_)


class Tour(Dialog[None]):
    """Stands low, so that what it is about is in sight."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The tour")

    DEFAULT_CSS = """
    Tour {
        align: center bottom;
        background: $background 30%;
        & > .box { max-width: 64; padding: 0 2; margin-bottom: 1; }
        &.-short > .box { margin-bottom: 0; max-height: 100%; }
    }
    """

    def __init__(self, keymap: Mapping[str, str]) -> None:
        super().__init__()
        self._pages = pages(keymap)
        self._at = 0

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box"):
            yield Static(id="page")

    def on_mount(self) -> None:
        self._show()

    def _show(self) -> None:
        page, last = self._pages[self._at], self._at + 1 == len(self._pages)
        box = self.query_one(VerticalScroll)
        box.border_title = f"{page.title} · {self._at + 1} of {len(self._pages)}"
        on, back, leave = key_sign("tour-next"), key_sign("tour-previous"), key_sign("dialog-leave")
        box.border_subtitle = Content(
            f"{on} begin · {back} back · {leave} close" if last else f"{on} next · {leave} close"
        )
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style=f"bold {self.app.theme_variables['accent']}", no_wrap=True)
        table.add_column()
        for keys, what in page.rows:
            table.add_row(keys, what)
        self.query_one("#page", Static).update(table)

    def action_turn(self, pages: int) -> None:
        """To the next page, or the one before; after the last one it closes."""
        self._at = max(0, self._at + pages)
        if self._at < len(self._pages):
            self._show()
        else:
            self.dismiss(None)
