"""Conversion of values to JSON; the guide's note "JSON forms" describes the results."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from excerpt.locations import location_to_dict


def as_data(value: Any) -> Any:
    """Convert a value to JSON types, at any depth.

    Dataclasses become objects with their fields in order, enums their values, paths strings; lines of an attachment get
    their location.
    """
    import msgspec  # takes a seventh of the time of `excerpt --version`

    return _with_lists(msgspec.to_builtins(value, enc_hook=_plain))


def _with_lists(value: Any) -> Any:
    """Convert the tuples that msgspec leaves to lists."""
    if isinstance(value, dict):
        if "line_start" in value:
            value = {name: each for name, each in value.items() if each or name not in ("kind", "place")}
            value |= {"place": location_to_dict(value["place"])} if isinstance(value.get("place"), str) else {}
        return {name: _with_lists(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_lists(each) for each in value]
    return value


def fields_of(value: object) -> dict[str, Any]:
    """Return all fields of a dataclass, converted by `as_data`."""
    data = as_data(value)
    assert isinstance(data, dict)
    return data


def _plain(value: object) -> Any:
    """Convert what msgspec does not support: paths, and NumPy's floats, which json accepts as Python's."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def select_fields(value: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of a value, in that order, converted by `as_data`."""
    return {name: as_data(getattr(value, name)) for name in names}
