"""Parsing of query texts: words, phrases, filters, exclusions, and alternatives separated by ` | `.

Every text is a valid query: unknown syntax is searched as words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.kinds import FilterKind, Strategy
from excerpt.base.model import QueryHint, QueryPeriod
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import property_name
from excerpt.search.results import Filter, QueryCondition
from excerpt.text.dates import is_period
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.words import QueryWord

DATE_KINDS = frozenset({FilterKind.MODIFIED, FilterKind.CREATED, FilterKind.DATE})
"""The kinds of filters whose value is a period, such as `7d` or `2025-03`."""
SORT_VALUES = ("date", "-date")
"""The values of `sort:`, which chooses the order of the hits: by date, oldest or newest first."""
STALE_VALUE = "stale"
"""The value of the filter `is:` for memories whose sources have changed."""
REPLACED_VALUE = "replaced"
"""The value of the filter `is:` for notes that another note replaces, or that say that they are out of date."""

ATTACHMENT_FILTERS = frozenset({FilterKind.KIND, FilterKind.PAGE})
"""Kinds whose names are properties in many vaults.

If the vault has that property, the property is tested instead.
"""
FILTER_KINDS: Mapping[str, FilterKind] = {
    **{str(kind): kind for kind in FilterKind if kind not in (FilterKind.PROPERTY, FilterKind.SOURCE)},
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
"""The kind of filter by operator, the folded word before the colon."""
MEMORY_FILTER_KINDS: Mapping[str, FilterKind] = {
    **{name: kind for name, kind in FILTER_KINDS.items() if kind not in (*ATTACHMENT_FILTERS, FilterKind.SORT)},
    str(FilterKind.SOURCE): FilterKind.SOURCE,
    # The day of a memory is the day on which it was saved.
    **{name: FilterKind.CREATED for name, kind in FILTER_KINDS.items() if kind is FilterKind.DATE},
}
"""The kind of filter by operator in a search of memories (findings that a user keeps).

See FILTER_KINDS.
"""
_COMPARISON_SIGNS: Mapping[str, str] = {"after": ">", "before": "<", "since": ">="}
"""The sign that stands for each operator that compares dates: `after:2025` is `date:>2025`."""

FILTER_OPERATORS = frozenset(FILTER_KINDS)
"""The folded words before a colon that are operators.

In quotation marks they are names of properties.
"""


class KnownNames(Struct, frozen=True):
    """The known property names, tags and filter kinds, by which a text such as `key:value` or `#tag` is a filter.

    They are the properties of the vault, as `property_name` returns them; its tags, folded (None: every `#tag` is a
    filter); and the operators, `FILTER_KINDS` or `MEMORY_FILTER_KINDS`.
    """

    properties: Collection[str]
    tags: Collection[str] | None
    kinds: Mapping[str, FilterKind]

    def is_tag(self, name: str, *, is_open: bool) -> bool:
        """Return whether a folded name is a tag, or, if it may be unfinished (`is_open`), the beginning of a tag."""
        if self.tags is None or name in self.tags:
            return True
        return is_open and any(tag.startswith(name) for tag in self.tags)


class QueryPieceKind(StrEnum):
    """The syntax of a part of a query text; a BAR separates alternatives."""

    WORD = "word"
    PHRASE = "phrase"
    FILTER = "filter"
    BAR = "bar"


class QueryPiece(Struct, frozen=True):
    """A part of a query text, from `start` to `end` (exclusive).

    `value` is a phrase without its marks, or a word without its dash; `has_minus` is true if a dash before it may
    negate it.
    """

    kind: QueryPieceKind
    start: int
    end: int
    value: str = ""
    has_minus: bool = False
    filter: Filter | None = None


_MAX_NAME_LETTERS = 100  # letters of a name
_SPACE = lazy_pattern(r"\s*")
_SPACED_SCRIPT_LETTER = rf"[^\W{WIDE_CHARACTERS}]"
# A quotation mark right after a letter or digit is an inch sign or part of a word, and begins no phrase. In a script
# without spaces it does.
_WORD = lazy_pattern(rf'[^\s"](?:[^\s"]+|(?<={_SPACED_SCRIPT_LETTER})")*')
_FILTER_PREFIX = lazy_pattern(rf'(-?)([^\s":]{{1,{_MAX_NAME_LETTERS}}}):(?![\s:]|//|\\)')
# Within quotation marks, a quotation mark is doubled.
_QUOTED = lazy_pattern(r'"((?:[^"]|"")*)"')
_QUOTED_NAME = lazy_pattern(rf'(-?)"((?:[^"]|""){{0,{_MAX_NAME_LETTERS}}})":(?!\s)')
_TAG = lazy_pattern(r"(-?)#([^\s\"#]+)")
_EXCLUDED_WORD = lazy_pattern(
    rf"-(?!(?:{'|'.join({**FILTER_KINDS, **MEMORY_FILTER_KINDS})}):|\S+:$)(?=\w)", re.IGNORECASE
)
_NUMBER = lazy_pattern(r"[\d.,:]+%?")
_VALUE = lazy_pattern(r"\S+")
_VALUE_SIGNS = "<>="


def iterate_pieces(text: str, known: KnownNames) -> Iterator[QueryPiece]:
    """Yield the pieces of a query text, in order. An unpaired quotation mark is in no piece."""
    at = 0
    while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]  # it always matches
        piece = _parse_filter(text, at, known) or _parse_phrase(text, at) or _parse_word(text, at)
        if piece:
            yield piece
        at = piece.end if piece else at + 1


def _parse_phrase(text: str, at: int) -> QueryPiece | None:
    begin = at + 1 if text[at] == "-" else at
    if not text.startswith('"', begin):
        return None
    end = text.find('"', begin + 1)
    if end < 0:
        return None
    return QueryPiece(QueryPieceKind.PHRASE, at, end + 1, text[begin + 1 : end].strip(), has_minus=begin > at)


def _parse_word(text: str, at: int) -> QueryPiece | None:
    match = _WORD.match(text, at)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word == "|" and (end == len(text) or text[end].isspace()) and (at == 0 or text[at - 1].isspace()):
        return QueryPiece(QueryPieceKind.BAR, at, end)
    bare = word[1:]
    # One letter after a dash is an option of some command, a number is a negative one, and a key without a value is
    # still being typed.
    has_minus = (
        bool(_EXCLUDED_WORD.match(word)) and not (len(bare) == 1 and bare.isascii()) and not _NUMBER.fullmatch(bare)
    )
    return QueryPiece(QueryPieceKind.WORD, at, end, bare if has_minus else word, has_minus)


def _parse_filter(text: str, at: int, known: KnownNames) -> QueryPiece | None:
    if match := _TAG.match(text, at):
        tag = match[2]
        is_open = match.end() == len(text)
        if not any(c.isalpha() for c in tag) or not known.is_tag(fold(tag).strip("/"), is_open=is_open):
            return None
        found = Filter(FilterKind.TAG, tag, negated=bool(match[1]), open=is_open)
        return QueryPiece(QueryPieceKind.FILTER, at, match.end(), filter=found)
    quoted_name = _QUOTED_NAME.match(text, at)
    match = quoted_name or _FILTER_PREFIX.match(text, at)
    if match is None:
        return None
    operator = "" if quoted_name else fold(match[2])
    kind = known.kinds.get(operator)
    name = property_name(match[2].replace('""', '"'))
    value, end, is_open = _parse_value(text, match.end())
    is_quoted = not is_open and text.startswith('"', match.end())
    if kind in ATTACHMENT_FILTERS and name in known.properties:
        kind = None
    if (
        kind
        and is_complete_filter(kind, value, operator, is_quoted=is_quoted)
        and not (kind is FilterKind.SORT and match[1])
        and not (fold(value) == STALE_VALUE and kind is FilterKind.IS and known.kinds is FILTER_KINDS)
    ):
        found = Filter(kind, _COMPARISON_SIGNS.get(operator, "") + value, negated=bool(match[1]), open=is_open)
    # Any other value may still be one of a property called `date` or `sort`: `date:*`.
    elif (
        (kind is None or kind in DATE_KINDS or kind in (FilterKind.SORT, FilterKind.IS))
        and name in known.properties
        and _is_property_value(value, is_quoted=is_quoted)
    ):
        found = Filter(FilterKind.PROPERTY, value, name, negated=bool(match[1]), open=is_open)
    else:
        return None
    return QueryPiece(QueryPieceKind.FILTER, at, end, filter=found)


def _parse_value(text: str, at: int) -> tuple[str, int, bool]:
    """Return the filter value that begins at `at`, its end, and whether it may be unfinished.

    Only a value in quotation marks may contain spaces.
    """
    if text.startswith('"', at):
        quoted = _QUOTED.match(text, at)
        if quoted is None:
            return text[at + 1 :].strip(), len(text), True
        return quoted[1].replace('""', '"').strip(), quoted.end(), False
    match = _VALUE.match(text, at)
    end = match.end() if match else at
    return text[at:end], end, end == len(text)


def is_complete_filter(kind: FilterKind, value: str, operator: str = "", *, is_quoted: bool) -> bool:
    """Return whether an operator of this kind with `value` is a filter.

    Otherwise it is a word that is still being typed. `operator` is the word before the colon; `is_quoted` is whether
    the value is in quotation marks.
    """
    if kind in DATE_KINDS:
        sign = _COMPARISON_SIGNS.get(operator, "")
        return is_period(sign + value) and not (sign and value[:1] in _VALUE_SIGNS)
    if kind in (FilterKind.PATH, FilterKind.FILE, FilterKind.FOLDER):
        return bool(value.strip("*/" if kind is FilterKind.FOLDER else "*"))
    if kind in (FilterKind.IS, FilterKind.SORT):
        return fold(value) in ((STALE_VALUE, REPLACED_VALUE) if kind is FilterKind.IS else SORT_VALUES)
    if kind is FilterKind.PAGE:
        return page_range(value) is not None
    if kind is FilterKind.TAG and is_quoted:
        return bool(value.strip("#/"))
    return any(c.isalnum() for c in value)


_PAGES = lazy_pattern(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def page_range(value: str) -> tuple[int, int] | None:
    """Return the first and last page of a text such as `12` or `12-14`.

    Return None if the text is not a page range.
    """
    match = _PAGES.fullmatch(value)
    return (int(match[1]), int(match[2] or match[1])) if match else None


def _is_property_value(value: str, *, is_quoted: bool) -> bool:
    """Return whether the value of a filter for a property has more than a comparison sign, such as `>`."""
    return bool(value.lstrip(_VALUE_SIGNS).strip()) or (is_quoted and value[:1] == "=" and bool(value[1:].strip()))


_MAX_HINTS = 3
"""Maximum number of suggested filters for one query: a pasted page of misspelt keys needs no more."""
_MIN_HINT_LETTERS = 3
"""Least number of letters of a name that is corrected: names of two letters are too similar."""
_MIN_TWO_ERROR_LETTERS = 7
"""Least number of letters of a name in which two typing errors are corrected.

In a shorter name they make another word: `state`, `date`.
"""
# Addresses (`https://…`, `data:text/plain;…`), `std::vector` and paths with a drive letter do not look like filters.
_FILTER_LIKE = lazy_pattern(r'-?((?:[^\W\d_]+[-_])*[^\W\d_]+):("[^"]*"?|[^\s":/\\;,][^\s";,]*+(?![;,]))')


def suggest_filters(text: str, known: KnownNames) -> tuple[QueryHint, ...]:
    """Return a hint with the correct name for each word of a query text that looks like a misspelt filter.

    A name that occurs several times has one hint.
    """
    if ":" not in text:
        return ()
    results: list[QueryHint] = []
    checked_keys: set[str] = set()
    names = [name for name in (*known.kinds, *known.properties) if len(name) >= _MIN_HINT_LETTERS]
    for piece in iterate_pieces(text, known):
        match = _FILTER_LIKE.match(text, piece.start) if piece.kind is QueryPieceKind.WORD else None
        key = fold(match[1]) if match else ""
        if match is None or key in checked_keys or not _MIN_HINT_LETTERS <= len(key) <= _MAX_NAME_LETTERS:
            continue
        checked_keys.add(key)
        if key in known.kinds or key in known.properties:
            continue
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        max_errors = 2 if len(key) >= _MIN_TWO_ERROR_LETTERS else 1
        closest = process.extractOne(key, names, scorer=OSA.distance, score_cutoff=max_errors)
        if closest and _parse_filter(f"{closest[0]}:{match[2]}", 0, known):
            results.append(QueryHint(match.start(1), match.end(1) + 1, f"{match[1]}:", f"{closest[0]}:"))
            if len(results) == _MAX_HINTS:
                break
    return tuple(results)


# Parsing of a text into queries, one for each alternative.
#
# A query is typed letter by letter, and each state on the way is a query too. So incomplete syntax, or a name without a
# match, stays a word: an unfinished operator never empties the list.

STRATEGY_PREFIXES = {"!a": Strategy.ADAPTIVE, "!p": Strategy.PROXIMITY, "!s": Strategy.SEMANTIC, "!h": Strategy.HYBRID}
"""The prefixes of a query text that choose its strategy, instead of the settings."""

MAX_KEYWORDS = 5
"""Maximum number of words, besides filters, of a query that is not prose.

In prose, quotation marks and dashes are plain text: nobody filters by a phrase in a whole question, and many a question
or commit message quotes something.
"""
MAX_ALTERNATIVES = 8
"""Maximum number of alternatives in one query text; further bars are ignored."""
MAX_QUERY_WORDS = 200
"""Maximum number of words of a query that are searched, the first ones: a page of prose says early what it is about."""
MAX_CONDITIONS = 50
"""Maximum number of filters, phrases and exclusions of a query text that are applied."""


class Query(Struct, frozen=True):
    """A parsed query: one alternative of a query text.

    `words` is the text of all words and phrases, without quotation marks, filters and exclusions. A hit must have each
    of `phrases`, none of the `excluded` words and `excluded_phrases`, and pass all `filters`. If `open_word` is true,
    the last word may be unfinished, so that its completions match too; a space or a closing quotation mark ends the
    word. `strategy` is chosen by a leading `!a`, `!p`, `!s` or `!h`; None without such a prefix. `sort` is one of
    SORT_VALUES, or "" for the best first. `listed_periods` are the periods that became filters, because the text names
    nothing else.
    """

    words: str
    phrases: tuple[str, ...] = ()
    strategy: Strategy | None = None
    open_word: bool = False
    excluded: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    sort: str = ""
    listed_periods: tuple[QueryPeriod, ...] = ()

    @property
    def is_filter_only(self) -> bool:
        """Whether the query has filters, or an order, but no words."""
        return not self.words.strip() and bool(self.excluded or self.excluded_phrases or self.filters or self.sort)


def parse_alternatives(
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = FILTER_KINDS,
) -> tuple[Query, ...]:
    """Parse `text` into one query for each alternative, separated by ` | `.

    Never fails; return at least one query. `properties` are the properties of the vault, as `property_name` returns
    them: `key:value` is only a filter if `key` is a property or an operator. `tags` are the tags of the vault, folded:
    `#x` is only a filter if `x` is a tag, or the beginning of one at the end of the text (None: always). Both are only
    read if the text might name one. `kinds` are the operators.
    """
    strategy, text = _split_strategy_prefix(text)
    known = KnownNames(properties, tags, kinds)
    queries: list[Query] = []
    for pieces in _group_by_alternative(list(iterate_pieces(text, known))):
        query = _build_query(text, pieces, strategy)
        if query.words.strip() or query.is_filter_only:
            queries.append(query)
    return tuple(queries) or (Query(text.replace('"', " "), (), strategy),)


def limit_queries(
    queries: Sequence[Query], analyze_words: Callable[[str], Sequence[QueryWord]], max_words: int
) -> tuple[Query, ...]:
    """Return the alternatives of a query text with the first `max_words` words of all of them together.

    They also have no more than MAX_CONDITIONS conditions together. An alternative of which no word is left is dropped.
    `analyze_words` splits a text into words.
    """
    is_short = sum(len(query.words) for query in queries) <= max_words  # a word has at least one letter
    if is_short and sum(map(_count_conditions, queries)) <= MAX_CONDITIONS:
        return tuple(queries)
    limited: list[Query] = []
    words_left, conditions_left = max_words, MAX_CONDITIONS
    for query in queries:
        words = analyze_words(query.words)
        if len(words) <= words_left:
            limited.append(_limit_conditions(query, conditions_left))
        elif words_left:
            text = query.words[: words[words_left - 1].end]
            limited.append(_limit_conditions(replace(query, words=text, open_word=False), conditions_left))
        words_left = max(words_left - len(words), 0)
        conditions_left = max(conditions_left - _count_conditions(query), 0)
    return tuple(limited)


def _count_conditions(query: Query) -> int:
    return len(query.filters) + len(query.phrases) + len(query.excluded) + len(query.excluded_phrases)


def _limit_conditions(query: Query, room: int) -> Query:
    filters, phrases = query.filters[:room], query.phrases[: max(room - len(query.filters), 0)]
    room -= len(filters) + len(phrases)
    excluded = query.excluded[:room]
    excluded_phrases = query.excluded_phrases[: room - len(excluded)]
    return replace(query, filters=filters, phrases=phrases, excluded=excluded, excluded_phrases=excluded_phrases)


def add_condition(
    text: str,
    condition: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    *,
    is_last: bool = False,
) -> str:
    """Return `text` with the filter `condition` added to each alternative.

    Everything else keeps its meaning. The filter is put first in each alternative, after a strategy prefix, or last.
    `properties` and `tags` are as in `parse_alternatives`.
    """
    strategy, rest = _split_strategy_prefix(text)
    forced = text[: len(text) - len(rest)]
    known = KnownNames(properties, tags, FILTER_KINDS)
    at = _find_unpaired(rest, iterate_pieces(rest, known))
    if at >= 0:
        rest = f"{rest[:at]}{_quotation_mark_replacement(rest, at)}{rest[at + 1 :]}"
    pieces = list(iterate_pieces(rest, known))
    for group in reversed(_group_by_alternative(pieces)):
        query = _build_query(rest, group, strategy)
        if query.words.strip() or query.is_filter_only:
            if is_last:
                end = _end_without_spaces(rest, group[-1])
                rest = f"{rest[:end]} {condition}{rest[end:]}"
            else:
                rest = f"{rest[: group[0].start]}{condition} {rest[group[0].start :]}"
    return f"{forced}{rest}"


_MARKS_OF_SYNTAX = "-#!|"


def literal_query(text: str) -> str:
    """Return a query text that searches for the words of `text` alone, whatever filters or marks it contains.

    This is for a question that was typed in another program: `what does tag:recipe do` then has no filter.
    """
    words = []
    for word in text.replace('"', " ").split():
        bare = word.lstrip(_MARKS_OF_SYNTAX)
        while match := _FILTER_PREFIX.match(bare):
            words.append(match[2])
            bare = bare[match.end() :].lstrip(_MARKS_OF_SYNTAX)
        if bare:
            words.append(bare)
    return " ".join(words)


def format_filter(name: str, value: str) -> str:
    """Return the filter with this name and value as query text; a name with a dash in front excludes."""
    sign, bare = ("-", name[1:]) if name.startswith("-") else ("", name)
    quoted = value.replace('"', '""')
    if fold(bare) in FILTER_OPERATORS:
        return f'{sign}{bare}:"{quoted}"'
    doubled = bare.replace('"', '""')
    return f'{sign}"{doubled}":"{quoted}"'


def find_conditions(
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = FILTER_KINDS,
) -> tuple[QueryCondition, ...]:
    """Return the filters, excluded words and excluded phrases in a query text, in order.

    `properties`, `tags` and `kinds` are as in `parse_alternatives`.
    """
    _, rest = _split_strategy_prefix(text)
    before = len(text) - len(rest)
    pieces = list(iterate_pieces(rest, KnownNames(properties, tags, kinds)))
    return tuple(
        QueryCondition(
            before + piece.start, before + _end_without_spaces(rest, piece), piece.filter, piece.end == len(rest)
        )
        for group in _group_by_alternative(pieces)
        for piece in _restore_words(rest, group)
        if piece.filter or piece.has_minus
    )


def blank_conditions(
    text: str,
    properties: Collection[str] = frozenset(),
    tags: Collection[str] | None = None,
    kinds: Mapping[str, FilterKind] = FILTER_KINDS,
) -> str:
    """Return a query text of the same length with spaces in place of all but its words.

    `properties`, `tags` and `kinds` are as in `parse_alternatives`.
    """
    _, rest = _split_strategy_prefix(text)
    before = len(text) - len(rest)
    words = " " * len(text)
    pieces = list(iterate_pieces(rest, KnownNames(properties, tags, kinds)))
    for group in _group_by_alternative(pieces):
        is_prose = _count_plain_words(group) > MAX_KEYWORDS
        for piece in _restore_words(rest, group):
            if _is_plain_word(piece) or (piece.kind is QueryPieceKind.PHRASE and is_prose):
                start, end = before + piece.start, before + piece.end
                words = words[:start] + text[start:end] + words[end:]
    return words


def _end_without_spaces(text: str, piece: QueryPiece) -> int:
    """Return the end of a piece without the trailing spaces that a value with an unclosed quotation mark has."""
    return piece.start + len(text[piece.start : piece.end].rstrip())


def find_unpaired_quotation_mark(text: str, properties: Collection[str] = frozenset()) -> int:
    """Return the position of an unpaired quotation mark that is not an inch sign; -1 if there is none."""
    return _find_unpaired(text, iterate_pieces(text, KnownNames(properties, None, FILTER_KINDS)))


_BAR_BEFORE = lazy_pattern(r"(?<!\S)\|\Z")
_BAR_AFTER = lazy_pattern(r"\|(?!\S)")


def _quotation_mark_replacement(text: str, at: int) -> str:
    """Return what replaces an unpaired quotation mark, so that no later quotation mark pairs with it.

    Beside a bar it is an empty phrase, because the alternative might otherwise be empty; elsewhere it is a space.
    """
    if _BAR_BEFORE.search(text[:at]):
        return '""'
    return ' ""' if _BAR_AFTER.match(text, at + 1) else " "


def _find_unpaired(text: str, pieces: Iterable[QueryPiece]) -> int:
    """Return the position of the quotation mark that is in none of `pieces`; -1 if there is none."""
    at = text.rfind('"')
    return -1 if any(piece.start <= at < piece.end for piece in pieces) else at


def _split_strategy_prefix(text: str) -> tuple[Strategy | None, str]:
    """Return the strategy that a prefix such as `!s` chooses (None: no prefix), and the text after the prefix."""
    first, _, rest = text.lstrip().partition(" ")
    strategy = STRATEGY_PREFIXES.get(first.lower())
    return (strategy, rest) if strategy else (None, text)


_UNFINISHED_FILTER = lazy_pattern(r'(?:^|(?<=\s))-?(?:#|([^\s":]+):(\S*))$')


def remove_unfinished_filter(text: str, kinds: Mapping[str, FilterKind] = FILTER_KINDS) -> str:
    """Return a query text without an unfinished filter at its end, such as `tag:` or `modified:2`.

    An unfinished filter would be searched as a word, not be found, and lower the confidence of the hits. A text that
    has nothing else is returned unchanged. `kinds` are the operators.
    """
    match = _UNFINISHED_FILTER.search(text)
    if match is None:
        return text
    if match[1]:
        operator, value = fold(match[1]), match[2].strip('"')
        kind = kinds.get(operator)
        if (
            kind is None
            or is_complete_filter(kind, value, operator, is_quoted=False)
            or (kind in DATE_KINDS and value == "*")
        ):
            return text
    return text[: match.start()].rstrip() or text


def _group_by_alternative(pieces: Sequence[QueryPiece]) -> list[list[QueryPiece]]:
    """Return the pieces of each alternative, without the bars between them."""
    groups: list[list[QueryPiece]] = [[]]
    for piece in pieces:
        if piece.kind is not QueryPieceKind.BAR:
            groups[-1].append(piece)
        elif groups[-1] and len(groups) < MAX_ALTERNATIVES:
            groups.append([])
    return groups


def _build_query(text: str, pieces: Sequence[QueryPiece], strategy: Strategy | None) -> Query:
    pieces = _restore_words(text, pieces)
    removed = [piece for piece in pieces if piece.kind is QueryPieceKind.FILTER or piece.has_minus]
    phrases = [piece for piece in pieces if piece.kind is QueryPieceKind.PHRASE and piece.value]
    is_prose = _count_plain_words(pieces) > MAX_KEYWORDS
    words = _remove_pieces(text, pieces, removed)
    last = pieces[-1] if pieces else None
    filters = list(dict.fromkeys(piece.filter for piece in pieces if piece.filter))
    return Query(
        words=words,
        phrases=() if is_prose else _drop_duplicates(p.value for p in phrases if not p.has_minus),
        strategy=strategy,
        open_word=bool(last and last not in removed and last.end == len(text) and words[-1:].isalnum()),
        excluded=_drop_duplicates(p.value for p in pieces if p.has_minus and p.kind is QueryPieceKind.WORD),
        excluded_phrases=_drop_duplicates(p.value for p in phrases if p.has_minus),
        filters=tuple(filter_ for filter_ in filters if filter_.kind is not FilterKind.SORT),
        sort=next((fold(filter_.value) for filter_ in reversed(filters) if filter_.kind is FilterKind.SORT), ""),
    )


def _restore_words(text: str, pieces: Sequence[QueryPiece]) -> list[QueryPiece]:
    """Return the pieces, with those that only look like exclusions or tags changed to plain words.

    In prose (see MAX_KEYWORDS) nothing is excluded and no `#word` is a tag. Elsewhere an excluded word must come after
    all other words: `-split operator` and `the -match and -replace operators` are about options. An excluded phrase may
    be anywhere.
    """
    is_prose = _count_plain_words(pieces) > MAX_KEYWORDS
    last = max((number for number, piece in enumerate(pieces) if _is_plain_word(piece)), default=-1)
    return [
        QueryPiece(QueryPieceKind.WORD, piece.start, piece.end, text[piece.start : piece.end])
        if (piece.kind is QueryPieceKind.WORD and piece.has_minus and (is_prose or number < last))
        or (
            piece.kind is QueryPieceKind.FILTER
            and is_prose
            and text[piece.start : piece.end].lstrip("-").startswith("#")
        )
        else replace(piece, has_minus=piece.has_minus and not is_prose)
        for number, piece in enumerate(pieces)
    ]


def _is_plain_word(piece: QueryPiece) -> bool:
    """Return whether a piece is a word that is not excluded."""
    return piece.kind is QueryPieceKind.WORD and not piece.has_minus


_WIDE = lazy_pattern(f"[{WIDE_CHARACTERS}]")


def _count_plain_words(pieces: Sequence[QueryPiece]) -> float:
    """Return the number of words outside of phrases.

    In a script without spaces, two characters count as one word.
    """
    return sum(max(1.0, len(_WIDE.findall(piece.value)) / 2) for piece in pieces if _is_plain_word(piece))


def _remove_pieces(text: str, pieces: Sequence[QueryPiece], removed: Sequence[QueryPiece]) -> str:
    """Return the text of `pieces` without the pieces `removed` and without quotation marks.

    A space ends the result unless the last piece ends the text.
    """
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


def _drop_duplicates(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
