"""Tests of the detection of a vault's dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.kinds import Dialect
from excerpt.base.settings import VaultSettings
from excerpt.vault.dialect import detect_dialect, guess_dialect
from excerpt.vault.scan import scan


def write(root: Path, *paths: str) -> Path:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            file.mkdir(exist_ok=True)
        else:
            file.write_text("foam.foam-vscode", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("paths", "dialect"),
    [
        (["logseq/config.edn"], Dialect.LOGSEQ),
        (["logseq/custom.css", "pages/a.md"], Dialect.LOGSEQ),
        (["logseq/custom.css", "journals/a.md", ".obsidian/app.json"], Dialect.LOGSEQ),
        (["logseq/notes.md", "a.md"], Dialect.MARKDOWN),
        (["pages/a.md"], Dialect.MARKDOWN),
        (["dendron.yml"], Dialect.DENDRON),
        ([".foam/templates/a.md"], Dialect.FOAM),
        ([".vscode/extensions.json"], Dialect.FOAM),
        ([".obsidian/app.json"], Dialect.OBSIDIAN),
        (["0123456789abcdef0123456789abcdef.md"], Dialect.JOPLIN),
        (["a.md"], Dialect.MARKDOWN),
    ],
)
def test_a_dialect_is_detected_by_names_in_the_root_folder(tmp_path: Path, paths: list[str], dialect: Dialect) -> None:
    assert detect_dialect(write(tmp_path, *paths)) is dialect


def test_a_folder_that_is_gone_has_no_dialect(tmp_path: Path) -> None:
    assert detect_dialect(tmp_path / "gone") is Dialect.MARKDOWN


def test_a_symbolic_link_is_no_evidence_of_a_dialect(tmp_path: Path) -> None:
    write(tmp_path, "outside/config.edn", "vault/a.md")
    (tmp_path / "vault/logseq").symlink_to(tmp_path / "outside")
    (tmp_path / "vault/.obsidian").symlink_to(tmp_path / "outside")
    assert detect_dialect(tmp_path / "vault") is Dialect.MARKDOWN


def test_backup_copies_that_logseq_makes_of_pages_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, "logseq/config.edn", "logseq/bak/pages/a/1.md", "logseq/version-files/b.md", "pages/a.md")
    write(tmp_path, "pages/logseq/bak/c.md")
    assert [file.path for file in scan(tmp_path, VaultSettings()).files] == ["pages/a.md", "pages/logseq/bak/c.md"]


@pytest.mark.parametrize("name", ["pages", "journals"])
def test_the_folder_of_pages_or_journals_of_a_graph_is_read_like_the_graph(tmp_path: Path, name: str) -> None:
    write(tmp_path, "logseq/config.edn", "pages/a.md", "journals/2024_05_01.md", "drafts/pages/b.md")
    assert detect_dialect(tmp_path / name) is Dialect.LOGSEQ
    assert detect_dialect(tmp_path / "drafts/pages") is Dialect.MARKDOWN


@pytest.mark.parametrize(
    ("paths", "dialect"),
    [
        (["journals/2024_05_01.md", "pages/Größe.md", "logseq/readme.md"], Dialect.LOGSEQ),
        (["journals/2024_05_01.md", "pages/a.md", "inbox.md"], Dialect.MARKDOWN),
        (["pages/a.md"], Dialect.MARKDOWN),
        ([], Dialect.MARKDOWN),
    ],
)
def test_by_paths_alone_a_vault_is_logseq_if_all_notes_are_pages_or_journals(
    paths: list[str], dialect: Dialect
) -> None:
    assert guess_dialect(paths) is dialect
