"""Tests of what one more mark costs in a pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.kinds import Scope, Strategy
from excerpt.base.settings import PackSettings
from excerpt.pack.selection import MarkedFragment
from excerpt.service.packer import Packer, PackRequest
from excerpt.vault.known_vaults import VaultFolders
from tests.pack.vaults import Vault, sentence

LONG = "A heading of very many words, which costs more tokens than the others do"
NOTE = "\n\n".join(
    (f"# {LONG}", sentence("first", 200), "# B", sentence("second", 200), "# Größe", sentence("third", 200))
)


@pytest.fixture
def packer(tmp_path: Path) -> Packer:
    return Packer(VaultFolders.of([tmp_path]), tmp_path)


def marks_of(vault: Vault, *words: str) -> tuple[MarkedFragment, ...]:
    return tuple(MarkedFragment(vault.holding(word).id, "a.md") for word in words)


@pytest.mark.parametrize("added", ["first0 ", "third0 "])
def test_marking_a_fragment_that_is_in_the_pack_already_costs_no_tokens(packer: Packer, added: str) -> None:
    vault = Vault({"a.md": NOTE}, "o200k")
    before, mark = marks_of(vault, "second0 ", added)
    request = PackRequest(("q",), Strategy.AUTO, (), (before,), PackSettings(scope=Scope.NEIGHBORS))
    assert packer.cost_of_mark(vault, request, mark).tokens == 0


def test_marking_a_fragment_outside_the_pack_costs_the_tokens_that_it_adds(packer: Packer) -> None:
    vault = Vault({"a.md": NOTE}, "o200k")
    before, mark = marks_of(vault, "first0 ", "third0 ")
    settings = PackSettings(scope=Scope.NONE)
    request = PackRequest(("q",), Strategy.AUTO, (), (before,), settings)
    both = PackRequest(("q",), Strategy.AUTO, (), (before, mark), settings)
    grown = packer.build_result(vault, both).tokens - packer.build_result(vault, request).tokens
    assert packer.cost_of_mark(vault, request, mark).tokens == grown > 0
