"""Parts of a fragment that is too large for a pack: its blocks, or lines around the matches."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec.structs import replace

from excerpt.base.kinds import BlockKind, Scope
from excerpt.base.model import Block, Fragment, Hit, Span
from excerpt.base.patterns import lazy_pattern
from excerpt.pack.expand import LineSpan
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.line_context import TABLE_RULE

_MAX_CACHED_FRAGMENTS = 64  # whose blocks stay parsed: the best hits of the last queries
_MIN_WORDS_PER_SIDE = 4  # words kept on each side of a match: fewer have no meaning
_MAX_SIDE_CHARACTERS = 100_000  # characters read on each side of a match: a block may be a whole file

_NONBLANK_LINE = lazy_pattern(r"[^\n]*\S[^\n]*")
_WORD_PATTERN = lazy_pattern(rf"[{WIDE_CHARACTERS}][^\w\s]*|[^\s{WIDE_CHARACTERS}]+")

_TextRange = tuple[int, int]
"""Start and end of a range of characters in a text; the end is exclusive."""


def find_block_span(hit: Hit) -> LineSpan | None:
    """Return the span of the block with most matches, for a fragment that does not fit; None if that is all of it."""
    fragment = hit.fragment
    blocks = _parse_blocks(fragment.path, fragment.text)
    if len(blocks) < 2:
        return None
    block = blocks[_find_best_block(blocks, hit)]
    return LineSpan(
        path=fragment.path,
        first_ordinal=fragment.ordinal,
        last_ordinal=fragment.ordinal,
        line_start=block.line_start + fragment.line_start - 2,
        line_end=block.line_end + fragment.line_start - 2,
        scope=Scope.NONE,
    )


def iterate_block_parts(hit: Hit, *, begins_in_table: bool = False) -> Iterator[LineSpan]:
    """Yield growing parts of the block with most matches, for a block that does not fit.

    The parts begin with a few words around the match and grow by words, then by lines, then by sentences. The parts of
    a table are words of a row, the row, the row below the table's header, and more rows below that. `begins_in_table`
    is set if the fragment begins at a later row of a table.
    """
    text = hit.fragment.text
    block, sentences, is_table = _find_densest_block(hit, begins_in_table=begins_in_table)
    within, levels = block, []
    for pieces, reach in ((sentences, 0), (_NONBLANK_LINE, 0), (_WORD_PATTERN, _MIN_WORDS_PER_SIDE)):
        inside = _split_into_pieces(pieces, text, within)
        if not inside:
            break
        if pieces is _NONBLANK_LINE and is_table and len(inside) > 1 and TABLE_RULE.match(text[slice(*inside[1])]):
            inside = [(inside[0][0], inside[1][1]), *inside[2:]]  # a table's rule is never without its header
        centre = _find_piece_with_most_matches(inside, hit.spans)
        levels.append([(inside[a][0], inside[b][1]) for a, b in _iterate_growing_ranges(centre, len(inside), reach)])
        within = inside[centre]
    for start, end in (part for level in reversed(levels) for part in level):
        line_span = _make_line_span(hit.fragment, start, end)
        is_row = is_table and line_span.line_start == line_span.line_end
        yield replace(line_span, without_table_header=is_row)
        if is_row and line_span.skipped_characters == (0, 0):
            yield line_span
    if is_table and "\n" not in text[slice(*block)]:
        yield replace(_make_line_span(hit.fragment, *block), without_table_header=True)


@lru_cache(maxsize=_MAX_CACHED_FRAGMENTS)
def _parse_blocks(path: str, text: str) -> tuple[Block, ...]:
    """Return the Markdown blocks of a fragment's text; lines count from 2."""
    from excerpt.text.markdown import parse_note  # not imported if every hit fits whole: it takes .05 s

    # The empty line prevents that a fragment that begins with dashes is parsed as frontmatter.
    return tuple(block for section in parse_note(path, "\n" + text).sections for block in section.blocks)


def _find_best_block(blocks: Sequence[Block], hit: Hit) -> int:
    """Return the index of the block in which most matches begin, the first of several."""
    matched = [hit.fragment.text.count("\n", 0, span.start) + 2 for span in hit.spans]
    match_counts = [sum(block.line_start <= line <= block.line_end for line in matched) for block in blocks]
    return match_counts.index(max(match_counts))


def _iterate_growing_ranges(centre: int, count: int, reach: int = 0) -> Iterator[tuple[int, int]]:
    """Yield growing ranges of indexes, as (first, last), around the index `centre` of `count` items.

    The first range has `reach` items on each side of `centre`. The range of all items is not yielded.
    """
    while centre - reach > 0 or centre + reach < count - 1:
        yield max(centre - reach, 0), min(centre + reach, count - 1)
        reach = max(reach + 1, reach * 5 // 4)


def _find_densest_block(hit: Hit, *, begins_in_table: bool) -> tuple[_TextRange, Sequence[_TextRange], bool]:
    """Return the characters of the block with most matches, of its sentences, and whether it is a table.

    List items and quotes count as sentences. A code block or a table has no sentences: the block itself is returned as
    one.
    """
    text = hit.fragment.text
    blocks = _parse_blocks(hit.fragment.path, text)
    if not blocks:
        return (0, len(text)), [(0, len(text))], begins_in_table
    block = blocks[_find_best_block(blocks, hit)]
    is_table = block.kind is BlockKind.TABLE or (begins_in_table and block is blocks[0])
    lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
    start, end = lines[block.line_start - 2], lines[block.line_end - 1] - 1
    middle = next((span.start for span in hit.spans if start <= span.start < end), start)
    if middle - start > _MAX_SIDE_CHARACTERS:
        start = _find_offset_after_space(text, middle - _MAX_SIDE_CHARACTERS, middle)
    if end - middle > _MAX_SIDE_CHARACTERS:
        end = _find_offset_after_space(text, middle + _MAX_SIDE_CHARACTERS, end)
    if is_table or block.kind is BlockKind.CODE:
        return (start, end), [(start, end)], is_table
    from excerpt.text.paragraphs import Paragraph

    ends = {start + stop for _, stop in Paragraph(text[start:end]).sentences()}
    ends |= {at for line in block.cuts if start < (at := lines[line - 2]) < end}
    borders = sorted(ends | {start, end})
    return (start, end), list(pairwise(borders)), False


def _find_offset_after_space(text: str, offset: int, limit: int) -> int:
    """Return the offset after the first white space at or after `offset`, or `offset` if `limit` comes first."""
    match = re.compile(r"\s").search(text, offset, limit)
    return match.end() if match else offset


def _split_into_pieces(
    pieces: re.Pattern[str] | Sequence[_TextRange], text: str, within: _TextRange
) -> Sequence[_TextRange]:
    """Return the matches of a pattern in a range of the text, or `pieces` itself if they are given as ranges."""
    return pieces if isinstance(pieces, Sequence) else [match.span() for match in pieces.finditer(text, *within)]


def _find_piece_with_most_matches(pieces: Sequence[_TextRange], spans: Sequence[Span]) -> int:
    """Return the index of the piece in which most of the matched `spans` begin.

    If several pieces have equally many, the middle one is chosen; without any match, the result is 0.
    """
    inside = [span.start for span in spans if pieces[0][0] <= span.start < pieces[-1][1]]
    counts = Counter(bisect_right(pieces, span, key=_get_range_start) - 1 for span in inside)
    fullest = sorted(number for number in counts if counts[number] == max(counts.values()))
    return fullest[(len(fullest) - 1) // 2] if fullest else 0


def _get_range_start(piece: _TextRange) -> int:
    return piece[0]


def _make_line_span(fragment: Fragment, start: int, end: int) -> LineSpan:
    """Return the span of the characters `start` to `end` of the fragment's text, without white space at its ends."""
    text = fragment.text
    while start and unicodedata.category(text[start]).startswith("M"):  # a mark belongs to the character before it
        start -= 1
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    start += end - start - len(text[start:end].lstrip())
    end -= end - start - len(text[start:end].rstrip())
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    before, after = text[begin:start], text[end : stop if stop >= 0 else len(text)]
    line_start = fragment.line_start + text.count("\n", 0, start)
    return LineSpan(
        path=fragment.path,
        first_ordinal=fragment.ordinal,
        last_ordinal=fragment.ordinal,
        line_start=line_start,
        line_end=line_start + text.count("\n", start, end),
        scope=Scope.NONE,
        # An indent does not count as text that is left out.
        skipped_characters=(len(before) if before.strip() else 0, len(after) if after.strip() else 0),
    )
