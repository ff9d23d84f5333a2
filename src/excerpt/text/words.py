"""The one analyzer: text -> terms with positions, the same for what is indexed and what is asked.

- A plain word is one term at one position, folded and stemmed (folding.py). Nothing is dropped: no stop words, no
  shortest length.
- A compound (`state-of-the-art`, `R&D`, `1.0.21`, `snake_case`, `docs/readme.md`) is found whole, at the position of
  its first part, and by its parts, one position each. Hyphens and underscores are left out of the whole, so that
  `wiki-link`, `wiki_link`, `WikiLink` and `wikilink` meet. The parts of a `camelCase` word share its one position, so
  that a phrase around it matches however it is spelled.
- Chinese, Japanese and Korean are indexed by overlapping pairs of characters and by single ones, a position a
  character: no dictionary to ship, and new words are found. A query asks for the pairs; for a character by itself only
  if it was typed alone (in Korean that is a noun before its particle). Thai, Lao, Burmese and Khmer likewise, by
  triples and pairs. nDCG@10 on xquad, words alone: zh .963 by pairs, .952 by single characters, .879 by triples; th
  .969 by triples, .943 by pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import NamedTuple

from excerpt.text.folding import MAX_TERM, fold, stem
from excerpt.text.languages import detect_language

__all__ = ["ANALYZER_VERSION", "Analysis", "QueryWord", "analyze", "detect_language", "fold", "query_terms", "terms_of"]

ANALYZER_VERSION = 2
"""Raised when the same text gives other terms than before: an index made under another version is rebuilt."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Parallel lists, a term each, by position. `starts` and `ends` are character offsets, `ends` exclusive.

    Several terms may share a position. Positions never fall.
    """

    terms: list[str]
    positions: list[int]
    starts: list[int]
    ends: list[int]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One thing asked for. `terms` are its variants under the vault's languages, any of which is a match.

    `whole` marks a compound as a whole; its parts follow as words of their own. Words at `position` n and n + 1 stand
    side by side.
    """

    surface: str
    terms: tuple[str, ...]
    start: int
    end: int
    position: int
    whole: bool = False


class _Piece(NamedTuple):
    """A term to be of a chunk: offsets and position within it. `plain` pieces are stemmed."""

    text: str
    position: int
    start: int
    end: int
    plain: bool
    whole: bool = False


# --- cutting a text into chunks ---------------------------------------------------------------------------------------

_PAIRED = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TRIPLED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ede\u1000-\u104f\u1780-\u17d3"
_GRAM_SIZES = {"paired": 2, "tripled": 3}
_JOINERS = r"\-_.'’&/\\@+‐‑"
_CHUNK = r"{w}(?:[{j}]{w})*(?:\+\+(?:\d+)?|\#(?!\w))?"
_ASCII_CHUNK = re.compile(_CHUNK.format(w=r"[A-Za-z0-9_]+", j=_JOINERS), re.ASCII)


@cache
def _wide_chunk() -> re.Pattern[str]:
    """The pattern for any text. Python's word characters leave out the combining marks that many scripts spell with."""
    marks = _ranges(c for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M")
    letter = rf"[^\W{_PAIRED}{_TRIPLED}]"
    word = rf"{letter}(?:[{marks}\u00ad\u200c\u200d\u2060]*{letter})*[{marks}]*"
    chunk = _CHUNK.format(w=word, j=_JOINERS)
    return re.compile(rf"(?P<paired>[{_PAIRED}]+)|(?P<tripled>[{_TRIPLED}]+)|{chunk}")


def _ranges(codes: Iterator[int]) -> str:
    """Character codes as the inside of a regex class."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


# --- a chunk's pieces -------------------------------------------------------------------------------------------------

# From the loosest bond to the tightest: `a/b.c` is `a` and `b.c` before it is `a`, `b`, `c`.
_LEVELS = tuple(re.compile(pattern) for pattern in (r"[/\\]", r"@", r"[.&+]", r"[-_'’‐‑]+"))
_TIGHT = re.compile(r"(?<!\d)[-_'’‐‑]+|[-_'’‐‑]+(?!\d)")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_CONTRACTION = re.compile(r"(.*?)(n['’]t|['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_VERSION = re.compile(r"[vV]\d+(?:\.\d+)+")
_SUFFIX = re.compile(r"(\+\+)(\d*)$|#$")
_MAX_CAMEL = 40  # longer ones are encoded data
_MAX_PARTS = 64  # so long a chunk is data too: its parts are found, no larger whole


def _pieces(chunk: str) -> tuple[list[_Piece], int]:
    """The pieces of a chunk by position, and how many positions it takes."""
    if chunk.isascii() and chunk.isalnum():
        return _split_camel(chunk, 0, 0), 1
    suffix = _SUFFIX.search(chunk)
    if suffix:
        body = chunk[: suffix.start()]
        pieces, width = _split(body, 0, 0, 0)
        if suffix[2]:
            pieces.insert(0, _Piece(chunk[: suffix.end(1)], 0, 0, suffix.end(1), False, True))
        return [_Piece(chunk, 0, 0, len(chunk), False, True), *pieces], width
    return _split(chunk, 0, 0, 0)


def _split(text: str, start: int, position: int, level: int) -> tuple[list[_Piece], int]:
    """The pieces of `text`, which begins at `start` of its chunk and at `position`, cut at `level` and below."""
    while level < len(_LEVELS) and not _LEVELS[level].search(text):
        level += 1
    if level == len(_LEVELS):
        return _split_camel(text, start, position), 1
    if level == 3 and (contraction := _CONTRACTION.fullmatch(text)):
        base = text.replace("'", "").replace("’", "") if contraction[2][0] in "nN" else contraction[1]
        return [_Piece(base, position, start, start + len(text), True)], 1
    if level == 2 and _ACRONYM.fullmatch(text):
        return [_Piece(text.replace(".", ""), position, start, start + len(text), False)], 1
    pieces: list[_Piece] = []
    at = position
    cut = 0
    for separator in [*_LEVELS[level].finditer(text), None]:
        end = separator.start() if separator else len(text)
        if end > cut:
            inner, width = _split(text[cut:end], start + cut, at, level + 1)
            pieces += inner
            at += width
        cut = separator.end() if separator else end
    if len(pieces) < 2 or len(pieces) > _MAX_PARTS or len(text) > MAX_TERM:
        return pieces, at - position
    tight = level == 3
    whole = _Piece(_TIGHT.sub("", text) if tight else text, position, start, start + len(text), tight, True)
    if _VERSION.fullmatch(text):
        pieces.insert(0, _Piece(text[1:], position, start + 1, start + len(text), False, True))
    return [whole, *pieces], at - position


def _split_camel(word: str, start: int, position: int) -> list[_Piece]:
    one = _Piece(word, position, start, start + len(word), True)
    if word.islower() or word[1:].islower() or word.isupper() or not word.isascii() or len(word) > _MAX_CAMEL:
        return [one]
    if _PLURAL_ACRONYM.fullmatch(word):
        return [one]
    parts = [
        _Piece(part[0], position, start + part.start(), start + part.end(), True)
        for part in _CAMEL.finditer(word)
        if part.end() - part.start() > 1
    ]
    whole = _Piece(word, position, start, start + len(word), True, True)
    return [whole, *parts] if parts and parts[0].text != word else [one]


def _term(piece: _Piece, language: str) -> str:
    return stem(piece.text, language) if piece.plain else fold(piece.text)[:MAX_TERM]


# --- characters in pairs and triples ----------------------------------------------------------------------------------


def _characters(run: str) -> list[tuple[str, int, int]]:
    """The characters of a run as a reader counts them, with their offsets: half-width and decomposed ones made one."""
    if unicodedata.is_normalized("NFKC", run):
        return [(character, i, i + 1) for i, character in enumerate(run)]
    found: list[tuple[str, int, int]] = []
    for i, character in enumerate(run):
        if found:
            joined = unicodedata.normalize("NFKC", run[found[-1][1] : i + 1])
            if len(joined) == 1:
                found[-1] = (joined, found[-1][1], i + 1)
                continue
        found.append((unicodedata.normalize("NFKC", character), i, i + 1))
    return found


def _grams(run: str, size: int) -> tuple[list[_Piece], int]:
    """All stretches of `size` characters of a run, or the run if it is shorter; a position a character."""
    characters = _characters(run)
    width = len(characters)
    pieces = [
        _Piece("".join(c for c, _, _ in gram), i, gram[0][1], gram[-1][2], False)
        for i in range(max(width - size, 0) + 1)
        for gram in [characters[i : i + size]]
    ]
    return pieces, width


def _indexed_grams(run: str, size: int) -> tuple[list[_Piece], int]:
    """Those of `size` and those of one character less, by position."""
    longer, width = _grams(run, size)
    if width < size:
        return longer, width
    shorter, _ = _grams(run, size - 1)
    return sorted([*shorter, *longer], key=lambda piece: piece.position), width


# --- the three ways in ------------------------------------------------------------------------------------------------

_MEMO_SIZE = 100_000
LONGEST_KEPT = 128
"""Characters of the longest chunk that is worth remembering."""
# What a chunk comes to: its only term, or terms, positions and width.
_Known = str | tuple[tuple[str, ...], tuple[int, ...], int]
_memos: dict[str, dict[str, _Known]] = {}


def terms_of(text: str, language: str = "") -> tuple[list[str], list[int]]:
    """The terms and positions of `analyze`, without offsets: the quick way, for indexing."""
    terms: list[str] = []
    positions: list[int] = []
    position = 0
    memo = _memos.setdefault(language, {})
    for chunk, size in chunks_of(text):
        if size and unicodedata.is_normalized("NFKC", chunk):
            grams, places = _quick_grams(chunk, size, position)
            terms += grams
            positions += places
            position += len(chunk)
            continue
        known = memo.get(chunk)
        if known is None:
            known = _know(chunk, size, language)
            if len(chunk) <= LONGEST_KEPT:
                if len(memo) >= _MEMO_SIZE:
                    memo.clear()
                memo[chunk] = known
        if isinstance(known, str):
            terms.append(known)
            positions.append(position)
            position += 1
        else:
            terms += known[0]
            positions += [position + p for p in known[1]]
            position += known[2]
    return terms, positions


def ascii_chunks_of(text: str) -> list[str]:
    """The chunks of a text that is ASCII throughout: words, all of them."""
    return _ASCII_CHUNK.findall(text)


def chunks_of(text: str) -> Iterable[tuple[str, int]]:
    """The chunks of a text, each with the size of the stretches it is cut into, 0 for words."""
    if text.isascii():
        return zip(ascii_chunks_of(text), repeat(0), strict=False)
    return ((match.group(), _GRAM_SIZES.get(match.lastgroup or "", 0)) for match in _wide_chunk().finditer(text))


def _quick_grams(run: str, size: int, position: int) -> tuple[list[str], list[int]]:
    """What `_indexed_grams` gives for a run that is in its normal form."""
    count = len(run) - size + 1
    if count < 1:
        return [run], [position]
    grams = [""] * (2 * count + 1)
    grams[::2] = [run[i : i + size - 1] for i in range(count + 1)]
    grams[1::2] = [run[i : i + size] for i in range(count)]
    places = [0] * (2 * count + 1)
    places[::2] = range(position, position + count + 1)
    places[1::2] = range(position, position + count)
    return grams, places


def _know(chunk: str, size: int, language: str) -> _Known:
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        return stem(chunk, language)  # what all of the following comes to for a plain word
    pieces, width = _indexed_grams(chunk, size) if size else _pieces(chunk)
    if width == 1 and len(pieces) == 1:
        return _term(pieces[0], language)
    return tuple(_term(p, language) for p in pieces), tuple(p.position for p in pieces), width


def take_apart(chunk: str, size: int, language: str) -> tuple[tuple[str, ...], tuple[int, ...], int]:
    """The terms of a chunk of `chunks_of`, their positions, and how many positions it takes."""
    known = _know(chunk, size, language)
    return ((known,), (0,), 1) if isinstance(known, str) else known


def analyze(text: str, language: str = "") -> Analysis:
    """The terms of `text`, a note's or a query's, in `language` (ISO 639-1, or "" if unknown), and where they stand."""
    found = Analysis([], [], [], [])
    for piece, position, start in _walk(text, _indexed_grams):
        found.terms.append(_term(piece, language))
        found.positions.append(position)
        found.starts.append(start + piece.start)
        found.ends.append(start + piece.end)
    return found


def query_terms(text: str, languages: Sequence[str]) -> list[QueryWord]:
    """The words asked for in `text`, for a vault whose notes are in `languages`.

    Notes of unknown language are always among those meant, so that their variant of a word is too. Parts that say
    little without the whole are not asked for: "1.0.21" is not a search for 21, nor "C++" one for C.
    """
    tongues = list(dict.fromkeys((*languages, "")))
    words: list[QueryWord] = []
    indivisible = -1
    for piece, position, start in _walk(text, _grams):
        if piece.whole and (piece.text[-1] in "+#" or not any(c.isalpha() for c in piece.text[1:])):
            indivisible = start
        elif start == indivisible and len(piece.text) < 3:
            continue
        variants = tuple(dict.fromkeys(_term(piece, language) for language in tongues))
        first, last = start + piece.start, start + piece.end
        words.append(QueryWord(text[first:last], variants, first, last, position, piece.whole))
    return words


def _walk(text: str, cut: Callable[[str, int], tuple[list[_Piece], int]]) -> Iterator[tuple[_Piece, int, int]]:
    """Every piece of `text` with its position, and the offset of the chunk it is a piece of.

    `cut` takes runs of scripts without spaces apart.
    """
    position = 0
    for match in (_ASCII_CHUNK if text.isascii() else _wide_chunk()).finditer(text):
        size = _GRAM_SIZES.get(match.lastgroup or "", 0)
        pieces, width = cut(match.group(), size) if size else _pieces(match.group())
        for piece in pieces:
            yield piece, position + piece.position, match.start()
        position += width
