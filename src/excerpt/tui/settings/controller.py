"""The settings in effect, and the detection of changed settings files."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from excerpt.base.errors import ExcerptError
from excerpt.base.settings import Paths, Settings, load_vault_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SettingsPart = TypeVar("SettingsPart", bound="DataclassInstance")

FileStamps = tuple[tuple[int, int] | None, ...]
"""Modification time (ns) and size (bytes) of each settings file; None for a file that does not exist."""


class SettingsController:
    """Holds the settings in effect and applies changes of the settings files of a vault.

    A temporary choice, such as plain mode by an option, stays until a file changes that setting.
    """

    def __init__(self, vault: Path, settings: Settings, user_paths: Paths) -> None:
        self.in_effect = settings
        self._vault = vault
        self._user_paths = user_paths
        self._file_settings: Settings | None = None
        self._stamps: FileStamps = ()

    async def start_watching(self) -> None:
        """Read the settings files, so that later changes of them can be detected."""
        self._stamps = await asyncio.to_thread(self._read_stamps)
        with suppress(ExcerptError):
            self._file_settings = await asyncio.to_thread(load_vault_settings, self._vault, self._user_paths)

    async def have_files_changed(self) -> bool:
        """Return whether a settings file has changed since the files were read."""
        return await asyncio.to_thread(self._read_stamps) != self._stamps

    async def apply_file_changes(self) -> Settings:
        """Read the files, apply the settings that have changed in them, and return the previous settings in effect.

        If a file is invalid, this raises ExcerptError and the settings in effect stay.
        """
        self._stamps = await asyncio.to_thread(self._read_stamps)
        file_settings = await asyncio.to_thread(load_vault_settings, self._vault, self._user_paths)
        previous_files, self._file_settings = self._file_settings or self.in_effect, file_settings
        before, self.in_effect = self.in_effect, _apply_changes(self.in_effect, previous_files, file_settings)
        return before

    def create_file(self, file: Path) -> None:
        """Create a settings file in which every setting is a comment, unless the file exists. Raises OSError."""
        from excerpt.base.settings_file import new_settings_text
        from excerpt.tui.keymap import bindable_actions

        of_vault = file != self._user_paths.settings_file
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            text = new_settings_text(self._user_paths, self._vault if of_vault else None, bindable_actions())
            file.write_text(text, encoding="utf-8")

    def _read_stamps(self) -> FileStamps:
        files = (self._user_paths.settings_file, self._user_paths.vault_settings_file(self._vault))
        return tuple(_file_stamp(file) for file in files)


def _file_stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _apply_changes(current_settings: SettingsPart, before: SettingsPart, after: SettingsPart) -> SettingsPart:
    """Return `current_settings` with the new value of each setting that differs between `before` and `after`.

    `before` and `after` are the settings of the files. Temporary choices that the files did not change stay.
    """
    changes: dict[str, Any] = {}
    for setting in fields(current_settings):
        old, new, value = (getattr(each, setting.name) for each in (before, after, current_settings))
        if old != new:
            changes[setting.name] = _apply_changes(value, old, new) if is_dataclass(value) else new
    return replace(current_settings, **changes)
