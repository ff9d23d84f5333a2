"""Patterns of ignore files as git applies them: what they exclude must not be read.

Git compares bytes, and so does this. A pattern becomes a regular expression equal to wildmatch.c, without its time,
which grows with a power of the path's length: the earliest match after a star leaves the next star the most to choose
from. So of the stars in a name, and of the `**` in a path, only the last is tried everywhere; each other is an atomic
group with what follows it (fnmatch.translate does the same).
"""

from __future__ import annotations

import codecs
import re
import string
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

# Git takes the case of letters as the file system does, by `core.ignoreCase`, which it sets so on these.
_ANY_CASE = sys.platform in ("darwin", "win32")

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
_SPECIAL = re.compile(rb"[*?\[\\]")
_WITHOUT_TRAILING_SPACES = re.compile(rb"((?:[^\\]|\\.)*?) *", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that can match something: names or paths, folders alone or not.

    A negated one reverses those before it. `regex` is the text itself where that has no special characters.
    """

    regex: re.Pattern[bytes] | bytes
    is_of_names: bool
    is_of_folders: bool
    is_negated: bool

    def matches(self, path: bytes, name: bytes, is_folder: bool) -> bool:
        if self.is_of_folders and not is_folder:
            return False
        subject = name if self.is_of_names else path
        return subject == self.regex if isinstance(self.regex, bytes) else self.regex.fullmatch(subject) is not None


@dataclass(frozen=True, slots=True)
class Patterns:
    """A list of patterns, of which the last that matches counts."""

    patterns: tuple[Pattern, ...]

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> Patterns:
        """Parse lines of an ignore file; those that can match nothing are passed over."""
        parsed = (parse(line) for line in lines)
        return cls(tuple(pattern for pattern in parsed if pattern is not None))

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Return whether the list excludes a file or folder, by its path in the list's folder; None if unmatched.

        An excluded folder excludes its content: the caller applies that.
        """
        data = _bytes_of(path)
        name = data[data.rfind(b"/") + 1 :]
        for pattern in reversed(self.patterns):
            if pattern.matches(data, name, is_folder):
                return not pattern.is_negated
        return None

    def has(self, path: str) -> bool:
        """Return whether the list matches a file or a folder above it; the match nearest to the file counts."""
        is_folder = False
        while path:
            verdict = self.verdict(path, is_folder)
            if verdict is not None:
                return verdict
            path, is_folder = path.rpartition("/")[0], True
        return False


def _bytes_of(path: str) -> bytes:
    # As git does by `core.precomposeUnicode`: macOS may spell an accent as a character of its own, people do not.
    spelled = unicodedata.normalize("NFC", path) if sys.platform == "darwin" else path
    return spelled.encode("utf-8", "surrogateescape")


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of an ignore file that hold patterns."""
    lines = (line.removesuffix(b"\r") for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"))
    return [line for line in lines if line.strip(b" ") and not line.startswith(b"#")]


def parse(line: bytes, *, strict: bool = False) -> Pattern | None:
    """Parse a pattern; None if it can match nothing.

    With `strict`, that includes a range that ends before it begins, which git ignores.
    """
    line = line.partition(b"\0")[0]
    trimmed = _WITHOUT_TRAILING_SPACES.fullmatch(line)
    text = trimmed[1] if trimmed else line
    is_negated = text.startswith(b"!")
    text = text[1:] if is_negated else text
    is_of_folders = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_of_names = b"/" not in text
    text = text.removeprefix(b"/")
    if not text:
        return None
    if not _ANY_CASE and not _SPECIAL.search(text):
        return Pattern(text, is_of_names, is_of_folders, is_negated)
    source = _regex(text, of_names=is_of_names, strict=strict)
    if source is None:
        return None
    regex = re.compile(source, re.DOTALL | (re.IGNORECASE if _ANY_CASE else 0))
    return Pattern(regex, is_of_names, is_of_folders, is_negated)


# --- regular expressions ----------------------------------------------------------------------------------------------


class _Sign(Enum):
    """What a pattern holds besides bytes and sets of bytes."""

    STAR = auto()
    SLASH = auto()
    FOLDERS = auto()
    """`**/`: folders, or none."""
    SOME_FOLDERS = auto()
    r"""`**\/`: one folder or more."""


_GAPS = {_Sign.FOLDERS: b"(?:[^/]*/)*?", _Sign.SOME_FOLDERS: b"(?:[^/]*/)+?"}
_Part = bytes | _Sign
"""A sign, or a regular expression: of one byte, or of all that is left."""


def _regex(text: bytes, *, of_names: bool, strict: bool) -> bytes | None:
    """Return a regular expression for all of a name or path; None if there is nothing that it could match."""
    # Of a path git compares what is before the first special character by itself. The rest is a pattern of its own:
    # `**` at its beginning is as after a slash.
    special = _SPECIAL.search(text)
    plain = 0 if of_names else special.start() if special else len(text)
    blocks: list[tuple[bytes, list[_Part]]] = [(re.escape(text[:plain]), [])]
    try:
        for part in _parts(text[plain:], of_names=of_names, strict=strict):
            if isinstance(part, _Sign) and part in _GAPS:
                blocks.append((_GAPS[part], []))
            else:
                blocks[-1][1].append(part)
    except _NeverMatchesError:
        return None
    *before, last = (begin + b"/".join(map(_segment, _split(parts, _Sign.SLASH))) for begin, parts in blocks)
    return b"".join(b"(?>%b)" % block for block in before) + last


def _segment(parts: list[_Part]) -> bytes:
    """Return the regular expression of what is between two slashes."""
    first, *rest = (
        b"".join(part for part in between if isinstance(part, bytes)) for between in _split(parts, _Sign.STAR)
    )
    return first + b"".join(
        b"[^/]*" + after if number == len(rest) else b"(?>[^/]*?%b)" % after for number, after in enumerate(rest, 1)
    )


def _split(parts: Iterable[_Part], sign: _Sign) -> list[list[_Part]]:
    parts_split: list[list[_Part]] = [[]]
    for part in parts:
        if part is sign:
            parts_split.append([])
        else:
            parts_split[-1].append(part)
    return parts_split


class _NeverMatchesError(Exception):
    """A pattern can match nothing: a set of bytes that is empty or has no end, or a backslash before nothing."""


def _parts(text: bytes, *, of_names: bool, strict: bool) -> Iterator[_Part]:
    """Parse a pattern. Raises _NeverMatchesError."""
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
                yield _Sign.FOLDERS
                at += 1
            elif is_deep and text[at : at + 2] == b"\\/":
                yield _Sign.SOME_FOLDERS
                at += 2
            else:
                yield _Sign.STAR
        elif byte == b"?":
            yield b"[^/]"
        elif byte == b"[":
            members, at = _members(text, at, strict=strict)
            yield b"[%b]" % b"".join(b"\\x%02x" % member for member in sorted(members))
        else:
            if byte == b"\\":
                byte = text[at : at + 1]
                at += 1
            if not byte:
                raise _NeverMatchesError
            yield _Sign.SLASH if byte == b"/" else re.escape(byte)


def _members(text: bytes, offset: int, *, strict: bool) -> tuple[set[int], int]:
    """Parse a set of bytes from behind its bracket; returns them and where it ends. Raises _NeverMatchesError."""
    is_negated = text[offset : offset + 1] in (b"!", b"^")
    offset += is_negated
    members: set[int] = set()
    before = 0  # where a range could begin
    first = True
    while first or text[offset : offset + 1] != b"]":
        first = False
        if text[offset : offset + 1] == b"-" and before and text[offset + 1 : offset + 2] not in (b"", b"]"):
            last, offset = _byte(text, offset + 1)
            if strict and last < before:
                raise _NeverMatchesError
            members.update(_in_any_case(bytes(range(before, last + 1))))
            before = 0
        elif text[offset : offset + 2] == b"[:" and (named := _class_name(text, offset + 2)) is not None:
            members.update(_in_any_case(named.encode()))
            offset = text.index(b"]", offset + 2) + 1
            before = 0
        else:
            before, offset = _byte(text, offset)
            members.add(before)
    if is_negated:
        members = set(range(256)) - members
    members.discard(ord("/"))
    if _ANY_CASE:
        members -= set(string.ascii_uppercase.encode())  # the regular expression takes letters of either case for small
    if not members:
        raise _NeverMatchesError
    return members, offset + 1


def _in_any_case(members: bytes) -> bytes:
    """Return members of a set, with lower-case forms of capitals where git compares lower case.

    Git does so for ranges and classes, not for a single capital, which then matches nothing.
    """
    return members + members.lower() if _ANY_CASE else members


def _byte(text: bytes, offset: int) -> tuple[int, int]:
    """Return the byte at a place of a set, without the backslash before it, and where the next one is."""
    if text[offset : offset + 1] == b"\\":
        offset += 1
    if offset >= len(text):
        raise _NeverMatchesError
    return text[offset], offset + 1


def _class_name(text: bytes, offset: int) -> str | None:
    """Return the characters of a class such as `[:digit:]` whose name begins at `offset`.

    Returns None for a set that merely holds a bracket. Raises _NeverMatchesError for an unknown name.
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
