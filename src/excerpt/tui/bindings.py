"""The table of keys as Textual binds them."""

from __future__ import annotations

from textual.binding import ActiveBinding, Binding, BindingType
from textual.screen import Screen

from excerpt.tui.acting import why_not
from excerpt.tui.key_rows import Key
from excerpt.tui.keymap import keys_now
from excerpt.tui.keys import FIELD, PLACES

_PLACE_OF_ID = {binding.id: place for place, keys in PLACES.items() for binding in keys}
_RANK = {id_: rank for rank, id_ in enumerate(_PLACE_OF_ID)}


def bindings(place: str) -> list[BindingType]:
    """The bindings of one place of `PLACES`."""
    return [_binding(key) for key in PLACES[place]]


def _binding(key: Key) -> Binding:
    # Textual has no binding without a key; with this one, no terminal sends it, and a keymap may give it another.
    keys = key.keys or f"unbound-{key.id}"
    return Binding(keys, key.action, key.label, show=key.shown, priority=key.first, tooltip=key.what, id=key.id)


def active(screen: Screen[object]) -> list[ActiveBinding]:
    """The table's bindings that work on a screen now, a key each: from what has the focus outward, then in the order of
    the table, a binding's first key before its others."""
    depth = {node: at for at, (node, _) in enumerate(screen._modal_binding_chain)}
    ours = (each for each in screen.active_bindings.values() if each.enabled and each.binding.id in _RANK)
    return sorted(ours, key=lambda each: (depth[each.node], _RANK[each.binding.id or ""], _turn(each)))


def _turn(each: ActiveBinding) -> int:
    keys = keys_now(each.binding.id or "")
    return keys.index(each.binding.key) if each.binding.key in keys else len(keys)


def reasons_here(screen: Screen[object]) -> dict[str, str]:
    """Why those bindings cannot be done now that work where the user is, by their ids."""
    found = {each.binding.id or "": why_not(each.node, each.binding.action) for each in active(screen)}
    if any(key.id in found for key in FIELD):
        found = {**{key.id: "Here its key does something else." for key in FIELD}, **found}
    return {id_: reason for id_, reason in found.items() if reason}


def places_here(screen: Screen[object]) -> list[str]:
    """The places whose keys work now, from what has the focus outward; a field has the least of its own."""
    places = dict.fromkeys((*(_PLACE_OF_ID[each.binding.id or ""] for each in active(screen)), "Always"))
    return sorted(places, key=lambda place: PLACES[place] is FIELD)
