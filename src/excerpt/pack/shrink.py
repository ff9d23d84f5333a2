"""What a hit's fragment may be cut down to, at the borders of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from excerpt.kinds import Scope
from excerpt.model import Block, Hit
from excerpt.pack.expand import Stretch
from excerpt.text.markdown import parse_note

_REMEMBERED = 64  # fragments: the best hits of the last queries


def inner_stretches(hit: Hit) -> list[Stretch]:
    """Parts of the hit's fragment around the block with most of its match: that block, then 1, 2, 4, … blocks more to
    both sides. None if the fragment is a single block."""
    fragment = hit.fragment
    blocks = _blocks(fragment.path, fragment.text)
    if len(blocks) < 2:
        return []
    matched = [fragment.text.count("\n", 0, span.start) + 2 for span in hit.spans]
    centre = max(range(len(blocks)), key=lambda number: (_holds(blocks[number], matched), -number))
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
        for first, last in _growing(centre, len(blocks))
    ]


@lru_cache(maxsize=_REMEMBERED)
def _blocks(path: str, text: str) -> tuple[Block, ...]:
    # The empty line keeps a fragment that begins with dashes from being read as frontmatter.
    return tuple(block for section in parse_note(path, "\n" + text).sections for block in section.blocks)


def _holds(block: Block, lines: Sequence[int]) -> int:
    return sum(block.line_start <= line <= block.line_end for line in lines)


def _growing(centre: int, count: int) -> Iterator[tuple[int, int]]:
    """First and last of 1, then at most 3, 5, 9, … around `centre`, short of all `count`."""
    reach = 0
    while centre - reach > 0 or centre + reach < count - 1:
        yield max(centre - reach, 0), min(centre + reach, count - 1)
        reach = reach * 2 or 1
