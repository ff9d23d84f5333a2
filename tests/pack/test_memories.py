"""Tests of packs with memories, and of marks that follow a renamed or moved note."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.model import Memory, PackResult, Source, Span
from excerpt.base.settings import PackSettings
from excerpt.pack.build import build_pack
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.formats.registry import read_pack
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.memories import NoteSourceWithMoves, SourceWithMemories, find_moved_fragments
from excerpt.pack.memory_fragment import memory_name
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks
from excerpt.text.tokens import open_tokenizer
from excerpt.vault.known_vaults import VaultFolders
from tests.pack.vaults import Vault, sentence

NOTE = f"# Roses\n\n{sentence('prune', 60)}\n\n{sentence('soil', 60)}\n"
MEMORY = Memory(
    "m0123456789",
    "Prune in March.\n\nNot before.",
    ("garden",),
    "frost",
    "2026-03-01T00:00:00Z",
    "2026-03-02T00:00:00Z",
    Source("Roses.md", 3, 3, ""),
)
COUNT = open_tokenizer("o200k").count


@pytest.fixture
def vault() -> MovedVault:
    return MovedVault({"Roses.md": NOTE}, {})


def pack_with_memories(
    vault: MovedVault, memories: tuple[Memory, ...], *marked: str, budget: int = 1_000
) -> PackResult:
    source = SourceWithMemories(vault, COUNT)
    assert source.add(memories)
    settings = PackSettings(budget=budget, scope=Scope.SECTION)
    tokenizer = open_tokenizer("o200k")
    return build_pack(
        source, (), query="", strategy=Strategy.AUTO, settings=settings, tokenizer=tokenizer, marked=marked
    )


def test_a_marked_memory_that_another_one_replaces_stays_and_says_so(vault: MovedVault) -> None:
    old = replace(MEMORY, replaced_by="m2222222222", replaced_at="2026-04-01T00:00:00Z")
    result = pack_with_memories(vault, (old,), memory_name(old.id))
    assert "replaced on 2026-04-01 by memory:m2222222222" in result.text
    assert MEMORY.text in result.text


def test_a_memory_has_its_own_source_line(vault: MovedVault) -> None:
    result = pack_with_memories(vault, (MEMORY,), memory_name(MEMORY.id))
    heading, place = result.text.splitlines()[:2]
    assert heading == "## [1] Memory › Roses.md, line 3 › frost"
    assert place.startswith(f"From memory:{MEMORY.id}:1-3, modified 2026-03-02, digest ")
    assert result.passages[0].text == MEMORY.text


def test_a_memory_is_packed_beside_fragments_within_the_budget(vault: MovedVault) -> None:
    marked = (vault.fragments[0].id, memory_name(MEMORY.id))
    both = pack_with_memories(vault, (MEMORY,), *marked)
    assert [pack.path for pack in both.passages] == ["Roses.md", memory_name(MEMORY.id)]
    small = pack_with_memories(vault, (MEMORY,), *marked, budget=both.tokens - 1)
    assert small.tokens < both.tokens
    assert COUNT(small.text) == small.tokens


def test_a_memory_whose_text_is_already_packed_is_omitted(vault: MovedVault) -> None:
    same = replace(MEMORY, text=vault.fragments[0].text)
    result = pack_with_memories(vault, (same,), vault.fragments[0].id, memory_name(MEMORY.id))
    assert [pack.path for pack in result.passages] == ["Roses.md"]
    assert [(left.path, left.reason.partition(" Roses")[0]) for left in result.left_out] == [
        (memory_name(MEMORY.id), "same text as")
    ]


def test_a_forgotten_memory_is_omitted_as_gone(vault: MovedVault) -> None:
    result = pack_with_memories(vault, (), memory_name(MEMORY.id))
    assert not result.passages
    assert [left.path for left in result.left_out] == [memory_name(MEMORY.id)]


def test_a_memory_whose_text_changed_is_not_packed(vault: MovedVault) -> None:
    source = SourceWithMemories(vault, COUNT)
    assert source.add([MEMORY])
    assert source.add([MEMORY])
    assert not source.add([replace(MEMORY, text="Prune in April.")])


def test_a_pack_with_a_memory_can_be_read_again(vault: MovedVault) -> None:
    result = pack_with_memories(vault, (MEMORY,), memory_name(MEMORY.id))
    (source,) = read_pack(result.text).sources
    assert (source.path, source.text, source.is_intact) == (memory_name(MEMORY.id), MEMORY.text, True)


def test_a_memory_has_no_link_into_the_vault(vault: MovedVault) -> None:
    result = pack_with_memories(vault, (MEMORY,), vault.fragments[0].id, memory_name(MEMORY.id))
    data = json.loads(render_json(replace(result, format=Format.JSON), PackLinks(VaultFolders.of([Path("/vault")]))))
    assert ["link" in each for each in data["passages"]] == [True, False]


TWICE = sentence("same", 200)
NOTE_WITH_REPETITION = f"# Roses\n\n{sentence('prune', 200)}\n\n{TWICE}\n\n{TWICE}\n\n{sentence('soil', 200)}\n"


class MovedVault(Vault):
    """A vault with a table of moved notes."""

    def __init__(self, notes: Mapping[str, str], moves: Mapping[str, str]) -> None:
        super().__init__(notes)
        self.moves = moves

    def current_path(self, path: str) -> str | None:
        return self.moves.get(path)


def ids(path: str, text: str = NOTE_WITH_REPETITION) -> list[str]:
    return [fragment.id for fragment in Vault({path: text}).fragments]


def marks_of(path: str, *fragment_ids: str) -> tuple[MarkedFragment, ...]:
    return tuple(MarkedFragment(each, path, (Span(0, 4),)) for each in fragment_ids)


def follow_moves(saved: SavedMarks, source: NoteSourceWithMoves) -> SavedMarks:
    """Return marks and overrides with the current ids and paths of moved fragments."""
    moves = find_moved_fragments(saved.marks, source)
    return structs.replace(
        saved, marks=moves.update_marks(saved.marks), overrides=moves.update_overrides(saved.overrides)
    )


def test_a_mark_stays_on_its_fragment_among_equal_texts() -> None:
    before, after = ids("old/Roses.md"), ids("new/Roses.md")
    source = MovedVault({"new/Roses.md": NOTE_WITH_REPETITION}, {"old/Roses.md": "new/Roses.md"})
    kept = SavedMarks("roses", marks_of("old/Roses.md", before[2], before[0], before[1]))
    assert follow_moves(kept, source) == SavedMarks("roses", marks_of("new/Roses.md", after[2], after[0], after[1]))


def test_overrides_of_a_pack_follow_the_fragments_of_a_renamed_note() -> None:
    before, after = ids("old.md"), ids("new.md")
    overrides = PackOverrides(
        frozenset({before[1], "other"}), ((before[0], Scope.NOTE),), (before[3], "other", before[0])
    )
    moved = follow_moves(
        SavedMarks("q", marks_of("old.md", before[0]), overrides),
        MovedVault({"new.md": NOTE_WITH_REPETITION}, {"old.md": "new.md"}),
    )
    assert moved.overrides == PackOverrides(
        frozenset({after[1], "other"}), ((after[0], Scope.NOTE),), (after[3], "other", after[0])
    )


def test_a_fragment_edited_during_the_move_is_gone_and_the_others_are_found() -> None:
    before, edited = ids("old.md"), NOTE_WITH_REPETITION.replace("prune", "cut")
    after = ids("new.md", edited)
    moved = follow_moves(
        SavedMarks("", marks_of("old.md", before[0], before[3])), MovedVault({"new.md": edited}, {"old.md": "new.md"})
    )
    assert moved.marks == (*marks_of("old.md", before[0]), *marks_of("new.md", after[3]))


def test_a_fragment_marked_before_and_after_its_note_was_renamed_is_marked_once() -> None:
    before, after = ids("old.md"), ids("new.md")
    kept = SavedMarks("", (*marks_of("old.md", before[0]), *marks_of("new.md", after[0], after[1])))
    moved = follow_moves(kept, MovedVault({"new.md": NOTE_WITH_REPETITION}, {"old.md": "new.md"}))
    assert [mark.fragment_id for mark in moved.marks] == [after[0], after[1]]


def test_marks_whose_fragments_have_not_moved_or_are_gone_are_kept() -> None:
    here = ids("here.md")
    source = MovedVault({"here.md": NOTE_WITH_REPETITION, "new.md": NOTE_WITH_REPETITION}, {"here.md": "new.md"})
    kept = SavedMarks("q", (*marks_of("here.md", here[0]), *marks_of("gone.md", "aa"), MarkedFragment("bb", "")))
    assert not find_moved_fragments(kept.marks, source)
    assert not find_moved_fragments((), source)
