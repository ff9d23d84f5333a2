"""Reading of where and how Obsidian names the daily notes of a vault, from `.obsidian/daily-notes.json`."""

from __future__ import annotations

import json
from pathlib import Path

from excerpt.base.errors import FileOpenError
from excerpt.base.vault_files import open_file
from excerpt.text.dates import compile_date_format

_SETTINGS_FILE = ".obsidian/daily-notes.json"
_MAX_BYTES = 10_000


def read_daily_notes_format(vault: Path) -> str:
    """Return the date format of the paths of daily notes without suffix, such as `Journal/YYYY/MM-DD`.

    Return "" if the vault has none, or its settings are not readable. The folder's name is in square brackets, which
    mark literal text in a date format.
    """
    try:
        with open_file(vault, _SETTINGS_FILE) as opened:
            values = json.loads(opened.read(_MAX_BYTES))
        folder, date_format = str(values.get("folder") or "").strip("/"), str(values.get("format") or "").strip("/")
    except (OSError, FileOpenError, ValueError, RecursionError, AttributeError):
        return ""
    if not date_format or "]" in folder:
        return ""
    whole = f"[{folder}/]{date_format}" if folder else date_format
    # A lone surrogate could not be stored.
    return whole if compile_date_format(whole) and whole.isprintable() else ""
