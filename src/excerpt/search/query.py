"""Parsing of queries, one for each alternative. Every string is a valid query; unknown syntax is words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from excerpt.corpus.facets import property_name
from excerpt.kinds import Strategy
from excerpt.model import QueryHint
from excerpt.text.dates import is_period
from excerpt.text.words import WIDE_CHARACTERS, fold

# --- query pieces -----------------------------------------------------------------------------------------------------
# The text of a query as pieces: words, phrases in quotation marks, filters, bars. `query` interprets them.


class FilterKind(StrEnum):
    """What a filter tests in a fragment or its note."""

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
    KIND = "kind"
    PAGE = "page"
    SOURCE = "source"
    IS = "is"


TIMES = frozenset({FilterKind.MODIFIED, FilterKind.CREATED, FilterKind.DATE})
"""Kinds whose value is a period."""
STALE = "stale"
"""The only value of `is:`."""

ATTACHMENT_FILTERS = frozenset({FilterKind.KIND, FilterKind.PAGE})
"""Kinds whose names are properties in many vaults; an existing property takes precedence."""
_MEMORY_FILTERS = (FilterKind.SOURCE, FilterKind.IS)
KINDS: Mapping[str, FilterKind] = {
    **{str(kind): kind for kind in FilterKind if kind is not FilterKind.PROPERTY and kind not in _MEMORY_FILTERS},
    # Names of properties in the frontmatter.
    "tags": FilterKind.TAG,
    "alias": FilterKind.TITLE,
    "aliases": FilterKind.TITLE,
    # Names that users guess.
    "in": FilterKind.FOLDER,
    "after": FilterKind.DATE,
    "before": FilterKind.DATE,
    "since": FilterKind.DATE,
    "slide": FilterKind.PAGE,
    "chapter": FilterKind.PAGE,
}
"""Kinds of filters by operator, folded."""
MEMORY_KINDS: Mapping[str, FilterKind] = {
    **{name: kind for name, kind in KINDS.items() if kind not in ATTACHMENT_FILTERS},
    **{str(kind): kind for kind in _MEMORY_FILTERS},
    # The day of a memory is the day on which it was saved.
    **{name: FilterKind.CREATED for name, kind in KINDS.items() if kind is FilterKind.DATE},
}
"""Kinds of filters of memories by operator, folded."""
_COMPARING: Mapping[str, str] = {"after": ">", "before": "<", "since": ">="}
"""Operators that compare dates, with the equivalent sign."""

OPERATORS = frozenset(KINDS)
"""Words before a colon that are operators and not properties, unless quoted; folded."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter. `name` is the property's, as `property_name` returns it.

    An `open` filter was typed last and may continue, so its value is also a prefix.
    """

    kind: FilterKind
    value: str
    name: str = ""
    negated: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that have a meaning in a query.

    They are a vault's properties by `property_name`, its tags folded (None: every one is a tag), and the operators,
    `KINDS` or `MEMORY_KINDS`.
    """

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
    """A part of the query text.

    `value` is a phrase without its marks, or a word without its dash; `minus` is true if a dash before it may negate
    it.
    """

    kind: PieceKind
    start: int
    end: int
    value: str = ""
    minus: bool = False
    filter: Filter | None = None


_LONGEST = 100  # letters of a name
_SPACE = re.compile(r"\s*")
_NARROW = rf"[^\W{WIDE_CHARACTERS}]"
# A quotation mark right after a letter or digit is an inch sign or part of a word, and begins no phrase. In a script
# without spaces it does.
_WORD = re.compile(rf'[^\s"](?:[^\s"]+|(?<={_NARROW})")*')
_PREFIXED = re.compile(rf'(-?)([^\s":]{{1,{_LONGEST}}}):(?![\s:]|//|\\)')
# Within quotation marks, a quotation mark is doubled.
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_QUOTED_NAME = re.compile(rf'(-?)"((?:[^"]|""){{0,{_LONGEST}}})":(?!\s)')
_HASH = re.compile(r"(-?)#([^\s\"#]+)")
_DASHED = re.compile(rf"-(?!(?:{'|'.join({**KINDS, **MEMORY_KINDS})}):|\S+:$)(?=\w)", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,:]+%?")
_VALUE = re.compile(r"\S+")
_VALUE_SIGNS = "<>="


def iterate_pieces(text: str, known: KnownNames) -> Iterator[Piece]:
    """Yield the pieces of a text, in order; unpaired quotation marks are in none."""
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
    # One letter after a dash is an option of some command, a number is a negative one, and a key without a value is
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
    if kind in ATTACHMENT_FILTERS and name in known.properties:
        kind = None
    if kind and is_complete(kind, value, operator, is_quoted=is_quoted):
        found = Filter(kind, _COMPARING.get(operator, "") + value, negated=bool(match[1]), open=is_open)
    # An invalid time may still be a value of a property called `date`: `date:*`.
    elif (kind is None or kind in TIMES) and name in known.properties and _names_value(value, is_quoted=is_quoted):
        found = Filter(FilterKind.PROPERTY, value, name, negated=bool(match[1]), open=is_open)
    else:
        return None
    return Piece(PieceKind.FILTER, at, end, filter=found)


def _value(text: str, at: int) -> tuple[str, int, bool]:
    """Return a filter's value, where it ends, and whether it may continue. In quotation marks it may hold spaces."""
    if text.startswith('"', at):
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            return text[at + 1 :].strip(), len(text), True
        return quoted[1].replace('""', '"').strip(), quoted.end(), False
    match = _VALUE.match(text, at)
    end = match.end() if match else at
    return text[at:end], end, end == len(text)


def is_complete(kind: FilterKind, value: str, operator: str = "", *, is_quoted: bool) -> bool:
    """Return whether an operator with this value is a filter; otherwise it is a word that is still being typed."""
    if kind in TIMES:
        sign = _COMPARING.get(operator, "")
        return is_period(sign + value) and not (sign and value[:1] in _VALUE_SIGNS)
    if kind in (FilterKind.PATH, FilterKind.FILE):
        return bool(value.strip("*"))
    if kind is FilterKind.FOLDER:
        return bool(value.strip("*/"))
    if kind in (FilterKind.IS, FilterKind.PAGE):
        return fold(value) == STALE if kind is FilterKind.IS else page_range(value) is not None
    if kind is FilterKind.TAG and is_quoted:
        return bool(value.strip("#/"))
    return any(c.isalnum() for c in value)


_PAGES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def page_range(value: str) -> tuple[int, int] | None:
    """Return the first and last page of `12` or `12-14`, None for anything else."""
    match = _PAGES.fullmatch(value)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def _names_value(value: str, *, is_quoted: bool) -> bool:
    """Return whether a property's filter has a meaning with this value."""
    return bool(value.lstrip(_VALUE_SIGNS).strip()) or (is_quoted and value[:1] == "=" and bool(value[1:].strip()))


# --- what is no filter ------------------------------------------------------------------------------------------------

_MAX_HINTS = 3
"""Maximum number of hints: a pasted page of misspelt keys needs no more."""
_SHORTEST = 3
"""Least number of letters of a name with hints: most names of two letters are one typing error apart."""
_LONG = 7
"""Least number of letters of a name with two typing errors; a shorter one is then another word: `state`, `date`."""
# Addresses (`https://…`, `data:text/plain;…`), `std::vector` and paths with a drive are no filters.
_KEYED = re.compile(r'-?((?:[^\W\d_]+[-_])*[^\W\d_]+):("[^"]*"?|[^\s":/\\;,][^\s";,]*+(?![;,]))')


def hints(text: str, known: KnownNames) -> tuple[QueryHint, ...]:
    """Return the words of a text that look like a misspelt filter; each key once."""
    if ":" not in text:
        return ()
    results: list[QueryHint] = []
    checked_keys: set[str] = set()
    names = [name for name in (*known.kinds, *known.properties) if len(name) >= _SHORTEST]
    for piece in iterate_pieces(text, known):
        match = _KEYED.match(text, piece.start) if piece.kind is PieceKind.WORD else None
        key = fold(match[1]) if match else ""
        if match is None or key in checked_keys or not _SHORTEST <= len(key) <= _LONGEST:
            continue
        checked_keys.add(key)
        if key in known.kinds or key in known.properties:
            continue
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        errors = 2 if len(key) >= _LONG else 1
        closest = process.extractOne(key, names, scorer=OSA.distance, score_cutoff=errors)
        if closest and _filter(f"{closest[0]}:{match[2]}", 0, known):
            results.append(QueryHint(match.start(1), match.end(1) + 1, f"{match[1]}:", f"{closest[0]}:"))
            if len(results) == _MAX_HINTS:
                break
    return tuple(results)


# --- query ------------------------------------------------------------------------------------------------------------
# From the text to queries, one for each alternative. Every string is a valid query; unknown syntax is words.
#
# A query is typed letter by letter, and each state on the way is a query too. So incomplete syntax, or a name without a
# match, stays a word: an unfinished operator never empties the list.

FORCED = {"!a": Strategy.ADAPTIVE, "!p": Strategy.PROXIMITY, "!s": Strategy.SEMANTIC, "!h": Strategy.HYBRID}
"""Prefixes of a query that force its strategy."""

PROSE = 5
"""Number of words besides operators above which a query is prose.

Its quotation marks and dashes are then plain text: nobody filters by a phrase in a whole question, and many a question
or commit message quotes something.
"""
MAX_ALTERNATIVES = 8
"""Maximum number of alternatives of one text; further bars are ignored."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    `words` is the text to analyze, quoted or not, without quotation marks, filters and exclusions. Each of `phrases` is
    required; `excluded` words and `excluded_phrases` must be absent; all `filters` must match. If `open_word` is true,
    the last word may still be unfinished, so that its completions match too; a space or a closing quotation mark ends
    it. `strategy` is the one forced by a leading `!a`, `!p`, `!s` or `!h`.
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
        """Whether the query has filters but no words."""
        return not self.words.strip() and bool(self.excluded or self.excluded_phrases or self.filters)


def alternatives(
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = KINDS,
) -> tuple[Query, ...]:
    """Parse `text` into one query per alternative, separated by ` | `. Never fails, and returns at least one.

    `properties` are those of the vault by `property_name`: only they make a filter of `key:value`. `tags` are its tags,
    folded: only they, or their prefixes while typing, make a filter of `#x` (None: every `#x` is one); `#include` is a
    word if there is no such tag. Both are only read if the text might name one. `kinds` are the operators.
    """
    strategy, text = _forced(text)
    known = KnownNames(properties, tags, kinds)
    queries: list[Query] = []
    for pieces in _groups(list(iterate_pieces(text, known))):
        query = _query(text, pieces, strategy)
        if query.words.strip() or query.is_filter_only:
            queries.append(query)
    return tuple(queries) or (Query(text.replace('"', " "), (), strategy),)


def narrowed(
    text: str, condition: str, properties: Collection[str] = frozenset(), tags: Collection[str] | None = None
) -> str:
    """Return `text` with one more filter in each of its alternatives; everything else keeps its meaning.

    A forced strategy stays first, an unfinished last word unfinished. `properties` and `tags` are as in `alternatives`.
    """
    strategy, rest = _forced(text)
    forced = text[: len(text) - len(rest)]
    known = KnownNames(properties, tags, KINDS)
    at = _unpaired(rest, iterate_pieces(rest, known))
    if at >= 0:
        rest = f"{rest[:at]}{_placeholder(rest, at)}{rest[at + 1 :]}"
    pieces = list(iterate_pieces(rest, known))
    for group in reversed(_groups(pieces)):
        query = _query(rest, group, strategy)
        if query.words.strip() or query.is_filter_only:
            rest = f"{rest[: group[0].start]}{condition} {rest[group[0].start :]}"
    return f"{forced}{rest}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter, an excluded word or an excluded phrase in a text, from `start` to `end` (exclusive).

    `filter` is None for exclusions without one. An `open` condition was typed last and may continue.
    """

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
    """Return the parts of `text` that choose among notes, in order: the filters and exclusions of `alternatives`.

    `properties`, `tags` and `kinds` are as in `alternatives`.
    """
    _, rest = _forced(text)
    before = len(text) - len(rest)
    pieces = list(iterate_pieces(rest, KnownNames(properties, tags, kinds)))
    return tuple(
        Condition(before + piece.start, before + _trimmed_end(rest, piece), piece.filter, piece.end == len(rest))
        for group in _groups(pieces)
        for piece in _restore_words(rest, group)
        if piece.filter or piece.minus
    )


def _trimmed_end(text: str, piece: Piece) -> int:
    """Return the end of a piece without trailing spaces, which a value with an unclosed quotation mark includes."""
    return piece.start + len(text[piece.start : piece.end].rstrip())


def unpaired_quotation_mark(text: str, properties: Collection[str] = frozenset()) -> int:
    """Return the position of an unpaired quotation mark that is not an inch sign; -1 if there is none."""
    return _unpaired(text, iterate_pieces(text, KnownNames(properties, None, KINDS)))


_BAR_BEFORE = re.compile(r"(?<!\S)\|\Z")
_BAR_AFTER = re.compile(r"\|(?!\S)")


def _placeholder(text: str, at: int) -> str:
    """Return a replacement for the unpaired quotation mark at `at` that pairs with no later one.

    It is an empty phrase beside a bar that would otherwise have nothing on that side, else a space.
    """
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


def without_unfinished_filter(text: str, kinds: Mapping[str, FilterKind] = KINDS) -> str:
    """Return a query without an unfinished filter at its end: `sync tag:`, `sync modified:2`.

    As a word it would not be found, and would lower the confidence until its value is typed. A query of nothing else is
    returned unchanged.
    """
    match = _AT_END.search(text)
    if match is None:
        return text
    if match[1]:
        operator, value = fold(match[1]), match[2].strip('"')
        kind = kinds.get(operator)
        if kind is None or is_complete(kind, value, operator, is_quoted=False) or (kind in TIMES and value == "*"):
            return text
    return text[: match.start()].rstrip() or text


# --- pieces -> queries ------------------------------------------------------------------------------------------------


def _groups(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces of each alternative."""
    groups: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.kind is not PieceKind.BAR:
            groups[-1].append(piece)
        elif groups[-1] and len(groups) < MAX_ALTERNATIVES:
            groups.append([])
    return groups


def _query(text: str, pieces: Sequence[Piece], strategy: Strategy | None) -> Query:
    pieces = _restore_words(text, pieces)
    removed = [piece for piece in pieces if piece.kind is PieceKind.FILTER or piece.minus]
    phrases = [piece for piece in pieces if piece.kind is PieceKind.PHRASE and piece.value]
    is_prose = _plain_words(pieces) > PROSE
    words = _without(text, pieces, removed)
    last = pieces[-1] if pieces else None
    return Query(
        words=words,
        phrases=() if is_prose else _unique(p.value for p in phrases if not p.minus),
        strategy=strategy,
        open_word=bool(last and last not in removed and last.end == len(text) and words[-1:].isalnum()),
        excluded=_unique(p.value for p in pieces if p.minus and p.kind is PieceKind.WORD),
        excluded_phrases=_unique(p.value for p in phrases if p.minus),
        filters=tuple(dict.fromkeys(piece.filter for piece in pieces if piece.filter)),
    )


def _restore_words(text: str, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with dashes that negate nothing, and tags in prose, as plain words.

    In prose no dash negates. Elsewhere an excluded word must come after all other words: `-split operator` and `the
    -match and -replace operators` are about options. An excluded phrase may be anywhere.
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
    """Return the number of words outside of quotation marks; two characters without spaces count as one."""
    return sum(max(1.0, len(_WIDE.findall(piece.value)) / 2) for piece in pieces if _is_plain(piece))


def _without(text: str, pieces: Sequence[Piece], removed: Sequence[Piece]) -> str:
    """Return the text from the first to the last of `pieces`, with the space after it, without those `removed`."""
    if not pieces:
        return ""
    at, end = pieces[0].start, pieces[-1].end
    parts: list[str] = []
    for piece in removed:
        parts += (text[at : piece.start], " ")
        at = piece.end
    parts.append(text[at:end])
    if end < len(text):
        parts.append(" ")
    return "".join(parts).replace('"', " ")


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
