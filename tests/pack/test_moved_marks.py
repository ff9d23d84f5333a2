"""Tests that marks follow a renamed or moved note to the same fragments at its new path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from excerpt.kinds import Scope
from excerpt.model import Span
from excerpt.pack.memories import NoteSourceWithMoves, find_moved_fragments
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks
from tests.pack.vaults import Vault, sentence

TWICE = sentence("same", 200)
NOTE = f"# Roses\n\n{sentence('prune', 200)}\n\n{TWICE}\n\n{TWICE}\n\n{sentence('soil', 200)}\n"


class MovedVault(Vault):
    """A vault with a table of moved notes."""

    def __init__(self, notes: Mapping[str, str], moves: Mapping[str, str]) -> None:
        super().__init__(notes)
        self.moves = moves

    def current_path(self, path: str) -> str | None:
        return self.moves.get(path)


def ids(path: str, text: str = NOTE) -> list[str]:
    return [fragment.id for fragment in Vault({path: text}).fragments]


def marks_of(path: str, *fragment_ids: str) -> tuple[MarkedFragment, ...]:
    return tuple(MarkedFragment(each, path, (Span(0, 4),)) for each in fragment_ids)


def follow_moves(saved: SavedMarks, source: NoteSourceWithMoves) -> SavedMarks:
    """Return marks and overrides with the current ids and paths of moved fragments."""
    moves = find_moved_fragments(saved.marks, source)
    return replace(saved, marks=moves.update_marks(saved.marks), overrides=moves.update_overrides(saved.overrides))


def test_each_mark_is_on_the_same_fragment_of_two_alike() -> None:
    before, after = ids("old/Roses.md"), ids("new/Roses.md")
    source = MovedVault({"new/Roses.md": NOTE}, {"old/Roses.md": "new/Roses.md"})
    kept = SavedMarks("roses", marks_of("old/Roses.md", before[2], before[0], before[1]))
    assert follow_moves(kept, source) == SavedMarks("roses", marks_of("new/Roses.md", after[2], after[0], after[1]))


def test_what_is_wished_for_a_moved_note_goes_with_it() -> None:
    before, after = ids("old.md"), ids("new.md")
    overrides = PackOverrides(
        frozenset({before[1], "other"}), ((before[0], Scope.NOTE),), (before[3], "other", before[0])
    )
    moved = follow_moves(
        SavedMarks("q", marks_of("old.md", before[0]), overrides), MovedVault({"new.md": NOTE}, {"old.md": "new.md"})
    )
    assert moved.overrides == PackOverrides(
        frozenset({after[1], "other"}), ((after[0], Scope.NOTE),), (after[3], "other", after[0])
    )


def test_a_fragment_that_was_edited_as_its_note_moved_stays_gone_and_the_others_are_found() -> None:
    before, edited = ids("old.md"), NOTE.replace("prune", "cut")
    after = ids("new.md", edited)
    moved = follow_moves(
        SavedMarks("", marks_of("old.md", before[0], before[3])), MovedVault({"new.md": edited}, {"old.md": "new.md"})
    )
    assert moved.marks == (*marks_of("old.md", before[0]), *marks_of("new.md", after[3]))


def test_a_fragment_that_is_marked_there_already_is_marked_once() -> None:
    before, after = ids("old.md"), ids("new.md")
    kept = SavedMarks("", (*marks_of("old.md", before[0]), *marks_of("new.md", after[0], after[1])))
    moved = follow_moves(kept, MovedVault({"new.md": NOTE}, {"old.md": "new.md"}))
    assert [mark.fragment_id for mark in moved.marks] == [after[0], after[1]]


def test_marks_that_are_where_they_were_or_nowhere_stay() -> None:
    here = ids("here.md")
    source = MovedVault({"here.md": NOTE, "new.md": NOTE}, {"here.md": "new.md"})
    kept = SavedMarks("q", (*marks_of("here.md", here[0]), *marks_of("gone.md", "aa"), MarkedFragment("bb", "")))
    assert not find_moved_fragments(kept.marks, source)
    assert not find_moved_fragments((), source)
