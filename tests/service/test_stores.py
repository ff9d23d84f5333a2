"""Tests of stores: a package that adds a scheme is found, and its vaults are opened as folders are."""

from __future__ import annotations

from pathlib import Path

import pytest

import excerpt
from excerpt.base.settings import Settings, user_paths
from excerpt.service import stores
from excerpt.service.diagnosis.vault_checks import check_store
from excerpt.service.findings import Severity
from excerpt.service.stores import is_address, parse_address
from tests.tiny_store import write_notes

ADDRESS = "tiny://garden"
NOTES = {
    "Bees.md": "# Bees\n\nA colony winters around its honey.\n",
    "Tea.md": "# Tea\n\nGreen tea is not fermented.\n",
}

pytestmark = pytest.mark.usefixtures("tiny_stores")


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> excerpt.Vault:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    write_notes(ADDRESS, NOTES)
    return excerpt.open(ADDRESS)


def test_an_address_has_a_scheme_that_a_package_adds() -> None:
    assert is_address(ADDRESS)
    assert is_address(str(Path(ADDRESS)))  # which has one slash
    for folder in ("notes", "/home/me/tiny", "./tiny:notes", "~/notes", "https://host/notes", "C:/notes"):
        assert not is_address(folder)


def test_a_vault_of_any_store_is_searched_packed_and_read(vault: excerpt.Vault) -> None:
    with vault:
        assert [hit.path for hit in vault.search("honey")] == ["Bees.md"]
        assert "winters around its honey" in vault.pack("honey").text
        assert vault.address == ADDRESS


def test_memories_of_a_store_are_files_of_the_user(vault: excerpt.Vault) -> None:
    with vault:
        vault.memories.remember("The hive moves in March.")
        assert [each.memory.text for each in vault.memories.recall("hive")] == ["The hive moves in March."]
    assert any(user_paths().memory_folder(parse_address(ADDRESS).folder).glob("*.md"))


def test_a_store_is_not_updated_from_here(vault: excerpt.Vault) -> None:
    with vault, pytest.raises(excerpt.StoreUnusableError, match="only a push"):
        vault.refresh()


def test_doctor_says_what_the_store_finds(tmp_path: Path) -> None:
    write_notes(ADDRESS, NOTES)
    assert [finding.what for finding in check_store(ADDRESS, Settings())] == ["The vault has 2 notes"]


def test_a_package_that_cannot_be_loaded_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "find_entry_points", lambda _group: {"gone": "not_there:parse"})
    (finding,) = check_store("gone://host/notes", Settings())
    assert finding.level is Severity.PROBLEM
    assert "gone://" in finding.what
    assert "not_there" in finding.what


def test_what_is_not_an_address_names_the_schemes_there_are() -> None:
    with pytest.raises(excerpt.StoreUnusableError, match="tiny://"):
        parse_address("notes")
