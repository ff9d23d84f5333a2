"""Locations in files without lines, such as pages of a PDF, written as in links after "#".

Examples: `page=12`, `slide=3`, `chapter=4`, `cell=7`, `row=2-41` (RFC 7111 for CSV), `node=1f2e`, `Sales!A1:J40`. A
range of pages is `page=12-13`. Imports no other module of excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Protocol

from excerpt.base.patterns import lazy_pattern

_NUMBERED = lazy_pattern(r"(?P<kind>page|slide|chapter|cell|row)=(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")
_CELLS = lazy_pattern(r"(?P<sheet>.+)!(?P<first>[A-Z]{1,3}\d+)(?::(?P<last>[A-Z]{1,3}\d+))?", re.DOTALL)
_KIND_LABELS = {"pdf": "PDF", "html": "HTML", "epub": "EPUB"}


class HasFileLocation(Protocol):
    """An object with a location in a file, such as a fragment.

    `kind` is the kind of the file ("pdf", "" for a note). `place` is the location, "" in a note, which has lines.
    """

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str: ...


def merge_locations(first: str, last: str) -> str:
    """Return the range from location `first` to location `last`, or "" if no range can hold both.

    `page=12` and `page=14` give `page=12-14`; `page=12` and `slide=3` give "".
    """
    if first == last:
        return first
    start_match, end_match = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if start_match and end_match and start_match["kind"] == end_match["kind"]:
        return f"{start_match['kind']}={start_match['first']}-{end_match['last'] or end_match['first']}"
    cells, more = _CELLS.fullmatch(first), _CELLS.fullmatch(last)
    if cells and more and cells["sheet"] == more["sheet"] and more["last"]:
        return f"{cells['sheet']}!{cells['first']}:{more['last']}"
    return ""


def first_location(place: str) -> str:
    """Return the first page, slide or other numbered location of a range: `page=12` of `page=12-14`."""
    match = _NUMBERED.fullmatch(place)
    return f"{match['kind']}={match['first']}" if match else place


class _LocatedSection(Protocol):
    @property
    def line_start(self) -> int: ...
    @property
    def line_end(self) -> int: ...
    @property
    def place(self) -> str: ...


def location_of_lines(sections: Iterable[_LocatedSection], line_start: int, line_end: int) -> str:
    """Return the location of lines `line_start` to `line_end` of an attachment's extracted text.

    `sections` are all sections of the attachment. The location spans the sections that hold the lines; if no range can,
    it is the first section's. Returns "" if these sections have no location.
    """
    inside = [
        each.place for each in sections if each.place and each.line_start <= line_end and line_start <= each.line_end
    ]
    return merge_locations(inside[0], inside[-1]) or inside[0] if inside else ""


def location_to_dict(place: str) -> dict[str, Any]:
    """Return a location as JSON: its kind and the ends of its range, which are integers for pages and rows."""
    if match := _NUMBERED.fullmatch(place):
        first = int(match["first"])
        return {"kind": match["kind"], "from": first, "to": int(match["last"] or first)}
    if _CELLS.fullmatch(place):
        return {"kind": "cells", "from": place, "to": place}
    kind, _, value = place.partition("=")
    return {"kind": kind if value else "anchor", "from": value or kind, "to": value or kind}


def file_location_to_dict(value: HasFileLocation) -> dict[str, Any]:
    """Return the JSON fields `kind` and `place` of an object in an attachment; {} for one in a note."""
    kind = {"kind": value.kind} if value.kind else {}
    return {**kind, "place": location_to_dict(value.place)} if value.place else kind


def locations_overlap(place: str, other: str) -> bool:
    """Return whether two locations are equal or their ranges overlap: `page=12-13` overlaps `page=12`."""
    if place == other:
        return True
    match, other_match = _NUMBERED.fullmatch(place), _NUMBERED.fullmatch(other)
    if not match or not other_match or match["kind"] != other_match["kind"]:
        return False
    first, last = int(match["first"]), int(match["last"] or match["first"])
    return int(other_match["first"]) <= last and first <= int(other_match["last"] or other_match["first"])


def first_page_of(place: str) -> int | None:
    """Return the number of a location's first page, slide or chapter; None for other locations."""
    match = _NUMBERED.fullmatch(place)
    return int(match["first"]) if match and match["kind"] in ("page", "slide", "chapter") else None


def format_location(place: str, first: int, last: int, dash: str = "-") -> str:
    """Return a location as words: `page 12`, `slides 3-4`; for a note, its lines: `lines 8-12`.

    Lines `first` to `last` are used if `place` is no page or cell. `dash` is written between the ends of a range.
    """
    if match := _NUMBERED.fullmatch(place):
        begin, end = match["first"], match["last"]
        return f"{match['kind']}s {begin}{dash}{end}" if end else f"{match['kind']} {begin}"
    if cells := _CELLS.fullmatch(place):
        return cells[0]
    return f"line {first}" if first == last else f"lines {first}{dash}{last}"


def format_kind(kind: str, place: str) -> str:
    """Return a label of an attachment's kind and a location in it: `PDF, page 12`, or `sheet` alone."""
    name = _KIND_LABELS.get(kind, kind)
    return f"{name}, {format_location(place, 0, 0)}" if _NUMBERED.fullmatch(place) else name
