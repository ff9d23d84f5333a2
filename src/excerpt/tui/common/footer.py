"""The footer, the last line of the screen: it draws the keys to which the key table gives a place in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.dom import DOMNode
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from excerpt.tui.active_keys import disabled_reason, row_id, working_bindings
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.keymap import current_keys, format_key, is_typed

_FOOTER_ROWS = {row.id: row for keys in CONTEXTS.values() for row in keys if row.footer_place}
"""Rows of the key table that have a place in the footer, by their id."""
_LAST_PLACE = max(row.footer_place for row in _FOOTER_ROWS.values())
"""The place at the right end of the footer."""
_GAP = 2
"""Cells between two keys of the footer."""


class FooterKey(Struct, frozen=True):
    """A key in the footer, with a label that says what the key does. `id` is its id in the settings."""

    id: str
    key: str
    label: str
    place: int
    is_enabled: bool = True

    @property
    def width(self) -> int:
        """Width of key and label in cells."""
        return cell_len(format_key(self.key)) + cell_len(self.label) + 1


def list_footer_keys(screen: Screen[object]) -> tuple[FooterKey, ...]:
    """Return the keys that the footer shows on a screen now, in the order of their places, at most one per place.

    A place belongs to the node nearest to the focus that has keys for it. If several keys have the same place, the
    first enabled one is shown.
    """
    keys_by_row: dict[str, tuple[DOMNode, str, list[str]]] = {}
    for active in working_bindings(screen):
        id_ = row_id(active.binding)
        if id_ in _FOOTER_ROWS and active.binding.key in current_keys(id_):
            _, _, keys = keys_by_row.setdefault(id_, (active.node, active.binding.action, []))
            keys.append(active.binding.key)
    shown: dict[int, tuple[DOMNode, FooterKey]] = {}
    for id_, (node, action, keys) in keys_by_row.items():
        row = _FOOTER_ROWS[id_]
        owner, before = shown.get(row.footer_place, (node, None))
        if owner is node and (before is None or not before.is_enabled):
            # Of several keys that which works in a field too, so that the footer stays as the focus moves.
            key, is_enabled = min(keys, key=is_typed), not disabled_reason(node, action)
            shown[row.footer_place] = node, FooterKey(id_, key, row.label, row.footer_place, is_enabled)
    return tuple(shown[place][1] for place in sorted(shown))


class KeyBar(Widget):
    """The footer: one line with keys that work now, the disabled ones dimmed. A click has the effect of the key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key-bar--key", "key-bar--disabled"}

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        padding: 0 1;
        background: $background;
        color: $text-soft;
        & > .key-bar--key { color: $accent; text-style: bold; }
        & > .key-bar--disabled { color: $text-faint; }
    }
    """

    footer_keys: reactive[tuple[FooterKey, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_footer_keys)
        self._update_footer_keys(self.screen)

    def _update_footer_keys(self, screen: Screen[object]) -> None:
        self.footer_keys = list_footer_keys(screen)

    def render(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        enabled = self.get_component_rich_style("key-bar--key", partial=True)
        disabled = self.get_component_rich_style("key-bar--disabled", partial=True)
        for start, footer_key in place_footer_keys(self.footer_keys, self.scrollable_content_region.width):
            text.pad_right(start - text.cell_len)
            text.append(format_key(footer_key.key), enabled if footer_key.is_enabled else disabled)
            text.append(f" {footer_key.label}", "" if footer_key.is_enabled else disabled)
        return text

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        for start, footer_key in place_footer_keys(self.footer_keys, self.scrollable_content_region.width):
            if offset is not None and start <= offset.x < start + footer_key.width:
                self.app.simulate_key(footer_key.key)


def place_footer_keys(keys: Sequence[FooterKey], room: int) -> list[tuple[int, FooterKey]]:
    """Return the first keys that fit into `room` cells, each with its first cell.

    The key of the last place is at the right end in any case.
    """
    last = [(room - key.width, key) for key in keys if key.place == _LAST_PLACE]
    placed: list[tuple[int, FooterKey]] = []
    start, end = 0, min((first - _GAP for first, _ in last), default=room)
    for key in keys:
        if key.place == _LAST_PLACE or start + key.width > end:
            break
        placed.append((start, key))
        start += key.width + _GAP
    return placed + last
