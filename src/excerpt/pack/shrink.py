"""What a candidate may be cut down to, at the borders of fragments, and inside the best one at those of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from excerpt.model import Block, Hit, Scope
from excerpt.pack.expand import Stretch, spanning
from excerpt.pack.merge import Candidate
from excerpt.pack.source import OpenNote
from excerpt.text.markdown import parse_note


def stretches(candidate: Candidate, note: OpenNote) -> list[Stretch]:
    """The whole stretch, then smaller ones that all hold the best hit: those that span the best two, three, … hits,
    and these grown by 1, 2, 4, … fragments to both sides, so that their number stays small in a long note."""
    whole = candidate.stretch
    first = last = candidate.best.fragment.ordinal
    spans = [(first, last)]
    for each in candidate.wanted[1:]:
        first, last = min(first, each.hit.fragment.ordinal), max(last, each.hit.fragment.ordinal)
        spans.append((first, last))
    reach = 1
    while first - reach >= whole.first or last + reach <= whole.last:
        spans.append((max(first - reach, whole.first), min(last + reach, whole.last)))
        reach *= 2
    smaller = []
    for ordinals in dict.fromkeys(spans):
        scope = Scope.NEIGHBORS if ordinals[0] < ordinals[1] else Scope.NONE
        stretch = spanning(note.fragments(*ordinals), scope)
        if (stretch.line_start, stretch.line_end) != (whole.line_start, whole.line_end):
            smaller.append(stretch)
    return [whole, *reversed(smaller)]


def inner_stretches(hit: Hit) -> list[Stretch]:
    """Parts of the hit's fragment around the block with most of its match: that block, then 1, 2, 4, … blocks more to
    both sides. None if the fragment is a single block."""
    fragment = hit.fragment
    # The empty line keeps a fragment that begins with dashes from being read as frontmatter.
    blocks = [block for section in parse_note(fragment.path, "\n" + fragment.text).sections for block in section.blocks]
    if len(blocks) < 2:
        return []
    matched = [fragment.text.count("\n", 0, span.start) + 2 for span in hit.spans]
    centre = max(range(len(blocks)), key=lambda number: (_holds(blocks[number], matched), -number))
    base = spanning([fragment], Scope.NONE)
    offset = fragment.line_start - 2
    return [
        replace(base, line_start=blocks[first].line_start + offset, line_end=blocks[last].line_end + offset)
        for first, last in _growing(centre, len(blocks))
    ]


def _holds(block: Block, lines: Sequence[int]) -> int:
    return sum(block.line_start <= line <= block.line_end for line in lines)


def _growing(centre: int, count: int) -> Iterator[tuple[int, int]]:
    """First and last of 1, then at most 3, 5, 9, … around `centre`, short of all `count`."""
    reach = 0
    while centre - reach > 0 or centre + reach < count - 1:
        yield max(centre - reach, 0), min(centre + reach, count - 1)
        reach = reach * 2 or 1
