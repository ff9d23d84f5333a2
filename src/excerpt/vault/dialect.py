"""Detection of the program that a vault belongs to, by the names of files and folders in its root."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from excerpt.base.errors import FileOpenError
from excerpt.base.kinds import Dialect
from excerpt.base.patterns import lazy_pattern
from excerpt.base.vault_files import open_file

_JOPLIN_NAME = lazy_pattern(r"[0-9a-f]{32}\.md")
_MAX_ENTRIES = 1_000
"""Number of entries of the root in which an item of Joplin's export is looked for; it is nothing but such items."""
_MAX_BYTES = 10_000
_FOAM_EXTENSION = b"foam.foam-vscode"

_GRAPH_FOLDERS = ("pages", "journals")
UNREAD_LOGSEQ_FOLDERS = ("/logseq/bak/", "/logseq/version-files/", "/logseq/.recycle/")
"""Patterns of the folders of a Logseq graph with copies of its pages."""


def is_logseq(vault: Path) -> bool:
    """Return whether the folder `vault` is a graph of Logseq, or the folder of a graph's pages or journals.

    A graph is recognised by its configuration file, or by its folders beside a folder `logseq`.
    """
    return _is_logseq_graph(vault) or (vault.name in _GRAPH_FOLDERS and _is_logseq_graph(vault.parent))


def guess_dialect(paths: Iterable[str]) -> Dialect:
    """Return the dialect of a vault by the paths of its notes alone, as in a store: LOGSEQ or MARKDOWN.

    In a graph of Logseq, all notes are in the folders of pages and journals.
    """
    folders = {path.partition("/")[0] for path in paths}
    is_graph = folders.issuperset(_GRAPH_FOLDERS) and folders.issubset((*_GRAPH_FOLDERS, "logseq", "assets"))
    return Dialect.LOGSEQ if is_graph else Dialect.MARKDOWN


def _is_logseq_graph(folder: Path) -> bool:
    beside = (_is_file(folder / "logseq/config.edn"), *(_is_folder(folder / name) for name in _GRAPH_FOLDERS))
    return _is_folder(folder / "logseq") and any(beside)


def detect_dialect(vault: Path) -> Dialect:
    """Return the dialect of the notes in the folder `vault`; never raises, and follows no link in it."""
    if is_logseq(vault):
        return Dialect.LOGSEQ
    if _is_file(vault / "dendron.yml") or _is_file(vault / "dendron.code-workspace"):
        return Dialect.DENDRON
    if _is_folder(vault / ".foam") or _FOAM_EXTENSION in _read_vault_file(vault, ".vscode/extensions.json"):
        return Dialect.FOAM
    if _is_folder(vault / ".obsidian"):
        return Dialect.OBSIDIAN
    return Dialect.JOPLIN if _has_joplin_item(vault) else Dialect.MARKDOWN


def _file_mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except (OSError, ValueError):
        return 0


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(_file_mode(path))


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_file_mode(path))


def _read_vault_file(vault: Path, path: str) -> bytes:
    try:
        with open_file(vault, path) as opened:
            return opened.read(_MAX_BYTES)
    except (OSError, FileOpenError):
        return b""


def _has_joplin_item(vault: Path) -> bool:
    try:
        with os.scandir(vault) as entries:
            return any(_JOPLIN_NAME.fullmatch(entry.name) for entry in islice(entries, _MAX_ENTRIES))
    except OSError:
        return False
