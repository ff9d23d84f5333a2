"""The tab bar, the first line of the screen, with the state of the index, and the key bar, the last line."""

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
from excerpt.tui.common.strips import click_style, fit, line
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.keymap import current_keys, format_key

TABS = ("search", "overview", "memory")

_MIN_NAME = 6
"""Minimum cells for the vault's name: with less room, only the state of the index is shown."""


class TabBar(Widget):
    """The first line of the screen: the tabs at the left, the vault and the state of its index at the right."""

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
    """Name of the tab that is shown, one of `TABS`."""
    vault: reactive[str] = reactive("")
    """Name of the vault."""
    state: reactive[str] = reactive("")
    """State of the index: `171 notes · up to date`, or `reading 812 of 9,750`."""

    class TabPicked(Message):
        """Sent when a tab is clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    class StatePicked(Message):
        """Sent when the vault and the state of its index, at the right, are clicked."""

    def render_line(self, y: int) -> Strip:
        if y:
            return Strip.blank(self.size.width, self.rich_style)
        left = [(f" {tab.capitalize()} ", self._style_of(tab) + click_style(f"pick_tab('{tab}')")) for tab in TABS]
        status = (self._status_text(), click_style("pick_state"))
        return line(left, [status, (" ", Style.null())], self.size.width, self.rich_style)

    def _status_text(self) -> str:
        """Return the vault's name and the state of its index, shortened to the room beside the tabs."""
        room = self.size.width - sum(len(tab) + 2 for tab in TABS) - 2
        state = fit(self.state, room)
        name = visible_line(self.vault)
        name_cells = room - cell_len(state) - 3
        vault = fit(name, name_cells) if name_cells >= min(cell_len(name), _MIN_NAME) else ""
        return " · ".join(part for part in (vault, state) if part)

    def _style_of(self, tab: str) -> Style:
        return self.get_component_rich_style("tab--active" if tab == self.active else "tab--name", partial=True)

    def action_pick_tab(self, tab: str) -> None:
        self.post_message(self.TabPicked(tab))

    def action_pick_state(self) -> None:
        self.post_message(self.StatePicked())


_MOVE_KEY_IDS = frozenset(binding.id for keys in CONTEXTS.values() for binding in keys if binding.is_movement)
"""Ids of the keys that only move a cursor or scroll, which the footer does not show."""
_ALWAYS_SHOWN = ("help", "help-sign", "quit")
"""Ids of the keys that the footer always shows, at its right end."""


@dataclass(frozen=True, slots=True)
class FooterKey:
    """A key in the footer, with a label that says what the key does. `id` is its id in the settings."""

    id: str
    key: str
    label: str

    @property
    def is_always_shown(self) -> bool:
        """Whether the footer shows the key in any case, at its right end."""
        return self.id in _ALWAYS_SHOWN

    @property
    def width(self) -> int:
        """Width of key and label in cells, with the space before the next key."""
        return cell_len(format_key(self.key)) + cell_len(self.label) + 3


def list_footer_keys(screen: Screen[object]) -> tuple[FooterKey, ...]:
    """Return the keys that work on a screen now, the most important first.

    Keys whose bindings are marked as shown come first, from the focused widget outward, then the others in the same
    order. Of two keys with the same action, only the key nearer to the focus is returned.
    """
    ranked: dict[object, tuple[bool, int, FooterKey]] = {}
    for active in working_bindings(screen):
        binding = active.binding
        id_ = row_id(binding)
        if id_ in _MOVE_KEY_IDS or binding.key not in current_keys(id_) or disabled_reason(active.node, binding.action):
            continue
        target = action_target(active.node, binding.action)
        new = FooterKey(id_, binding.key, binding.description)
        shown, rank, footer_key = ranked.get(target, (False, len(ranked), new))
        ranked[target] = (shown or binding.show, rank, footer_key)
    every = sorted(ranked.values(), key=lambda active: (not active[0], active[1]))
    return tuple(footer_key for _, _, footer_key in every)


def fit_footer_keys(keys: Iterable[FooterKey], room: int) -> list[FooterKey]:
    """Return the first keys that fit into `room` cells, and at the end the keys that are always shown."""
    keys = list(keys)
    always_shown = [key for key in keys if key.is_always_shown]
    used, fitted = sum(key.width for key in always_shown), []
    for key in keys:
        if not key.is_always_shown:
            used += key.width
            if used > room + 2:
                break
            fitted.append(key)
    return fitted + always_shown


class KeyBar(Widget):
    """The footer: one line with the keys that work now. A click on a key has the effect of the key."""

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

    footer_keys: reactive[tuple[FooterKey, ...]] = reactive(())

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._update_footer_keys)
        self._update_footer_keys(self.screen)

    def _update_footer_keys(self, screen: Screen[object]) -> None:
        self.footer_keys = list_footer_keys(screen)

    def render(self) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        style = self.get_component_rich_style("key-bar--key", partial=True)
        for footer_key in self._visible_footer_keys():
            text.append(format_key(footer_key.key), style).append(f" {footer_key.label}  ")
        return text

    def _visible_footer_keys(self) -> list[FooterKey]:
        return fit_footer_keys(self.footer_keys, self.scrollable_content_region.width)

    def _footer_key_cells(self) -> Iterator[tuple[range, FooterKey]]:
        at = self.styles.padding.left
        for footer_key in self._visible_footer_keys():
            yield range(at, at + footer_key.width - 2), footer_key
            at += footer_key.width

    def on_click(self, event: events.Click) -> None:
        for cells, footer_key in self._footer_key_cells():
            if event.x in cells:
                self.app.simulate_key(footer_key.key)
