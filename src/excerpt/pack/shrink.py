"""What a hit's fragment may be cut down to: at the borders of blocks, and within a block of sentences, lines, words."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from excerpt.kinds import BlockKind, Scope
from excerpt.model import Block, Fragment, Hit, Span
from excerpt.pack.expand import Stretch
from excerpt.pack.inline import Paragraph
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.markdown import parse_note

_REMEMBERED = 64  # fragments: the best hits of the last queries
_FEWEST_WORDS = 4  # on each side of the match: less says nothing
_LOOKED_AT = 100_000  # characters on each side of the match, of a block without end

_WITHOUT_SENTENCES = (BlockKind.CODE, BlockKind.TABLE)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_WORD = re.compile(rf"[{WIDE_CHARACTERS}][^\w\s]*|[^\s{WIDE_CHARACTERS}]+")

_Piece = tuple[int, int]
"""Characters of a text, from the first to behind the last."""


def inner_stretches(hit: Hit) -> list[Stretch]:
    """Parts of the hit's fragment around the block with most of its match: that block, then more and more of those on
    both sides. None if the fragment is a single block."""
    fragment = hit.fragment
    blocks = _blocks(fragment.path, fragment.text)
    if len(blocks) < 2:
        return []
    offset = fragment.line_start - 2
    return [
        Stretch(
            path=fragment.path,
            first=fragment.ordinal,
            last=fragment.ordinal,
            line_start=blocks[first].line_start + offset,
            line_end=blocks[last].line_end + offset,
            scope=Scope.NONE,
        )
        for first, last in _growing(_best(blocks, hit), len(blocks))
    ]


def parts_of_block(hit: Hit) -> Iterator[tuple[Stretch, float]]:
    """Parts of the block with most of the hit's match, each with its share of the fragment and within the next one:
    words around the match, then lines, then sentences, more and more of them on both sides, short of all."""
    text = hit.fragment.text
    within, sentences = _most_matched(hit)
    levels = []
    for pieces, reach in ((sentences, 0), (_LINE, 0), (_WORD, _FEWEST_WORDS)):
        inside = _pieces(pieces, text, within)
        if not inside:
            break
        centre = _centre(inside, hit.spans)
        levels.append([(inside[a][0], inside[b][1]) for a, b in _growing(centre, len(inside), reach)])
        within = inside[centre]
    for start, end in (part for level in reversed(levels) for part in level):
        yield _stretch(hit.fragment, start, end), (end - start) / len(text)


@lru_cache(maxsize=_REMEMBERED)
def _blocks(path: str, text: str) -> tuple[Block, ...]:
    # The empty line keeps a fragment that begins with dashes from being read as frontmatter.
    return tuple(block for section in parse_note(path, "\n" + text).sections for block in section.blocks)


def _best(blocks: Sequence[Block], hit: Hit) -> int:
    """The block with most of the match, by its number."""
    matched = [hit.fragment.text.count("\n", 0, span.start) + 2 for span in hit.spans]
    holds = [sum(block.line_start <= line <= block.line_end for line in matched) for block in blocks]
    return holds.index(max(holds))


def _growing(centre: int, count: int, reach: int = 0) -> Iterator[tuple[int, int]]:
    """First and last of what is around `centre`, `reach` on each side, then more and more, short of all `count`."""
    while centre - reach > 0 or centre + reach < count - 1:
        yield max(centre - reach, 0), min(centre + reach, count - 1)
        reach = max(reach + 1, reach * 5 // 4)


# --- within a block ---------------------------------------------------------------------------------------------------


def _most_matched(hit: Hit) -> tuple[_Piece, Sequence[_Piece]]:
    """The block with most of the match, and its sentences; items of lists and quotes count as such."""
    text = hit.fragment.text
    blocks = _blocks(hit.fragment.path, text)
    if not blocks:
        return (0, len(text)), [(0, len(text))]
    block = blocks[_best(blocks, hit)]
    lines = [0, *(found.end() for found in re.finditer("\n", text)), len(text) + 1]
    start, end = lines[block.line_start - 2], lines[block.line_end - 1] - 1
    middle = next((span.start for span in hit.spans if start <= span.start < end), start)
    if middle - start > _LOOKED_AT:
        start = _behind_space(text, middle - _LOOKED_AT, middle)
    if end - middle > _LOOKED_AT:
        end = _behind_space(text, middle + _LOOKED_AT, end)
    if block.kind in _WITHOUT_SENTENCES:
        return (start, end), [(start, end)]
    ends = {start + stop for _, stop in Paragraph(text[start:end]).sentences()}
    ends |= {at for line in block.cuts if start < (at := lines[line - 2]) < end}
    borders = sorted(ends | {start, end})
    return (start, end), list(pairwise(borders))


def _behind_space(text: str, at: int, otherwise: int) -> int:
    found = re.compile(r"\s").search(text, at, otherwise)
    return found.end() if found else at


def _pieces(pieces: re.Pattern[str] | Sequence[_Piece], text: str, within: _Piece) -> Sequence[_Piece]:
    return [found.span() for found in pieces.finditer(text, *within)] if isinstance(pieces, re.Pattern) else pieces


def _centre(pieces: Sequence[_Piece], spans: Sequence[Span]) -> int:
    """The piece with most of the match; of several the one in the middle, without a match the first."""
    inside = [span.start for span in spans if pieces[0][0] <= span.start < pieces[-1][1]]
    held = Counter(bisect_right(pieces, span, key=_start) - 1 for span in inside)
    most = sorted(number for number in held if held[number] == max(held.values()))
    return most[(len(most) - 1) // 2] if most else 0


def _start(piece: _Piece) -> int:
    return piece[0]


def _stretch(fragment: Fragment, start: int, end: int) -> Stretch:
    """The lines in which a part of the fragment stands, and what is left out of the first and the last of them."""
    text = fragment.text
    while start and unicodedata.category(text[start]).startswith("M"):  # it belongs to the character before
        start -= 1
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    start += end - start - len(text[start:end].lstrip())
    end -= end - start - len(text[start:end].rstrip())
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    before, behind = text[begin:start], text[end : stop if stop >= 0 else len(text)]
    line_start = fragment.line_start + text.count("\n", 0, start)
    return Stretch(
        path=fragment.path,
        first=fragment.ordinal,
        last=fragment.ordinal,
        line_start=line_start,
        line_end=line_start + text.count("\n", start, end),
        scope=Scope.NONE,
        # An indent is no text that is left out.
        skipped=(len(before) if before.strip() else 0, len(behind) if behind.strip() else 0),
    )
