"""The table of keys as Textual bindings: which work on a screen now, which node runs them, why one is disabled.

Used by the footer, the help and the palette.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from textual.actions import parse
from textual.binding import ActiveBinding, Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from excerpt.tui.key_table import CONTEXTS, FIELD, PARTS, Key
from excerpt.tui.keymap import current_keys, format_keys, has_typed_key, is_typed, typed_character


@runtime_checkable
class HasDisabledReason(Protocol):
    """A widget that knows why it would not run an action."""

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return the reason as one sentence; "" if the action can be run."""


@runtime_checkable
class DefersActions(Protocol):
    """A widget whose actions may come before their target exists."""

    def has_to_wait(self, action: str) -> bool:
        """Return whether the target of the action is still on its way."""

    def run_when_answered(self, act: Callable[[], Awaitable[object]]) -> None:
        """Call `act` as soon as the target exists."""


@runtime_checkable
class OpensDialogs(Protocol):
    """A screen or widget that opens dialogs asynchronously."""

    @property
    def is_opening(self) -> bool:
        """Whether a requested dialog is still to open, so that keys pressed meanwhile belong to it."""


def action_target(node: DOMNode, action: str) -> tuple[DOMNode, str, tuple[object, ...]]:
    """Return the node that runs an action bound at `node`, with the action's name and parameters."""
    target, name, parameters = parse(action)
    if target == "app":
        return node.app, name, parameters
    if target == "screen":
        return node.screen or node.app, name, parameters
    return node, name, parameters


def disabled_reason(node: DOMNode, action: str) -> str:
    """Return why an action bound at `node` cannot be run now.

    It is "" if the action can be run, and if `check_action` rejects it, since its keys then belong to another binding.
    """
    target, name, parameters = action_target(node, action)
    if not isinstance(target, HasDisabledReason) or not target.check_action(name, parameters):
        return ""
    return target.disabled_reason(name, parameters)


_CONTEXT_OF_ID = {binding.id: context for context, keys in CONTEXTS.items() for binding in keys}
_RANK = {id_: rank for rank, id_ in enumerate(_CONTEXT_OF_ID)}


_TYPED = ":typed"
"""Suffix of the id of a row's second binding: for its keys that are characters, to which a field has precedence."""


def bindings(context: str, *, moves: bool | None = None) -> list[BindingType]:
    """Return the bindings of a context; if `moves` is given, only those that move or those that do not."""
    rows = (key for key in CONTEXTS[context] if moves is None or key.moves is moves)
    return [binding for key in rows for binding in _bindings_of(key)]


def _bindings_of(key: Key) -> Iterator[Binding]:
    for id_, keys in _keys_by_id(key, key.keys).items():
        first = key.first and not id_.endswith(_TYPED)
        yield Binding(keys, key.action, key.label, show=key.shown, priority=first, tooltip=key.what, id=id_)


def textual_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """Return the user's keymap by the ids of Textual's bindings."""
    rows = {key.id: key for keys in CONTEXTS.values() for key in keys}
    return {id_: keys for of, wanted in keymap.items() for id_, keys in _keys_by_id(rows[of], wanted).items()}


def _keys_by_id(key: Key, keys: str) -> dict[str, str]:
    # Textual has no binding without a key. No terminal sends these names, and a keymap may replace them.
    if not (key.first and has_typed_key(key)):
        return {key.id: keys or f"unbound-{key.id}"}
    all_keys = keys.split(",")
    typed = ",".join(each for each in all_keys if is_typed(each)) or f"untyped-{key.id}"
    return {
        f"{key.id}{_TYPED}": typed,
        key.id: ",".join(each for each in all_keys if not is_typed(each)) or f"unbound-{key.id}",
    }


def row_id(binding: Binding) -> str:
    """Return the id of the table row that a binding belongs to; "" if it belongs to none."""
    id_ = (binding.id or "").removesuffix(_TYPED)
    return id_ if id_ in _RANK else ""


def working_bindings(screen: Screen[object]) -> list[ActiveBinding]:
    """Return the table's bindings that work on a screen now, one entry per key.

    Sorted by distance from the focus outward; within a node bindings without priority come first, then by the order of
    the table, then by the order of the binding's keys.
    """
    depth = {node: at for at, (node, _) in enumerate(screen._modal_binding_chain)}
    ours = [
        binding
        for binding in screen.active_bindings.values()
        if binding.enabled and _is_usable(binding.binding, screen)
    ]
    ours.sort(
        key=lambda binding: (
            depth[binding.node],
            binding.binding.priority,
            _RANK[row_id(binding.binding)],
            _key_index(binding),
        )
    )
    return ours


def _is_usable(binding: Binding, screen: Screen[object]) -> bool:
    """Return whether a binding belongs to a row of the table and its key reaches it.

    A focused field takes keys that are characters, also those of a keymap, which Textual leaves in the active bindings.
    """
    if not row_id(binding):
        return False
    if not (binding.id or "").endswith(_TYPED):
        return True
    focused = screen.focused
    is_typed_key = focused is not None and focused.check_consume_key(binding.key, typed_character(binding.key))
    return not is_typed_key and not binding.key.startswith("untyped-")


def _key_index(each: ActiveBinding) -> int:
    keys = current_keys(row_id(each.binding))
    return keys.index(each.binding.key) if each.binding.key in keys else len(keys)


def working_keys(screen: Screen[object]) -> dict[str, tuple[str, ...]]:
    """Return the keys that work on a screen now, by row id, in the order of `working_bindings`.

    A row whose action works but none of whose keys do has an empty tuple.
    """
    keys_by_id: dict[str, list[str]] = {}
    for each in working_bindings(screen):
        id_ = row_id(each.binding)
        keys_by_id.setdefault(id_, []).extend([each.binding.key] if each.binding.key in current_keys(id_) else [])
    return {id_: tuple(keys) for id_, keys in keys_by_id.items()}


def disabled_reasons(screen: Screen[object]) -> dict[str, str]:
    """Return why bindings that belong to the current focus cannot be run now, by row id."""
    reasons = {
        row_id(each.binding): disabled_reason(each.node, each.binding.action) for each in working_bindings(screen)
    }
    if any(key.id in reasons for key in FIELD):
        reasons = {**{key.id: "Its key does something else here." for key in FIELD}, **reasons}
        typed = (id_ for id_, keys in working_keys(screen).items() if not keys and current_keys(id_))
        reasons |= {id_: "The field types its key as a character." for id_ in typed if not reasons[id_]}
    return {id_: reason for id_, reason in reasons.items() if reason}


def active_contexts(screen: Screen[object]) -> list[str]:
    """Return the contexts whose keys work now, from the focus outward; those of a field come last."""
    contexts = dict.fromkeys((*(_CONTEXT_OF_ID[row_id(each.binding)] for each in working_bindings(screen)), "Always"))
    return sorted(contexts, key=lambda context: CONTEXTS[context] is FIELD)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row of the help: the keys as shown on the screen, what they do, and why that cannot be done now."""

    id: str
    keys: str
    what: str
    disabled_reason: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The keys of a context or of a part of one. `is_active`: they work where the focus is."""

    title: str
    is_active: bool
    rows: tuple[KeyRow, ...]


def groups(contexts: Sequence[str], reasons: Mapping[str, str]) -> tuple[Group, ...]:
    """Return the groups of every context: those in `contexts`, in that order, then the rest in the table's order.

    `reasons` maps the id of a binding to the reason why it cannot be run now.
    """
    grouped: list[Group] = []
    for context in (*contexts, *(context for context in CONTEXTS if context not in contexts)):
        for title, keys in PARTS.get(context, {context: CONTEXTS[context]}).items():
            if keys:
                rows = tuple(_row(key, reasons if context in contexts else {}) for key in keys)
                grouped.append(Group(title, context in contexts, rows))
    return tuple(grouped)


def _row(binding: Key, reasons: Mapping[str, str]) -> KeyRow:
    return KeyRow(binding.id, format_keys(current_keys(binding.id)), binding.what, reasons.get(binding.id, ""))


def matching(every: Sequence[Group], typed: str) -> tuple[Group, ...]:
    """Return the groups reduced to rows that contain all typed words, in keys, description, id or context.

    A row without a key is returned only if a word is typed.
    """
    words = typed.casefold().split()
    left = (replace(group, rows=tuple(row for row in group.rows if _has(words, row, group.title))) for group in every)
    return tuple(group for group in left if group.rows)


def _has(words: Sequence[str], row: KeyRow, title: str) -> bool:
    text = f"{row.keys} {row.what} {row.id} {title}".casefold()
    return bool(words or row.keys) and all(word in text for word in words)
