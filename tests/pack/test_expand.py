"""Tests of what counts as a duplicate text."""

from __future__ import annotations

import pytest

from excerpt.base.kinds import Scope, Strategy
from excerpt.base.model import Hit, PackResult
from excerpt.base.settings import PackSettings
from excerpt.pack.build import build_pack
from excerpt.pack.near_copies import find_near_copy
from excerpt.text.tokens import open_tokenizer
from tests.pack.vaults import Vault

SYNC = (
    "Sync keeps a copy of your vault on our servers, so that each of your devices has the same notes. To begin, "
    "choose **Connect** in the settings, name the vault, and wait until `vault.sync()` says that it is done. "
    "Only then does each of your devices have them."
)


def copy_found(kept: str, other: str) -> bool:
    vault = Vault({"kept.md": kept, "other.md": other})
    first, second = (vault.fragments_by_path[path][0] for path in ("kept.md", "other.md"))
    return find_near_copy(second, [first]) == first


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(SYNC.replace(". To", ".\nTo"), id="broken into other lines"),
        pytest.param(SYNC.upper(), id="in other case"),
        pytest.param(SYNC.partition(". ")[2], id="a part of it"),
    ],
)
def test_a_text_contained_in_another_is_a_near_copy(other: str) -> None:
    assert copy_found(SYNC, other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(SYNC.replace("Connect", "Disconnect"), id="a name"),
        pytest.param(SYNC.replace("vault.sync()", "vault->sync()"), id="an operator"),
        pytest.param(SYNC.replace("our", "our 2"), id="a number"),
        pytest.param(f"{SYNC} Then close it.", id="a sentence more"),
        pytest.param("Name the vault, choose Connect in the settings. " + SYNC.partition(". ")[2], id="another order"),
    ],
)
def test_a_text_that_differs_in_more_than_case_and_white_space_is_not_a_copy(other: str) -> None:
    assert not copy_found(SYNC, other)


def test_a_text_of_a_few_words_is_not_a_copy() -> None:
    assert not copy_found("- none", "none")


def packs_of(*notes: str) -> PackResult:
    vault = Vault({f"{number}.md": text for number, text in enumerate(notes)})
    hits = [Hit(fragment, 1 / (1 + place)) for place, fragment in enumerate(vault.fragments)]
    return build_pack(
        vault,
        hits,
        query="q",
        strategy=Strategy.AUTO,
        settings=PackSettings(scope=Scope.NONE),
        tokenizer=open_tokenizer("o200k"),
    )


def test_a_near_copy_is_omitted_and_reported() -> None:
    result = packs_of(SYNC, SYNC.lower(), SYNC.replace("Connect", "Disconnect"))
    assert [pack.path for pack in result.passages] == ["0.md", "2.md"]
    assert [(left.path, left.reason) for left in result.left_out] == [("1.md", "near copy of 0.md:1")]
