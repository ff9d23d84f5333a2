"""What was typed -> queries, one for each alternative. Every string is some query; syntax that is not known is words.

A query is typed letter by letter, and each state on the way is a query too. So what is not complete yet, or names
nothing, stays a word: an operator never turns a list into nothing by being half there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from excerpt.kinds import Strategy
from excerpt.search.query_pieces import (
    KINDS,
    TIMES,
    Filter,
    FilterKind,
    KnownNames,
    Piece,
    PieceKind,
    is_complete,
    pieces_of,
)
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS

FORCED = {"!a": Strategy.ADAPTIVE, "!p": Strategy.PROXIMITY, "!s": Strategy.SEMANTIC, "!h": Strategy.HYBRID}
"""What a query begins with that says its strategy itself."""

PROSE = 5
"""Words beside operators above which a query is prose, and its quotation marks and dashes are its writer's: nobody
filters by a phrase in a whole question, and many a question or commit message quotes something."""
MAX_ALTERNATIVES = 8
"""Queries that one text can be; bars after that many are passed over."""


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
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = KINDS,
) -> tuple[Query, ...]:
    """Take `text` apart, at ` | ` into several queries. Never fails, never gives none.

    `properties` are those of the vault by `property_name`: only they make a filter of `key:value`. `tags` are its
    tags, folded: only they, or what may become one, make a filter of `#x` (None: every `#x` is one); `#include` is
    a word where nothing is so tagged. Both are only asked where the text might name one. `kinds` are the operators.
    """
    strategy, text = _forced(text)
    known = KnownNames(properties, tags, kinds)
    queries: list[Query] = []
    for pieces in _groups(list(pieces_of(text, known))):
        query = _query(text, pieces, strategy)
        if query.words.strip() or query.is_filter_only:
            queries.append(query)
    return tuple(queries) or (Query(text.replace('"', " "), (), strategy),)


def narrowed(
    text: str, condition: str, properties: Collection[str] = frozenset(), tags: Collection[str] | None = None
) -> str:
    """`text` with one condition more, a filter as it is typed, for each of its alternatives. All else keeps what it
    means: a forced strategy stays first, a last word open.

    `properties` and `tags` are as in `alternatives`.
    """
    strategy, rest = _forced(text)
    forced = text[: len(text) - len(rest)]
    known = KnownNames(properties, tags, KINDS)
    at = _unpaired(rest, pieces_of(rest, known))
    if at >= 0:
        rest = f"{rest[:at]}{_stand_in(rest, at)}{rest[at + 1 :]}"
    pieces = list(pieces_of(rest, known))
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
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = KINDS,
) -> tuple[Condition, ...]:
    """What of `text` chooses among notes, in order: what `alternatives` makes filters and exclusions of.

    `properties`, `tags` and `kinds` are as there.
    """
    _, rest = _forced(text)
    before = len(text) - len(rest)
    pieces = list(pieces_of(rest, KnownNames(properties, tags, kinds)))
    return tuple(
        Condition(before + piece.start, before + _end_of_text(rest, piece), piece.filter, piece.end == len(rest))
        for group in _groups(pieces)
        for piece in _as_meant(rest, group)
        if piece.filter or piece.minus
    )


def _end_of_text(text: str, piece: Piece) -> int:
    """Return where a piece ends: the spaces behind a value whose quotation marks are still open are not of it."""
    return piece.start + len(text[piece.start : piece.end].rstrip())


def unpaired_quotation_mark(text: str, properties: Collection[str] = frozenset()) -> int:
    """Where a quotation mark stands that has no partner, and is no inch; -1 where none does."""
    return _unpaired(text, pieces_of(text, KnownNames(properties, None, KINDS)))


_BAR_BEFORE = re.compile(r"(?<!\S)\|\Z")
_BAR_AFTER = re.compile(r"\|(?!\S)")


def _stand_in(text: str, at: int) -> str:
    """Return what says the same as the unpaired quotation mark at `at` and pairs with none that is put behind it: an
    empty phrase beside a bar that would stand alone without it, and part; else a space."""
    if _BAR_BEFORE.search(text[:at]):
        return '""'
    return ' ""' if _BAR_AFTER.match(text, at + 1) else " "


def _unpaired(text: str, pieces: Iterable[Piece]) -> int:
    at = text.rfind('"')
    return -1 if any(piece.start <= at < piece.end for piece in pieces) else at


def _forced(text: str) -> tuple[Strategy | None, str]:
    first, _, rest = text.lstrip().partition(" ")
    strategy = FORCED.get(first.lower())
    return (strategy, rest) if strategy else (None, text)


_AT_END = re.compile(r'(?:^|(?<=\s))-?(?:#|([^\s":]+):(\S*))$')


def without_begun_filter(text: str, kinds: Mapping[str, FilterKind] = KINDS) -> str:
    """A query that is being typed, without the filter at its end that says nothing yet: `sync tag:`, `sync modified:2`.

    As a word it would be found nowhere, and all that is found would be in doubt until its value is typed. A query of
    nothing else stays as it is.
    """
    found = _AT_END.search(text)
    if found is None:
        return text
    if found[1]:
        operator, value = fold(found[1]), found[2].strip('"')
        kind = kinds.get(operator)
        if kind is None or is_complete(kind, value, operator, is_quoted=False) or (kind in TIMES and value == "*"):
            return text
    return text[: found.start()].rstrip() or text


# --- pieces -> queries ------------------------------------------------------------------------------------------------


def _groups(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces between bars."""
    groups: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.kind is not PieceKind.BAR:
            groups[-1].append(piece)
        elif groups[-1] and len(groups) < MAX_ALTERNATIVES:
            groups.append([])
    return groups


def _query(text: str, pieces: Sequence[Piece], strategy: Strategy | None) -> Query:
    pieces = _as_meant(text, pieces)
    taken = [piece for piece in pieces if piece.kind is PieceKind.FILTER or piece.minus]
    phrases = [piece for piece in pieces if piece.kind is PieceKind.PHRASE and piece.value]
    is_prose = _plain_words(pieces) > PROSE
    words = _without(text, pieces, taken)
    last = pieces[-1] if pieces else None
    return Query(
        words=words,
        phrases=() if is_prose else _unique(p.value for p in phrases if not p.minus),
        strategy=strategy,
        open_word=bool(last and last not in taken and last.end == len(text) and words[-1:].isalnum()),
        excluded=_unique(p.value for p in pieces if p.minus and p.kind is PieceKind.WORD),
        excluded_phrases=_unique(p.value for p in phrases if p.minus),
        filters=tuple(dict.fromkeys(piece.filter for piece in pieces if piece.filter)),
    )


def _as_meant(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with dashes that negate nothing and tags that are none given back to the words.

    In prose all are. Elsewhere an excluded word stands behind all words that are asked for: `-split operator` and
    `the -match and -replace operators` are about options, as many notes are. An excluded phrase may stand anywhere.
    """
    is_prose = _plain_words(pieces) > PROSE
    last = max((number for number, piece in enumerate(pieces) if _is_plain(piece)), default=-1)
    return [
        Piece(PieceKind.WORD, piece.start, piece.end, text[piece.start : piece.end])
        if (piece.kind is PieceKind.WORD and piece.minus and (is_prose or number < last))
        or (piece.kind is PieceKind.FILTER and is_prose and text[piece.start : piece.end].lstrip("-").startswith("#"))
        else replace(piece, minus=piece.minus and not is_prose)
        for number, piece in enumerate(pieces)
    ]


def _is_plain(piece: Piece) -> bool:
    return piece.kind is PieceKind.WORD and not piece.minus


_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")


def _plain_words(pieces: Sequence[Piece]) -> float:
    """How many words are asked for outside of quotation marks; of characters without spaces two make one."""
    return sum(max(1.0, len(_WIDE.findall(piece.value)) / 2) for piece in pieces if _is_plain(piece))


def _without(text: str, pieces: Sequence[Piece], taken: Sequence[Piece]) -> str:
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
