"""Tests of packs for the screen: what one more mark costs, and the budget of JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.settings import PackSettings
from excerpt.pack.formats.json_format import render_json
from excerpt.pack.selection import MarkedFragment
from excerpt.service.packer import Packer, PackRequest
from excerpt.text.tokens import open_tokenizer
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


@pytest.mark.parametrize("budget", [900, 1500, 3000])
def test_the_budget_holds_for_the_whole_json_that_is_pasted(packer: Packer, budget: int) -> None:
    vault = Vault(
        {f"{name}.md": f"# {name}\n\n{sentence(name, 200)}" for name in ("one", "two", "three", "four")}, "o200k"
    )
    marks = tuple(MarkedFragment(each.id, each.path) for each in vault.fragments)
    request = PackRequest(("q",), Strategy.AUTO, (), marks, PackSettings(budget=budget, format=Format.JSON))
    built = packer.build_pack(vault, request)
    assert 0 < built.result.tokens == open_tokenizer("o200k").count(built.text) <= built.result.budget == budget
    assert built.result.tokens > 0.6 * budget or len(built.result.passages) == len(marks)
    assert sum(built.result.costs) == built.result.tokens
    assert packer.build_pasted_result(vault, request) == built.result


def test_json_with_room_for_everything_is_what_programs_get(packer: Packer) -> None:
    vault = Vault({"a.md": NOTE}, "o200k")
    request = PackRequest(("q",), Strategy.AUTO, (), marks_of(vault, "first0 "), PackSettings(format=Format.JSON))
    assert packer.build_pack(vault, request).text == render_json(packer.build_result(vault, request), packer.links)
