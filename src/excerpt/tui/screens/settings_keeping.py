"""The part of the main screen that goes by the settings files: opens the settings, and takes up what the files say."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.errors import ExcerptError
from excerpt.settings import Places, Settings, settings_of
from excerpt.tui.screens.session_keeping import SessionKeeping
from excerpt.tui.session import Session
from excerpt.tui.themes import theme_files
from excerpt.tui.widgets.search_pane import SearchPane

if TYPE_CHECKING:
    from excerpt.tui.screens.settings import SettingsScreen

_LOOK = 2.0
"""Seconds between looks whether a settings file was changed in an editor."""

Stamps = tuple[tuple[int, int] | None, ...]
"""When each settings file was changed (ns), and its size; None for one that is not there."""


class SettingsKeeping(SessionKeeping):
    """Owns what the settings files said last. What was chosen for this time alone (a strategy by key, a plain screen
    by option) stays until a file says something else about it."""

    def __init__(
        self, vault: Path, settings: Settings, places: Places, environment: Mapping[str, str], session: Session
    ) -> None:
        """`environment` is that of the user's shell, for the programs started from here."""
        super().__init__(vault, settings, places, session)
        self._places = places
        self._environment = dict(environment)
        self._said: Settings | None = None
        self._stamps: Stamps = ()
        self._open: SettingsScreen | None = None

    async def begin_settings(self) -> None:
        """Remember what the files say, and look from time to time whether they say something else."""
        self._stamps = await asyncio.to_thread(self._look)
        with suppress(ExcerptError):
            self._said = await asyncio.to_thread(settings_of, self.vault, self._places)
        self.set_interval(_LOOK, self._look_again)

    def _look(self) -> Stamps:
        files = (self._places.settings_file, self._places.vault_settings_file(self.vault))
        return tuple(_stamp(file) for file in files)

    def _look_again(self) -> None:
        # A worker, so that no key waits for a slow disk.
        self.run_worker(self._look_for_changes(), group="settings")

    async def _look_for_changes(self) -> None:
        if await asyncio.to_thread(self._look) != self._stamps:
            await self.reread()

    async def reread(self) -> None:
        """Take up what the settings files say now, and show it where the settings are open."""
        await self._take_up_files()
        if self._open is not None and self._open.is_attached:
            await self._open.read()

    async def _take_up_files(self) -> None:
        """Where one is not valid, say so, and go on as before."""
        from excerpt.tui.setting_rows import carried

        self._stamps = await asyncio.to_thread(self._look)
        try:
            said = await asyncio.to_thread(settings_of, self.vault, self._places)
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False, timeout=12)
            return
        before, self._said = self._said or self.settings, said
        new = carried(self.settings, before, said)
        if new != self.settings:
            self.take_settings(new)

    def take_settings(self, new: Settings) -> None:
        """Have these settings in effect from now on, whatever the files say."""
        self._memories.use(new)
        self.use_settings(new)
        self.query_one(SearchPane).use_settings(new)
        from excerpt.tui.vault_host import VaultHost

        assert isinstance(self.app, VaultHost)
        self.app.use_settings(new)

    def action_settings(self) -> None:
        from excerpt.tui.screens.settings import SettingsScreen

        known = theme_files(self._places.config / "themes")
        themes = tuple(name for name in known if name in self.app.available_themes)
        self._open = SettingsScreen(
            self.vault, self._places, self._environment, themes, changed=self.reread, open_file=self._open_file
        )
        self.app.push_screen(self._open)

    def _open_file(self, file: Path) -> None:
        """In the user's editor, made if need be."""
        from excerpt.settings_edit import begin_with
        from excerpt.tui.keymap import bindable

        one = file != self._places.settings_file
        try:
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(begin_with(self._places, self.vault if one else None, bindable()), encoding="utf-8")
        except OSError as error:
            self.notify(f"{file} cannot be made: {error.strerror or error}.", severity="error", markup=False)
            return
        self.open_in_editor(file, 1)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
