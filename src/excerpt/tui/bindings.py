"""The table of keys as Textual binds them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from excerpt.tui.keys import PLACES, Key


def bindings(place: str) -> list[BindingType]:
    """The bindings of one place of `PLACES`."""
    return [_binding(key) for key in PLACES[place]]


def _binding(key: Key) -> Binding:
    return Binding(key.keys, key.action, key.label, show=key.shown, priority=key.first, tooltip=key.what, id=key.id)
