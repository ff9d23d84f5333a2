"""F1: every key, made from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from excerpt.tui.keymap import keys_of, shown_key
from excerpt.tui.keys import PLACES
from excerpt.tui.screens.dialog import Dialog


class Help(Dialog[None]):
    def __init__(self, keymap: Mapping[str, str], first: Iterable[str]) -> None:
        """`first` are the places to list first: those whose keys work now."""
        super().__init__()
        self._keymap = keymap
        self._first = tuple(first)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = "Keys"
            box.border_subtitle = "↑↓ scroll · esc close"
            yield Static(id="keys")

    def on_mount(self) -> None:
        key_style = f"bold {self.app.theme_variables['accent']}"
        order = [*self._first, *(place for place in PLACES if place not in self._first)]
        text = Text()
        for place in filter(PLACES.get, order):
            text.append(f"{place}\n", "bold")
            for keys, what in key_table(place, self._keymap):
                text.append(f"  {keys:<16}", key_style).append(f"{what}\n")
            text.append("\n")
        text.append("Any key can be changed in [screen.keys] of the settings: `excerpt config --path`.")
        self.query_one("#keys", Static).update(text)
        self.query_one(VerticalScroll).focus()


def key_table(place: str, keymap: Mapping[str, str]) -> list[tuple[str, str]]:
    """The keys of a place as they are written on screen, and what each does."""
    return [(" ".join(shown_key(key) for key in keys_of(binding, keymap)), binding.what) for binding in PLACES[place]]
