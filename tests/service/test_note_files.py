"""Tests of finding the file of a note or an attachment."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.settings import VaultSettings
from excerpt.service.note_files import NoteFile, find_note_file
from excerpt.vault.known_vaults import VaultFolders


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Note.md").write_text("# Note\n")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    return folder


def find(path: str, *vaults: Path) -> NoteFile | None:
    return find_note_file(VaultFolders.of(vaults), path, VaultSettings())


def test_the_file_of_a_note_has_an_empty_kind_and_an_attachment_has_the_kind_of_its_format(vault: Path) -> None:
    assert find("Note.md", vault) == NoteFile(vault / "Note.md", "")
    assert find("paper.pdf", vault) == NoteFile(vault / "paper.pdf", "pdf")


@pytest.mark.parametrize("path", ["Gone.md", "../outside.md", "Link.md"])
def test_files_outside_the_vault_are_not_found(vault: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (vault / "Link.md").symlink_to(tmp_path / "outside.md")
    assert find(path, vault) is None


def test_with_several_vaults_the_path_begins_with_the_name_of_its_vault(vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert find("vault/Note.md", vault, other) == NoteFile(vault / "Note.md", "")
    assert find("other/Note.md", vault, other) is None
    assert find("third/Note.md", vault, other) is None
