"""Rights to read folders of a vault in a store, as a user writes them. Values that commands and the store share."""

from __future__ import annotations

from unicodedata import normalize

from msgspec import Struct


class ReadRight(Struct, frozen=True):
    """The right of a role to read a folder of the vault.

    `folder` ends with a slash; "" stands for all notes in no folder with rights of its own.
    """

    role: str
    folder: str


def parse_right(text: str) -> ReadRight:
    """Parse a right written as ROLE=FOLDER; an empty FOLDER or "/" means the vault. Raises ValueError."""
    role, sign, folder = text.partition("=")
    if not role.strip() or not sign:
        raise ValueError(f"{text!r} does not have the form ROLE=FOLDER")
    prefix = normalize("NFC", folder.strip().strip("/"))
    return ReadRight(role.strip(), f"{prefix}/" if prefix else "")


class RightsChanges(Struct, frozen=True):
    """Rights that a push grants (`allowed`) and revokes (`forbidden`)."""

    allowed: tuple[ReadRight, ...] = ()
    forbidden: tuple[ReadRight, ...] = ()
