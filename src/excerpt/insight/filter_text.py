"""Filters for folders, tags and property values, written as a user types them."""

from __future__ import annotations

from excerpt.base.patterns import lazy_pattern
from excerpt.search.query import FILTER_OPERATORS
from excerpt.text.folding import fold

_PLAIN_VALUE = lazy_pattern(r"[=/]?[^\W_][\w./-]*|\*")
_PLAIN_NAME = lazy_pattern(r"\w[\w.-]*")
_MAX_NAME_CHARS = 100  # the longest name that a query may have


def format_filter(name: str, value: str) -> str:
    """Return the filter `name:value` as a user types it, with the value quoted where needed."""
    return f"{name}:{value if _PLAIN_VALUE.fullmatch(value) else _quote_value(value)}"


def format_folder_filter(folder: str) -> str:
    """Return the filter for the notes in a folder and its subfolders."""
    path_part = f"/{folder}/"
    return format_filter("path", f"={path_part}" if "*" in fold(path_part) else path_part)


def format_tag_filter(tag: str) -> str:
    """Return the filter for a tag and its nested tags; "" for a tag that no filter can express."""
    # A filter ignores signs at its end, which a tag may have before a slash.
    is_askable = fold(tag.strip().lstrip("#")).strip("/") == fold(tag).strip("/")
    return format_filter("tag", tag) if is_askable else ""


def format_property_filter(name: str, value: str) -> str:
    """Return the filter for a property's value; "" for a value that no filter can express."""
    filter_name = format_property_name(name)
    return format_filter(filter_name, f"={value}") if filter_name and fold(value).strip() else ""


def _quote_value(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def format_property_name(name: str) -> str:
    """Return a property's name as written in a filter, quoted where needed; "" if the name is too long."""
    bare = "-".join(name.split())
    if _PLAIN_NAME.fullmatch(bare) and fold(bare) not in FILTER_OPERATORS and len(bare) <= _MAX_NAME_CHARS:
        return bare
    return _quote_value(name) if len(name) <= _MAX_NAME_CHARS else ""
