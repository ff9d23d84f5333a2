"""Readers of files, which return a Note: one reader for each kind of file.

Markdown notes are read by the module `markdown`. Another file, an attachment, becomes a Note too: the text is extracted
from it, and each page, slide or range of cells is a section. The index treats both alike.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import FileOpenError, ReadError
from excerpt.base.installation import extra_hint
from excerpt.base.kinds import BlockKind, Dialect
from excerpt.base.model import Block, CommentLine, Link, Note, Section
from excerpt.base.settings import Ocr
from excerpt.base.vault_files import open_file

if TYPE_CHECKING:
    from zipfile import ZipFile

ATTACHMENTS_EXTRA = "attachments"
"""The pip extra that installs the packages for most kinds of attachments."""


class ReadOptions(Struct, frozen=True):
    """The options of a reader.

    `language` is the language of all notes (ISO 639-1), "" to detect the language of each. `max_pages` is the maximum
    number of pages or slides read of a file. `ocr` selects the program that reads text in images. `dialect` is that of
    the vault.
    """

    language: str = ""
    max_pages: int = 2000
    ocr: Ocr = Ocr.OFF
    dialect: Dialect = Dialect.MARKDOWN


class Reader(Protocol):
    """A reader of one kind of file. It runs in a process of its own, which may be killed at any time.

    `kind` is the word for the filter `kind:` ("pdf"), "" for notes. `extensions` are in lower case, with the dot. A
    file is read again only when the file or `version` changes.
    """

    @property
    def kind(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def extensions(self) -> tuple[str, ...]: ...

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Extract a note from the bytes of a file; `path` is the file's path, relative to the vault.

        Raises ReadError, with the reason in one sentence, if the file cannot be read.
        """
        ...


class PagedText(Struct, frozen=True):
    """The text of one page, slide, cell range or chapter of a file, from which a section is made.

    `place` is its location, written as after "#" in a link (`page=12`, `slide=3`, `Sales!A1:J40`); "" if the file has
    no such locations. `headings` is its heading path; the last item is its own heading ("Page 12"). `text` is
    paragraphs with blank lines between them. `comments` are the comments removed from the text, with line numbers
    counted from 1; such a text has passed `clean_text`.
    """

    place: str
    headings: tuple[str, ...]
    text: str
    comments: tuple[CommentLine, ...] = ()


def paged_note(
    path: str,
    parts: Sequence[PagedText],
    options: ReadOptions,
    *,
    title: str = "",
    tags: Sequence[str] = (),
    links: Sequence[Link] = (),
    warnings: Sequence[str] = (),
    unread: int = 0,
    can_be_empty: bool = False,
) -> Note:
    """Return a note with a section for each of a file's `parts`, in their order.

    `title` defaults to the file's name; `unread` is the number of images that OCR could read but has not read. The
    `line` of each link must be the number of its part, from 1; in the note, it is the first line of that part. Headings
    take no line of the text. If `can_be_empty`, a file without text is found by its name, as an empty note is.
    """
    from excerpt.text.languages import detect_language  # not needed for the list of file types

    lines: list[str] = []
    sections: list[Section] = [Section(0, 0, "", (), 1, 1, ())]
    starts: list[int] = []
    comments: list[CommentLine] = []
    for part in parts:
        first = len(lines) + 1
        starts.append(first)
        text = part.text if part.comments else clean_text(part.text)
        if not text and not part.comments:
            continue
        comments += (comment._replace(line=comment.line + first - 1) for comment in part.comments)
        lines += [*text.split("\n"), ""]
        if not text.strip():
            continue
        last = len(lines) - 1
        heading = part.headings[-1] if part.headings else ""
        blocks = tuple(paragraph_blocks(lines, first, last))
        level = len(part.headings)
        location = part.place.replace("#", "%23").replace("\n", " ")
        sections.append(Section(len(sections), level, heading, part.headings, first, last, blocks, location))
    if can_be_empty and len(sections) == 1:
        sections[0] = replace(sections[0], blocks=(Block(BlockKind.OTHER, 1, 1),))
    text = "\n".join(lines[:-1])
    shifted = tuple(replace(link, line=min(starts[link.line - 1], max(len(lines) - 1, 1))) for link in links)
    return Note(
        path=path,
        title=clean_text(title).replace("\n", " ") or PurePosixPath(path).stem,
        text=text,
        tags=tuple(tags),
        language=options.language or detect_language(text[:LANGUAGE_LETTERS]),
        sections=tuple(sections),
        links=shifted,
        warnings=tuple(warnings),
        unread=unread,
        comments=tuple(comments),
    )


LANGUAGE_LETTERS = 20_000


def clean_text(text: str) -> str:
    """Return `text` with LF line ends, without NULs, lone surrogates, and newlines at its beginning and end."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").encode("utf-8", "replace").decode()
    return text.strip("\n") if text.strip() else ""


def paragraph_blocks(lines: Sequence[str], first: int, last: int) -> list[Block]:
    """Return a paragraph block for each run of non-blank lines among lines `first` to `last` (1-based)."""
    blocks: list[Block] = []
    start = 0
    for number in range(first, last + 2):
        blank = number > last or not lines[number - 1].strip()
        if blank and start:
            blocks.append(Block(BlockKind.PARAGRAPH, start, number - 1))
            start = 0
        elif not blank and not start:
            start = number
    return blocks


# --- libraries and damage ---------------------------------------------------------------------------------------------

MAX_MEMBERS, MAX_UNPACKED, MAX_RATIO = 2_000, 200_000_000, 100
"""Limits for a ZIP archive: number of members, unpacked bytes, and ratio of unpacked to packed bytes."""
_SMALL_BYTES = 10_000_000  # unpacked bytes up to which any ratio is harmless


@contextmanager
def require_library(file_kind: str) -> Iterator[None]:
    """Convert an ImportError in the `with` block to ReadError, which says that an extra must be installed.

    `file_kind` names, in the message, the files that the imported library reads ("PDFs").
    """
    try:
        yield
    except ImportError:
        raise ReadError(f"{file_kind} need an extra that is not installed.", extra_hint(ATTACHMENTS_EXTRA)) from None


@contextmanager
def convert_damage_errors(format_name: str) -> Iterator[None]:
    """Convert any exception in the `with` block, where a library reads a file, to ReadError.

    `format_name` names the format in the message ("PDF").
    """
    try:
        yield
    except (ReadError, MemoryError):
        raise
    except Exception as error:
        raise ReadError(
            f"The file is damaged and cannot be read as {format_name}.", "Restore it from another copy."
        ) from error


def open_safe_zip(data: bytes) -> ZipFile:
    """Open the ZIP archive in a file's bytes. Raises ReadError if it is damaged, or too large when unpacked."""
    from io import BytesIO
    from zipfile import BadZipFile, ZipFile

    try:
        archive = ZipFile(BytesIO(data))
        members = archive.infolist()
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ReadError("The file is damaged and cannot be opened.", "Restore it from another copy.") from error
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED or unpacked > max(_SMALL_BYTES, MAX_RATIO * len(data)):
        raise ReadError("The unpacked file is larger than the limit for attachments.")
    return archive


def load_bytes(vault: Path, path: str, max_bytes: int, setting: str = "vault.max_bytes") -> bytes:
    """Return the content of a regular file of the vault, without following symbolic links.

    Raises FileOpenError if the file cannot be read, and ReadError if it has more than `max_bytes`; the error names
    `setting` as the setting to raise.
    """
    with open_file(vault, path) as opened:
        try:
            is_small = os.fstat(opened.fileno()).st_size <= max_bytes
            data = opened.read(max_bytes + 1) if is_small else b""  # it may have grown meanwhile
        except OSError as error:
            raise FileOpenError(f"The file cannot be read: {error.strerror or error}.", "Check its disk.") from error
    if not is_small or len(data) > max_bytes:
        limit = f"{max_bytes / 1024 / 1024:.3g} MB"
        raise ReadError(f"The file is larger than {limit}.", f"Raise {setting} in the settings to index it.")
    return data


def digest_of_bytes(data: bytes) -> str:
    """Return 32 hex digits that identify a file's content."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
