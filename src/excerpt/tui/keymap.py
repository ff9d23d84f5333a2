"""The user's keymap, which replaces keys of the key table: its validation, and how a key is written on the screen.

This module does not import Textual, so that a command can check a keymap.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from excerpt.tui.key_table import CONTEXTS, FIELD_KEYS, PARENT_CONTEXTS, KeyBinding

AMBIGUOUS_KEYS = frozenset({"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "alt+b", "alt+f"})
"""Keys that the app cannot tell apart from others.

A terminal sends backspace, tab or enter for some. Textual takes alt+b and alt+f for ctrl+left and ctrl+right, which
some terminals send so.
"""


def binding_keys(binding: KeyBinding, keymap: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys of a binding: those of the keymap (keys by binding id), else those of the key table."""
    keys = keymap.get(binding.id, binding.keys)
    return tuple(key.strip() for key in keys.split(",") if key.strip())


def bindable_actions() -> dict[str, tuple[str, str]]:
    """Return the description and the default keys of every action that a keymap may name, by the action's id."""
    return {binding.id: (binding.what, binding.keys) for keys in CONTEXTS.values() for binding in keys}


def validate_keymap(keymap: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the valid entries of a keymap, and one sentence for each invalid entry and for each clash."""
    known = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
    valid: dict[str, str] = {}
    problems: list[str] = []
    for id_, keys in keymap.items():
        if id_ not in known:
            suggestions = difflib.get_close_matches(id_, known, n=1, cutoff=0.5)
            problems.append(
                f"There is no key called {id_}." + (f" Did you mean {suggestions[0]}?" if suggestions else "")
            )
        elif not keys.strip(" ,"):
            problems.append(f"{id_} has no key.")
        elif unsafe := sorted(AMBIGUOUS_KEYS.intersection(k.strip() for k in keys.split(","))):
            problems.append(f"{unsafe[0]} cannot be used for {id_}: terminals send another key for it.")
        elif typed := [
            key for key in map(_textual_name, keys.split(",")) if _prevents_typing(known[id_]) and is_typed(key)
        ]:
            problems.append(f"{format_key(typed[0])} cannot be used for {id_}: you could not type it any more.")
        else:
            valid[id_] = ",".join(_textual_name(key) for key in keys.split(",") if key.strip())
    return valid, problems + find_clashes(valid)


def _textual_name(key: str) -> str:
    """Return Textual's name of a key, such as `question_mark` for `?`."""
    *modifiers, last = key.strip().split("+") if not key.strip().endswith("+") else (*key.strip()[:-1].split("+"), "+")
    return "+".join((*filter(None, modifiers), _NAMES_BY_SIGN.get(last, last)))


def _prevents_typing(binding: KeyBinding) -> bool:
    """Return whether a character key of this binding could no longer be typed into a focused field."""
    return (binding.has_priority and not has_typed_key(binding)) or binding in FIELD_KEYS


def typed_character(key: str) -> str | None:
    """Return the character that a key types in a field; None if it types none.

    Textual's `key_to_character` does not know "slash", although that is its own name for the key.
    """
    return key if len(key) == 1 else _SIGNS_BY_NAME.get(key)


def is_typed(key: str) -> bool:
    """Return whether a field takes the key as a character."""
    return typed_character(key) is not None


def has_typed_key(binding: KeyBinding) -> bool:
    """Return whether the key table gives a binding a key that types a character."""
    return any(is_typed(key) for key in binding_keys(binding, {}))


def find_clashes(keymap: Mapping[str, str]) -> list[str]:
    """Return one sentence for each key that two bindings share in contexts whose keys work together.

    The binding that the keymap changes is named last. A key that the key table itself gives to a context and to the
    context around it is no clash.
    """
    sentences: dict[str, None] = {}
    for context in CONTEXTS:
        bindings_by_key: dict[str, KeyBinding] = {}
        for scope in (*reversed(list(parent_contexts(context))), context):
            for binding in CONTEXTS[scope]:
                for key in binding_keys(binding, keymap):
                    first = bindings_by_key.setdefault(key, binding)
                    if first.id != binding.id and not _is_overridden(key, first, binding):
                        first_id, second_id = sorted((first.id, binding.id), key=lambda id_: id_ in keymap)
                        sentences[f"{key} is used for both {first_id} and {second_id}."] = None
    return list(sentences)


def _is_overridden(key: str, outer: KeyBinding, inner: KeyBinding) -> bool:
    """Return whether the key table itself gives `key` to both bindings, so that the inner one takes precedence."""
    is_in_both = key in binding_keys(outer, {}) and key in binding_keys(inner, {})
    return is_in_both and not _prevents_typing(outer)


def parent_contexts(context: str) -> Iterator[str]:
    """Yield the contexts around a context, the innermost first. Their keys work in the context too."""
    while (parent := PARENT_CONTEXTS.get(context)) is not None:
        yield parent
        context = parent


def find_unreliable_keys(keymap: Mapping[str, str]) -> list[str]:
    """Return one sentence for each key of a keymap that only some terminals can send.

    These are keys with super, hyper or meta; ctrl with shift, a digit, enter, tab or a sign that has no control
    character; shift with another key than tab or a movement key; and alt with a digit or sign, which Textual reads as
    typed.
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
    if last in _KEYS_WITH_MODIFIERS or (last[:1] == "f" and last[1:].isdigit()):
        return False
    if modifiers == ["alt"]:
        return not (last.isalpha() and len(last) == 1) and last != "enter"
    if "ctrl" in modifiers:
        return "shift" in modifiers or not ((last.isalpha() and len(last) == 1) or last in _SIGNS_WITH_CTRL)
    return "shift" in modifiers and last != "tab"


_TEXTUAL_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_NAMES_BY_SIGN = {
    sign: _TEXTUAL_NAMES.get(name, name)
    for sign in map(chr, range(0x20, 0x7F))
    if not sign.isalnum() and (name := unicodedata.name(sign).lower().replace(" ", "_").replace("-", "_"))
}
"""Textual's names of the ASCII signs, by sign."""

_SIGNS_BY_NAME = {name: sign for sign, name in _NAMES_BY_SIGN.items()}

_KEYS_WITH_MODIFIERS = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"}
)
_SIGNS_WITH_CTRL = frozenset(
    {"backslash", "right_square_bracket", "circumflex_accent", "underscore", "at", "@", "space"}
)


_KEY_SIGNS = {
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
    """Return keys as written on the screen, separated by spaces.

    ctrl+@ is left out if ctrl+space is among them, for which most terminals send it.
    """
    return " ".join(format_key(key) for key in keys if key != "ctrl+@" or "ctrl+space" not in keys)


_PLAIN_MODE_NAMES = {
    "enter": "enter",
    "backspace": "backspace",
    "left": "left",
    "right": "right",
    "tab": "tab",
    "shift+tab": "shift+tab",
    "up": "up",
    "down": "down",
}
"""Names of keys in plain mode (ASCII only), in place of the signs in `_KEY_SIGNS`."""

_uses_spelled_keys = False
"""Whether keys are written as ASCII words instead of signs."""


def use_spelled_keys(*, is_spelled: bool) -> None:
    """Set whether keys are written as ASCII words (`tab`) in place of signs (`⇥`).

    The setting holds for the whole process: keys are written in many places, and a process runs one app.
    """
    global _uses_spelled_keys  # noqa: PLW0603 - see above
    _uses_spelled_keys = is_spelled


_BINDINGS_BY_ID = {binding.id: binding for keys in CONTEXTS.values() for binding in keys}
_keymap: Mapping[str, str] = {}
"""The user's keys by binding id, which replace those of the key table."""


def use_keymap(keymap: Mapping[str, str]) -> None:
    """Set the user's keys (by binding id), shown in place of the key table's. This holds for the whole process."""
    global _keymap  # noqa: PLW0603 - see above
    _keymap = keymap


def current_keys(id_: str) -> tuple[str, ...]:
    """Return the keys of the binding with this id: the user's, else those of the key table."""
    return binding_keys(_BINDINGS_BY_ID[id_], _keymap)


def key_sign(*ids: str) -> str:
    """Return one current key for each binding id in `ids`, as written on the screen.

    It is the first key that types no character, so that it works in a field too, or else the first key. For a binding
    without a key it is the key of the palette and the name of the action there.
    """
    signs = [format_key(min(keys, key=is_typed)) if (keys := current_keys(id_)) else _palette_name(id_) for id_ in ids]
    return ("" if all(len(sign) == 1 for sign in signs) else " ").join(signs)


def _palette_name(id_: str) -> str:
    """Return the key of the palette and the label of an action, such as `^g “theme”`."""
    return f"{format_key(current_keys('palette')[0])} “{_BINDINGS_BY_ID[id_].label}”"


def format_key(key: str) -> str:
    """Return a key as written on the screen, such as `^y` for ctrl+y and `⇥` for tab."""
    names = {**_KEY_SIGNS, **_PLAIN_MODE_NAMES} if _uses_spelled_keys else _KEY_SIGNS
    if key in names:
        return names[key]
    *modifiers, last = key.split("+")
    name = names.get(last, last.upper() if last[:1] == "f" and last[1:].isdigit() else last)
    shift = "shift+" if _uses_spelled_keys else "⇧"
    return "".join({"ctrl": "^", "alt": "alt+", "shift": shift}.get(m, f"{m}+") for m in modifiers) + name
