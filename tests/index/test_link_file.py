"""Tests of the file of resolved links, which saves the next process from resolving them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.settings import Settings
from excerpt.index import link_file
from excerpt.index.build import build
from excerpt.index.link_file import LINKS_FILE
from excerpt.index.queries import CatalogQueries
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine

TEA = {"tea.md": "# Tea\n\n[[water]]", "water.md": "# Water\n\n[[leaf]]", "deep/leaf.md": "# Leaf\n\nNo link."}
LINKS = {("tea.md", "water.md"), ("water.md", "deep/leaf.md")}


def write(vault: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        file = vault / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def read_links(index: Path, settings: Settings) -> set[tuple[str, str]]:
    """Return the links as a process reads them that has nothing in memory."""
    with closing(Snapshot.open(index, settings)) as snapshot:
        paths = snapshot.table.paths
        return {(paths[source], paths[target]) for source, target in zip(*snapshot.facets.links, strict=True)}


@pytest.fixture
def index(tmp_path: Path, settings: Settings) -> Path:
    write(tmp_path / "vault", TEA)
    build(tmp_path / "vault", tmp_path / "index", settings)
    assert read_links(tmp_path / "index", settings) == LINKS
    return tmp_path / "index"


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the notes whose links each query reads, -1 for all notes."""
    counts: list[int] = []
    link_targets = CatalogQueries.link_targets

    def counted(self: CatalogQueries, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        counts.append(-1 if notes is None else len(notes))
        return link_targets(self, notes)

    monkeypatch.setattr(CatalogQueries, "link_targets", counted)
    return counts


def test_the_next_process_reads_no_link_of_a_note(index: Path, settings: Settings, resolved: list[int]) -> None:
    assert read_links(index, settings) == LINKS
    assert resolved == []


def test_the_first_search_of_the_next_process_resolves_no_link(
    index: Path, settings: Settings, resolved: list[int]
) -> None:
    with closing(Snapshot.open(index, settings)) as snapshot:
        assert Engine(snapshot, settings).search("water").hits
    assert resolved == []


def test_after_an_edit_only_the_links_of_that_note_are_read(
    tmp_path: Path, index: Path, settings: Settings, resolved: list[int]
) -> None:
    write(tmp_path / "vault", {"tea.md": "# Tea\n\n[[leaf]]"})
    build(tmp_path / "vault", index, settings)
    for _ in range(2):
        assert read_links(index, settings) == {("tea.md", "deep/leaf.md"), ("water.md", "deep/leaf.md")}
    assert resolved == [1]


def test_after_a_rename_all_links_are_resolved(
    tmp_path: Path, index: Path, settings: Settings, resolved: list[int]
) -> None:
    (tmp_path / "vault" / "water.md").rename(tmp_path / "vault" / "deep" / "water.md")
    build(tmp_path / "vault", index, settings)
    assert read_links(index, settings) == {("tea.md", "deep/water.md"), ("deep/water.md", "deep/leaf.md")}
    assert resolved == [-1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-3]),
        lambda file: file.write_bytes(file.read_bytes()[:-3] + b"\0\0\1"),
        lambda file: file.write_bytes(bytes(4)),
    ],
    ids=["missing", "empty", "cut", "altered", "zeros"],
)
def test_a_damaged_file_is_made_again(
    index: Path, settings: Settings, resolved: list[int], damage: Callable[[Path], object]
) -> None:
    damage(index / LINKS_FILE)
    for _ in range(2):
        assert read_links(index, settings) == LINKS
    assert resolved == [-1]


def test_links_that_another_version_resolved_are_resolved_again(
    index: Path, settings: Settings, resolved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_file, "LINKS_VERSION", -1)
    assert read_links(index, settings) == LINKS
    assert resolved == [-1]


def test_the_links_of_an_index_that_was_rebuilt_are_not_used(
    tmp_path: Path, index: Path, settings: Settings, resolved: list[int]
) -> None:
    stored = (index / LINKS_FILE).read_bytes()
    write(tmp_path / "vault", {"tea.md": "# Tea\n\n[[leaf]]"})
    build(tmp_path / "vault", index, settings, rebuild=True)
    (index / LINKS_FILE).write_bytes(stored)  # by a reader of the index before
    assert read_links(index, settings) == {("tea.md", "deep/leaf.md"), ("water.md", "deep/leaf.md")}
    assert resolved == [-1]


def test_a_folder_that_cannot_be_written_has_its_links(
    index: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError

    (index / LINKS_FILE).unlink()
    monkeypatch.setattr(link_file, "swap_file", fail)
    assert read_links(index, settings) == LINKS


def test_a_build_keeps_the_file(tmp_path: Path, index: Path, settings: Settings) -> None:
    write(tmp_path / "vault", {"tea.md": "# Tea\n\nbrew"})
    build(tmp_path / "vault", index, settings)
    assert (index / LINKS_FILE).is_file()


@pytest.mark.parametrize(
    ("texts", "edit", "source"),
    [
        (
            {"a.org": "* A\n[[id:leaf-1][leaf]]\n", "b.org": "* B\n", "c.org": "* C\n"},
            {"b.org": ":PROPERTIES:\n:ID: leaf-1\n:END:\n* B\n"},
            "a.org",
        ),
        (
            {"logseq/config.edn": "{}", "pages/a.md": "- See [[Leaf]]", "pages/b.md": "- B", "pages/c.md": "- C"},
            {"pages/b.md": "alias:: Leaf\n\n- B"},
            "pages/a.md",
        ),
    ],
    ids=["an id of org", "an alias in Logseq"],
)
def test_an_edit_changes_where_another_notes_link_leads(
    tmp_path: Path, settings: Settings, texts: dict[str, str], edit: dict[str, str], source: str
) -> None:
    vault, index = tmp_path / "vault", tmp_path / "index"
    write(vault, texts)
    build(vault, index, settings)
    assert read_links(index, settings) == set()
    with closing(Snapshot.open(index, settings)) as before:
        assert not len(before.facets.links[0])
        write(vault, edit)
        build(vault, index, settings)
        (index / LINKS_FILE).unlink()
        with closing(Snapshot.open(index, settings, before=before)) as after:
            assert [after.table.paths[note] for note in after.facets.links[0]] == [source]
