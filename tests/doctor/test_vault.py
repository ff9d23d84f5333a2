"""Tests of the doctor's findings about a vault."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from excerpt.doctor import checks as vaults
from excerpt.doctor.checks import check_vault
from excerpt.settings import Settings, VaultSettings


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "Note.md").write_text("A note.\n")
    return folder


def told(vault: Path, settings: Settings = Settings(), watches: int | None = None) -> list[str]:  # noqa: B008
    return [
        f"{finding.level}: {finding.what} {finding.todo}".strip()
        for finding in check_vault(vault, settings, watches).findings
    ]


def test_a_vault_that_is_fine_is_told_with_its_size_and_how_changes_are_seen(vault: Path) -> None:
    notes, changes = told(vault)
    assert notes.startswith("ok: ")
    assert all(fact in notes for fact in ("1 note (0 kB)", "2 folders", str(vault)))
    assert changes.startswith("ok: ")
    assert "at once" in changes


def test_attachments_are_counted_beside_the_notes(vault: Path) -> None:
    for name in ("a.csv", "b.canvas"):
        (vault / name).write_text("{}\n")
    assert "1 note and 2 attachments" in told(vault)[0]


def test_a_vault_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    (line,) = told(tmp_path / "gone")
    assert line.startswith("problem: ")
    assert str(tmp_path / "gone") in line


def test_a_vault_without_notes_is_told_with_the_endings_that_are_looked_for(tmp_path: Path) -> None:
    line = told(tmp_path)[0]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (str(tmp_path), ".md, .markdown", "vault.extensions"))


@pytest.mark.parametrize("by", [".gitignore", "settings"])
def test_rules_that_leave_every_note_out_are_a_problem(vault: Path, by: str) -> None:
    settings = Settings()
    if by == "settings":
        settings = Settings(vault=VaultSettings(exclude=("*",)))
    else:
        (vault / by).write_text("*.md\n")
    line = told(vault, settings)[0]
    assert line.startswith("problem: ")
    assert all(fact in line for fact in (str(vault), "1 file", ".gitignore", "vault.exclude"))


def test_links_out_of_the_vault_are_named(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("x")
    (vault / "out.md").symlink_to(tmp_path / "outside.md")
    (line,) = (line for line in told(vault) if "out.md" in line)
    assert line.startswith("warning: ")
    assert "link" in line


def test_an_ignore_file_that_holds_in_part_is_named(vault: Path) -> None:
    (vault / ".gitignore").write_text("a" * 501)
    (line,) = (line for line in told(vault) if ".gitignore" in line)
    assert line.startswith("warning: ")
    assert all(fact in line for fact in (".gitignore", "in part", "500 letters"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_not_utf8_is_named(vault: Path) -> None:
    Path(os.fsdecode(os.fsencode(vault) + b"/caf\xe9.md")).write_text("x")
    (line,) = (line for line in told(vault) if "caf\N{REPLACEMENT CHARACTER}.md" in line)
    assert line.startswith("warning: ")
    assert "UTF-8" in line


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="there they are one file")
def test_names_that_differ_in_case_alone_are_named_together(vault: Path) -> None:
    (vault / "tea.md").write_text("x")
    (vault / "Tea.md").write_text("x")
    (line,) = (line for line in told(vault) if "Tea.md and tea.md" in line)
    assert line.startswith("warning: ")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the limit")
def test_more_folders_than_the_system_watches_are_a_warning_with_the_number_to_set(vault: Path) -> None:
    line = told(vault, watches=2)[-1]
    assert line.startswith("warning: ")
    assert all(fact in line for fact in ("2 folders", "2 watches", "fs.inotify.max_user_watches=4"))
    line = told(vault, watches=100)[-1]
    assert line.startswith("ok: ")
    assert "2 of 100" in line


def test_a_vault_on_a_network_drive_is_looked_through_now_and_then(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vaults, "lacks_change_events", lambda _: True)
    line = told(vault)[-1]
    assert line.startswith("warning: ")
    assert "drive" in line
