"""The first line and the last: tabs and the state of the index above, the keys that work now below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from excerpt.text.display import visible_line
from excerpt.tui.active_keys import action_target, disabled_reason, row_id, working_bindings
from excerpt.tui.common.strips import fit, line
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.keymap import current_keys, format_key

TABS = ("search", "overview", "memory")

_MIN_NAME = 6
"""Minimum cells of the vault's name that are useful; with fewer only the state of the index is shown."""


class TabBar(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tab--active", "tab--name"}

    DEFAULT_CSS = """
    TabBar {
        height: 1;
        background: $panel;
        color: $text-soft;
        & > .tab--active { color: $background; background: $accent; text-style: bold; }
        & > .tab--name { color: $text-soft; }
    }
    """

    active: reactive[str] = reactive("search")
    vault: reactive[str] = reactive("")
    state: reactive[str] = reactive("")
    """State of the index: `171 notes · up to date`, or `reading 812 of 9,750`."""

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    class StatePicked(Message):
        """The vault and the state of its index, at the right, were clicked."""

    def render_line(self, y: int) -> Strip:
        if y:
            return Strip.blank(self.size.width, self.rich_style)
        left = [(f" {tab.capitalize()} ", self._style_of(tab)) for tab in TABS]
        return line(left, [(f"{self._status_text()} ", Style.null())], self.size.width, self.rich_style)

    def _status_text(self) -> str:
        """Return the vault and the state of its index, as far as they fit beside the tabs."""
        room = self.size.width - sum(len(tab) + 2 for tab in TABS) - 2
        state = fit(self.state, room)
        name = visible_line(self.vault)
        name_cells = room - cell_len(state) - 3
        vault = fit(name, name_cells) if name_cells >= min(cell_len(name), _MIN_NAME) else ""
        return " · ".join(part for part in (vault, state) if part)

    def _style_of(self, tab: str) -> Style:
        return self.get_component_rich_style("tab--active" if tab == self.active else "tab--name", partial=True)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for tab in TABS:
            at += len(tab) + 2
            if event.x < at:
                self.post_message(self.Picked(tab))
                return
        if event.x >= self.size.width - cell_len(self._status_text()) - 1:
            self.post_message(self.StatePicked())


_MOVES = frozenset(binding.id for keys in CONTEXTS.values() for binding in keys if binding.is_movement)
_ALWAYS_SHOWN = ("help", "help-sign", "quit")
"""Ids of the keys that are always shown, at the end."""


@dataclass(frozen=True, slots=True)
class KeyOffer:
    """A key in the footer, and what it does."""

    id: str
    key: str
    label: str

    @property
    def last(self) -> bool:
        return self.id in _ALWAYS_SHOWN

    @property
    def width(self) -> int:
        """Width in cells, with the space before the next key."""
        return cell_len(format_key(self.key)) + cell_len(self.label) + 3


def offers(screen: Screen[object]) -> tuple[KeyOffer, ...]:
    """Return the keys that work on a screen now, the most important first.

    Those that their contexts show come first, from the focus outward, then the rest in the table's order. Of two keys
    with the same action the one nearer to the focus is returned.
    """
    ranked: dict[object, tuple[bool, int, KeyOffer]] = {}
    for active in working_bindings(screen):
        binding = active.binding
        id_ = row_id(binding)
        if id_ in _MOVES or binding.key not in current_keys(id_) or disabled_reason(active.node, binding.action):
            continue
        target = action_target(active.node, binding.action)
        new = KeyOffer(id_, binding.key, binding.description)
        shown, rank, offer = ranked.get(target, (False, len(ranked), new))
        ranked[target] = (shown or binding.show, rank, offer)
    every = sorted(ranked.values(), key=lambda active: (not active[0], active[1]))
    return tuple(offer for _, _, offer in every)


def fit_offers(offers: Iterable[KeyOffer], room: int) -> list[KeyOffer]:
    """Return as many offers as fit into `room` cells; those that are always shown are last."""
    offers = list(offers)
    last = [offer for offer in offers if offer.last]
    used, fitted = sum(offer.width for offer in last), []
    for offer in offers:
        if not offer.last:
            used += offer.width
            if used > room + 2:
                break
            fitted.append(offer)
    return fitted + last


class KeyBar(Widget):
    """The footer: the screen's active bindings on one line. A click presses the key."""

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

    shown: reactive[tuple[KeyOffer, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_offers)
        self._update_offers(self.screen)

    def _update_offers(self, screen: Screen[object]) -> None:
        self.shown = offers(screen)

    def render(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        style = self.get_component_rich_style("key-bar--key", partial=True)
        for offer in self._visible_offers():
            text.append(format_key(offer.key), style).append(f" {offer.label}  ")
        return text

    def _visible_offers(self) -> list[KeyOffer]:
        return fit_offers(self.shown, self.scrollable_content_region.width)

    def _offer_cells(self) -> Iterator[tuple[range, KeyOffer]]:
        at = self.styles.padding.left
        for offer in self._visible_offers():
            yield range(at, at + offer.width - 2), offer
            at += offer.width

    def on_click(self, event: events.Click) -> None:
        for cells, offer in self._offer_cells():
            if event.x in cells:
                self.app.simulate_key(offer.key)
