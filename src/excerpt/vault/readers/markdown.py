"""Markdown and other plain text, in whatever encoding it was saved."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

import charset_normalizer

from excerpt.errors import ReadError
from excerpt.model import Note
from excerpt.text.markdown import parse_note
from excerpt.vault.readers import ReadOptions

# Byte order marks, the longer first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What other kinds of file begin with, as far as they are ever named like notes.
_MAGIC = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"SQLite format 3")
# A text has next to no zero bytes, a short one perhaps one; UTF-16 of a Latin text has one in two.
_ZERO_SHARE = 0.02
_UTF16_SHARE = 0.3
# Text that is not UTF-8 and has fewer bytes beyond ASCII than this has too few to tell its encoding by: it is taken for
# UTF-8 with Windows-1252 here and there, as pasted quotation marks and names leave it.
_FEW_BYTES = 0.03
# More than this share of broken characters among those beyond ASCII is not damage to UTF-8 but another encoding.
_DAMAGE_SHARE = 0.2
# Those that texts are found in; of the others, old and rare, some pass for anything.
_ENCODINGS = [
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
_SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class MarkdownReader:
    kind: str = ""
    version: str = ""
    extensions: tuple[str, ...] = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd", ".txt", ".text")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """See Reader.read. An encoding that had to be guessed, or damage, is a warning of the note."""
        text, warning = decode(data)
        note = parse_note(path, text, options.language)
        return replace(note, warnings=(warning, *note.warnings)) if warning else note


def decode(data: bytes) -> tuple[str, str]:
    """Return the text in a file's bytes, and a warning if it is not plain UTF-8. Raises ReadError if it is no text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            return text, "" if encoding == "utf-8" else f"It is encoded in {encoding.upper()}."
    zeros = data.count(0)
    if zeros and zeros == len(data):
        raise ReadError("It contains only zero bytes.", "It may be damaged. Restore it from a copy.")
    if data.startswith(_MAGIC):
        raise ReadError("It is not text, despite its name.")
    if zeros > max(1, _ZERO_SHARE * len(data)):
        return _decode_utf16(data), "It is encoded in UTF-16 without a byte order mark."
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return _decode_other(data)


def _decode_utf16(data: bytes) -> str:
    half = len(data) / 2
    if data[1::2].count(0) > _UTF16_SHARE * half > data[::2].count(0):
        return data.decode("utf-16-le", "replace")
    if data[::2].count(0) > _UTF16_SHARE * half > data[1::2].count(0):
        return data.decode("utf-16-be", "replace")
    raise ReadError("It is not text: it is full of zero bytes.")


def _decode_other(data: bytes) -> tuple[str, str]:
    text = data.decode("utf-8", "replace")
    replacements = text.count("\ufffd")
    if replacements <= max(1, _DAMAGE_SHARE * sum(1 for character in text if character > "\x7f")):
        return text, f"It is UTF-8 with {replacements} broken character{'s' if replacements > 1 else ''}."
    if len(data.translate(None, _ASCII)) < _FEW_BYTES * len(data):
        return data.decode("utf-8", _CP1252), "Parts of it are not UTF-8; they were read as Windows-1252."
    best = charset_normalizer.from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_ENCODINGS).best()
    encoding = best.encoding if best else "cp1252"
    return data.decode(encoding, "replace"), f"Its encoding seems to be {encoding}."


_ASCII = bytes(range(128))
_CP1252 = "excerpt-cp1252"


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_CP1252, _as_cp1252)
