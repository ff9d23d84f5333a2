"""Tests of the checks of a vault: its files, how changes are noticed, and data of former vaults."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import excerpt
from excerpt.base.settings import Paths, Settings, VaultSettings, user_paths
from excerpt.service.diagnosis import vault_checks
from excerpt.service.diagnosis.vault_checks import check_vault, orphaned_vaults
from excerpt.service.findings import Severity
from excerpt.service.stores import parse_address
from excerpt.vault.known_vaults import add_recent_vault
from tests.findings import finding_lines, has_finding


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "Note.md").write_text("A note.\n")
    return folder


def findings_of_vault(vault: Path, settings: Settings = Settings(), watches: int | None = None) -> list[str]:  # noqa: B008
    return finding_lines(check_vault(vault, settings, watches).findings)


def test_a_healthy_vault_is_reported_with_its_size_and_how_changes_are_found(vault: Path) -> None:
    notes, changes = findings_of_vault(vault)
    assert notes.startswith("ok: ")
    assert all(fact in notes for fact in ("1 note (0 kB)", "2 folders", str(vault)))
    assert changes.startswith("ok: ")
    assert "at once" in changes


def test_attachments_are_counted_beside_the_notes(vault: Path) -> None:
    for name in ("a.csv", "b.canvas"):
        (vault / name).write_text("{}\n")
    assert "1 note and 2 attachments" in findings_of_vault(vault)[0]


def test_a_missing_vault_is_a_problem(tmp_path: Path) -> None:
    (line,) = findings_of_vault(tmp_path / "gone")
    assert line.startswith("problem: ")
    assert str(tmp_path / "gone") in line


def test_a_vault_without_notes_is_reported_with_the_note_suffixes(tmp_path: Path) -> None:
    line = findings_of_vault(tmp_path)[0]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (str(tmp_path), ".md, .markdown", "vault.extensions"))


@pytest.mark.parametrize("by", [".gitignore", "settings"])
def test_rules_that_exclude_every_note_are_a_problem(vault: Path, by: str) -> None:
    settings = Settings()
    if by == "settings":
        settings = Settings(vault=VaultSettings(exclude=("*",)))
    else:
        (vault / by).write_text("*.md\n")
    line = findings_of_vault(vault, settings)[0]
    assert line.startswith("problem: ")
    assert all(fact in line for fact in (str(vault), "1 file", ".gitignore", "vault.exclude"))


def test_symbolic_links_out_of_the_vault_are_named(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("x")
    (vault / "out.md").symlink_to(tmp_path / "outside.md")
    (line,) = (line for line in findings_of_vault(vault) if "out.md" in line)
    assert line.startswith("warning: ")
    assert "link" in line


def test_an_ignore_file_of_which_only_a_part_is_used_is_named(vault: Path) -> None:
    (vault / ".gitignore").write_text("a" * 501)
    (line,) = (line for line in findings_of_vault(vault) if ".gitignore" in line)
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (".gitignore", "in part", "500 letters"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_not_utf8_is_reported(vault: Path) -> None:
    Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md")).write_text("x")
    (line,) = (line for line in findings_of_vault(vault) if "caf\N{REPLACEMENT CHARACTER}.md" in line)
    assert line.startswith("warning: ")
    assert "UTF-8" in line


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there they are one file")
def test_names_that_differ_only_in_case_are_named_together(vault: Path) -> None:
    (vault / "tea.md").write_text("x")
    (vault / "Tea.md").write_text("x")
    (line,) = (line for line in findings_of_vault(vault) if "Tea.md and tea.md" in line)
    assert line.startswith("warning: ")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the limit")
def test_more_folders_than_can_be_watched_are_a_warning_with_the_limit_to_set(vault: Path) -> None:
    line = findings_of_vault(vault, watches=2)[-1]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in ("2 folders", "2 watches", "fs.inotify.max_user_watches=4"))
    line = findings_of_vault(vault, watches=100)[-1]
    assert line.startswith("ok: ")
    assert "2 of 100" in line


def test_a_vault_on_a_network_drive_is_reported_as_polled(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_checks, "lacks_change_events", lambda _: True)
    line = findings_of_vault(vault)[-1]
    assert line.startswith("warning: ")
    assert "drive" in line


# --- data of other vaults ---------------------------------------------------------------------------------------------

STORE = "tiny://wiki"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(*(tmp_path / name for name in ("config", "cache", "data", "state")))


def remember(paths: Paths, folder: Path) -> None:
    memory = paths.memory_folder(folder) / "Tea.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("Tea is green.\n")


def test_data_of_an_unknown_folder_is_a_warning(paths: Paths) -> None:
    remember(paths, Path("/gone"))
    assert has_finding(finding_lines(orphaned_vaults(paths, None)), Severity.WARNING, "unknown vault")


@pytest.mark.usefixtures("tiny_stores")
def test_data_of_a_store_opened_by_a_program_is_not_orphaned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path))
    with excerpt.open(STORE):
        remember(user_paths(), parse_address(STORE).folder)
    assert list(orphaned_vaults(user_paths(), None)) == []


@pytest.mark.usefixtures("tiny_stores")
def test_data_of_a_store_opened_in_the_app_is_not_orphaned(paths: Paths) -> None:
    add_recent_vault(paths, Path(STORE))
    remember(paths, parse_address(STORE).folder)
    assert list(orphaned_vaults(paths, None)) == []
