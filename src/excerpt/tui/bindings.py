"""The table of keys as Textual binds them: what works on a screen now, who does it, why it cannot be done now.

Footer, help and palette ask here alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from textual.actions import parse
from textual.binding import ActiveBinding, Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from excerpt.tui.keymap import keys_now, keys_of, shown_keys
from excerpt.tui.keys import FIELD, PARTS, PLACES, Key


@runtime_checkable
class Reasoned(Protocol):
    """A widget that can say why it would not do something."""

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """One sentence; "" where the action can be done."""


@runtime_checkable
class Waiting(Protocol):
    """A widget whose actions may come before what they are about."""

    def is_early(self, action: str) -> bool:
        """Whether what the action is about is still on its way."""

    def wait_with(self, act: Callable[[], Awaitable[object]]) -> None:
        """Act as soon as it is there."""


@runtime_checkable
class OpensDialogs(Protocol):
    """A screen or widget on which a dialog may be on its way."""

    @property
    def is_opening(self) -> bool:
        """Whether what was asked for is still to come up, so that keys pressed meanwhile are for that."""


def action_target(node: DOMNode, action: str) -> tuple[DOMNode, str, tuple[object, ...]]:
    """The widget that does an action bound at `node`, with the action's name and parameters: the pane around it where
    the action is the pane's."""
    target, name, parameters = parse(action)
    if target == "app":
        return node.app, name, parameters
    if target == "screen":
        return node.screen or node.app, name, parameters
    if name == "pane" and parameters and isinstance(parameters[0], str):
        inner = parse(parameters[0])
        for around in node.ancestors:
            if isinstance(around, Reasoned) and hasattr(around, f"action_{inner[1]}"):
                return around, inner[1], inner[2]
    return node, name, parameters


async def act_around(node: DOMNode, action: str) -> None:
    """Have the nearest widget around `node` that does an action do it."""
    target, _, _ = action_target(node, f"pane({action!r})")
    await node.app.run_action(action, target)


def disabled_reason(node: DOMNode, action: str) -> str:
    """Why an action bound at `node` cannot be done now; "" where it can, and where its keys are another's now."""
    target, name, parameters = action_target(node, action)
    if not isinstance(target, Reasoned) or not target.check_action(name, parameters):
        return ""
    return target.disabled_reason(name, parameters)


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
    found = {each.binding.id or "": disabled_reason(each.node, each.binding.action) for each in active(screen)}
    if any(key.id in found for key in FIELD):
        found = {**{key.id: "Here its key does something else." for key in FIELD}, **found}
    return {id_: reason for id_, reason in found.items() if reason}


def places_here(screen: Screen[object]) -> list[str]:
    """The places whose keys work now, from what has the focus outward; a field has the least of its own."""
    places = dict.fromkeys((*(_PLACE_OF_ID[each.binding.id or ""] for each in active(screen)), "Always"))
    return sorted(places, key=lambda place: PLACES[place] is FIELD)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One binding: its keys as they are written on screen, what it does, and why it cannot be done now."""

    id: str
    keys: str
    what: str
    disabled_reason: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The keys of a place, or of a part of one. `here`: they work where the user is."""

    title: str
    here: bool
    rows: tuple[KeyRow, ...]


def groups(here: Sequence[str], keymap: Mapping[str, str], reasons: Mapping[str, str]) -> tuple[Group, ...]:
    """Every place: those `here`, in that order, then the rest in that of the table. `reasons` say by a binding's id why
    it cannot be done now."""
    found: list[Group] = []
    for place in (*here, *(place for place in PLACES if place not in here)):
        for title, keys in PARTS.get(place, {place: PLACES[place]}).items():
            if keys:
                rows = tuple(_row(key, keymap, reasons if place in here else {}) for key in keys)
                found.append(Group(title, place in here, rows))
    return tuple(found)


def _row(binding: Key, keymap: Mapping[str, str], reasons: Mapping[str, str]) -> KeyRow:
    return KeyRow(binding.id, shown_keys(keys_of(binding, keymap)), binding.what, reasons.get(binding.id, ""))


def matching(every: Sequence[Group], typed: str) -> tuple[Group, ...]:
    """Those with all the words typed, be they in the keys, in what they do, in the name or in the place; what has no
    key is found by words alone."""
    words = typed.casefold().split()
    left = (replace(group, rows=tuple(row for row in group.rows if _has(words, row, group.title))) for group in every)
    return tuple(group for group in left if group.rows)


def _has(words: Sequence[str], row: KeyRow, title: str) -> bool:
    text = f"{row.keys} {row.what} {row.id} {title}".casefold()
    return bool(words or row.keys) and all(word in text for word in words)
