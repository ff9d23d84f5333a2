"""Tests of replaced notes on every surface: the Python API and its JSON, packs in each format, both servers, commands.

It belongs to no module: the same mark must be everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from mcp import Client

import excerpt
from excerpt import Replaced, Vault
from excerpt.base.kinds import Format
from excerpt.pack.formats.registry import read_pack
from excerpt.servers.line_server.server import LineServer
from excerpt.servers.mcp.server import build_server
from tests.cli import conftest as cli
from tests.cli.conftest import Excerpt
from tests.servers.line_server import conftest as line_server
from tests.servers.line_server.conftest import talk_with
from tests.servers.mcp.conftest import failure_text, indexed_vaults, tool_caller

NOTES = {
    "Pricing 2024.md": '---\nsuperseded_by: "[[Pricing 2026]]"\n---\nA seat costs ten euros a month, paid yearly.\n',
    "Pricing 2026.md": "---\ncreated: 2026-03-01\n---\nA seat costs twelve euros a month, paid monthly.\n",
    "Hosting.md": "---\nstatus: archived\n---\nThe servers stand in the cellar.\n",
    "Garden.md": "Beans climb on poles.\n",
}
BY_2026 = Replaced("Pricing 2026.md", "Pricing 2026", "2026-03-01", "superseded_by: [[Pricing 2026]]")
MARK = "replaced on 2026-03-01 by Pricing 2026.md"


def write_notes(folder: Path, notes: Mapping[str, str] = NOTES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in notes.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


home, command = cli.home, cli.excerpt  # fixtures


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    return write_notes(tmp_path / "notes")


@pytest.fixture
def vault(folder: Path) -> Iterator[Vault]:
    with excerpt.open(folder) as opened:
        yield opened


def marks(vault: Vault, query: str) -> dict[str, str]:
    return {hit.path: hit.replaced.mark for hit in vault.search(query) if hit.replaced is not None}


def test_a_hit_says_what_replaces_its_note(vault: Vault) -> None:
    found = {hit.path: hit.replaced for hit in vault.search("what does a seat cost?")}
    assert found == {"Pricing 2024.md": BY_2026, "Pricing 2026.md": None}


def test_a_note_that_names_no_successor_is_marked_as_it_says(vault: Vault) -> None:
    assert marks(vault, "servers cellar") == {"Hosting.md": "marked as archived"}


def test_the_filter_lists_replaced_notes_or_leaves_them_out(vault: Vault) -> None:
    assert {hit.path for hit in vault.search("is:replaced")} == {"Pricing 2024.md", "Hosting.md"}
    assert {hit.path for hit in vault.search("seat -is:replaced")} == {"Pricing 2026.md"}


def test_the_json_of_a_hit_has_what_replaces_it_only_if_something_does(command: Excerpt, folder: Path) -> None:
    hits = command("search", "what does a seat cost?", "--vault", str(folder), "--json").json["hits"]
    assert {hit["path"]: hit.get("replaced", "no key") for hit in hits} == {
        "Pricing 2024.md": {
            "by": "Pricing 2026.md",
            "title": "Pricing 2026",
            "date": "2026-03-01",
            "words": "superseded_by: [[Pricing 2026]]",
        },
        "Pricing 2026.md": "no key",
    }


def test_a_printed_hit_has_the_mark(command: Excerpt, folder: Path) -> None:
    assert MARK in command("search", "seat", "--vault", str(folder)).out


@pytest.mark.parametrize("name", ["markdown", "plain", "xml", "json"])
def test_a_pack_has_the_mark_in_each_format(vault: Vault, name: str) -> None:
    packed = vault.pack("is:replaced seat", format=Format(name))
    assert [passage.replaced for passage in packed.passages] == [BY_2026]
    assert MARK in packed.text
    (source,) = read_pack(packed.text).sources
    assert (source.path, source.text) == ("Pricing 2024.md", "A seat costs ten euros a month, paid yearly.")


def test_a_pack_has_a_replaced_note_only_for_what_its_successor_lacks(vault: Vault) -> None:
    assert [passage.path for passage in vault.pack("what does a seat cost a month?").passages] == ["Pricing 2026.md"]
    both = vault.pack("is a seat paid yearly?").passages
    assert [(passage.path, passage.replaced is not None) for passage in both] == [
        ("Pricing 2026.md", False),
        ("Pricing 2024.md", True),
    ]


def test_a_pack_without_replaced_notes_has_no_mark(vault: Vault) -> None:
    assert "Status:" not in vault.pack("beans").text


def test_several_vaults_name_the_note_with_its_vault(home: Path, tmp_path: Path, command: Excerpt) -> None:
    write_notes(tmp_path / "work")
    write_notes(tmp_path / "home-notes", {"Beans.md": "Seat.\n"})
    both = ("--vault", str(tmp_path / "work"), "--vault", str(tmp_path / "home-notes"))
    hits = command("search", "seat", *both, "--json").json["hits"]
    assert [hit["replaced"]["by"] for hit in hits if "replaced" in hit] == ["work/Pricing 2026.md"]
    assert "replaced on 2026-03-01 by work/Pricing 2026.md" in command("search", "seat", *both).out


async def test_an_agent_reads_the_mark(home: Path, folder: Path) -> None:
    vaults = indexed_vaults(folder)
    async with Client(build_server(vaults, failure_text)) as client:
        ask = tool_caller(client)
        assert MARK in str(await ask("search", query="seat"))
        assert MARK in str(await ask("pack", query="seat is:replaced"))
    vaults.end()


async def test_an_editor_reads_the_mark(home: Path, folder: Path) -> None:
    vaults = indexed_vaults(folder)
    async with talk_with(LineServer(vaults, line_server.failure_text)) as talk:
        found = await talk.ask("search", query="seat")
        packed = await talk.ask("pack", query="seat is:replaced")
    vaults.end()
    assert [hit["replaced"]["by"] for hit in found["hits"] if "replaced" in hit] == ["Pricing 2026.md"]
    assert [passage["replaced"]["by"] for passage in packed["passages"]] == ["Pricing 2026.md"]
