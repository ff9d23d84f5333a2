"""The text of a query as pieces: words, phrases in quotation marks, filters, bars. What they ask for is `query`'s."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz import process
from rapidfuzz.distance import OSA

from excerpt.index.facets import property_name
from excerpt.model import Hint
from excerpt.text.dates import is_period
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS


class FilterKind(StrEnum):
    """What of a fragment or its note a filter looks at."""

    TAG = "tag"
    PATH = "path"
    FOLDER = "folder"
    FILE = "file"
    TITLE = "title"
    HEADING = "heading"
    PROPERTY = "property"
    MODIFIED = "modified"
    CREATED = "created"
    DATE = "date"
    LINK = "link"
    FROM = "from"
    SOURCE = "source"
    IS = "is"


TIMES = frozenset({FilterKind.MODIFIED, FilterKind.CREATED, FilterKind.DATE})
"""Kinds whose value is a period."""
STALE = "stale"
"""The one value of `is:`."""

_OF_MEMORIES = (FilterKind.SOURCE, FilterKind.IS)
KINDS: Mapping[str, FilterKind] = {
    **{str(kind): kind for kind in FilterKind if kind is not FilterKind.PROPERTY and kind not in _OF_MEMORIES},
    # What the frontmatter calls them.
    "tags": FilterKind.TAG,
    "alias": FilterKind.TITLE,
    "aliases": FilterKind.TITLE,
    # What people guess.
    "in": FilterKind.FOLDER,
    "after": FilterKind.DATE,
    "before": FilterKind.DATE,
    "since": FilterKind.DATE,
}
"""What a filter of notes looks at, by what stands before its colon, folded."""
KINDS_OF_MEMORIES: Mapping[str, FilterKind] = {
    **KINDS,
    **{str(kind): kind for kind in _OF_MEMORIES},
    # A memory's own day is that on which it was remembered.
    **{name: FilterKind.CREATED for name, kind in KINDS.items() if kind is FilterKind.DATE},
}
"""The same of memories."""
_COMPARING: Mapping[str, str] = {"after": ">", "before": "<", "since": ">="}
"""Operators that say on which side of a day or period a date lies, and the sign that says the same."""

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
    """The names that have a meaning: a vault's properties by `property_name`, its tags folded (None: every one is a
    tag), and the operators, `KINDS` or `KINDS_OF_MEMORIES`."""

    properties: Collection[str]
    tags: Collection[str] | None
    kinds: Mapping[str, FilterKind]

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


_LONGEST = 100  # letters of a name
_SPACE = re.compile(r"\s*")
_NARROW = rf"[^\W{WIDE_CHARACTERS}]"
# A quotation mark right after a letter or digit is an inch or a word's own, and begins no phrase. In a script without
# spaces it does.
_WORD = re.compile(rf'[^\s"](?:[^\s"]+|(?<={_NARROW})")*')
_PREFIXED = re.compile(rf'(-?)([^\s":]{{1,{_LONGEST}}}):(?![\s:]|//|\\)')
# In quotation marks, one that is part of the text is written twice.
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_QUOTED_NAME = re.compile(rf'(-?)"((?:[^"]|""){{0,{_LONGEST}}})":(?!\s)')
_HASH = re.compile(r"(-?)#([^\s\"#]+)")
_DASHED = re.compile(rf"-(?!(?:{'|'.join(KINDS_OF_MEMORIES)}):|\S+:$)(?=\w)", re.IGNORECASE)
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
    operator = fold(match[2]) if match.re is _PREFIXED else ""
    kind = known.kinds.get(operator)
    name = property_name(match[2].replace('""', '"'))
    value, end, is_open = _value(text, match.end())
    is_quoted = not is_open and text.startswith('"', match.end())
    if kind and is_complete(kind, value, operator, is_quoted=is_quoted):
        found = Filter(kind, _COMPARING.get(operator, "") + value, negated=bool(match[1]), open=is_open)
    # What is no time may still be a value of a property called `date`: `date:*`.
    elif (kind is None or kind in TIMES) and name in known.properties and _names_value(value, is_quoted=is_quoted):
        found = Filter(FilterKind.PROPERTY, value, name, negated=bool(match[1]), open=is_open)
    else:
        return None
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


def is_complete(kind: FilterKind, value: str, operator: str = "", *, is_quoted: bool) -> bool:
    """Whether an operator's filter says something with this value; without, it is a word that is still being typed."""
    if kind in TIMES:
        sign = _COMPARING.get(operator, "")
        return is_period(sign + value) and not (sign and value[:1] in _SIGNS_OF_VALUE)
    if kind in (FilterKind.PATH, FilterKind.FILE):
        return bool(value.strip("*"))
    if kind is FilterKind.FOLDER:
        return bool(value.strip("*/"))
    if kind is FilterKind.IS:
        return fold(value) == STALE
    if kind is FilterKind.TAG and is_quoted:
        return bool(value.strip("#/"))
    return any(c.isalnum() for c in value)


def _names_value(value: str, *, is_quoted: bool) -> bool:
    """Whether a property's filter says something with this value."""
    return bool(value.lstrip(_SIGNS_OF_VALUE).strip()) or (is_quoted and value[:1] == "=" and bool(value[1:].strip()))


# --- what is no filter ------------------------------------------------------------------------------------------------

_MOST_HINTS = 3
"""Keys that are told of: who pastes a page of them asks for none."""
_SHORTEST = 3
"""Letters that a name has which can be misspelt: of two letters every other is one typing error away."""
_LONG = 7
"""Letters from which on a name may have two typing errors; a shorter one is another word then: `state`, `date`."""
# Addresses (`https://…`, `data:text/plain;…`), `std::vector` and paths with a drive are no filters.
_KEYED = re.compile(r'-?((?:[^\W\d_]+[-_])*[^\W\d_]+):("[^"]*"?|[^\s":/\\;,][^\s";,]*+(?![;,]))')


def hints(text: str, known: KnownNames) -> tuple[Hint, ...]:
    """The words of a text that look like a filter and are none, but for a typing error; each key once."""
    if ":" not in text:
        return ()
    found: list[Hint] = []
    tried: set[str] = set()
    names = [name for name in (*known.kinds, *known.properties) if len(name) >= _SHORTEST]
    for piece in pieces_of(text, known):
        match = _KEYED.match(text, piece.start) if piece.kind is PieceKind.WORD else None
        key = fold(match[1]) if match else ""
        if match is None or key in tried or not _SHORTEST <= len(key) <= _LONGEST:
            continue
        tried.add(key)
        if key in known.kinds or key in known.properties:
            continue
        errors = 2 if len(key) >= _LONG else 1
        near = process.extractOne(key, names, scorer=OSA.distance, score_cutoff=errors)
        if near and _filter(f"{near[0]}:{match[2]}", 0, known):
            found.append(Hint(match.start(1), match.end(1) + 1, f"{match[1]}:", f"{near[0]}:"))
            if len(found) == _MOST_HINTS:
                break
    return tuple(found)
