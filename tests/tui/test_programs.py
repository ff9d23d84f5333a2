"""Tests of starting other programs on a vault's files, without a screen: real ones that record their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import SuspendNotSupported

from excerpt.known_vaults import VaultFolders
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.messages import EditRequested
from excerpt.tui.programs import ProgramLauncher
from tests.tui.driver import notices_of, pane_of, screen_of, until


class Case:
    """Programs on a vault with one note. `told` are the notices, `done` what happened to terminal and file."""

    def __init__(self, folder: Path) -> None:
        self.vault = folder / "vault"
        self.note = self.vault / "Note.md"
        self.vault.mkdir()
        self.note.write_text("# Note\n")
        self.told: list[str] = []
        self.done: list[str] = []
        self.gives_way = True
        self.programs = ProgramLauncher(
            VaultFolders.of([self.vault]),
            {"PATH": str(folder)},
            notify=lambda text, **_: self.told.append(text),
            suspend=self._suspend,
        )

    @contextmanager
    def _suspend(self) -> Iterator[None]:
        if not self.gives_way:
            raise SuspendNotSupported
        self.done.append("given")
        yield
        self.done.append("taken back")

    def edit(self, setting: str) -> bool:
        edited = self.done.append
        return self.programs.edit(
            setting, self.note, 3, save_hint="It is found at once.", on_exit=lambda: edited("edited")
        )


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def editor(folder: Path, name: str, code: int = 0) -> str:
    """Write an editor of that name that exits with that code, and return its path."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nexit {code}\n")
    file.chmod(0o755)
    return str(file)


def test_an_editor_has_the_terminal_until_it_ends_and_the_edit_is_looked_for_then(case: Case, tmp_path: Path) -> None:
    assert case.edit(editor(tmp_path, "vi"))
    assert case.done == ["given", "taken back", "edited"]
    assert case.told == []


def test_an_editor_that_fails_is_told_by_its_code_and_the_edit_is_looked_for_all_the_same(
    case: Case, tmp_path: Path
) -> None:
    assert case.edit(editor(tmp_path, "vi", 3))
    assert case.told == ["The editor ended with code 3."]
    assert case.done[-1] == "edited"


def test_an_editor_with_a_window_leaves_the_terminal_alone(case: Case, tmp_path: Path) -> None:
    assert case.edit(editor(tmp_path, "code"))
    assert case.done == []
    assert case.told == ["Opened with code. It is found at once."]


def test_a_terminal_that_cannot_be_given_is_told_and_nothing_is_looked_for(case: Case, tmp_path: Path) -> None:
    case.gives_way = False
    case.edit(editor(tmp_path, "vi"))
    assert case.told == ["No editor can run in this terminal. Set one with its own window."]
    assert case.done == []


def test_an_editor_that_is_not_there_is_told(case: Case) -> None:
    assert not case.edit("no-such-editor")
    assert "no-such-editor" in case.told[0]


@pytest.mark.parametrize("path", ["Gone.md", "../outside.md", "Link.md"])
def test_no_file_outside_of_the_vault_has_a_name(case: Case, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (case.vault / "Link.md").symlink_to(tmp_path / "outside.md")
    assert case.programs.find_note_file("Note.md") == case.note
    assert case.programs.find_note_file(path) is None
    assert case.told == [f"{path} is not in the vault."]


async def test_where_nothing_opens_links_the_link_is_copied(case: Case) -> None:
    (case.vault / ".obsidian").mkdir()
    copied: list[str] = []
    assert not await case.programs.open_in_obsidian(case.note, ("Note",), copied.append)
    assert copied == ["obsidian://open?vault=vault&file=Note%23Note"]


async def test_a_folder_that_is_no_vault_of_obsidians_is_told_and_nothing_is_copied(case: Case) -> None:
    copied: list[str] = []
    assert not await case.programs.open_in_obsidian(case.note, (), copied.append)
    assert "is not an Obsidian vault" in case.told[0]
    assert copied == []


async def test_an_attachment_that_nothing_here_shows_is_told_by_its_path_and_the_clipboard_is_left_alone(
    vault: Path, user_paths: Paths
) -> None:
    (vault / "paper.pdf").write_bytes(b"%PDF-1.4\n")
    app = ExcerptApp(vault, Settings(), user_paths, {"SSH_TTY": "/dev/pts/1"})
    async with app.run_test() as pilot:
        await until(pilot, lambda: pane_of(app).is_mounted, "the screen")
        screen_of(app).post_message(EditRequested("paper.pdf", 1, "page=3"))
        await until(pilot, lambda: bool(viewer_notices(app)), "the message")
        await pilot.pause()
        await app.workers.wait_for_complete([worker for worker in app.workers if worker.group == "copy"])
        (notice,) = viewer_notices(app)
        assert notice.endswith(f" Address: {vault / 'paper.pdf'}#page=3")
    assert list(user_paths.copies_folder().glob("*")) == []


def viewer_notices(app: ExcerptApp) -> list[str]:
    return [notice for notice in notices_of(app) if notice.startswith("No program can open the attachment.")]
