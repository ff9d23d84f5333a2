"""The part of the main screen that opens notes and files in other programs: the editor, and Obsidian."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from shutil import which

from textual import on
from textual.app import SuspendNotSupported

from excerpt.errors import ExcerptError
from excerpt.state_files import users_umask
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import CopyRequested, EditRequested, ObsidianRequested
from excerpt.tui.screens.settings_keeping import SettingsKeeping


class Outside(SettingsKeeping):
    """Nothing outside of the vault is opened for a note."""

    async def record_opened(self, path: str, fragment: str) -> None:
        """Keep for the ranking that the user opened it."""
        raise NotImplementedError

    @on(EditRequested)
    def _edit_requested(self, message: EditRequested) -> None:
        file = self._note_file(message.path)
        if file is not None and self.open_in_editor(file, message.line) and message.telling:
            self.run_worker(self.record_opened(message.path, message.fragment), group="use")

    def _note_file(self, path: str) -> Path | None:
        """The file of a note; None, and said so, where it is not there or leads out of the vault."""
        file = self.vault / path
        if file.is_file() and file.resolve().is_relative_to(self.vault.resolve()):
            return file
        self.notify(f"{path} is not in the vault.", title="Cannot be opened", severity="error", markup=False)
        return None

    # --- the editor ---------------------------------------------------------------------------------------------------

    def open_in_editor(self, file: Path, line: int) -> bool:
        from excerpt.tui.editor import editor_command

        try:
            command = editor_command(self.settings.screen.editor, self._environment, which, file, line)
            run = self._start if command.windowed else self._run_here
            run(command.argv)
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
            return False
        except OSError as error:
            self.notify(str(error), title="The editor cannot be started", severity="error", markup=False)
            return False
        return True

    def _start(self, argv: tuple[str, ...]) -> None:
        subprocess.Popen(
            argv,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=users_umask(),
        )
        seen = (
            "What you save is found at once."
            if self.changes_are_seen
            else f"{key_sign('update')} takes in what you save."
        )
        self.notify(f"Opened with {Path(argv[0]).name}. {seen}", markup=False)

    def _run_here(self, argv: tuple[str, ...]) -> None:
        """Give the terminal to the editor, and take it back."""
        try:
            with self.app.suspend():
                done = subprocess.run(argv, env=self._environment, check=False, umask=users_umask())
        except SuspendNotSupported:
            self.notify("This terminal cannot be handed to an editor.", severity="error")
            return
        if done.returncode:
            self.notify(f"The editor ended with code {done.returncode}.", severity="warning")
        self.take_in_edit()

    # --- Obsidian -----------------------------------------------------------------------------------------------------

    @on(ObsidianRequested)
    def _obsidian_requested(self, message: ObsidianRequested) -> None:
        file = self._note_file(message.path)
        if file is not None:
            self.run_worker(self._open_in_obsidian(file, message), group="obsidian")

    async def _open_in_obsidian(self, file: Path, message: ObsidianRequested) -> None:
        """Where nothing opens links, the link is copied in its place: over ssh it is of use at this end."""
        from excerpt.tui.obsidian import link_opener, note_link, obsidian_vault, open_link

        try:
            link = note_link(obsidian_vault(self.vault), file, message.headings)
        except ExcerptError as error:
            self.notify(str(error), title="Cannot be opened in Obsidian", severity="warning", markup=False)
            return
        argv = link_opener(self._environment, which, sys.platform)
        if argv is not None and await asyncio.to_thread(open_link, (*argv, link), self._environment):
            self.notify(f"{file.name} is opened in Obsidian.", markup=False)
            await self.record_opened(message.path, message.fragment)
            return
        self.notify("Nothing here opens its links: the link is copied.", title="Obsidian", severity="warning")
        self.post_message(CopyRequested(link, "Link", None, ()))
