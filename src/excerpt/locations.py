"""Locations in files without lines, in the syntax of link fragments (after "#"), like those of browsers and Obsidian.

`page=12`, `slide=3`, `chapter=4`, `cell=7`, `row=2-41` (RFC 7111 for CSV), `node=1f2e`, `Sales!A1:J40`. A range is
`page=12-13`. Imports no other module of excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Protocol

_NUMBERED = re.compile(r"(?P<kind>page|slide|chapter|cell|row)=(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
_CELLS = re.compile(r"(?P<sheet>.+)!(?P<first>[A-Z]{1,3}\d+)(?::(?P<last>[A-Z]{1,3}\d+))?", re.DOTALL)
_SHOWN = {"pdf": "PDF", "html": "HTML", "epub": "EPUB"}


class InFile(Protocol):
    """A part of a note or attachment: `kind` is the file's, "" for a note."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str: ...


def merge_locations(first: str, last: str) -> str:
    """Return the location from `first` to `last`, or "" if they have no common range."""
    if first == last:
        return first
    start_match, end_match = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if start_match and end_match and start_match["kind"] == end_match["kind"]:
        return f"{start_match['kind']}={start_match['first']}-{end_match['last'] or end_match['first']}"
    cells, more = _CELLS.fullmatch(first), _CELLS.fullmatch(last)
    if cells and more and cells["sheet"] == more["sheet"] and more["last"]:
        return f"{cells['sheet']}!{cells['first']}:{more['last']}"
    return ""


class _Section(Protocol):
    @property
    def line_start(self) -> int: ...
    @property
    def line_end(self) -> int: ...
    @property
    def place(self) -> str: ...


def location_of_lines(sections: Iterable[_Section], line_start: int, line_end: int) -> str:
    """Return the location of some lines of an attachment, over all their sections; "" if these have none."""
    inside = [
        each.place for each in sections if each.place and each.line_start <= line_end and line_start <= each.line_end
    ]
    return merge_locations(inside[0], inside[-1]) or inside[0] if inside else ""


def location_to_dict(place: str) -> dict[str, Any]:
    """Return a location as JSON: its kind, and the ends of its range, as numbers if they are numeric."""
    if match := _NUMBERED.fullmatch(place):
        first = int(match["first"])
        return {"kind": match["kind"], "from": first, "to": int(match["last"] or first)}
    if _CELLS.fullmatch(place):
        return {"kind": "cells", "from": place, "to": place}
    kind, _, value = place.partition("=")
    return {"kind": kind if value else "anchor", "from": value or kind, "to": value or kind}


def file_location_to_dict(value: InFile) -> dict[str, Any]:
    """Return the kind of a file and the location in it for JSON; nothing for notes."""
    kind = {"kind": value.kind} if value.kind else {}
    return {**kind, "place": location_to_dict(value.place)} if value.place else kind


def location_contains(outer: str, inner: str) -> bool:
    """Return whether a location is, or overlaps, the wanted one: `page=12-13` overlaps `page=12`."""
    if outer == inner:
        return True
    left_match, right_match = _NUMBERED.fullmatch(outer), _NUMBERED.fullmatch(inner)
    if not left_match or not right_match or left_match["kind"] != right_match["kind"]:
        return False
    first, last = int(left_match["first"]), int(left_match["last"] or left_match["first"])
    return int(right_match["first"]) <= last and first <= int(right_match["last"] or right_match["first"])


def number_of(place: str) -> int | None:
    """Return the first page, slide or chapter of a location; None for other kinds."""
    match = _NUMBERED.fullmatch(place)
    return int(match["first"]) if match and match["kind"] in ("page", "slide", "chapter") else None


def format_location(place: str, first: int, last: int, dash: str = "-") -> str:
    """Return a location for a sentence: `page 12`, or the lines if there is no location."""
    if match := _NUMBERED.fullmatch(place):
        begin, end = match["first"], match["last"]
        return f"{match['kind']}s {begin}{dash}{end}" if end else f"{match['kind']} {begin}"
    if cells := _CELLS.fullmatch(place):
        return cells[0]
    return f"line {first}" if first == last else f"lines {first}{dash}{last}"


def format_kind(kind: str, place: str) -> str:
    """Return a label for an attachment and a location: `PDF, page 12`, `slides, slides 3-4`, `sheet`."""
    name = _SHOWN.get(kind, kind)
    return f"{name}, {format_location(place, 0, 0)}" if _NUMBERED.fullmatch(place) else name
