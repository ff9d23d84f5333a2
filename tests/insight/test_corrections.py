"""Tests of spelling corrections for a query, from the vault's terms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.insight.suggest import correct
from excerpt.search.engine import Engine
from excerpt.settings import Settings
from tests.search.library import NOTES, open_vault


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("corrections"), NOTES)
    yield Engine(snapshot, Settings())
    snapshot.close()


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("fireworsk", "fireworks"),
        ('"firewrks over the harbour"', '"fireworks over the harbour"'),
        ("tag:projct", "tag:project"),
        ("-tag:projct harbour", ""),
        ("folder:Dairy harbour", "folder:/Diary/ harbour"),
        ("status:domne", "status:=done"),
        ("tga:project", "tag:project"),
        ("harbour", ""),
        ("fire", ""),
        ("xyzzyqwv", ""),
        ("同部", ""),
        ("", ""),
    ],
)
def test_what_the_vault_does_not_have_is_spelled_as_what_it_has(library: Engine, query: str, meant: str) -> None:
    assert correct(library, query) == meant


def test_what_would_match_nothing_either_is_not_offered(library: Engine) -> None:
    assert correct(library, '"fireworks over the meetng"') == ""
