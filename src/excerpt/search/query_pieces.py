"""The text of a query as pieces: words, phrases in quotation marks, filters, bars. What they ask for is `query`'s."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from excerpt.index.facets import property_name
from excerpt.text.dates import is_period
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS


class FilterKind(StrEnum):
    """What of a fragment or its note a filter looks at."""

    TAG = "tag"
    PATH = "path"
    FILE = "file"
    TITLE = "title"
    HEADING = "heading"
    PROPERTY = "property"
    MODIFIED = "modified"
    CREATED = "created"
    LINK = "link"
    FROM = "from"


KINDS: Mapping[str, FilterKind] = {str(kind): kind for kind in FilterKind if kind is not FilterKind.PROPERTY} | {
    # What the frontmatter calls them.
    "tags": FilterKind.TAG,
    "alias": FilterKind.TITLE,
    "aliases": FilterKind.TITLE,
}

OPERATORS = frozenset(KINDS)
"""What stands before a colon and is no property, unless it is in quotation marks; folded."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition. `name` is the property's, as `property_name` gives it. An `open` filter was typed last and may
    go on, so that its value is also the beginning of one."""

    kind: FilterKind
    value: str
    name: str = ""
    negated: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a vault gives a meaning to: its properties by `property_name`, its tags folded (None: every one
    is a tag)."""

    properties: Container[str]
    tags: Collection[str] | None

    def is_tag(self, name: str, *, is_open: bool) -> bool:
        if self.tags is None or name in self.tags:
            return True
        return is_open and any(tag.startswith(name) for tag in self.tags)


class PieceKind(StrEnum):
    WORD = "word"
    PHRASE = "phrase"
    FILTER = "filter"
    BAR = "bar"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text. `value` is a phrase without its marks, or a word without its dash; `minus` says that a
    dash stood before it which may negate it."""

    kind: PieceKind
    start: int
    end: int
    value: str = ""
    minus: bool = False
    filter: Filter | None = None


_SPACE = re.compile(r"\s*")
_NARROW = rf"[^\W{WIDE_CHARACTERS}]"
# A quotation mark right after a letter or digit is an inch or a word's own, and begins no phrase. In a script without
# spaces it does.
_WORD = re.compile(rf'(?:[^\s"]+|(?<={_NARROW})")+')
_PREFIXED = re.compile(r'(-?)([^\s":]{1,100}):(?![\s:]|//|\\)')
# In quotation marks, one that is part of the text is written twice.
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_QUOTED_NAME = re.compile(r'(-?)"((?:[^"]|""){0,100})":(?!\s)')
_HASH = re.compile(r"(-?)#([^\s\"#]+)")
_DASHED = re.compile(rf"-(?!(?:{'|'.join(KINDS)}):|\S+:$)(?=\w)", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,:]+%?")
_VALUE = re.compile(r"\S+")
_SIGNS_OF_VALUE = "<>="


def pieces_of(text: str, known: KnownNames) -> Iterator[Piece]:
    """The pieces of a text, in order; quotation marks without a partner are in none."""
    at = 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it always matches
        piece = _filter(text, at, known) or _phrase(text, at) or _word(text, at)
        if piece:
            yield piece
        at = piece.end if piece else at + 1


def _phrase(text: str, at: int) -> Piece | None:
    begin = at + 1 if text[at] == "-" else at
    if not text.startswith('"', begin):
        return None
    end = text.find('"', begin + 1)
    if end < 0:
        return None
    return Piece(PieceKind.PHRASE, at, end + 1, text[begin + 1 : end].strip(), minus=begin > at)


def _word(text: str, at: int) -> Piece | None:
    match = _WORD.match(text, at)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word == "|" and (end == len(text) or text[end].isspace()) and (at == 0 or text[at - 1].isspace()):
        return Piece(PieceKind.BAR, at, end)
    bare = word[1:]
    # One letter after a dash is an option of some command, a number is one below zero, and a key without its value is
    # still being typed.
    minus = bool(_DASHED.match(word)) and not (len(bare) == 1 and bare.isascii()) and not _NUMBER.fullmatch(bare)
    return Piece(PieceKind.WORD, at, end, bare if minus else word, minus)


def _filter(text: str, at: int, known: KnownNames) -> Piece | None:
    if match := _HASH.match(text, at):
        tag = match[2]
        is_open = match.end() == len(text)
        if not any(c.isalpha() for c in tag) or not known.is_tag(fold(tag).strip("/"), is_open=is_open):
            return None
        found = Filter(FilterKind.TAG, tag, negated=bool(match[1]), open=is_open)
        return Piece(PieceKind.FILTER, at, match.end(), filter=found)
    match = _QUOTED_NAME.match(text, at) or _PREFIXED.match(text, at)
    if match is None:
        return None
    is_operator = match.re is _PREFIXED and fold(match[2]) in KINDS
    kind = KINDS[fold(match[2])] if is_operator else FilterKind.PROPERTY
    name = "" if is_operator else property_name(match[2].replace('""', '"'))
    if not is_operator and name not in known.properties:
        return None
    value, end, is_open = _value(text, match.end())
    if not is_complete(kind, value, is_quoted=not is_open and text.startswith('"', match.end())):
        return None
    found = Filter(kind, value, name, negated=bool(match[1]), open=is_open)
    return Piece(PieceKind.FILTER, at, end, filter=found)


def _value(text: str, at: int) -> tuple[str, int, bool]:
    """A filter's value, where it ends, and whether it may go on. In quotation marks it may hold spaces."""
    if text.startswith('"', at):
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            return text[at + 1 :].strip(), len(text), True
        return quoted[1].replace('""', '"').strip(), quoted.end(), False
    match = _VALUE.match(text, at)
    end = match.end() if match else at
    return text[at:end], end, end == len(text)


def is_complete(kind: FilterKind, value: str, *, is_quoted: bool) -> bool:
    """Whether a filter says something with this value; without, it is a word that is still being typed."""
    if kind in (FilterKind.MODIFIED, FilterKind.CREATED):
        return is_period(value)
    if kind in (FilterKind.PATH, FilterKind.FILE):
        return bool(value.strip("*"))
    if kind is FilterKind.PROPERTY:
        return bool(value.lstrip(_SIGNS_OF_VALUE).strip()) or (
            is_quoted and value[:1] == "=" and bool(value[1:].strip())
        )
    if kind is FilterKind.TAG and is_quoted:
        return bool(value.strip("#/"))
    return any(c.isalnum() for c in value)
