"""Plain text that is not called a note: logs, reStructuredText and others, read as paragraphs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from excerpt.model import Note
from excerpt.vault.readers import PagedText, ReadOptions, paged_note
from excerpt.vault.readers.markdown import decode


@dataclass(frozen=True, slots=True)
class TextReader:
    kind: str = "text"
    version: str = "1"
    extensions: tuple[str, ...] = (".txt", ".text", ".log", ".rst", ".org", ".adoc", ".tex")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """See Reader.read. An encoding that had to be guessed, or damage, is a warning."""
        text, warning = decode(data)
        note = paged_note(path, [PagedText("", (), text)], options)
        return replace(note, warnings=(warning,)) if warning else note
