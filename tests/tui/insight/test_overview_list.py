"""Tests of an overview as rows: which exist and fit, their targets, and the query for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excerpt.insight.overview_parts import LinkedName, MainNote, Month, Overview, Timeline
from excerpt.tui.insight.overview_list import (
    OverviewItem,
    OverviewRow,
    build_search,
    count_notes_by_period,
    find_part_starts,
    format_headline,
    make_overview_rows,
)
from tests.tui.examples import CONFLICTS, MERGING, MONTHS, OVERVIEW, RESOLVE

PARTS = ["main notes", "sections", "passages", "themes", "stands out", "related", "names", "when"]


def row_of(overview: Overview, item: OverviewItem) -> OverviewRow:
    return next(row for row in make_overview_rows(overview) if row.item == item)


def test_each_part_has_its_rows_in_order_with_its_name_first() -> None:
    rows = make_overview_rows(OVERVIEW)
    assert [row.part for row in rows if row.is_first] == PARTS
    assert [rows[at].part for at in find_part_starts(rows)] == PARTS
    assert [row.item for row in rows if row.part == "main notes"] == list(OVERVIEW.main_notes)
    assert not any(row.hidden_count for row in rows)


def test_bars_are_sorted_by_length_and_months_by_time() -> None:
    notes = tuple(replace(note, share=share) for note, share in zip(OVERVIEW.main_notes, (0.1, 0.4, 0.2), strict=False))
    rows = make_overview_rows(replace(OVERVIEW, main_notes=notes))
    assert [row.item.share for row in rows if isinstance(row.item, MainNote)] == [0.4, 0.2, 0.1]
    assert [row.is_first for row in rows if row.part == "main notes"] == [True, False, False]


def test_an_empty_part_of_the_overview_has_no_row() -> None:
    rows = make_overview_rows(replace(OVERVIEW, standouts=(), timeline=Timeline("", (), 12)))
    assert [row.part for row in rows if row.is_first] == [part for part in PARTS if part not in {"stands out", "when"}]


@pytest.mark.parametrize("room", [8, 11, 20, 21, 24, 29])
def test_as_many_rows_as_fit_are_shown_some_of_each_part(room: int) -> None:
    rows, every = make_overview_rows(OVERVIEW, room), make_overview_rows(OVERVIEW)
    assert len(rows) == room
    assert [row.part for row in rows if row.is_first] == PARTS
    assert sum(row.hidden_count for row in rows) == len(every) - room


def test_if_not_even_one_row_of_each_part_fits_the_list_scrolls() -> None:
    rows = make_overview_rows(OVERVIEW, 5)
    assert [row.part for row in rows] == PARTS


def test_main_notes_get_their_rows_before_other_parts_get_many() -> None:
    rows = make_overview_rows(OVERVIEW, 20)
    assert [row.part for row in rows].count("main notes") == 5
    assert [row.part for row in rows].count("when") == 1


def test_the_length_of_a_bar_is_relative_to_the_highest() -> None:
    lengths = [row.relative_value for row in make_overview_rows(OVERVIEW) if isinstance(row.item, MainNote)]
    assert lengths[0] == 1.0
    assert lengths[1] == pytest.approx(0.176 / 0.265)


def test_a_collapsed_timeline_is_its_newest_month_and_months_are_newest_first() -> None:
    line, *months = (row for row in make_overview_rows(OVERVIEW) if row.part == "when")
    assert line.item == OVERVIEW.timeline
    assert line.place == MONTHS[-1].place
    assert [row.item for row in months] == list(reversed(MONTHS))


def test_months_without_notes_are_gaps_in_the_timeline() -> None:
    assert count_notes_by_period(OVERVIEW.timeline, 40) == [2, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 3]


def test_the_months_of_a_long_timeline_are_grouped() -> None:
    assert count_notes_by_period(OVERVIEW.timeline, 5) == [2, 5, 1, 0, 11]
    long = Timeline("created", (Month("1999-12", 1, MERGING), *MONTHS), 0)
    counts = count_notes_by_period(long, 24)
    assert len(counts) <= 24
    assert sum(counts) == 20


def test_the_share_of_the_vault_about_the_topic_is_shown() -> None:
    assert format_headline(OVERVIEW) == "34 passages in 12 of 171 notes"
    assert format_headline(replace(OVERVIEW, fragments=1, notes=1)) == "1 passage in 1 of 171 notes"


TOPIC = "sync conflict"


@pytest.mark.parametrize(
    ("item", "asked"),
    [
        (OVERVIEW.main_notes[0], (TOPIC, ('path:"/Sync/Conflicts.md"',))),
        (OVERVIEW.sections[0], (TOPIC, ('path:"/Sync/Conflicts.md"', 'heading:"Resolve a conflict"'))),
        (OVERVIEW.passages[1], (TOPIC, ('path:"/Merging.md"',))),
        (OVERVIEW.themes[1], ("sync conflict merge line by line binary", ())),
        (OVERVIEW.standouts[2], (TOPIC, ('status:"=to do"',))),
        (OVERVIEW.related[1], (TOPIC, ('path:"/Kitchen.md"',))),
        (OVERVIEW.names[0], (TOPIC, ('link:"People/Ada Lovelace"',))),
        (OVERVIEW.names[1], ('sync conflict The "new" [/red] server', ())),
        (OVERVIEW.timeline, (TOPIC, ("created:2024-03..2025-03",))),
        (MONTHS[3], (TOPIC, ("created:2025-02..2025-02",))),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, tuple) else "",
)
def test_the_query_of_a_row_of_the_overview_finds_the_item_in_the_row(
    item: OverviewItem, asked: tuple[str, tuple[str, ...]]
) -> None:
    assert build_search(row_of(OVERVIEW, item), OVERVIEW) == asked


def test_an_unusual_property_name_is_quoted_for_a_query() -> None:
    overview = replace(OVERVIEW, timeline=Timeline("first: seen", MONTHS[:1], 0))
    asked = build_search(row_of(overview, overview.timeline), overview)
    assert asked == (TOPIC, ('"first: seen":2024-03..2024-03',))


def test_a_row_of_the_overview_has_the_location_of_the_lines_that_it_shows() -> None:
    assert row_of(OVERVIEW, OVERVIEW.sections[0]).place == RESOLVE
    name = OVERVIEW.names[0]
    assert isinstance(name, LinkedName)
    assert row_of(OVERVIEW, name).place == CONFLICTS
