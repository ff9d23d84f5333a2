"""The last line: the keys that work here and now, as many as fit, help always among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from excerpt.tui.bindings import active, doer, why_not
from excerpt.tui.keymap import keys_now, shown_key
from excerpt.tui.keys import PLACES

_MOVES = frozenset(binding.id for place in PLACES.values() for binding in place if binding.moves)
_LAST = ("help", "help-sign", "quit")
"""They have their place at the end, whatever else fits."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A key in the footer, and what it does."""

    id: str
    key: str
    label: str

    @property
    def last(self) -> bool:
        return self.id in _LAST

    @property
    def width(self) -> int:
        """In cells, with the space before the next."""
        return cell_len(shown_key(self.key)) + cell_len(self.label) + 3


def offers(screen: Screen[object]) -> tuple[Offer, ...]:
    """What works on a screen now: first what its places put first, from what has the focus outward, then the rest, in
    the order of the table. Of two keys that do the same, that of what has the focus."""
    found: dict[object, tuple[bool, int, Offer]] = {}
    for each in active(screen):
        binding = each.binding
        if binding.id in _MOVES or why_not(each.node, binding.action):
            continue
        did = doer(each.node, binding.action)
        new = Offer(binding.id or "", binding.key, binding.description)
        shown, place, offer = found.get(did, (False, len(found), new))
        found[did] = (shown or binding.show, place, offer)
    every = sorted(found.values(), key=lambda each: (not each[0], each[1]))
    return tuple(offer for _, _, offer in every if keys_now(offer.id))


def fitting(every: Iterable[Offer], room: int) -> list[Offer]:
    """As many as fit into `room` cells; the last ones always."""
    every = list(every)
    last = [offer for offer in every if offer.last]
    used, kept = sum(offer.width for offer in last), []
    for offer in every:
        if not offer.last:
            used += offer.width
            if used > room + 2:
                break
            kept.append(offer)
    return kept + last


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

    shown: reactive[tuple[Offer, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._look)
        self._look(self.screen)

    def _look(self, screen: Screen[object]) -> None:
        self.shown = offers(screen)

    def render(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        style = self.get_component_rich_style("key-bar--key", partial=True)
        for offer in self._fitting():
            text.append(shown_key(offer.key), style).append(f" {offer.label}  ")
        return text

    def _fitting(self) -> list[Offer]:
        return fitting(self.shown, self.scrollable_content_region.width)

    def _places(self) -> Iterator[tuple[range, Offer]]:
        at = self.styles.padding.left
        for offer in self._fitting():
            yield range(at, at + offer.width - 2), offer
            at += offer.width

    def on_click(self, event: events.Click) -> None:
        for cells, offer in self._places():
            if event.x in cells:
                self.app.simulate_key(offer.key)
