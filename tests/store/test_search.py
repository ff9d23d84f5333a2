"""Tests that a vault in a store gives the same hits, scores, packs and texts as the folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

import excerpt
from excerpt import Result, Span, Vault
from excerpt.errors import StoreUnusableError
from excerpt.mcp.server import build_server
from excerpt.served_vaults import ServedVaults
from excerpt.store.address import parse_address
from excerpt.store.push import push
from mcp import Client
from tests.mcp.conftest import asking, failed
from tests.store.conftest import index_of, on_replica, records_of
from tests.store.server import Servers

pytestmark = pytest.mark.store

QUERIES = (
    "pack",
    "token budget",
    "how do I copy passages into a prompt",
    "resolve conflicts in sync",
    "budgte",  # similar spelling
    "memor",  # prefix
    '"token budget"',
    "budget -token",
    "search OR memory",
    "#guide",
    "title:search",
    "heading:keys ranking",
    "path:Search",
    "modified:>1980-01-01 pack",
    "strategy:semantic passages for a language model",
    "zzzz",
    "",
)


ROUNDING = 0.01
"""Most by which a score may differ: the store has vectors of 16 bits. Hits as close as that may change places."""


def said(result: Result) -> dict[tuple[str, int], tuple[str, Sequence[Span]]]:
    """Return confidence and spans of the hits by path and first line."""
    return {(hit.fragment.path, hit.fragment.line_start): (str(hit.confidence), hit.spans) for hit in result.hits}


def scores(result: Result) -> list[float]:
    return [hit.score for hit in result.hits[:10]]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_the_same(both: tuple[Vault, Vault], query: str) -> None:
    folder, stored = both
    expected, found = folder.search(query, limit=20), stored.search(query, limit=20)
    assert scores(found) == pytest.approx(scores(expected), abs=ROUNDING)
    assert found.strategy == expected.strategy
    last = expected.hits[-1].score if len(expected.hits) == 20 else -1.0
    surely = [hit for hit in expected.hits[:10] if hit.score > last + ROUNDING]
    there = said(found)
    for hit in surely:
        place = (hit.fragment.path, hit.fragment.line_start)
        assert there[place] == (str(hit.confidence), hit.spans)
    if not any(scores(expected)):
        assert [*there][:10] == [*said(expected)][:10]


def test_a_pack_is_the_same(both: tuple[Vault, Vault]) -> None:
    folder, stored = both
    assert stored.pack("token budget", budget=800).text == folder.pack("token budget", budget=800).text


def test_notes_are_read_from_the_store(both: tuple[Vault, Vault]) -> None:
    folder, stored = both
    note = folder.search("pack").hits[0].fragment.path
    assert stored.read(note) == folder.read(note)


def test_status_counts_what_is_stored(both: tuple[Vault, Vault]) -> None:
    folder, stored = both
    expected, found = folder.status(), stored.status()
    assert (found.notes, found.fragments, found.tokenizer) == (expected.notes, expected.fragments, expected.tokenizer)


def test_why_is_told_alike(both: tuple[Vault, Vault]) -> None:
    folder, stored = both
    query = "token budget"
    expected, found = folder.explain(folder.search(query, limit=3)), stored.explain(stored.search(query, limit=3))
    assert [one.words for one in found] == [one.words for one in expected]


def test_a_replica_answers(store: str, running: Servers, both: tuple[Vault, Vault]) -> None:
    base, _, name = store.partition("?")
    with excerpt.open(f"{on_replica(base, running)}?{name}") as replica:
        assert said(replica.search("token budget")) == said(both[0].search("token budget"))


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(StoreUnusableError, match="password"):
        excerpt.open("postgresql://user:secret@localhost/db?vault=wiki")


def test_a_server_that_is_not_there_is_a_sentence() -> None:
    vault = excerpt.open("postgresql://excerpt@127.0.0.1:9/db?vault=wiki")
    with pytest.raises(StoreUnusableError, match="cannot be reached"):
        vault.search("anything")


def test_a_vault_that_is_not_there_names_those_that_are(store: str) -> None:
    vault = excerpt.open(f"{store.partition('?')[0]}?vault=wiki")
    with pytest.raises(StoreUnusableError) as caught:
        vault.search("anything")
    assert "demo" in caught.value.hint


def test_a_lost_connection_is_taken_up_again(both: tuple[Vault, Vault], store: str) -> None:
    _, stored = both
    stored.search("pack")
    with psycopg.connect(store.partition("?")[0], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'excerpt'")
    assert stored.search("pack").hits


def test_a_search_on_a_store_imports_nothing_that_writes_one(store: str) -> None:
    asked = "import sys, excerpt\nprint(len(excerpt.open(sys.argv[1]).search('token budget').hits), *sys.modules)"
    run = subprocess.run([sys.executable, "-c", asked, store], capture_output=True, text=True, check=True)
    hits, *names = run.stdout.split()
    assert int(hits) > 0
    assert "excerpt.store.snapshot" in names
    assert not {"excerpt.store.push", "excerpt.store.rights", "excerpt.store.compare", "whoosh"} & set(names)


def test_what_is_pushed_is_found_by_who_has_it_open(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "Bees.md").write_text("# Bees\n\nA colony winters around its honey.\n", encoding="utf-8")
    address = parse_address(f"{database}?vault=notes")
    with excerpt.open(notes) as vault:
        vault.load()
        push(index_of(vault), address, records_of(vault))
        with excerpt.open(f"{database}?vault=notes") as stored:
            assert not [hit for hit in stored.search("mead").hits if "Mead" in hit.fragment.path]
            (notes / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
            vault.refresh()
            push(index_of(vault), address, records_of(vault))
            assert stored.search("mead").hits[0].fragment.path == "Mead.md"
            (notes / "Bees.md").unlink()
            vault.refresh()
            push(index_of(vault), address, records_of(vault))
            assert {hit.fragment.path for hit in stored.search("colony honey").hits} == {"Mead.md"}


# --- agents -----------------------------------------------------------------------------------------------------------


async def test_agents_ask_a_store_as_a_folder(store: str) -> None:
    served = ServedVaults([Path(store)])
    try:
        async with Client(build_server(served, failed)) as client:
            ask = asking(client)
            found = await ask("search", query="token budget")
            packed = await ask("pack", query="token budget", budget=500)
            lines = await ask("read", source="Token budget:1-3")
            overview = await ask("overview", topic="packs")
    finally:
        served.end()
    assert "Token budget" in found.text
    assert "as last pushed" in found.text
    assert "[1]" in packed.text
    assert "Token budget.md:1-3" in lines.text
    assert "# Overview: packs" in overview.text
