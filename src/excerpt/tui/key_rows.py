"""A row of the table of keys, and the rows that many places share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Key:
    """One binding: its keys in Textual's names, with commas between. `label` is for the footer, `what` for the help.

    `shown` puts it into the footer before others; `moves` keeps it out, as it moves in what is shown. `first` goes
    before the focused field's own.
    """

    id: str
    keys: str
    action: str
    label: str
    what: str
    shown: bool = False
    first: bool = False
    moves: bool = False


def while_typing(*rows: Key) -> Sequence[Key]:
    """Keys of a place with a field: they go before what the field does with them."""
    return tuple(replace(row, first=True) for row in rows)


def moving(prefix: str, noun: str, *, arrows: bool = False) -> Sequence[Key]:
    """Movement as in vi, in the rows of a list that has the focus; with `arrows` by these too, where nothing around the
    list moves by them."""
    down, up = ("down,j", "up,k") if arrows else ("j", "k")
    return (
        Key(f"{prefix}-down", down, "down", "next", f"Next {noun}", moves=True),
        Key(f"{prefix}-up", up, "up", "previous", f"Previous {noun}", moves=True),
        Key(f"{prefix}-first", "g,home", "first", "first", f"First {noun}", moves=True),
        Key(f"{prefix}-last", "G,end", "last", "last", f"Last {noun}", moves=True),
    )


def too(around: Iterable[Key], of: str, id_: str, keys: str, what: str = "", *, shown: bool = False) -> Key:
    """More keys, in what has the focus, for the binding `of` of the place around it."""
    binding = next(each for each in around if each.id == of)
    action = f"pane({binding.action!r})" if "'" not in binding.action else f'pane("{binding.action}")'
    return Key(id_, keys, action, binding.label, what or binding.what, shown=shown)
