"""Find the file of a note or an attachment, for the program that is to open it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from excerpt.base.settings import VaultSettings
    from excerpt.vault.known_vaults import VaultFolders


class NoteFile(Struct, frozen=True):
    """A file of a vault. `kind` is the kind of an attachment ("pdf"), "" for a note."""

    file: Path
    kind: str


def find_note_file(vaults: VaultFolders, path: str, settings: VaultSettings) -> NoteFile | None:
    """Return the file of the note or attachment at `path`; None if it is missing or outside its vault."""
    from excerpt.vault.readers.registry import kind_of_file

    try:
        vault, own_path = vaults.locate(path)
    except KeyError:
        return None
    file = vault / own_path
    if not (file.is_file() and file.resolve().is_relative_to(vault.resolve())):
        return None
    return NoteFile(file, kind_of_file(path, settings))
