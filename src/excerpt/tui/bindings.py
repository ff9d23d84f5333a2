"""The table of keys as Textual binds them."""

from __future__ import annotations

from textual.binding import Binding, BindingType
from textual.screen import Screen

from excerpt.tui.keys import PLACES, Key

_PLACE_OF_ID = {binding.id: place for place, keys in PLACES.items() for binding in keys}


def bindings(place: str) -> list[BindingType]:
    """The bindings of one place of `PLACES`."""
    return [_binding(key) for key in PLACES[place]]


def _binding(key: Key) -> Binding:
    return Binding(key.keys, key.action, key.label, show=key.shown, priority=key.first, tooltip=key.what, id=key.id)


def places_here(screen: Screen[object]) -> list[str]:
    """The places whose keys work now, from what has the focus outward."""
    ids = (binding.id for _, binds in screen._modal_binding_chain for _, binding in binds)
    return list(dict.fromkeys(_PLACE_OF_ID[id_] for id_ in ids if id_ in _PLACE_OF_ID))
