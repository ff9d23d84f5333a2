"""Tests of the lines that explain why a note is related."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from excerpt.insight.results import LinkDirection, RelatedNote
from excerpt.model import Fragment, Signal
from excerpt.tui.insight.related import (
    MIN_SIDE_BY_SIDE_CELLS,
    WhyLine,
    draw_why_lines,
    initial_reason_number,
    list_reasons,
)
from tests.pack.vaults import Vault
from tests.tui.examples import make_related_note

FRAGMENTS = Vault(
    {
        "Here.md": "# Here\n\nWhere merging ends, a **sync conflict** begins, and both are kept.\n",
        "There.md": "# There\n\nOf a conflict " + "much can be said, and more is said of sync. " * 30 + "\n",
        "中.md": "# 中\n\n" + "两台设备在同步之前修改了同一篇笔记" * 20 + " conflict\n",
    },
    "o200k",
).fragments
HERE, THERE, WIDE = (next(each for each in FRAGMENTS if each.path == path) for path in ("Here.md", "There.md", "中.md"))
MISSING = make_related_note(HERE, THERE, 0.6)


def texts(note: RelatedNote, width: int = 80) -> list[str]:
    return ["".join(text for text, _ in line.pieces) for line in draw_why_lines(note, width)]


def of_style(line: WhyLine, style: str) -> list[str]:
    return [text for text, name in line.pieces if name == style]


def test_the_score_is_shown_as_the_sum_of_its_parts_the_largest_first() -> None:
    assert texts(MISSING)[0] == "0.60 = 0.30 words + 0.18 meaning + 0.11 common links + 0.01 tags"


def test_a_part_that_would_read_as_nothing_is_left_out() -> None:
    note = RelatedNote("x.md", "x", 0.302, (Signal("words", 1, 0.3, 0.3), Signal("tags", 0.1, 0.02, 0.002)))
    assert texts(note) == ["0.30 = 0.30 words"]


def test_a_missing_link_is_marked_at_the_line_that_names_the_note() -> None:
    line = next(line for line in draw_why_lines(MISSING, 80) if of_style(line, "badge"))
    assert "".join(text for text, _ in line.pieces) == "names  “merging” in Here.md:3 · no link yet"
    assert list_reasons(MISSING)[0].path == "Here.md"
    assert list_reasons(MISSING)[0].line == 3


def test_notes_that_link_to_each_other_say_so_and_lack_nothing() -> None:
    shown = texts(make_related_note(HERE, THERE, 0.6, LinkDirection.BOTH))
    assert "links  They link to each other." in shown
    assert not any("no link yet" in line for line in shown)


def test_common_links_and_shared_words_stand_with_what_they_are() -> None:
    shown = texts(MISSING)
    assert "common both link to Kitchen" in shown
    assert "common link to both: Index [x]" in shown
    assert "words  conflict (3 notes) [/red] (5)" in shown
    assert "tags   #sync #howto" in shown


def test_the_reason_looked_at_first_is_the_best_passage() -> None:
    reason = list_reasons(MISSING)[initial_reason_number(MISSING)]
    assert (reason.path, reason.line, reason.fragment) == ("There.md", THERE.line_start, THERE)


def test_a_note_without_reasons_still_leads_to_itself() -> None:
    bare = RelatedNote("x.md", "x", 0.1, ())
    assert [(reason.path, reason.line) for reason in list_reasons(bare)] == [("x.md", 1)]


def test_each_reason_has_its_lines() -> None:
    numbers = {line.reason for line in draw_why_lines(MISSING, 80)} - {None}
    assert numbers == set(range(len(list_reasons(MISSING))))


def test_passages_stand_side_by_side_where_there_is_room_and_below_each_other_else() -> None:
    beside = [line for line in texts(MISSING, MIN_SIDE_BY_SIDE_CELLS) if line.startswith("here ")]
    below = [line for line in texts(MISSING, MIN_SIDE_BY_SIDE_CELLS - 1) if line.startswith(("here ", "there "))]
    assert ["│ there" in line for line in beside] == [True]
    assert [line.split()[0] for line in below] == ["here", "there"]


def test_what_two_passages_share_is_marked_in_both() -> None:
    marked = {text.casefold() for line in draw_why_lines(MISSING, 100)[2:] for text in of_style(line, "match")}
    assert marked == {"conflict", "sync"}


@pytest.mark.parametrize("width", [20, 40, MIN_SIDE_BY_SIDE_CELLS, 75, 106])
@pytest.mark.parametrize("there", [THERE, WIDE], ids=["latin", "wide"])
def test_passages_keep_within_the_width(width: int, there: Fragment) -> None:
    note = make_related_note(HERE, there, 0.6, LinkDirection.BOTH)
    passages = [line for line in draw_why_lines(note, width) if line.reason is not None]
    assert passages
    assert max(sum(cell_len(text) for text, _ in line.pieces) for line in passages) <= width
