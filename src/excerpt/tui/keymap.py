"""The user's keymap over the table of keys: validation, clashes, and how a key is written on the screen.

Does not import Textual, so that a command can check a keymap.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from excerpt.tui.key_table import CONTEXTS, FIELD, PARENT_CONTEXTS, Key

UNSAFE = frozenset({"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "alt+b", "alt+f"})
"""Keys that a terminal cannot tell apart from others.

They are sent for backspace, tab and enter, or read by Textual for ctrl+left and ctrl+right of some terminals.
"""


def keys_of(binding: Key, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys of a binding under the user's keymap."""
    keys = keymap.get(binding.id, binding.keys)
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def bindable() -> dict[str, tuple[str, str]]:
    """Return every action that a keymap may name, with its description and default keys, by id."""
    return {binding.id: (binding.what, binding.keys) for keys in CONTEXTS.values() for binding in keys}


def validate_keymap(keymap: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the valid part of a keymap, and one sentence for each entry that is invalid or clashes."""
    known = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
    good: dict[str, str] = {}
    problems: list[str] = []
    for id_, keys in keymap.items():
        if id_ not in known:
            suggestions = difflib.get_close_matches(id_, known, n=1, cutoff=0.5)
            problems.append(
                f"There is no key called {id_}." + (f" Did you mean {suggestions[0]}?" if suggestions else "")
            )
        elif not keys.strip(" ,"):
            problems.append(f"{id_} has no key.")
        elif unsafe := sorted(UNSAFE.intersection(k.strip() for k in keys.split(","))):
            problems.append(f"{unsafe[0]} cannot be used for {id_}: terminals send another key for it.")
        elif typed := [key for key in map(_named, keys.split(",")) if _is_before_typing(known[id_]) and is_typed(key)]:
            problems.append(f"{format_key(typed[0])} cannot be used for {id_}: you could not type it any more.")
        else:
            good[id_] = ",".join(_named(key) for key in keys.split(",") if key.strip())
    return good, problems + find_clashes(good)


def _named(key: str) -> str:
    """Return a key under Textual's name: `question_mark` for `?`."""
    *modifiers, last = key.strip().split("+") if not key.strip().endswith("+") else (*key.strip()[:-1].split("+"), "+")
    return "+".join((*filter(None, modifiers), _SIGNS.get(last, last)))


def _is_before_typing(binding: Key) -> bool:
    return (binding.first and not has_typed_key(binding)) or binding in FIELD


def typed_character(key: str) -> str | None:
    """Return the character that a key types in a field; None if it types none.

    Textual's `key_to_character` does not know "slash", although that is its own name for the key.
    """
    return key if len(key) == 1 else _CHARACTERS.get(key)


def is_typed(key: str) -> bool:
    """Return whether a field takes the key as a character."""
    return typed_character(key) is not None


def has_typed_key(binding: Key) -> bool:
    """Return whether one of the table's keys for a binding is a character."""
    return any(is_typed(key) for key in keys_of(binding, {}))


def find_clashes(keymap: Mapping[str, str]) -> list[str]:
    """Return one sentence for each key that two bindings share in contexts that work together.

    The binding that the keymap changes is named last. A key that the table itself gives to a context and to the one
    around it is no clash.
    """
    sentences: dict[str, None] = {}
    for context in CONTEXTS:
        bindings_by_key: dict[str, Key] = {}
        for scope in (*reversed(list(parent_contexts(context))), context):
            for binding in CONTEXTS[scope]:
                for key in keys_of(binding, keymap):
                    first = bindings_by_key.setdefault(key, binding)
                    if first.id != binding.id and not _is_overridden(key, first, binding):
                        first_id, second_id = sorted((first.id, binding.id), key=lambda id_: id_ in keymap)
                        sentences[f"{key} is used for both {first_id} and {second_id}."] = None
    return list(sentences)


def _is_overridden(key: str, outer: Key, inner: Key) -> bool:
    """Return whether the table binds a key in an inner context too, where the inner binding takes precedence."""
    is_in_both = key in keys_of(outer, {}) and key in keys_of(inner, {})
    return is_in_both and not _is_before_typing(outer)


def parent_contexts(context: str) -> Iterator[str]:
    """Yield the contexts around a context, whose keys work there too, the nearest first."""
    while (parent := PARENT_CONTEXTS.get(context)) is not None:
        yield parent
        context = parent


def find_unreliable_keys(keymap: Mapping[str, str]) -> list[str]:
    """Return one sentence for each key that only some terminals can send.

    Such keys have super or hyper; or ctrl with shift, a digit, enter, tab or a sign without a control character; or alt
    with a digit or sign, which Textual reads as typed.
    """
    return [
        f"{key} (for {id_}) is not sent by most terminals."
        for id_, keys in keymap.items()
        for key in (key.strip() for key in keys.split(","))
        if _is_unreliable(key)
    ]


def _is_unreliable(key: str) -> bool:
    *modifiers, last = key.split("+")
    if {"super", "hyper", "meta"}.intersection(modifiers):
        return True
    if last in _WITH_MODIFIERS or (last[:1] == "f" and last[1:].isdigit()):
        return False
    if modifiers == ["alt"]:
        return not (last.isalpha() and len(last) == 1) and last != "enter"
    if "ctrl" in modifiers:
        return "shift" in modifiers or not ((last.isalpha() and len(last) == 1) or last in _CONTROL)
    return "shift" in modifiers and last != "tab"


_TEXTUAL_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_SIGNS = {
    sign: _TEXTUAL_NAMES.get(name, name)
    for sign in map(chr, range(0x20, 0x7F))
    if not sign.isalnum() and (name := unicodedata.name(sign).lower().replace(" ", "_").replace("-", "_"))
}
"""Textual's names of the signs that can be typed."""

_CHARACTERS = {name: sign for sign, name in _SIGNS.items()}

_WITH_MODIFIERS = frozenset({"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"})
_CONTROL = frozenset({"backslash", "right_square_bracket", "circumflex_accent", "underscore", "at", "@", "space"})


_NAMES = {
    "escape": "esc",
    "enter": "⏎",
    "backspace": "⌫",
    "left": "←",
    "right": "→",
    "tab": "⇥",
    "shift+tab": "⇧⇥",
    "up": "↑",
    "down": "↓",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "backslash": "\\",
    "slash": "/",
    "plus": "+",
    "comma": ",",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "minus": "-",
    "underscore": "_",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "delete": "del",
}


def format_keys(keys: Sequence[str]) -> str:
    """Return keys as written on the screen.

    ctrl+@ is left out beside ctrl+space: most terminals send it for that key.
    """
    return " ".join(format_key(key) for key in keys if key != "ctrl+@" or "ctrl+space" not in keys)


_SPELLED_NAMES = {
    "enter": "enter",
    "backspace": "backspace",
    "left": "left",
    "right": "right",
    "tab": "tab",
    "shift+tab": "shift+tab",
    "up": "up",
    "down": "down",
}
"""Names of keys in plain mode, which has no signs for them."""

_is_spelled = False


def spell_keys(*, spelled: bool) -> None:
    """Set whether keys are written without signs.

    A setting of the process, since keys are written in many places and a process runs one app.
    """
    global _is_spelled  # noqa: PLW0603 - see above
    _is_spelled = spelled


_ROWS = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
_keymap: Mapping[str, str] = {}


def use_keys(keymap: Mapping[str, str]) -> None:
    """Set the user's keys that are shown in place of the table's. A setting of the process, as in `spell_keys`."""
    global _keymap  # noqa: PLW0603 - see above
    _keymap = keymap


def current_keys(id_: str) -> tuple[str, ...]:
    """Return the current keys of a binding."""
    return keys_of(_ROWS[id_], _keymap)


def key_sign(*ids: str) -> str:
    """Return the current keys of bindings as written on the screen.

    For each binding the first key that works in a field too, else its first key. A binding without a key is named as
    the palette lists it.
    """
    signs = [format_key(min(keys, key=is_typed)) if (keys := current_keys(id_)) else _in_palette(id_) for id_ in ids]
    return ("" if all(len(sign) == 1 for sign in signs) else " ").join(signs)


def _in_palette(id_: str) -> str:
    return f"{format_key(current_keys('palette')[0])} “{_ROWS[id_].label}”"


def format_key(key: str) -> str:
    """Return a key as written on the screen: `^y` for ctrl+y, `⇥` for tab."""
    names = {**_NAMES, **_SPELLED_NAMES} if _is_spelled else _NAMES
    if key in names:
        return names[key]
    *modifiers, last = key.split("+")
    name = names.get(last, last.upper() if last[:1] == "f" and last[1:].isdigit() else last)
    shift = "shift+" if _is_spelled else "⇧"
    return "".join({"ctrl": "^", "alt": "alt+", "shift": shift}.get(m, f"{m}+") for m in modifiers) + name
