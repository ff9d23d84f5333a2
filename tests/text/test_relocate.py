"""Tests of locating copied lines in a note that has changed."""

from __future__ import annotations

import pytest

from excerpt.text.relocate import find_replacement, locate_lines

NOTE = [
    "---",
    "aliases:",
    "---",
    "",
    "An opening that says something else.",
    "",
    "## General",
    "",
    "A conflict happens when two devices change one note.",
    "",
    "Conflicts happen more often when you work offline.",
    "",
    "## Other matters",
    "",
    "Nothing of this was copied.",
    "",
]
COPIED = NOTE[8:11]


def test_a_changed_line_is_found_although_the_lines_around_it_moved() -> None:
    changed = [*NOTE[:8], "A conflict happens when THREE devices change one note.", "", "A new line.", *NOTE[10:]]
    assert find_replacement(COPIED, changed, 9) == (9, 12)


def test_equal_blank_lines_do_not_change_which_lines_match() -> None:
    changed = [*NOTE[:8], "Something else altogether.", "", "A new line.", *NOTE[10:]]
    place = find_replacement(COPIED, changed, 9)
    assert place is not None
    assert 9 <= place[0] <= 12
    assert place[1] == 12


def test_a_changed_last_line_belongs_to_the_match() -> None:
    changed = [*NOTE[:10], "", "Conflicts happen less often when you work online.", *NOTE[11:]]
    assert find_replacement(COPIED, changed, 9) == (9, 12)


def test_lines_that_were_all_deleted_are_not_found() -> None:
    assert find_replacement(["Gone.", "", "All of it."], NOTE, 9) is None


@pytest.mark.parametrize(
    ("lines", "cut", "place"),
    [
        (["two devices change one note."], (True, False), 9),
        (["A conflict happens"], (False, True), 9),
        (["two devices"], (True, True), 9),
        (["one note.", "", "Conflicts happen"], (True, True), 9),
        (["two devices"], (True, False), 0),
        (["two devices"], (False, False), 0),
        (["one note.", "", "often when"], (True, True), 0),
        (["one note.", "Conflicts happen"], (True, True), 0),
    ],
)
def test_shortened_lines_are_found_by_their_parts(lines: list[str], cut: tuple[bool, bool], place: int) -> None:
    assert locate_lines(lines, NOTE, 9, cut) == place
