"""Notes and files opened in other programs: the user's editor, and Obsidian."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from shutil import which

from textual.app import SuspendNotSupported

from excerpt.errors import ExcerptError
from excerpt.state_files import users_umask


class Programs:
    """Start programs on the files of one vault, with the environment of the user's shell, and say what came of it.

    `notify` is a screen's, `suspend` the app's: the terminal is another program's within it.
    """

    def __init__(
        self,
        vault: Path,
        environment: Mapping[str, str],
        *,
        notify: Callable[..., object],
        suspend: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._vault = vault
        self._environment = environment
        self._notify = notify
        self._suspend = suspend

    def note_file(self, path: str) -> Path | None:
        """Return the file of a note; None, and say so, where it is not there or leads out of the vault."""
        file = self._vault / path
        if file.is_file() and file.resolve().is_relative_to(self._vault.resolve()):
            return file
        self._notify(f"{path} is not in the vault.", title="Cannot be opened", severity="error", markup=False)
        return None

    def edit(self, setting: str, file: Path, line: int, *, seen: str, edited: Callable[[], object]) -> bool:
        """Open a file in the editor of that setting, and return whether it could be started.

        `seen` says what becomes of changes that are saved in a window of the editor's own; `edited` is called when one
        that had the terminal has given it back.
        """
        from excerpt.tui.editor import editor_command

        try:
            command = editor_command(setting, self._environment, which, file, line)
            if command.windowed:
                self._start(command.argv)
                self._notify(f"Opened with {Path(command.argv[0]).name}. {seen}", markup=False)
            elif self._run_here(command.argv):
                edited()
        except ExcerptError as error:
            self._notify(str(error), title=error.title, severity="error", markup=False)
            return False
        except OSError as error:
            self._notify(str(error), title="The editor cannot be started", severity="error", markup=False)
            return False
        return True

    def _start(self, argv: Sequence[str]) -> None:
        subprocess.Popen(
            argv,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            umask=users_umask(),
        )

    def _run_here(self, argv: Sequence[str]) -> bool:
        """Give the terminal to the editor, and take it back; return whether it could be given."""
        try:
            with self._suspend():
                done = subprocess.run(argv, env=self._environment, check=False, umask=users_umask())
        except SuspendNotSupported:
            self._notify("This terminal cannot be handed to an editor.", severity="error")
            return False
        if done.returncode:
            self._notify(f"The editor ended with code {done.returncode}.", severity="warning")
        return True

    async def open_in_obsidian(self, file: Path, headings: Sequence[str], copy: Callable[[str], object]) -> bool:
        """Open a note at a section, and return whether a program took its link.

        Where nothing opens links, `copy` is called with it: over ssh it is of use at the user's end.
        """
        from excerpt.tui.obsidian import link_opener, note_link, obsidian_vault, open_link

        try:
            link = note_link(obsidian_vault(self._vault), file, headings)
        except ExcerptError as error:
            self._notify(str(error), title="Cannot be opened in Obsidian", severity="warning", markup=False)
            return False
        argv = link_opener(self._environment, which, sys.platform)
        if argv is not None and await asyncio.to_thread(open_link, (*argv, link), self._environment):
            self._notify(f"{file.name} is opened in Obsidian.", markup=False)
            return True
        self._notify("Nothing here opens its links: the link is copied.", title="Obsidian", severity="warning")
        copy(link)
        return False
