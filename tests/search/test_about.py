"""Tests of the signals that separate a note about the query from notes that mention it.

They are the note's intro, its first heading, and the anchor texts of links to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Strategy
from excerpt.model import Hit
from excerpt.search.engine import Engine
from excerpt.search.ranking import NOTE_SIGNALS
from excerpt.settings import Settings
from tests.search.library import open_vault

LIGHTHOUSES = {
    "About.md": "A lighthouse warns ships of rocks.\n\n## Keepers\n\nThe keeper of a lighthouse lights the lamp.\n",
    "Diary.md": "Nothing happened today.\n\n## Evening\n\nWe saw a lighthouse and its keeper, and a lamp.\n",
    "Bread.md": "Mix flour, water, salt and yeast, and let the dough rest.\n",
    "Taxes.md": "The form is due in May.\n",
}
TRAVELS = {
    "p17.md": "# Crossing the strait\n\nFerries leave at noon, and the crossing takes an hour.\n",
    "p18.md": "# Weather\n\nThe strait is windy. See [[p17|timetable of ferries]] and [[p18|wind chart]].\n",
    "p19.md": "# Ferries\n\nA timetable of ferries hangs at every pier of the strait.\n",
}


def hits(folder: Path, notes: Mapping[str, str], query: str, strategy: Strategy = Strategy.AUTO) -> list[Hit]:
    snapshot: Snapshot = open_vault(folder, notes)
    try:
        return list(Engine(snapshot, Settings()).search(query, strategy).hits)
    finally:
        snapshot.close()


def value(hit: Hit, name: str) -> float:
    return next(signal.value for signal in hit.signals if signal.name == name)


# --- intro ------------------------------------------------------------------------------------------------------------


def test_a_note_that_begins_with_the_query_is_about_it_more_than_one_that_mentions_it(tmp_path: Path) -> None:
    found = hits(tmp_path, LIGHTHOUSES, "lighthouse")
    openings = {hit.fragment.path: value(hit, "intro_words") for hit in reversed(found)}
    assert openings["About.md"] == 1
    assert openings["Diary.md"] == 0


@pytest.mark.parametrize("signal", NOTE_SIGNALS)
def test_of_each_note_only_the_best_fragment_has_what_its_opening_gives(tmp_path: Path, signal: str) -> None:
    found = [hit for hit in hits(tmp_path, LIGHTHOUSES, "keeper of a lighthouse") if hit.fragment.path == "About.md"]
    assert [value(hit, signal) > 0 for hit in found] == [True, False]
    assert found[0].fragment.ordinal == 1, "the opening is not the best fragment itself"


def test_an_opening_that_a_filter_leaves_out_gives_nothing(tmp_path: Path) -> None:
    found = hits(tmp_path, LIGHTHOUSES, 'lighthouse "lights the lamp"')
    assert [hit.fragment.path for hit in found] == ["About.md"]
    assert value(found[0], "intro_words") == value(found[0], "intro_meaning") == 0


def test_what_a_note_begins_with_brings_up_no_fragment_that_does_not_match(tmp_path: Path) -> None:
    for hit in hits(tmp_path, LIGHTHOUSES, "rocks", Strategy.ADAPTIVE):
        assert sum(signal.part for signal in hit.signals if signal.name not in NOTE_SIGNALS) > 0


# --- other names ------------------------------------------------------------------------------------------------------


def test_the_first_heading_of_the_first_level_is_a_name(tmp_path: Path) -> None:
    named = {hit.fragment.path: value(hit, "title") for hit in hits(tmp_path, TRAVELS, "crossing the strait")}
    assert named["p17.md"] == 1
    assert named["p18.md"] == 0


def test_a_later_heading_of_the_first_level_is_no_name(tmp_path: Path) -> None:
    notes = {"p1.md": "# Harbours\n\nOne is old.\n\n# Bridges\n\nOne is new.\n"}
    assert all(value(hit, "title") == 0 for hit in hits(tmp_path, notes, "bridges"))


def test_a_note_is_called_what_a_link_in_a_note_that_was_found_says(tmp_path: Path) -> None:
    called = {hit.fragment.path: value(hit, "anchor") for hit in hits(tmp_path, TRAVELS, "timetable of ferries")}
    assert called["p17.md"] == 1
    assert called["p18.md"] == 0, "the note that has the link is not called so"
    assert called["p19.md"] == 0


def test_what_a_note_calls_itself_is_not_heard(tmp_path: Path) -> None:
    assert all(value(hit, "anchor") == 0 for hit in hits(tmp_path, TRAVELS, "wind chart"))


def test_what_links_call_a_note_counts_only_as_far_as_it_is_better_than_its_names(tmp_path: Path) -> None:
    notes = {
        "Ferry timetable.md": "Boats leave at noon.\n",
        "Pier.md": "See the [[Ferry timetable|ferry timetable]] and the [[Ferry timetable|list of all departures]].\n",
    }
    same = {hit.fragment.path: value(hit, "anchor") for hit in hits(tmp_path / "a", notes, "ferry timetable")}
    other = {hit.fragment.path: value(hit, "anchor") for hit in hits(tmp_path / "b", notes, "boats departures")}
    assert same["Ferry timetable.md"] == 0
    assert 0 < other["Ferry timetable.md"] < 1
