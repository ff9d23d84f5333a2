"""The keys as they are listed by F1: grouped by place, those that work here first, fewer as one types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from excerpt.tui.key_rows import Key
from excerpt.tui.keymap import keys_of, shown_keys
from excerpt.tui.keys import PARTS, PLACES


@dataclass(frozen=True, slots=True)
class Row:
    """One binding: its keys as they are written on screen, what it does, and why it cannot be done now."""

    id: str
    keys: str
    what: str
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The keys of a place, or of a part of one. `here`: they work where the user is."""

    title: str
    here: bool
    rows: tuple[Row, ...]


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


def _row(binding: Key, keymap: Mapping[str, str], reasons: Mapping[str, str]) -> Row:
    return Row(binding.id, shown_keys(keys_of(binding, keymap)), binding.what, reasons.get(binding.id, ""))


def matching(every: Sequence[Group], typed: str) -> tuple[Group, ...]:
    """Those with all the words typed, be they in the keys, in what they do, in the name or in the place."""
    words = typed.casefold().split()
    left = (replace(group, rows=tuple(row for row in group.rows if _has(words, row, group.title))) for group in every)
    return tuple(group for group in left if group.rows)


def _has(words: Sequence[str], row: Row, title: str) -> bool:
    text = f"{row.keys} {row.what} {row.id} {title}".casefold()
    return all(word in text for word in words)
