"""Patterns of ignore files (.gitignore), matched as git does.

Like git, this module compares bytes. A pattern becomes a regular expression with the same matches as git's wildmatch.c,
whose running time grows with a power of the path's length. The expression avoids that: for all stars but the last, the
earliest match is enough, because it leaves the most text for the following stars. So each star but the last, with the
text after it, is an atomic group (fnmatch.translate does the same).
"""

from __future__ import annotations

import codecs
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern

# Whether patterns ignore the case of letters, as git does on these systems by `core.ignoreCase`.
_IGNORES_CASE = sys.platform in ("darwin", "win32")

_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": " \t\n\r\v\f",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_SPECIAL = lazy_pattern(rb"[*?\[\\]")
_WITHOUT_TRAILING_SPACES = lazy_pattern(rb"((?:[^\\]|\\.)*?) *", re.DOTALL)


class IgnorePattern(Struct, frozen=True):
    """A pattern of an ignore file.

    It is compared with file names (`is_name_pattern`) or with paths. A folder pattern matches only folders. A negated
    pattern (`!…`) includes what earlier patterns exclude. `regex` is the pattern's text if that has no special
    characters.
    """

    regex: re.Pattern[bytes] | bytes
    is_name_pattern: bool
    is_folder_pattern: bool
    is_negated: bool

    def matches(self, path: bytes, name: bytes, is_folder: bool) -> bool:
        if self.is_folder_pattern and not is_folder:
            return False
        subject = name if self.is_name_pattern else path
        return subject == self.regex if isinstance(self.regex, bytes) else self.regex.fullmatch(subject) is not None


class IgnorePatterns(Struct, frozen=True):
    """The patterns of an ignore file or setting; of several matching patterns, the last one decides."""

    patterns: tuple[IgnorePattern, ...]

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> IgnorePatterns:
        """Parse the lines of an ignore file, without those that can match nothing."""
        parsed = (parse_pattern(line) for line in lines)
        return cls(tuple(pattern for pattern in parsed if pattern is not None))

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Return whether the patterns exclude a file or folder; None if no pattern matches it.

        `path` is relative to the folder of the ignore file. The caller must exclude the content of an excluded folder.
        """
        data = _encode_path(path)
        name = data[data.rfind(b"/") + 1 :]
        for pattern in reversed(self.patterns):
            if pattern.matches(data, name, is_folder):
                return not pattern.is_negated
        return None

    def has(self, path: str) -> bool:
        """Return whether the patterns match a file or a folder above it; the match nearest to the file decides."""
        is_folder = False
        while path:
            verdict = self.verdict(path, is_folder)
            if verdict is not None:
                return verdict
            path, is_folder = path.rpartition("/")[0], True
        return False


def _encode_path(path: str) -> bytes:
    # As git does by `core.precomposeUnicode`: macOS may store an accent as a character of its own.
    spelled = unicodedata.normalize("NFC", path) if sys.platform == "darwin" else path
    return spelled.encode("utf-8", "surrogateescape")


def pattern_lines(data: bytes) -> list[bytes]:
    """Return the lines of an ignore file, without empty lines and comments."""
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"))
    return [line for line in lines if line.strip(b" ") and not line.startswith(b"#")]


def parse_pattern(line: bytes, *, strict: bool = False) -> IgnorePattern | None:
    """Parse a line of an ignore file; return None if the pattern can match nothing.

    With `strict`, also return None for a pattern with a reversed range (`[z-a]`), which git merely ignores.
    """
    line = line.partition(b"\0")[0]
    trimmed = _WITHOUT_TRAILING_SPACES.fullmatch(line)
    text = trimmed[1] if trimmed else line
    is_negated = text.startswith(b"!")
    text = text[1:] if is_negated else text
    is_folder_pattern = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_name_pattern = b"/" not in text
    text = text.removeprefix(b"/")
    if not text:
        return None
    if not _IGNORES_CASE and not _SPECIAL.search(text):
        return IgnorePattern(text, is_name_pattern, is_folder_pattern, is_negated)
    source = _pattern_regex(text, of_names=is_name_pattern, strict=strict)
    if source is None:
        return None
    regex = re.compile(source, re.DOTALL | (re.IGNORECASE if _IGNORES_CASE else 0))
    return IgnorePattern(regex, is_name_pattern, is_folder_pattern, is_negated)


# --- regular expressions ----------------------------------------------------------------------------------------------


class _PatternPart(Enum):
    """A wildcard or a separator in a pattern; its other parts are bytes and sets of bytes."""

    STAR = auto()
    SLASH = auto()
    FOLDERS = auto()
    """`**/`: any number of folders."""
    SOME_FOLDERS = auto()
    r"""`**\/`: one folder or more."""


_FOLDER_REGEXES = {_PatternPart.FOLDERS: b"(?:[^/]*/)*?", _PatternPart.SOME_FOLDERS: b"(?:[^/]*/)+?"}
_ParsedPart = bytes | _PatternPart
"""A part of a parsed pattern; bytes are a regular expression for one byte or for the remaining path."""


def _pattern_regex(text: bytes, *, of_names: bool, strict: bool) -> bytes | None:
    """Return the regular expression of a pattern, for a whole name or path; None if it matches nothing."""
    # In a path, git compares the text before the first special character by itself. The rest is a pattern of its own:
    # `**` at its beginning counts as `**` after a slash.
    special = _SPECIAL.search(text)
    plain = 0 if of_names else special.start() if special else len(text)
    blocks: list[tuple[bytes, list[_ParsedPart]]] = [(re.escape(text[:plain]), [])]
    try:
        for part in _parse_pattern_parts(text[plain:], of_names=of_names, strict=strict):
            if isinstance(part, _PatternPart) and part in _FOLDER_REGEXES:
                blocks.append((_FOLDER_REGEXES[part], []))
            else:
                blocks[-1][1].append(part)
    except _NeverMatchesError:
        return None
    *before, last = (
        begin + b"/".join(map(_segment_regex, _split_at(parts, _PatternPart.SLASH))) for begin, parts in blocks
    )
    return b"".join(b"(?>%b)" % block for block in before) + last


def _segment_regex(parts: list[_ParsedPart]) -> bytes:
    """Return the regular expression of the parts of a pattern between two slashes."""
    first, *rest = (
        b"".join(part for part in between if isinstance(part, bytes)) for between in _split_at(parts, _PatternPart.STAR)
    )
    return first + b"".join(
        b"[^/]*" + after if number == len(rest) else b"(?>[^/]*?%b)" % after for number, after in enumerate(rest, 1)
    )


def _split_at(parts: Iterable[_ParsedPart], sign: _PatternPart) -> list[list[_ParsedPart]]:
    parts_split: list[list[_ParsedPart]] = [[]]
    for part in parts:
        if part is sign:
            parts_split.append([])
        else:
            parts_split[-1].append(part)
    return parts_split


class _NeverMatchesError(Exception):
    """A pattern can match nothing: it has an empty or unclosed set of bytes, or ends with a backslash."""


def _parse_pattern_parts(text: bytes, *, of_names: bool, strict: bool) -> Iterator[_ParsedPart]:
    """Yield the parts of the pattern `text`. Raises _NeverMatchesError."""
    at = 0
    while at < len(text):
        byte = text[at : at + 1]
        at += 1
        if byte == b"*":
            begin = at - 1
            while text[at : at + 1] == b"*":
                at += 1
            is_deep = not of_names and at - begin > 1 and text[max(begin - 1, 0) : begin] in (b"", b"/")
            if is_deep and at == len(text):
                yield b".*"
            elif is_deep and text[at : at + 1] == b"/":
                yield _PatternPart.FOLDERS
                at += 1
            elif is_deep and text[at : at + 2] == b"\\/":
                yield _PatternPart.SOME_FOLDERS
                at += 2
            else:
                yield _PatternPart.STAR
        elif byte == b"?":
            yield b"[^/]"
        elif byte == b"[":
            members, at = _parse_set(text, at, strict=strict)
            yield b"[%b]" % b"".join(b"\\x%02x" % member for member in sorted(members))
        else:
            if byte == b"\\":
                byte = text[at : at + 1]
                at += 1
            if not byte:
                raise _NeverMatchesError
            yield _PatternPart.SLASH if byte == b"/" else re.escape(byte)


def _parse_set(text: bytes, offset: int, *, strict: bool) -> tuple[set[int], int]:
    """Parse a set of bytes (`[a-z]`) from the `offset` after its bracket; return the bytes and the end.

    Raises _NeverMatchesError.
    """
    is_negated = text[offset : offset + 1] in (b"!", b"^")
    offset += is_negated
    members: set[int] = set()
    before = 0  # where a range could begin
    first = True
    while first or text[offset : offset + 1] != b"]":
        first = False
        if text[offset : offset + 1] == b"-" and before and text[offset + 1 : offset + 2] not in (b"", b"]"):
            last, offset = _read_byte(text, offset + 1)
            if strict and last < before:
                raise _NeverMatchesError
            members.update(_with_lower_case(bytes(range(before, last + 1))))
            before = 0
        elif text[offset : offset + 2] == b"[:" and (named := _read_class(text, offset + 2)) is not None:
            members.update(_with_lower_case(named.encode()))
            offset = text.index(b"]", offset + 2) + 1
            before = 0
        else:
            before, offset = _read_byte(text, offset)
            members.add(before)
    if is_negated:
        members = set(range(256)) - members
    members.discard(ord("/"))
    if _IGNORES_CASE:
        members -= set(string.ascii_uppercase.encode())  # the regular expression takes letters of either case for small
    if not members:
        raise _NeverMatchesError
    return members, offset + 1


def _with_lower_case(members: bytes) -> bytes:
    """Return members of a set, with the lower-case forms of capitals if patterns ignore case.

    Git adds these for ranges and classes, but not for a single capital, which then matches nothing.
    """
    return members + members.lower() if _IGNORES_CASE else members


def _read_byte(text: bytes, offset: int) -> tuple[int, int]:
    """Return the byte of a set at `offset`, or after a backslash there, and the offset of the next byte."""
    if text[offset : offset + 1] == b"\\":
        offset += 1
    if offset >= len(text):
        raise _NeverMatchesError
    return text[offset], offset + 1


def _read_class(text: bytes, offset: int) -> str | None:
    """Return the characters of a class such as `[:digit:]`; its name begins at `offset`.

    Returns None if the bracket begins no class but is a member of the set. Raises _NeverMatchesError for an unknown
    name.
    """
    end = text.find(b"]", offset)
    if end < 0:
        raise _NeverMatchesError
    if text[end - 1 : end] != b":" or end == offset:
        return None
    characters = _CLASSES.get(text[offset : end - 1].decode("ascii", "replace"))
    if characters is None:
        raise _NeverMatchesError
    return characters
