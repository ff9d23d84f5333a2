"""Conversion of values to JSON; the guide's note "JSON forms" describes the results."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from excerpt.base.locations import location_to_dict


def to_json_value(value: Any) -> Any:
    """Convert a value to JSON types, at any depth.

    Dataclasses become objects with their fields in order, enums their values, paths strings. The `place` of lines in an
    attachment, such as a page, becomes an object.
    """
    import msgspec  # takes a seventh of the time of `excerpt --version`

    return _tuples_to_lists(msgspec.to_builtins(value, enc_hook=_encode_unsupported))


def _tuples_to_lists(value: Any) -> Any:
    """Convert tuples to lists, and the `place` of lines to an object; drop `kind` and `place` where they are empty."""
    if isinstance(value, dict):
        if "line_start" in value:
            value = {name: each for name, each in value.items() if each or name not in ("kind", "place")}
            value |= {"place": location_to_dict(value["place"])} if isinstance(value.get("place"), str) else {}
        return {name: _tuples_to_lists(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_tuples_to_lists(each) for each in value]
    return value


def dataclass_to_json(value: object) -> dict[str, Any]:
    """Return all fields of a dataclass, by name, as JSON values."""
    data = to_json_value(value)
    assert isinstance(data, dict)
    return data


def _encode_unsupported(value: object) -> Any:
    """Convert values that msgspec does not support: paths, and NumPy's floats."""
    if isinstance(value, float):
        return float(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def attributes_to_json(value: object, *names: str) -> dict[str, Any]:
    """Return the attributes of `value` that `names` lists, by name and in that order, as JSON values."""
    return {name: to_json_value(getattr(value, name)) for name in names}
