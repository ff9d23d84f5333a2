"""Tests of detecting changes without a build: the result always agrees with what a build would do."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from excerpt.base.errors import VaultError
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings, VaultSettings
from excerpt.index import changes
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE
from excerpt.index.files import SUSPECT_FILE, DamagedFileError
from excerpt.index.lexical import WORDS_FOLDER
from excerpt.index.snapshot import Snapshot
from excerpt.text import fragments


@dataclass(frozen=True)
class Indexed:
    """An indexed vault whose files are older than the clock's tick, so that none is checked again."""

    vault: Path
    index: Path
    settings: Settings

    def is_up_to_date(self, settings: Settings | None = None) -> bool:
        with closing(Snapshot.open(self.index, settings or self.settings)) as snapshot:
            return snapshot.is_up_to_date(self.vault)

    def sql(self, statement: str) -> None:
        with closing(sqlite3.connect(self.index / CATALOG_FILE)) as catalog:
            catalog.execute(statement)
            catalog.commit()


@pytest.fixture
def indexed(vault: Path, index: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    monkeypatch.setattr(changes, "_CLOCK_TICK_NS", 0)
    (vault / "beds").mkdir()
    (vault / "beds" / "Roses.md").write_text("# Roses\n\nPrune a rose in winter.\n")
    (vault / "Tea.md").write_text("# Tea\n\nBrew tea in a kettle.\n")
    (vault / "no text.md").symlink_to("/nowhere.md")  # skipped by its type, without being read
    time.sleep(0.02)  # longer than the file system's clock tick
    build(vault, index, settings)
    return Indexed(vault, index, settings)


def test_a_new_index_is_up_to_date(indexed: Indexed) -> None:
    assert indexed.is_up_to_date()


def test_an_index_with_a_file_as_new_as_the_scan_is_out_of_date(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    assert not indexed.is_up_to_date()


IN_THE_VAULT: dict[str, Callable[[Path], object]] = {
    "edited": lambda vault: (vault / "Tea.md").write_text("# Tea\n\nBrew it.\n"),
    "touched": lambda vault: os.utime(vault / "Tea.md", (1, 1)),
    "new": lambda vault: (vault / "beds" / "New.md").write_text("Soil"),
    "gone": lambda vault: (vault / "Tea.md").unlink(),
    "all gone": lambda vault: list(map(Path.unlink, vault.rglob("*.md"))),
    "renamed": lambda vault: (vault / "Tea.md").rename(vault / "Coffee.md"),
    "ignored": lambda vault: (vault / ".gitignore").write_text("Tea.md\n"),
    "skipped": lambda vault: (vault / "link.md").symlink_to("/nowhere.md"),
    "no more skipped": lambda vault: (vault / "no text.md").unlink(),
}


@pytest.mark.parametrize("change", IN_THE_VAULT.values(), ids=IN_THE_VAULT)
def test_after_a_change_in_the_vault_the_index_is_out_of_date(
    indexed: Indexed, change: Callable[[Path], object]
) -> None:
    change(indexed.vault)
    assert not indexed.is_up_to_date()


def test_a_file_that_is_not_a_note_is_not_a_change(indexed: Indexed) -> None:
    (indexed.vault / "picture.png").write_bytes(b"\x89PNG")
    (indexed.vault / ".obsidian").mkdir()
    assert indexed.is_up_to_date()


def test_an_index_without_a_note_that_was_skipped_for_its_content_is_out_of_date(indexed: Indexed) -> None:
    settings = replace(indexed.settings, vault=VaultSettings(max_bytes=100))
    (indexed.vault / "Large.md").write_text("soil " * 100)
    assert "Large.md" in [one.path for one in build(indexed.vault, indexed.index, settings).skipped]
    assert not indexed.is_up_to_date(settings)


def test_a_note_that_was_given_up_is_up_to_date_until_it_changes(indexed: Indexed) -> None:
    file = indexed.vault / "Endless.md"
    file.write_text("soil " * 100)
    now, reason = file.stat(), "It took too long."
    state = [
        now.st_size,
        now.st_mtime_ns,
        now.st_ctime_ns if os.name == "posix" else 0,
        fragments.fragments_version(""),
    ]
    indexed.sql(f"INSERT INTO meta VALUES ('given_up', '{json.dumps({file.name: [*state, reason]})}')")
    indexed.sql(f"INSERT INTO remarks VALUES ('{file.name}', 1, '{reason}')")
    assert indexed.is_up_to_date()
    file.write_text("soil")
    assert not indexed.is_up_to_date()


def test_after_a_change_of_settings_the_index_is_out_of_date(indexed: Indexed, models: tuple[Path, Path]) -> None:
    for settings in (
        replace(indexed.settings, vault=VaultSettings(language="de")),
        replace(indexed.settings, vault=VaultSettings(exclude=("beds/",))),
        replace(indexed.settings, vault=VaultSettings(include=("beds/",))),
        replace(indexed.settings, pack=PackSettings(tokenizer="o200k")),
        replace(indexed.settings, embedding=EmbeddingSettings(str(models[1]))),
    ):
        assert not indexed.is_up_to_date(settings)
    assert indexed.is_up_to_date()


@pytest.mark.parametrize(
    ("module", "version"),
    [
        (changes, "ANALYZER_VERSION"),
        (changes, "FIELDS_VERSION"),
        (changes, "EMBEDDED_TEXT_VERSION"),
        (fragments, "FRAGMENTS_VERSION"),
    ],
)
def test_an_index_made_by_another_version_of_the_code_is_out_of_date(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch, module: object, version: str
) -> None:
    monkeypatch.setattr(module, version, 1000)
    assert not indexed.is_up_to_date()


IN_THE_INDEX: dict[str, Callable[[Indexed], object]] = {
    "suspected": lambda one: (one.index / SUSPECT_FILE).touch(),
    "doubted": lambda one: one.sql("INSERT OR REPLACE INTO meta VALUES ('doubted', 'words')"),
    "made anew meanwhile": lambda one: (one.index / changes.REBUILD_FOLDER).mkdir(),
    "of another vault": lambda one: one.sql("UPDATE meta SET value = '/else' WHERE name = 'vault'"),
    "killed before moves were told": lambda one: one.sql("INSERT INTO arrived VALUES ('Tea.md')"),
    "a fragment lost": lambda one: one.sql("DELETE FROM fragments WHERE key = 1"),
}


@pytest.mark.parametrize("change", IN_THE_INDEX.values(), ids=IN_THE_INDEX)
def test_an_index_in_need_of_repair_is_not_up_to_date(indexed: Indexed, change: Callable[[Indexed], object]) -> None:
    change(indexed)
    assert not indexed.is_up_to_date()


@pytest.mark.parametrize("pattern", [f"{WORDS_FOLDER}/*.pst", f"{WORDS_FOLDER}/*.lex", "vectors-*"])
def test_an_index_with_a_damaged_file_is_out_of_date(indexed: Indexed, pattern: str) -> None:
    (file,) = indexed.index.glob(pattern)
    data = bytearray(file.read_bytes())
    data[-1] ^= 0xFF
    with closing(Snapshot.open(indexed.index, indexed.settings)) as snapshot:
        file.write_bytes(bytes(data))
        with pytest.raises(DamagedFileError, match="is altered"):
            snapshot.is_up_to_date(indexed.vault)


def test_a_missing_vault_raises_the_same_error_as_a_build(indexed: Indexed) -> None:
    indexed.vault.rename(indexed.vault.with_name("elsewhere"))
    with pytest.raises(VaultError):
        indexed.is_up_to_date()
