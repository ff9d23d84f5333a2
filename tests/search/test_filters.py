"""Tests of which notes pass a filter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.index.snapshot import Snapshot
from excerpt.search.filters import sort_newest_first
from tests.search.library import MODIFIED, NOTES, notes_allowed, open_vault, queries, rows_allowed

ALPHA, BETA, PROJECTION, DIARY, NEW_YEAR, SYNC = (
    *("Alpha", "Beta", "Projection", "2025-02-28", "20240101 New year", "同步"),
)
NEWEST_FIRST = [ALPHA, BETA, SYNC, PROJECTION, DIARY, NEW_YEAR]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("library"), NOTES, MODIFIED)
    yield snapshot
    snapshot.close()


def others(*notes: str) -> list[str]:
    return [note for note in NEWEST_FIRST if note not in notes]


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # A tag matches nested tags; a space ends the value.
        ("tag:project ", [ALPHA, BETA]),
        ("tag:project/active ", [ALPHA]),
        ("tag:Project/ACTIVE ", [ALPHA]),
        ("tag:#project ", [ALPHA, BETA]),
        ("tags:project ", [ALPHA, BETA]),
        ("#project ", [ALPHA, BETA]),
        ("#project/closed ", [BETA]),
        ("tag:uberblick ", [ALPHA]),
        ("tag:笔记 ", [SYNC]),
        ("tag:笔记/同步 ", [SYNC]),
        ("tag:active ", []),
        ('tag:"project/active" ', [ALPHA]),
        # Part of the path or file name.
        ("path:projects/ ", [ALPHA, BETA, PROJECTION]),
        ("path:/diary ", [DIARY, NEW_YEAR]),
        ("path:/2025 ", []),
        ("path:/*/2025 ", [DIARY]),
        ("path:/*/ ", NEWEST_FIRST),
        ("path:=/diary/ ", [DIARY, NEW_YEAR]),
        ("path:=/Projects/alpha.md ", [ALPHA]),
        ("path:=diary/ ", []),
        ("path:=/*/ ", []),
        ("path:diary/*year ", [NEW_YEAR]),
        ("path:year*diary ", []),
        ("path:日记 ", [SYNC]),
        # Folder names at any depth, with their contents.
        ("folder:projects ", [ALPHA, BETA, PROJECTION]),
        ("in:Projects/ ", [ALPHA, BETA, PROJECTION]),
        ("in:project ", []),
        ("in:alpha ", []),
        ("in:/diary ", [DIARY, NEW_YEAR]),
        ("in:*ar* ", [DIARY, NEW_YEAR]),
        ("in:/*ary ", [DIARY, NEW_YEAR]),
        ("in:日记 ", [SYNC]),
        ("file:pro ", [PROJECTION]),
        ("file:20 ", [DIARY, NEW_YEAR]),
        ('file:"new year" ', [NEW_YEAR]),
        ("file:20*.md ", [DIARY, NEW_YEAR]),
        ("file:md ", []),
        # Words of titles and aliases.
        ("title:alpha ", [ALPHA]),
        ('title:"project alpha" ', [ALPHA]),
        ("title:plan ", [ALPHA]),
        ("title:resume ", [ALPHA]),
        ("alias:plan ", [ALPHA]),
        ("title:同步 ", [SYNC]),
        # Links, by file, title or alias.
        ("link:beta ", [ALPHA, DIARY]),
        ("link:Projects/Beta ", [ALPHA, DIARY]),
        ("link:Beta.md ", [ALPHA, DIARY]),
        ("link:[[Beta]] ", [ALPHA, DIARY]),
        ('link:"[[Beta|so called]]" ', [ALPHA, DIARY]),
        ("link:2025-02-28 ", [ALPHA]),
        ("link:alpha ", []),
        ('link:"the alpha project" ', []),
        ("link:missing ", []),
        ("from:alpha ", [BETA, DIARY]),
        ('from:"first plan" ', [BETA, DIARY]),
        ('from:"resume of alpha" ', [BETA, DIARY]),
        ("from:nobody ", []),
    ],
)
def test_what_a_note_is_called_and_where_it_stands(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == others(*notes)


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # Text: whole words, case-folded.
        ("status:done ", [BETA, NEW_YEAR]),
        ("Status:DONE ", [BETA, NEW_YEAR]),
        ("status:do ", []),
        ('status:"in progress" ', [ALPHA]),
        ("status:=done ", [BETA]),
        ("status:* ", [ALPHA, BETA, NEW_YEAR]),
        ('"status":done ', [BETA, NEW_YEAR]),
        ('"Status":"=in progress" ', [ALPHA]),
        ("状态:已完成 ", [SYNC]),
        ("状态:完成 ", [SYNC]),
        # Booleans, numbers, numbers in quotation marks.
        ("done:false ", [ALPHA]),
        ("rating:4 ", [ALPHA]),
        ("rating:>4 ", [BETA]),
        ("rating:>=4 ", [ALPHA, BETA]),
        ("rating:<10 ", [ALPHA]),
        ("rating:1..4 ", [ALPHA]),
        ("rating:5.. ", [BETA]),
        ("budget:12.5 ", [ALPHA]),
        ("budget:<=12.5 ", [ALPHA]),
        # Maps and lists.
        ("people.lead:lovelace ", [ALPHA]),
        ("people.crew:turing ", [ALPHA]),
        ('people.crew:"grace hopper" ', [ALPHA]),
        # Block text.
        ('notes:"lines of" ', [ALPHA]),
        # Dates, however they are written.
        ("due:2025-03 ", [ALPHA]),
        ("due:2025-01 ", [BETA]),
        ("due:>2025-02 ", [ALPHA]),
        ("due:2025-01-01..2025-01-31 ", [BETA]),
        ("due:this-month ", [ALPHA]),
        ("updated:2025-02 ", [SYNC]),
        ("updated:>2025 ", []),
    ],
)
def test_properties(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == others(*notes)


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        # The property `date`, the file name, the title or the property `created`; the last change of a note without.
        ("date:2024-03 ", [BETA]),
        ("date:2024-06 ", [ALPHA]),
        ("date:2025-02-28 ", [DIARY]),
        ("date:2024-01-01 ", [NEW_YEAR]),
        ("date:2025-03 ", [SYNC, PROJECTION]),
        ('date:"5 march 2024" ', [BETA]),
        ("date:* ", [BETA]),
        ("after:2025-02 ", [SYNC, PROJECTION]),
        ("after:7d ", [SYNC, PROJECTION]),
        ("before:2024-12-31 ", [ALPHA, BETA, NEW_YEAR]),
        ("before:1y ", [BETA, NEW_YEAR]),
        ("since:2025-03-13 ", [SYNC]),
        ("modified:today ", [ALPHA]),
        ("modified:yesterday ", [BETA, SYNC]),
        ("modified:this-week ", [ALPHA, BETA, SYNC, PROJECTION]),
        ("modified:last-month ", [DIARY]),
        ("modified:7d ", [ALPHA, BETA, SYNC, PROJECTION]),
        ("modified:1y ", [ALPHA, BETA, SYNC, PROJECTION, DIARY]),
        ("modified:<7d ", [DIARY, NEW_YEAR]),
        ("modified:2024 ", [NEW_YEAR]),
        ("modified:>2024 ", [ALPHA, BETA, SYNC, PROJECTION, DIARY]),
        ("modified:2025-03 ", [ALPHA, BETA, SYNC, PROJECTION]),
        ("modified:>=2025-03-13 ", [ALPHA, BETA, SYNC]),
        ("modified:>2025-03-13 ", [ALPHA]),
        ("modified:<=2025-02-28 ", [DIARY, NEW_YEAR]),
        ("modified:2025-02-28..2025-03-10 ", [PROJECTION, DIARY]),
        ("modified:..2024 ", [NEW_YEAR]),
        ("modified:1500 ", []),
        # From a property, else from the file name; a note without either is in no period.
        ("created:2024-06 ", [ALPHA]),
        ("created:2024-03-05 ", [BETA]),
        ("created:2025-02-28 ", [DIARY]),
        ("created:2024-01-01 ", [NEW_YEAR]),
        ("created:<2100 ", [ALPHA, BETA, DIARY, NEW_YEAR]),
    ],
)
def test_times(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes
    assert notes_allowed(library, f"-{typed}") == others(*notes)


def test_filters_add_up(library: Snapshot) -> None:
    assert notes_allowed(library, "path:projects -status:done heading:questions") == [ALPHA]


@pytest.mark.parametrize(
    ("typed", "headings"),
    [
        ("path:projects heading:questions ", ["Open questions", "Settled questions"]),
        ("path:projects heading:question ", ["Open questions", "Settled questions"]),
        ("path:projects heading:ques", ["Open questions", "Settled questions"]),
        ('path:projects heading:"questions settled" ', ["Settled questions"]),
        ("path:projects heading:settled heading:beta ", ["Settled questions"]),
        ("path:projects/beta -heading:questions ", ["Beta"]),
        ("heading:nowhere ", []),
    ],
)
def test_a_heading_lets_through_what_stands_under_it(library: Snapshot, typed: str, headings: list[str]) -> None:
    flags = rows_allowed(library, queries(library, typed)[0])
    assert flags is not None
    fragments = library.fragments(library.table.keys[flags].tolist())
    assert sorted(fragment.heading_path[-1] for fragment in fragments) == headings


def test_excluded_words_and_phrases(library: Snapshot) -> None:
    assert notes_allowed(library, "path:projects -map") == [ALPHA, BETA]
    assert notes_allowed(library, 'path:projects -"a map"') == [ALPHA, BETA]
    assert notes_allowed(library, "path:projects -questions -map") == [ALPHA, BETA], "their other fragments stay"
    assert notes_allowed(library, "path:日记 -保管") == []
    assert notes_allowed(library, "path:projects -R&D -C++") == [ALPHA, BETA, PROJECTION]


def test_a_query_without_filters_is_answered_from_everything(library: Snapshot) -> None:
    assert rows_allowed(library, queries(library, "alpha beta")[0]) is None


@pytest.mark.parametrize(
    ("typed", "notes"),
    [
        ("tag:projec", [ALPHA, BETA, PROJECTION]),
        ("#projec", [ALPHA, BETA, PROJECTION]),
        ('tag:"project/a', [ALPHA]),
        ("title:alp", [ALPHA]),
        ('title:"the alp', [ALPHA]),
        ("heading:sett", [BETA]),
        ("status:prog", [ALPHA]),
        ("folder:proj", [ALPHA, BETA, PROJECTION]),
        ("in:/di", [DIARY, NEW_YEAR]),
        ("link:bet", [ALPHA, DIARY]),
        ("from:first", [BETA, DIARY]),
    ],
)
def test_the_filter_typed_last_is_also_the_beginning_of_one(library: Snapshot, typed: str, notes: list[str]) -> None:
    assert notes_allowed(library, typed) == notes


def test_what_is_so_called_comes_before_what_begins_so(library: Snapshot) -> None:
    assert notes_allowed(library, "tag:project") == [ALPHA, BETA]


def test_a_negated_beginning_takes_nothing_away(library: Snapshot) -> None:
    assert notes_allowed(library, "-tag:projec") == NEWEST_FIRST


def test_a_negated_beginning_of_everything_takes_nothing_away(library: Snapshot) -> None:
    assert notes_allowed(library, "-path:/") == NEWEST_FIRST
    assert notes_allowed(library, "-path:/ ") == []


def test_the_newest_notes_come_first_and_of_each_note_the_first_fragment(library: Snapshot) -> None:
    flags = rows_allowed(library, queries(library, "path:projects")[0])
    assert flags is not None
    fragments = library.fragments(library.table.keys[sort_newest_first(flags, library)].tolist())
    assert [(fragment.path, fragment.ordinal) for fragment in fragments] == [
        ("Projects/Alpha.md", 0),
        ("Projects/Beta.md", 0),
        ("Projects/Projection.md", 0),
        ("Projects/Alpha.md", 1),
        ("Projects/Beta.md", 1),
    ]


def test_no_row_is_listed_where_none_is_allowed(library: Snapshot) -> None:
    flags = rows_allowed(library, queries(library, "tag:nowhere ")[0])
    assert flags is not None
    assert list(sort_newest_first(flags, library)) == []
