"""The key table as Textual bindings: which of them work on a screen now, which node runs them, why one is disabled.

Used by the footer, the help and the palette.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace
from textual.actions import parse
from textual.binding import ActiveBinding, Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen

from excerpt.tui.key_table import CONTEXTS, FIELD_KEYS, HELP_PARTS, KeyBinding
from excerpt.tui.keymap import current_keys, format_keys, has_typed_key, is_typed, typed_character


@runtime_checkable
class HasDisabledReason(Protocol):
    """A widget that can give the reason why one of its actions is disabled."""

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why the action cannot be run now, as one sentence; "" if it can."""


@runtime_checkable
class HasParts(Protocol):
    """A widget that binds the keys of the widgets in it; the keys work wherever in the widget the focus is."""

    def part_for(self, action: str) -> DOMNode:
        """Return the part that runs the action: a widget in this one, or this one itself."""


@runtime_checkable
class DefersActions(Protocol):
    """A widget whose actions may be requested before their target exists, such as the hit of a running search."""

    def has_to_wait(self, action: str) -> bool:
        """Return whether the target of the action does not exist yet but has been requested."""

    def run_when_answered(self, act: Callable[[], Awaitable[object]]) -> None:
        """Call `act` as soon as the target exists."""


@runtime_checkable
class OpensDialogs(Protocol):
    """A screen or widget that opens dialogs asynchronously."""

    @property
    def is_opening(self) -> bool:
        """Whether a requested dialog is not open yet. Keys pressed meanwhile are meant for that dialog."""


def action_target(node: DOMNode, action: str) -> tuple[DOMNode, str, tuple[object, ...]]:
    """Return the node that runs an action bound at `node`, with the action's name and parameters."""
    target, name, parameters = parse(action)
    if target == "app":
        return node.app, name, parameters
    if target == "screen":
        return node.screen or node.app, name, parameters
    return node, name, parameters


def disabled_reason(node: DOMNode, action: str) -> str:
    """Return why an action bound at `node` cannot be run now; "" if it can.

    The result is also "" if `check_action` rejects the action, since its keys then belong to another binding.
    """
    target, name, parameters = action_target(node, action)
    if not isinstance(target, HasDisabledReason) or not target.check_action(name, parameters):
        return ""
    return target.disabled_reason(name, parameters)


_CONTEXT_OF_ID = {binding.id: context for context, keys in CONTEXTS.items() for binding in keys}
_TABLE_POSITIONS = {id_: position for position, id_ in enumerate(_CONTEXT_OF_ID)}

_TYPED_SUFFIX = ":typed"
"""Suffix of the id of a second Textual binding for a row of the key table.

It holds the keys that type a character. It has no priority, so that a focused field still receives these keys.
"""


def bindings(context: str, *, moves: bool | None = None) -> list[BindingType]:
    """Return the Textual bindings of a context: all, only movements (`moves` True) or only the others (False)."""
    rows = (key for key in CONTEXTS[context] if moves is None or key.is_movement is moves)
    return [binding for key in rows for binding in _textual_bindings(key)]


def _textual_bindings(key: KeyBinding) -> Iterator[Binding]:
    """Yield the Textual bindings of a row of the key table."""
    for id_, keys in _keys_by_id(key, key.keys).items():
        priority = key.has_priority and not id_.endswith(_TYPED_SUFFIX)
        yield Binding(keys, key.action, key.label, show=False, priority=priority, tooltip=key.what, id=id_)


def to_textual_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """Convert the user's keymap (keys by row id) to Textual's: keys by the id of the Textual binding."""
    rows = {key.id: key for keys in CONTEXTS.values() for key in keys}
    return {
        id_: keys for row, keymap_keys in keymap.items() for id_, keys in _keys_by_id(rows[row], keymap_keys).items()
    }


def _keys_by_id(key: KeyBinding, keys: str) -> dict[str, str]:
    """Return the comma-separated `keys` of a row by the id of the Textual binding that gets them."""
    # Textual has no binding without a key. No terminal sends these names, and a keymap may replace them.
    if not (key.has_priority and has_typed_key(key)):
        return {key.id: keys or f"unbound-{key.id}"}
    all_keys = keys.split(",")
    typed = ",".join(each for each in all_keys if is_typed(each)) or f"untyped-{key.id}"
    return {
        f"{key.id}{_TYPED_SUFFIX}": typed,
        key.id: ",".join(each for each in all_keys if not is_typed(each)) or f"unbound-{key.id}",
    }


def row_id(binding: Binding) -> str:
    """Return the id of the row of the key table that a Textual binding was made from; "" if there is none."""
    id_ = (binding.id or "").removesuffix(_TYPED_SUFFIX)
    return id_ if id_ in _TABLE_POSITIONS else ""


def working_bindings(screen: Screen[object]) -> list[ActiveBinding]:
    """Return the bindings of the key table that work on a screen now, one entry per key.

    They are sorted by the node that binds them, from the focus outward. Within a node, bindings without priority come
    first; then the order is that of the table, and of the keys within a binding.
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
            _TABLE_POSITIONS[row_id(binding.binding)],
            _key_index(binding),
        )
    )
    return ours


def _is_usable(binding: Binding, screen: Screen[object]) -> bool:
    """Return whether a binding is in the key table and no focused field takes its key as a typed character.

    Textual lists such keys among the active bindings if they come from a keymap.
    """
    if not row_id(binding):
        return False
    if not (binding.id or "").endswith(_TYPED_SUFFIX):
        return True
    focused = screen.focused
    is_typed_key = focused is not None and focused.check_consume_key(binding.key, typed_character(binding.key))
    return not is_typed_key and not binding.key.startswith("untyped-")


def _key_index(active: ActiveBinding) -> int:
    """Return the position of a binding's key among the keys of its row."""
    keys = current_keys(row_id(active.binding))
    return keys.index(active.binding.key) if active.binding.key in keys else len(keys)


def working_keys(screen: Screen[object]) -> dict[str, tuple[str, ...]]:
    """Return the keys that work on a screen now, by the id of their row in the key table, as `working_bindings` sorts.

    The tuple is empty for a row whose action works although none of its keys does.
    """
    keys_by_id: dict[str, list[str]] = {}
    for each in working_bindings(screen):
        id_ = row_id(each.binding)
        keys_by_id.setdefault(id_, []).extend([each.binding.key] if each.binding.key in current_keys(id_) else [])
    return {id_: tuple(keys) for id_, keys in keys_by_id.items()}


def disabled_reasons(screen: Screen[object]) -> dict[str, str]:
    """Return why bindings of the focused widget and the nodes around it cannot be run now, by the id of their row."""
    reasons = {
        row_id(each.binding): disabled_reason(each.node, each.binding.action) for each in working_bindings(screen)
    }
    if any(key.id in reasons for key in FIELD_KEYS):
        reasons = {**{key.id: "Here another action has this key." for key in FIELD_KEYS}, **reasons}
        typed = (id_ for id_, keys in working_keys(screen).items() if not keys and current_keys(id_))
        reasons |= {id_: "In a field this key types a character." for id_ in typed if not reasons[id_]}
    if "accept" in reasons:
        reasons["edit"] = "Here another action has this key."
    return {id_: reason for id_, reason in reasons.items() if reason}


def active_contexts(screen: Screen[object]) -> list[str]:
    """Return the contexts whose keys work now, from the focus outward; the context of a field comes last."""
    contexts = dict.fromkeys((*(_CONTEXT_OF_ID[row_id(each.binding)] for each in working_bindings(screen)), "Always"))
    return sorted(contexts, key=lambda context: CONTEXTS[context] is FIELD_KEYS)


class HelpRow(Struct, frozen=True):
    """A row of the help: `keys` as written on the screen, `what` they do, and why they are disabled, "" if not."""

    id: str
    keys: str
    what: str
    disabled_reason: str = ""


class HelpGroup(Struct, frozen=True):
    """A group of rows in the help: the keys of a context or of a part of it. `is_active`: they work now."""

    title: str
    is_active: bool
    rows: tuple[HelpRow, ...]


def build_help_groups(contexts: Sequence[str], reasons: Mapping[str, str]) -> tuple[HelpGroup, ...]:
    """Return the groups of the help: first those of `contexts`, the active ones, then those of all other contexts.

    `reasons` maps the id of a row to the reason why its action cannot be run now.
    """
    grouped: list[HelpGroup] = []
    for context in (*contexts, *(context for context in CONTEXTS if context not in contexts)):
        for title, keys in HELP_PARTS.get(context, {context: CONTEXTS[context]}).items():
            if keys:
                rows = tuple(_help_row(key, reasons if context in contexts else {}) for key in keys)
                grouped.append(HelpGroup(title, context in contexts, rows))
    return tuple(grouped)


def _help_row(binding: KeyBinding, reasons: Mapping[str, str]) -> HelpRow:
    return HelpRow(binding.id, format_keys(current_keys(binding.id)), binding.what, reasons.get(binding.id, ""))


def filter_help_groups(groups: Sequence[HelpGroup], search_text: str) -> tuple[HelpGroup, ...]:
    """Return the groups with only the rows that contain each word of `search_text`; empty groups are left out.

    Keys, description, id and group title are searched. Without words, the rows that have a key are returned.
    """
    words = search_text.casefold().split()
    filtered = (
        replace(group, rows=tuple(row for row in group.rows if _matches_words(words, row, group.title)))
        for group in groups
    )
    return tuple(group for group in filtered if group.rows)


def _matches_words(words: Sequence[str], row: HelpRow, title: str) -> bool:
    text = f"{row.keys} {row.what} {row.id} {title}".casefold()
    return bool(words or row.keys) and all(word in text for word in words)
