"""The reader of text files that are not Markdown (logs, TeX), as plain paragraphs."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.model import Note
from excerpt.vault.readers import PagedText, ReadOptions, paged_note
from excerpt.vault.readers.markdown import decode


class TextReader(Struct, frozen=True):
    """The reader of text files that are not Markdown."""

    kind: str = "text"
    version: str = "2"
    extensions: tuple[str, ...] = (".txt", ".text", ".log", ".tex")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Return the text as a note; see Reader.read. A guessed encoding or damage is a warning of the note."""
        text, warning = decode(data)
        note = paged_note(path, [PagedText("", (), text)], options, can_be_empty=True)
        return replace(note, warnings=(warning,)) if warning else note
