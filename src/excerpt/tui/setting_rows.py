"""The settings that people change, as the settings screen shows them: which, in what order, and what the files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import msgspec

from excerpt.errors import SettingsError
from excerpt.settings import Settings
from excerpt.settings_edit import Value
from excerpt.tui.pack.controller import next_budget

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part", bound="DataclassInstance")


class Kind(Enum):
    CHOICE = auto()
    """One of a few, gone through with left and right."""
    NAME = auto()
    """As a choice, but others may be typed."""
    SWITCH = auto()
    NUMBER = auto()
    """A number of tokens."""
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its dotted key, what it is called on the screen, and how it is changed."""

    key: str
    label: str
    kind: Kind
    choices: tuple[str, ...] = ()


class Origin(Enum):
    """Where a value stands: nowhere, in the file for all vaults, in that of this vault."""

    DEFAULT = "default"
    ALL = "all vaults"
    ONE = "this vault"


@dataclass(frozen=True, slots=True)
class Row:
    """A setting as it stands: its value, where that stands, and whether this vault has another one of its own."""

    field: Setting
    value: Value
    origin: Origin
    overruled: bool = False


_LABELS = {
    "screen.theme": "Theme",
    "screen.density": "Rows",
    "screen.context": "Context",
    "screen.plain": "Plain",
    "screen.motion": "Motion",
    "screen.restore": "Restore",
    "screen.editor": "Editor",
    "search.strategy": "Strategy",
    "pack.scope": "Scope",
    "pack.budget": "Budget",
    "pack.tokenizer": "Tokenizer",
    "pack.format": "Format",
    "pack.question": "Question",
    "memory.in_search": "Memories",
    "memory.recall_first": "Memories first",
}


def fields_of(themes: Sequence[str], tokenizers: Sequence[str]) -> tuple[Setting, ...]:
    """The settings of the screen, with the themes and tokenizers that there are."""
    named = {"screen.theme": themes, "pack.tokenizer": tokenizers}
    return tuple(
        _field(key, label, tuple(named[key])) if key in named else _field(key, label) for key, label in _LABELS.items()
    )


def _field(key: str, label: str, names: tuple[str, ...] = ()) -> Setting:
    shape: Any = Settings
    for part in key.split("."):
        shape = get_type_hints(shape)[part]
    if names:
        return Setting(key, label, Kind.CHOICE if key == "screen.theme" else Kind.NAME, names)
    if isinstance(shape, type) and issubclass(shape, StrEnum):
        return Setting(key, label, Kind.CHOICE, tuple(each.value for each in shape))
    kinds = {bool: Kind.SWITCH, str: Kind.TEXT}
    return Setting(key, label, kinds.get(shape, Kind.NUMBER))


def rows_of(
    shown: Sequence[Setting], for_all: Mapping[str, Any], for_one: Mapping[str, Any], *, one: bool
) -> list[Row]:
    """The rows for what the two files say; with `one` as they hold in this vault, else as they hold in all."""
    defaults = msgspec.to_builtins(Settings())
    return [_row(field, defaults, for_all, for_one, one) for field in shown]


def _row(
    field: Setting, defaults: Mapping[str, Any], for_all: Mapping[str, Any], for_one: Mapping[str, Any], one: bool
) -> Row:
    own = value_at(for_one, field.key)
    if one and own is not None:
        return Row(field, own, Origin.ONE)
    general = value_at(for_all, field.key)
    value, origin = (value_at(defaults, field.key), Origin.DEFAULT) if general is None else (general, Origin.ALL)
    assert value is not None  # a default of each
    return Row(field, value, origin, overruled=own is not None)


def value_at(values: Mapping[str, Any], key: str) -> Value | None:
    """What stands under a dotted key; None for nothing."""
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found  # type: ignore[no-any-return]


def stepped(row: Row, steps: int) -> Value | None:
    """The next value (`steps` 1) or the one before (-1); None where it has to be typed."""
    field = row.field
    if field.kind is Kind.SWITCH:
        return not row.value
    if field.kind is Kind.NUMBER and isinstance(row.value, int):
        return next_budget(row.value, steps)
    if field.choices:
        at = field.choices.index(str(row.value)) if row.value in field.choices else (-1 if steps > 0 else 0)
        return field.choices[(at + steps) % len(field.choices)]
    return None


def typed(field: Setting, text: str) -> Value:
    """What a value means that was typed. Raises SettingsError."""
    text = text.strip()
    if field.kind is Kind.NUMBER:
        figures = text.replace(",", "").replace("_", "").replace(" ", "")
        if not figures.isdecimal():
            raise SettingsError(f"{field.label} is a whole number of tokens, such as 4000.")
        return int(figures)
    if field.kind is Kind.CHOICE and text not in field.choices:
        raise SettingsError(f"{field.label} is one of {', '.join(field.choices)}.")
    return text


def shown_value(row: Row) -> str:
    """A value as the screen shows it."""
    if isinstance(row.value, bool):
        return "on" if row.value else "off"
    if isinstance(row.value, int):
        return f"{row.value:,}"
    return str(row.value) or {"screen.editor": "$VISUAL or $EDITOR"}.get(row.field.key, "")


def carried(now: Part, before: Part, after: Part) -> Part:
    """`now` with every value that differs between `before` and `after`, as it is in the latter: what was chosen for
    this time alone, on the command line or by a key, stays where the files did not change."""
    changes: dict[str, Any] = {}
    for one in fields(now):
        old, new, current = (getattr(each, one.name) for each in (before, after, now))
        if old != new:
            changes[one.name] = carried(current, old, new) if is_dataclass(current) else new
    return replace(now, **changes)
