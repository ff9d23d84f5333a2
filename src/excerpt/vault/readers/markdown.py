"""The reader of Markdown notes, and the decoding of text files in any encoding."""

from __future__ import annotations

import codecs

import charset_normalizer
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.errors import ReadError
from excerpt.base.model import Note
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
# The first bytes of other kinds of files that are sometimes named like notes.
_MAGIC = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"SQLite format 3")
# A text file has hardly any zero bytes, except that in UTF-16 half of the bytes of a Latin text are zero.
_ZERO_SHARE = 0.02
_UTF16_SHARE = 0.3
# A text that is not UTF-8 with a smaller share of bytes beyond ASCII has too few to detect its encoding. It is read as
# UTF-8 with some bytes in Windows-1252, as pasted quotation marks and names leave it.
_FEW_BYTES = 0.03
# If a larger share of the characters beyond ASCII is broken, the text is not damaged UTF-8 but in another encoding.
_DAMAGE_SHARE = 0.2
# The encodings that are tried. Others are rare, and some of them accept any bytes.
_ENCODINGS = [
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
_SAMPLE_BYTES = 64 * 1024


class MarkdownReader(Struct, frozen=True):
    """The reader of Markdown notes."""

    kind: str = ""
    version: str = ""
    extensions: tuple[str, ...] = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd", ".txt", ".text")

    def read(self, data: bytes, path: str, options: ReadOptions) -> Note:
        """Parse a Markdown note; see Reader.read. A guessed encoding or damage is a warning of the note."""
        text, warning = decode(data)
        note = parse_note(path, text, options.language, options.dialect)
        return replace(note, warnings=(warning, *note.warnings)) if warning else note


def decode(data: bytes) -> tuple[str, str]:
    """Decode a text file; return the text and a warning ("" for UTF-8). Raises ReadError if it is not text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            return text, "" if encoding == "utf-8" else f"The file is encoded in {encoding.upper()}."
    zeros = data.count(0)
    if zeros and zeros == len(data):
        raise ReadError("The file contains only zero bytes.", "If it is damaged, restore it from a copy.")
    if data.startswith(_MAGIC):
        raise ReadError("The file is not text, despite its name.")
    if zeros > max(1, _ZERO_SHARE * len(data)):
        return _decode_utf16(data), "The file is encoded in UTF-16 without a byte order mark."
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
    raise ReadError("The file is not text: it has too many zero bytes.")


def _decode_other(data: bytes) -> tuple[str, str]:
    text = data.decode("utf-8", "replace")
    replacements = text.count("\ufffd")
    if replacements <= max(1, _DAMAGE_SHARE * sum(1 for character in text if character > "\x7f")):
        return (
            text,
            f"The file is UTF-8 with {replacements} broken character{'s' if replacements > 1 else ''}.",
        )
    if len(data.translate(None, _ASCII)) < _FEW_BYTES * len(data):
        return data.decode("utf-8", _CP1252), "Parts of the file are not UTF-8. They were read as Windows-1252."
    best = charset_normalizer.from_bytes(data[:_SAMPLE_BYTES], cp_isolation=_ENCODINGS).best()
    encoding = best.encoding if best else "cp1252"
    return data.decode(encoding, "replace"), f"The encoding of the file seems to be {encoding}."


_ASCII = bytes(range(128))
_CP1252 = "excerpt-cp1252"


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(_CP1252, _as_cp1252)
