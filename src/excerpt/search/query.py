"""What was typed -> queries, one for each alternative. Every string is some query; syntax that is not known is words.

A query is typed letter by letter, and each state on the way is a query too. So what is not complete yet, or names
nothing, stays a word: an operator never turns a list into nothing by being half there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from excerpt.index.facets import property_name
from excerpt.model import Strategy
from excerpt.text.dates import is_period
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS

_FORCED = {"!a": Strategy.ADAPTIVE, "!p": Strategy.PROXIMITY, "!s": Strategy.SEMANTIC, "!h": Strategy.HYBRID}

PROSE = 5
"""Words beside operators above which a query is prose, and its quotation marks and dashes are its writer's: nobody
filters by a phrase in a whole question, and many a question or commit message quotes something."""
MAX_ALTERNATIVES = 8
"""Queries that one text can be; bars after that many are passed over."""


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


_KINDS: Mapping[str, FilterKind] = {str(kind): kind for kind in FilterKind if kind is not FilterKind.PROPERTY} | {
    # What the frontmatter calls them.
    "tags": FilterKind.TAG,
    "alias": FilterKind.TITLE,
    "aliases": FilterKind.TITLE,
}

OPERATORS = frozenset(_KINDS)
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
class Query:
    """A query taken apart.

    `words` is the text to analyze, quoted or not, without quotation marks, filters and exclusions. Each of `phrases`
    is required; `excluded` words and `excluded_phrases` must not be there; every one of `filters` must hold. An
    `open_word` is a last word that may still be in the typing, so that its continuations are meant too; a space or a
    closing quotation mark ends it. `strategy` is the one forced by a leading `!a`, `!p`, `!s` or `!h`.
    """

    words: str
    phrases: tuple[str, ...] = ()
    strategy: Strategy | None = None
    open_word: bool = False
    excluded: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def is_filter_only(self) -> bool:
        """Whether it asks for nothing but says what it is to be chosen from."""
        return not self.words.strip() and bool(self.excluded or self.excluded_phrases or self.filters)


def alternatives(
    text: str, properties: Container[str] = frozenset(), tags: Collection[str] | None = None
) -> tuple[Query, ...]:
    """Take `text` apart, at ` | ` into several queries. Never fails, never gives none.

    `properties` are those of the vault by `property_name`: only they make a filter of `key:value`. `tags` are its
    tags, folded: only they, or what may become one, make a filter of `#x` (None: every `#x` is one); `#include` is
    a word where nothing is so tagged. Both are only asked where the text might name one.
    """
    strategy, text = _forced(text)
    known = _Names(properties, tags)
    queries: list[Query] = []
    for pieces in _groups(list(_pieces(text, known))):
        query = _query(text, pieces, strategy)
        if query.words.strip() or query.is_filter_only:
            queries.append(query)
    return tuple(queries) or (Query(text.replace('"', " "), (), strategy),)


def narrowed(
    text: str, condition: str, properties: Container[str] = frozenset(), tags: Collection[str] | None = None
) -> str:
    """`text` with one condition more, a filter as it is typed, for each of its alternatives. All else keeps what it
    means: a forced strategy stays first, a last word open.

    `properties` and `tags` are as in `alternatives`.
    """
    strategy, rest = _forced(text)
    forced = text[: len(text) - len(rest)]
    pieces = list(_pieces(rest, _Names(properties, tags)))
    # A quotation mark without a partner would find one in the condition; it is the last in no piece.
    at = rest.rfind('"')
    if at >= 0 and not any(piece.start <= at < piece.end for piece in pieces):
        end = len(rest) - len(rest[at + 1 :].lstrip("|"))
        rest = f"{rest[:at]}{' ' * (end - at)}{rest[end:]}"
    for group in reversed(_groups(pieces)):
        query = _query(rest, group, strategy)
        if query.words.strip() or query.is_filter_only:
            rest = f"{rest[: group[0].start]}{condition} {rest[group[0].start :]}"
    return f"{forced}{rest}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter, an excluded word or an excluded phrase as it stands in a text, from `start` to `end` (exclusive).

    `filter` is None for what is excluded without one. An `open` condition was typed last and may go on."""

    start: int
    end: int
    filter: Filter | None = None
    open: bool = False


def conditions(
    text: str, properties: Container[str] = frozenset(), tags: Collection[str] | None = None
) -> tuple[Condition, ...]:
    """What of `text` chooses among notes, in order: what `alternatives` makes filters and exclusions of.

    `properties` and `tags` are as there.
    """
    _, rest = _forced(text)
    before = len(text) - len(rest)
    pieces = list(_pieces(rest, _Names(properties, tags)))
    return tuple(
        Condition(before + piece.start, before + piece.end, piece.filter, piece.end == len(rest))
        for group in _groups(pieces)
        for piece in _as_meant(rest, group)
        if piece.filter or piece.minus
    )


def unpaired_quotation_mark(text: str, properties: Container[str] = frozenset()) -> int:
    """Where a quotation mark stands that has no partner, and is no inch; -1 where none does."""
    at = text.rfind('"')
    inside = any(piece.start <= at < piece.end for piece in _pieces(text, _Names(properties, None)))
    return -1 if inside else at


def _forced(text: str) -> tuple[Strategy | None, str]:
    first, _, rest = text.lstrip().partition(" ")
    strategy = _FORCED.get(first.lower())
    return (strategy, rest) if strategy else (None, text)


# --- a text's pieces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Names:
    """The names that a vault gives a meaning to."""

    properties: Container[str]
    tags: Collection[str] | None

    def is_tag(self, name: str, *, is_open: bool) -> bool:
        if self.tags is None or name in self.tags:
            return True
        return is_open and any(tag.startswith(name) for tag in self.tags)


class _Kind(StrEnum):
    WORD = "word"
    PHRASE = "phrase"
    FILTER = "filter"
    BAR = "bar"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of the text. `value` is a phrase without its marks, or a word without its dash; `minus` says that a
    dash stood before it which may negate it."""

    kind: _Kind
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
_DASHED = re.compile(rf"-(?!(?:{'|'.join(_KINDS)}):|\S+:$)(?=\w)", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,:]+%?")
_VALUE = re.compile(r"\S+")
_SIGNS_OF_VALUE = "<>="
_WHOLE_SIGNS = re.compile("=[<>=]+")


def _pieces(text: str, known: _Names) -> Iterator[_Piece]:
    """The pieces of a text, in order; quotation marks without a partner are in none."""
    at = 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it always matches
        piece = _filter(text, at, known) or _phrase(text, at) or _word(text, at)
        if piece:
            yield piece
        at = piece.end if piece else at + 1


_AT_END = re.compile(r'(?:^|(?<=\s))-?(?:#|([^\s":]+):(\S*))$')


def without_begun_filter(text: str) -> str:
    """A query that is being typed, without the filter at its end that says nothing yet: `sync tag:`, `sync modified:2`.

    As a word it would be found nowhere, and all that is found would be in doubt until its value is typed. A query of
    nothing else stays as it is.
    """
    found = _AT_END.search(text)
    if found is None:
        return text
    kind = _KINDS.get(fold(found[1])) if found[1] else None
    says_nothing = not found[1] or (kind is not None and not _is_complete(kind, found[2].strip('"'), is_quoted=False))
    return text[: found.start()].rstrip() or text if says_nothing else text


def _phrase(text: str, at: int) -> _Piece | None:
    begin = at + 1 if text[at] == "-" else at
    if not text.startswith('"', begin):
        return None
    end = text.find('"', begin + 1)
    if end < 0:
        return None
    return _Piece(_Kind.PHRASE, at, end + 1, text[begin + 1 : end].strip(), minus=begin > at)


def _word(text: str, at: int) -> _Piece | None:
    match = _WORD.match(text, at)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word == "|" and (end == len(text) or text[end].isspace()) and (at == 0 or text[at - 1].isspace()):
        return _Piece(_Kind.BAR, at, end)
    bare = word[1:]
    # One letter after a dash is an option of some command, a number is one below zero, and a key without its value is
    # still being typed.
    minus = bool(_DASHED.match(word)) and not (len(bare) == 1 and bare.isascii()) and not _NUMBER.fullmatch(bare)
    return _Piece(_Kind.WORD, at, end, bare if minus else word, minus)


def _filter(text: str, at: int, known: _Names) -> _Piece | None:
    if match := _HASH.match(text, at):
        tag = match[2]
        is_open = match.end() == len(text)
        if not any(c.isalpha() for c in tag) or not known.is_tag(fold(tag).strip("/"), is_open=is_open):
            return None
        found = Filter(FilterKind.TAG, tag, negated=bool(match[1]), open=is_open)
        return _Piece(_Kind.FILTER, at, match.end(), filter=found)
    match = _QUOTED_NAME.match(text, at) or _PREFIXED.match(text, at)
    if match is None:
        return None
    is_operator = match.re is _PREFIXED and fold(match[2]) in _KINDS
    kind = _KINDS[fold(match[2])] if is_operator else FilterKind.PROPERTY
    name = "" if is_operator else property_name(match[2].replace('""', '"'))
    if not is_operator and name not in known.properties:
        return None
    value, end, is_open = _value(text, match.end())
    if not _is_complete(kind, value, is_quoted=not is_open and text.startswith('"', match.end())):
        return None
    found = Filter(kind, value, name, negated=bool(match[1]), open=is_open)
    return _Piece(_Kind.FILTER, at, end, filter=found)


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


def _is_complete(kind: FilterKind, value: str, *, is_quoted: bool) -> bool:
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


# --- pieces -> queries ------------------------------------------------------------------------------------------------


def _groups(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    """The pieces between bars."""
    groups: list[list[_Piece]] = [[]]
    for piece in pieces:
        if piece.kind is not _Kind.BAR:
            groups[-1].append(piece)
        elif groups[-1] and len(groups) < MAX_ALTERNATIVES:
            groups.append([])
    return groups


def _query(text: str, pieces: Sequence[_Piece], strategy: Strategy | None) -> Query:
    pieces = _as_meant(text, pieces)
    taken = [piece for piece in pieces if piece.kind is _Kind.FILTER or piece.minus]
    phrases = [piece for piece in pieces if piece.kind is _Kind.PHRASE and piece.value]
    is_prose = _plain_words(pieces) > PROSE
    words = _without(text, pieces, taken)
    last = pieces[-1] if pieces else None
    return Query(
        words=words,
        phrases=() if is_prose else _unique(p.value for p in phrases if not p.minus),
        strategy=strategy,
        open_word=bool(last and last not in taken and last.end == len(text) and words[-1:].isalnum()),
        excluded=_unique(p.value for p in pieces if p.minus and p.kind is _Kind.WORD),
        excluded_phrases=_unique(p.value for p in phrases if p.minus),
        filters=tuple(dict.fromkeys(piece.filter for piece in pieces if piece.filter)),
    )


def _as_meant(text: str, pieces: Sequence[_Piece]) -> list[_Piece]:
    """The pieces, with dashes that negate nothing and tags that are none given back to the words.

    In prose all are. Elsewhere an excluded word stands behind all words that are asked for: `-split operator` and
    `the -match and -replace operators` are about options, as many notes are. An excluded phrase may stand anywhere.
    """
    is_prose = _plain_words(pieces) > PROSE
    last = max((number for number, piece in enumerate(pieces) if _is_plain(piece)), default=-1)
    return [
        _Piece(_Kind.WORD, piece.start, piece.end, text[piece.start : piece.end])
        if (piece.kind is _Kind.WORD and piece.minus and (is_prose or number < last))
        or (piece.kind is _Kind.FILTER and is_prose and text[piece.start : piece.end].lstrip("-").startswith("#"))
        else replace(piece, minus=piece.minus and not is_prose)
        for number, piece in enumerate(pieces)
    ]


def _is_plain(piece: _Piece) -> bool:
    return piece.kind is _Kind.WORD and not piece.minus


_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")


def _plain_words(pieces: Sequence[_Piece]) -> float:
    """How many words are asked for outside of quotation marks; of characters without spaces two make one."""
    return sum(max(1.0, len(_WIDE.findall(piece.value)) / 2) for piece in pieces if _is_plain(piece))


def _without(text: str, pieces: Sequence[_Piece], taken: Sequence[_Piece]) -> str:
    """The text from the first to the last of `pieces`, and the space behind it, without those `taken`."""
    if not pieces:
        return ""
    at, end = pieces[0].start, pieces[-1].end
    kept: list[str] = []
    for piece in taken:
        kept += (text[at : piece.start], " ")
        at = piece.end
    kept.append(text[at:end])
    if end < len(text):
        kept.append(" ")
    return "".join(kept).replace('"', " ")


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
