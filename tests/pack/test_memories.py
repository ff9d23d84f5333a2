"""Tests of memories in packs: notes of one fragment, beside the vault's notes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.kinds import Format, Scope, Strategy
from excerpt.known_vaults import VaultFolders
from excerpt.model import Memory, PackResult, Source
from excerpt.pack.build import build_pack
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.formats.registry import read_pack
from excerpt.pack.formats.source_label import PackLinks
from excerpt.pack.memories import SourceWithMemories
from excerpt.pack.memory_fragment import memory_name
from excerpt.settings import PackSettings
from excerpt.text.tokens import open_tokenizer
from tests.pack.test_moved_marks import MovedVault
from tests.pack.vaults import sentence

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


def packed(vault: MovedVault, memories: tuple[Memory, ...], *marked: str, budget: int = 1_000) -> PackResult:
    source = SourceWithMemories(vault, COUNT)
    assert source.add(memories)
    settings = PackSettings(budget=budget, scope=Scope.SECTION)
    tokenizer = open_tokenizer("o200k")
    return build_pack(
        source, (), query="", strategy=Strategy.AUTO, settings=settings, tokenizer=tokenizer, marked=marked
    )


def test_a_memory_has_a_source_line_of_its_own(vault: MovedVault) -> None:
    result = packed(vault, (MEMORY,), memory_name(MEMORY.id))
    heading, place = result.text.splitlines()[:2]
    assert heading == "## [1] Memory › Roses.md, line 3 › frost"
    assert place.startswith(f"From memory:{MEMORY.id}:1-3, modified 2026-03-02, digest ")
    assert result.passages[0].text == MEMORY.text


def test_a_memory_is_packed_beside_fragments_within_the_budget(vault: MovedVault) -> None:
    marked = (vault.fragments[0].id, memory_name(MEMORY.id))
    both = packed(vault, (MEMORY,), *marked)
    assert [pack.path for pack in both.passages] == ["Roses.md", memory_name(MEMORY.id)]
    small = packed(vault, (MEMORY,), *marked, budget=both.tokens - 1)
    assert small.tokens < both.tokens
    assert COUNT(small.text) == small.tokens


def test_a_memory_whose_text_is_in_the_pack_already_is_left_out(vault: MovedVault) -> None:
    same = replace(MEMORY, text=vault.fragments[0].text)
    result = packed(vault, (same,), vault.fragments[0].id, memory_name(MEMORY.id))
    assert [pack.path for pack in result.passages] == ["Roses.md"]
    assert [(left.path, left.reason.partition(" Roses")[0]) for left in result.left_out] == [
        (memory_name(MEMORY.id), "same text as")
    ]


def test_a_memory_that_is_forgotten_is_left_out_as_gone(vault: MovedVault) -> None:
    result = packed(vault, (), memory_name(MEMORY.id))
    assert not result.passages
    assert [left.path for left in result.left_out] == [memory_name(MEMORY.id)]


def test_a_memory_that_says_something_else_by_now_is_not_added(vault: MovedVault) -> None:
    source = SourceWithMemories(vault, COUNT)
    assert source.add([MEMORY])
    assert source.add([MEMORY])
    assert not source.add([replace(MEMORY, text="Prune in April.")])


def test_a_pack_with_a_memory_is_read_again(vault: MovedVault) -> None:
    result = packed(vault, (MEMORY,), memory_name(MEMORY.id))
    (source,) = read_pack(result.text).sources
    assert (source.path, source.text, source.intact) == (memory_name(MEMORY.id), MEMORY.text, True)


def test_no_link_into_the_vault_is_given_for_a_memory(vault: MovedVault) -> None:
    result = packed(vault, (MEMORY,), vault.fragments[0].id, memory_name(MEMORY.id))
    data = json.loads(render_json(replace(result, format=Format.JSON), PackLinks(VaultFolders.of([Path("/vault")]))))
    assert ["link" in each for each in data["passages"]] == [True, False]
