"""The last line: the keys that work here and now, as many as fit, help always among them."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from excerpt.tui.keymap import shown_key
from excerpt.tui.keys import PLACES

_FIRST = ("Search, with the pack focused", "Search, with related notes focused", "Search, with the map focused")
"""Whose keys go first where they work: they are of that place alone."""

_ORDER = tuple(dict.fromkeys(binding.id for place in (*_FIRST, *PLACES) for binding in PLACES[place]))


class KeyBar(Widget):
    """Drawn as one line from the screen's active bindings; a click presses the key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key"}

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        padding: 0 1;
        background: $background;
        color: $text-soft;
        & > .key-bar--key { color: $accent; text-style: bold; }
    }
    """

    shown: reactive[tuple[Binding, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._look)
        self._look(self.screen)

    def _look(self, screen: Screen[object]) -> None:
        """Take the first key of each binding to be shown, in the order of the table; help and quit go last."""
        by_id: dict[str, Binding] = {}
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.show and active.enabled and binding.id:
                by_id.setdefault(binding.id, binding)
        last = ("help", "quit")
        self.shown = tuple(by_id[id_] for id_ in (*(i for i in _ORDER if i not in last), *last) if id_ in by_id)

    def render(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        style = self.get_component_rich_style("key-bar--key", partial=True)
        for binding in self._fitting():
            text.append(shown_key(binding.key), style).append(f" {binding.description}  ")
        return text

    def _fitting(self) -> list[Binding]:
        room = self.scrollable_content_region.width
        last = [binding for binding in self.shown if binding.id in ("help", "quit")]
        kept: list[Binding] = []
        used = sum(map(_width, last))
        for binding in self.shown:
            if binding in last:
                continue
            used += _width(binding)
            if used > room + 2:
                break
            kept.append(binding)
        return kept + last

    def on_click(self, event: events.Click) -> None:
        at = 1
        for binding in self._fitting():
            at += _width(binding)
            if event.x < at:
                self.app.simulate_key(binding.key)
                return


def _width(binding: Binding) -> int:
    return len(shown_key(binding.key)) + len(binding.description) + 3
