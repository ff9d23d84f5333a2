"""The analyzer of notes and queries, which splits text into terms with positions.

- A plain word is one term at one position, folded and stemmed (`folding.py`). Nothing is dropped: no stop words, no
  shortest length.
- A compound (`state-of-the-art`, `R&D`, `1.0.21`, `snake_case`, `docs/readme.md`) is found whole, at the position of
  its first part, and by its parts, one position each. Hyphens and underscores are left out of the whole, so that
  `wiki-link`, `wiki_link`, `WikiLink` and `wikilink` meet. The parts of a `camelCase` word share its one position, so
  that a phrase around it matches however it is spelled.
- Chinese, Japanese and Korean are indexed by overlapping pairs of characters and by single ones, a position a
  character: no dictionary to ship, and new words are found. A query asks for the pairs; for a character by itself
  only if it was typed alone (in Korean that is a noun before its particle). Thai, Lao, Burmese and Khmer likewise, by
  triples and pairs. nDCG@10 on xquad, words alone: zh .963 by pairs, .952 by single characters, .879 by triples; th
  .969 by triples, .943 by pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import NamedTuple

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.folding import MAX_TERM_CHARACTERS, UNACCENTED_MARK, fold, indexed_terms, searched_terms, stem
from excerpt.text.inner_marks import join_marked_words

__all__ = ["ANALYZER_VERSION", "Analysis", "QueryWord", "analyze", "fold", "query_terms", "terms_of"]

ANALYZER_VERSION = 5
"""Version of the analyzer, raised when a text gives other terms: an older index is then rebuilt."""


class Analysis(Struct, frozen=True):
    """The terms of a text with their positions and character offsets, as parallel lists.

    A position counts words from 0. Positions never decrease, and several terms may share one. Term i was made of the
    characters `starts[i]` to `ends[i]` (exclusive) of the text.
    """

    terms: list[str]
    positions: list[int]
    starts: list[int]
    ends: list[int]


class QueryWord(Struct, frozen=True):
    """A word of a query.

    `surface` is the word as written, at characters `start` to `end` (exclusive) of the query. `terms` are the word's
    terms in the languages of the vault; a note matches if it has any of them. `is_compound` marks a compound
    ("wiki-link"), whose parts follow as words of their own. Words at `position` n and n + 1 are adjacent.
    """

    surface: str
    terms: tuple[str, ...]
    start: int
    end: int
    position: int
    is_compound: bool = False


class _Piece(NamedTuple):
    """A part of a chunk that becomes one term.

    `start` and `end` are character offsets in the chunk, `position` counts from the chunk's first position. `is_word`
    pieces are stemmed, other pieces only folded. `is_compound` marks a piece that is followed by its own parts.
    """

    text: str
    position: int
    start: int
    end: int
    is_word: bool
    is_compound: bool = False


_BIGRAM_CHARACTERS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TRIGRAM_CHARACTERS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ede\u1000-\u104f\u1780-\u17d3"
_GRAM_SIZES = {"paired": 2, "tripled": 3}
_JOINERS = r"\-_.'’&/\\@+‐‑"
# A dot before a name belongs to it (`.NET`, `.gitignore`), unless it ends a sentence or a row of dots.
# The sign before it is looked at last: that takes a third of the time.
_DOT = r"\.(?=[A-Za-z])(?<![\w.!?…)\]]\.)"
_DOT_IN_ANY_TEXT = rf"\.(?=[A-Za-z])(?<!(?:[^\W{_BIGRAM_CHARACTERS}{_TRIGRAM_CHARACTERS}]|[.!?…)\]])\.)"
_CHUNK = r"{w}(?:[{j}]{w})*(?:\+\+(?:\d+)?|\#(?!\w))?"
_ASCII_CHUNK = lazy_pattern(_CHUNK.format(w=r"[A-Za-z0-9_]+", j=_JOINERS), re.ASCII)
_DOTTED_ASCII_CHUNK = lazy_pattern(f"{_ASCII_CHUNK.pattern}|{_DOT}{_ASCII_CHUNK.pattern}", re.ASCII)
_DOT_BEFORE_NAME = lazy_pattern(_DOT)


_INVISIBLE = "\u00ad\u200c\u200d\u2060"
# Combining marks and all scripts with n-grams; other text consists of Latin letters, signs and pictures.
_MARKED_OR_WIDE = lazy_pattern("[\u0300-\u1fff\u20d0-\u20ff\u2c00-\U0001efff\U00020000-\U0003ffff]")


def _chunk_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression that finds the chunks (words and compounds) of `text`.

    The general expression takes 0.03 s to compile. So a text of Latin letters and signs, as most texts are, uses a
    smaller expression.
    """
    if text.isascii():
        return _ascii_chunk_pattern(text)
    return _wide_chunk() if _MARKED_OR_WIDE.search(text) else _narrow_chunk()


def _ascii_chunk_pattern(text: str) -> re.Pattern[str]:
    """Return the pattern for chunks of an ASCII text: the slower one for names with a dot if the text has one."""
    return _DOTTED_ASCII_CHUNK if _DOT_BEFORE_NAME.search(text) else _ASCII_CHUNK


@cache
def _narrow_chunk() -> re.Pattern[str]:
    """Return the regular expression for chunks of text without combining marks and unspaced scripts."""
    chunk = _CHUNK.format(w=rf"\w+(?:[{_INVISIBLE}]+\w+)*", j=_JOINERS)
    return re.compile(f"{chunk}|{_DOT}{chunk}")


@cache
def _wide_chunk() -> re.Pattern[str]:
    r"""Return the regular expression for chunks of any text.

    Besides Python's word characters (\w), it accepts the combining marks that many scripts need.
    """
    marks = _regex_ranges(c for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M")
    letter = rf"[^\W{_BIGRAM_CHARACTERS}{_TRIGRAM_CHARACTERS}]"
    word = rf"{letter}(?:[{marks}{_INVISIBLE}]*{letter})*[{marks}]*"
    chunk = _CHUNK.format(w=word, j=_JOINERS)
    return re.compile(
        rf"(?P<paired>[{_BIGRAM_CHARACTERS}]+)|(?P<tripled>[{_TRIGRAM_CHARACTERS}]+)|{chunk}|{_DOT_IN_ANY_TEXT}{chunk}"
    )


def _regex_ranges(codes: Iterator[int]) -> str:
    """Return ascending character codes as ranges for a regex set."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


# From the loosest bond to the tightest: `a/b.c` is `a` and `b.c` before it is `a`, `b`, `c`.
_SEPARATORS_BY_LEVEL = tuple(lazy_pattern(pattern) for pattern in (r"[/\\]", r"@", r"[.&+]", r"[-_'’‐‑]+"))
_REMOVABLE_HYPHENS = lazy_pattern(r"(?<!\d)[-_'’‐‑]+|[-_'’‐‑]+(?!\d)")
_CAMEL = lazy_pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*")
_PLURAL_ACRONYM = lazy_pattern(r"[A-Z]{2,}s")
_ACRONYM = lazy_pattern(r"(?:[^\W\d_]\.)+[^\W\d_]")
_CONTRACTION = lazy_pattern(r"(.*?)(n['’]t|['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_VERSION = lazy_pattern(r"[vV]\d+(?:\.\d+)+")
_NO_LETTER = lazy_pattern(r"\W")
_DOT_OF_NAME = lazy_pattern(r"_*(\.)[A-Za-z]")  # `_` at the ends of a name is markup: `_.NET_`, `_on .NET_`
_SUFFIX = lazy_pattern(r"(\+\+)(\d*)$|#$")
_MAX_CAMEL_CHARACTERS = 40  # longer ones are encoded data
_MAX_PARTS = 64  # longer chunks are data too: only their parts are indexed, not the whole


def _split_chunk_into_pieces(chunk: str) -> tuple[list[_Piece], int]:
    """Return the pieces of a chunk, ordered by position, and the number of positions that the chunk takes."""
    if chunk.isascii() and chunk.isalnum():
        return _split_camel(chunk, 0, 0), 1
    if dot := _DOT_OF_NAME.match(chunk):
        start = dot.start(1)
        whole = chunk[start:].rstrip("_")
        pieces, width = _split_at_level(whole[1:], start + 1, 0, 0)
        first_name = _NO_LETTER.split(whole[1:], maxsplit=1)[0].rstrip("_")  # `.NET` of `.NET-Anwendung`
        names = dict.fromkeys((whole, f".{first_name}"))
        return [*(_Piece(name, 0, start, start + len(name), False, True) for name in names), *pieces], width
    suffix = _SUFFIX.search(chunk)
    if suffix:
        body = chunk[: suffix.start()]
        pieces, width = _split_at_level(body, 0, 0, 0)
        if suffix[2]:
            pieces.insert(0, _Piece(chunk[: suffix.end(1)], 0, 0, suffix.end(1), False, True))
        return [_Piece(chunk, 0, 0, len(chunk), False, True), *pieces], width
    return _split_at_level(chunk, 0, 0, 0)


def _split_at_level(text: str, start: int, position: int, level: int) -> tuple[list[_Piece], int]:
    """Split a part of a chunk at separators; return its pieces and the number of positions that it takes.

    `text` is the part; it begins at offset `start` and at `position` of the chunk. It is split at the separators of
    `_SEPARATORS_BY_LEVEL[level]`, and the resulting parts at those of the following levels.
    """
    while level < len(_SEPARATORS_BY_LEVEL) and not _SEPARATORS_BY_LEVEL[level].search(text):
        level += 1
    if level == len(_SEPARATORS_BY_LEVEL):
        return _split_camel(text, start, position), 1
    if level == 3 and (contraction := _CONTRACTION.fullmatch(text)):
        base = text.replace("'", "").replace("’", "") if contraction[2][0] in "nN" else contraction[1]
        return [_Piece(base, position, start, start + len(text), True)], 1
    if level == 2 and _ACRONYM.fullmatch(text):
        return [_Piece(text.replace(".", ""), position, start, start + len(text), False)], 1
    pieces: list[_Piece] = []
    at = position
    cut = 0
    for separator in [*_SEPARATORS_BY_LEVEL[level].finditer(text), None]:
        end = separator.start() if separator else len(text)
        if end > cut:
            inner, width = _split_at_level(text[cut:end], start + cut, at, level + 1)
            pieces += inner
            at += width
        cut = separator.end() if separator else end
    if len(pieces) < 2 or len(pieces) > _MAX_PARTS or len(text) > MAX_TERM_CHARACTERS:
        return pieces, at - position
    tight = level == 3
    whole = _Piece(_REMOVABLE_HYPHENS.sub("", text) if tight else text, position, start, start + len(text), tight, True)
    if _VERSION.fullmatch(text):
        pieces.insert(0, _Piece(text[1:], position, start + 1, start + len(text), False, True))
    return [whole, *pieces], at - position


def _split_camel(word: str, start: int, position: int) -> list[_Piece]:
    whole_word = _Piece(word, position, start, start + len(word), True)
    if (
        word.islower()
        or word[1:].islower()
        or word.isupper()
        or not word.isascii()
        or len(word) > _MAX_CAMEL_CHARACTERS
    ):
        return [whole_word]
    if _PLURAL_ACRONYM.fullmatch(word):
        return [whole_word]
    parts = [
        _Piece(part[0], position, start + part.start(), start + part.end(), True)
        for part in _CAMEL.finditer(word)
        if part.end() - part.start() > 1
    ]
    whole = _Piece(word, position, start, start + len(word), True, True)
    return [whole, *parts] if parts and parts[0].text != word else [whole_word]


def _terms_of_piece(
    piece: _Piece, language: str, terms_of_word: Callable[[str, str], tuple[str, ...]]
) -> tuple[str, ...]:
    return terms_of_word(piece.text, language) if piece.is_word else (fold(piece.text)[:MAX_TERM_CHARACTERS],)


def _composed_characters(run: str) -> list[tuple[str, int, int]]:
    """Return the NFKC-composed characters of a run, each as (character, start, end).

    A run is a chunk in a script without spaces.
    """
    if unicodedata.is_normalized("NFKC", run):
        return [(character, i, i + 1) for i, character in enumerate(run)]
    pieces: list[tuple[str, int, int]] = []
    for i, character in enumerate(run):
        if pieces:
            composed = unicodedata.normalize("NFKC", run[pieces[-1][1] : i + 1])
            if len(composed) == 1:
                pieces[-1] = (composed, pieces[-1][1], i + 1)
                continue
        pieces.append((unicodedata.normalize("NFKC", character), i, i + 1))
    return pieces


def _ngrams(run: str, size: int) -> tuple[list[_Piece], int]:
    """Return the n-grams of `size` characters of a run, and the number of positions that it takes.

    A run shorter than `size` is returned whole. Each character takes one position.
    """
    characters = _composed_characters(run)
    width = len(characters)
    pieces = [
        _Piece("".join(c for c, _, _ in gram), i, gram[0][1], gram[-1][2], False)
        for i in range(max(width - size, 0) + 1)
        for gram in [characters[i : i + size]]
    ]
    return pieces, width


def _indexed_ngrams(run: str, size: int) -> tuple[list[_Piece], int]:
    """Return the n-grams of `size` and `size - 1` characters, and the number of positions of the run.

    The n-grams are ordered by position.
    """
    longer, width = _ngrams(run, size)
    if width < size:
        return longer, width
    shorter, _ = _ngrams(run, size - 1)
    return sorted([*shorter, *longer], key=lambda piece: piece.position), width


_MAX_CACHED_CHUNKS = 100_000
MAX_CACHED_CHUNK = 128
"""Maximum number of characters of a chunk whose analysis is cached."""
# The result of analyzing a chunk: its only term, or (terms, positions, number of positions).
_ChunkTerms = str | tuple[tuple[str, ...], tuple[int, ...], int]
_chunk_caches: dict[str, dict[str, _ChunkTerms]] = {}


def terms_of(text: str, language: str = "") -> tuple[list[str], list[int]]:
    """Return the terms of `text` and their positions, as parallel lists.

    The result equals that of `analyze` without character offsets, and is faster. `language` is an ISO 639-1 code, or ""
    if unknown.
    """
    terms: list[str] = []
    positions: list[int] = []
    position = 0
    cache_of_language = _chunk_caches.setdefault(language, {})
    joined = join_marked_words(text)
    for chunk, size in chunks_of(text if joined is None else joined.text):
        if size and unicodedata.is_normalized("NFKC", chunk):
            grams, gram_positions = _fast_indexed_ngrams(chunk, size, position)
            terms += grams
            positions += gram_positions
            position += len(chunk)
            continue
        analyzed = cache_of_language.get(chunk)
        if analyzed is None:
            analyzed = _analyze_chunk(chunk, size, language)
            if len(chunk) <= MAX_CACHED_CHUNK:
                if len(cache_of_language) >= _MAX_CACHED_CHUNKS:
                    cache_of_language.clear()
                cache_of_language[chunk] = analyzed
        if isinstance(analyzed, str):
            terms.append(analyzed)
            positions.append(position)
            position += 1
        else:
            terms += analyzed[0]
            positions += [position + p for p in analyzed[1]]
            position += analyzed[2]
    return terms, positions


def ascii_chunks_of(text: str) -> list[str]:
    """Return the chunks of an ASCII text: words and compounds such as `state-of-the-art`."""
    return _ascii_chunk_pattern(text).findall(text)


def chunks_of(text: str) -> Iterable[tuple[str, int]]:
    """Return the chunks of a text, each with the number of characters of its n-grams.

    A chunk is a word or compound (0), or a run of characters in an unspaced script (2 or 3).
    """
    if text.isascii():
        return zip(ascii_chunks_of(text), repeat(0), strict=False)
    return ((match.group(), _GRAM_SIZES.get(match.lastgroup or "", 0)) for match in _chunk_pattern(text).finditer(text))


def _fast_indexed_ngrams(run: str, size: int, position: int) -> tuple[list[str], list[int]]:
    """Return the terms and positions that `_indexed_ngrams` gives, for an NFKC-normalised run at `position`."""
    count = len(run) - size + 1
    if count < 1:
        return [run], [position]
    grams = [""] * (2 * count + 1)
    grams[::2] = [run[i : i + size - 1] for i in range(count + 1)]
    grams[1::2] = [run[i : i + size] for i in range(count)]
    positions = [0] * (2 * count + 1)
    positions[::2] = range(position, position + count + 1)
    positions[1::2] = range(position, position + count)
    return grams, positions


def _analyze_chunk(chunk: str, size: int, language: str) -> _ChunkTerms:
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        return stem(chunk, language)  # the same result as below, for a plain word
    pieces, width = _indexed_ngrams(chunk, size) if size else _split_chunk_into_pieces(chunk)
    pairs = [(term, piece.position) for piece in pieces for term in _terms_of_piece(piece, language, indexed_terms)]
    if width == 1 and len(pairs) == 1:
        return pairs[0][0]
    return tuple(term for term, _ in pairs), tuple(position for _, position in pairs), width


def split_chunk(chunk: str, size: int, language: str) -> tuple[tuple[str, ...], tuple[int, ...], int]:
    """Return the terms of a chunk, their positions in it, and the number of positions that it takes.

    `chunk` and `size` (of its n-grams) are an item of `chunks_of`.
    """
    analyzed = _analyze_chunk(chunk, size, language)
    return ((analyzed,), (0,), 1) if isinstance(analyzed, str) else analyzed


def analyze(text: str, language: str = "") -> Analysis:
    """Return the terms of `text` with their positions and character offsets.

    `language` is an ISO 639-1 code, or "" if unknown.
    """
    analysis = Analysis([], [], [], [])
    joined = join_marked_words(text)
    for piece, position, chunk_start in _join_pieces(text if joined is None else joined.text, _indexed_ngrams):
        start, end = chunk_start + piece.start, chunk_start + piece.end
        if joined is not None:
            start, end = joined.written_range(start, end)
        for term in _terms_of_piece(piece, language, indexed_terms):
            analysis.terms.append(term)
            analysis.positions.append(position)
            analysis.starts.append(start)
            analysis.ends.append(end)
    return analysis


def words_of(text: str, language: str = "") -> list[str]:
    """Return the terms of `text` without the extra terms for spellings without accents: to count words."""
    return [term for term in terms_of(text, language)[0] if not term.endswith(UNACCENTED_MARK)]


def query_terms(text: str, languages: Sequence[str]) -> list[QueryWord]:
    """Return the words of a query, for a vault whose notes are in `languages` (ISO 639-1 codes).

    Each word has its term in each language, and its term in notes of unknown language. Parts that mean little without
    their compound are left out: "1.0.21" does not search for 21, nor "C++" for C.
    """
    tongues = list(dict.fromkeys((*languages, "")))
    words: list[QueryWord] = []
    indivisible = -1
    joined = join_marked_words(text)
    for piece, position, start in _join_pieces(text if joined is None else joined.text, _ngrams):
        if piece.is_compound and (piece.text[-1] in "+#" or not any(c.isalpha() for c in piece.text[1:])):
            indivisible = start
        elif start == indivisible and len(piece.text) < 3:
            continue
        by_language = [_terms_of_piece(piece, language, searched_terms) for language in tongues]
        stems = [terms[0] for terms in by_language]
        variants = tuple(dict.fromkeys([*stems, *(term for terms in by_language for term in terms[1:])]))
        first, last = start + piece.start, start + piece.end
        if joined is not None:
            first, last = joined.written_range(first, last)
        words.append(QueryWord(text[first:last], variants, first, last, position, piece.is_compound))
    return words


def _join_pieces(text: str, split: Callable[[str, int], tuple[list[_Piece], int]]) -> Iterator[tuple[_Piece, int, int]]:
    """Yield each piece of `text` with its position in the text and the character offset of its chunk.

    `split` splits a run in an unspaced script into n-grams of a size; it returns pieces and the number of positions.
    """
    position = 0
    for match in _chunk_pattern(text).finditer(text):
        size = _GRAM_SIZES.get(match.lastgroup or "", 0)
        pieces, width = split(match.group(), size) if size else _split_chunk_into_pieces(match.group())
        for piece in pieces:
            yield piece, position + piece.position, match.start()
        position += width
