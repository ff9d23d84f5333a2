"""Tests of locations in attachments as written in links."""

from __future__ import annotations

import pytest

from excerpt.base.locations import (
    first_page_of,
    format_kind,
    format_location,
    location_to_dict,
    locations_overlap,
    merge_locations,
)


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [
        ("page=3", "page=3", "page=3"),
        ("page=3", "page=5", "page=3-5"),
        ("row=2-41", "row=42-60", "row=2-60"),
        ("Sales!A1:J40", "Sales!A41:J80", "Sales!A1:J80"),
        ("page=3", "slide=5", ""),
        ("Sales!A1:J40", "Costs!A1:B9", ""),
        ("node=a", "node=b", ""),
    ],
)
def test_adjacent_locations_are_merged(first: str, last: str, whole: str) -> None:
    assert merge_locations(first, last) == whole


@pytest.mark.parametrize(
    ("place", "data"),
    [
        ("page=3", {"kind": "page", "from": 3, "to": 3}),
        ("slide=3-5", {"kind": "slide", "from": 3, "to": 5}),
        ("Sales (2)!A1:J40", {"kind": "cells", "from": "Sales (2)!A1:J40", "to": "Sales (2)!A1:J40"}),
        ("node=1f", {"kind": "node", "from": "1f", "to": "1f"}),
        ("install", {"kind": "anchor", "from": "install", "to": "install"}),
    ],
)
def test_the_json_of_a_location_has_its_kind_and_the_ends_of_its_range(place: str, data: dict[str, object]) -> None:
    assert location_to_dict(place) == data


def test_a_range_of_pages_overlaps_each_of_its_pages() -> None:
    assert locations_overlap("page=3-5", "page=4")
    assert locations_overlap("page=4", "page=3-5")
    assert not locations_overlap("page=3-5", "page=6")
    assert not locations_overlap("page=3-5", "slide=4")
    assert locations_overlap("node=a", "node=a")


def test_in_a_sentence_an_attachment_has_page_or_slide_numbers_and_a_note_has_line_numbers() -> None:
    assert format_location("page=3-5", 1, 9, "–") == "pages 3–5"
    assert format_location("Sales!A1:J40", 1, 9) == "Sales!A1:J40"
    assert format_location("", 1, 9) == "lines 1-9"
    assert format_kind("pdf", "page=3") == "PDF, page 3"
    assert format_kind("sheet", "Sales!A1:J40") == "sheet"


def test_only_locations_of_pages_or_slides_or_chapters_have_a_first_number() -> None:
    assert [first_page_of(place) for place in ("page=3", "slide=4-6", "chapter=1", "cell=2", "install")] == [
        3,
        4,
        1,
        None,
        None,
    ]
