"""Division of sections into fragments: the passages that are indexed, ranked and shown.

Blocks of one section are joined until they are large enough to rank. A block is cut only if it alone is over the
maximum: at its items, else at a blank line, else at any line.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from excerpt.model import Block, Fragment, Note, Section
from excerpt.text.words import WIDE_CHARACTERS

FRAGMENTS_VERSION = 1
"""Raised when the same note is divided otherwise than before: an index of another version is rebuilt."""


def version_of_cut(language: str) -> str:
    """Return the version stored with a note: that of the fragment rules, with the configured language ("" for none).

    A note stored with another version is divided again.
    """
    return f"{FRAGMENTS_VERSION}/{language}" if language else str(FRAGMENTS_VERSION)


@dataclass(frozen=True, slots=True)
class FragmentLimits:
    """Sizes of fragments in words, as `words_in` counts them.

    `target`: a fragment with so many is closed. `maximum`: no block is added that would exceed it. `min_last`: a last
    fragment of a section with fewer is joined to the one before, if both together stay within the maximum.
    """

    target: int = 120
    maximum: int = 250
    min_last: int = 30


LIMITS = FragmentLimits()

# A blank line in this last part of a piece is preferred as the place of a cut.
_NEAR_END = 0.5
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_CHARACTERS_PER_WORD = 10


def words_in(text: str) -> int:
    """Return the size of a text in words of any script.

    Two characters of a script without spaces count as a word, and at least every tenth character does, so that tables
    of figures and encoded data have a size too.
    """
    spaced = max(len(text.split()), len(text) // _CHARACTERS_PER_WORD)
    return spaced if text.isascii() else spaced + len(_WIDE.findall(text)) // 2


def digest_of_text(text: str) -> str:
    """Return 16 hex digits that identify a fragment's text."""
    return hashlib.blake2b(_bytes(text), digest_size=8).hexdigest()


def note_id(path: str) -> str:
    """Return 10 hex digits that identify a note's path."""
    return hashlib.blake2b(_bytes(path), digest_size=5).hexdigest()


def fragments_of(
    note: Note, count_tokens: Callable[[str], int], limits: FragmentLimits = LIMITS
) -> tuple[Fragment, ...]:
    """Return the fragments of a note in the order of its lines; every block is in exactly one.

    A note with only headings is one fragment, from the first heading to the last, so that it can be found.
    """
    lines = note.lines
    cut = [(section, *lines_of) for section in note.sections for lines_of in _ranges(section, lines, limits)]
    if not cut and len(note.sections) > 1:
        cut = [(note.sections[0], note.sections[1].line_start, note.sections[-1].line_end)]
    counts: Counter[str] = Counter()
    fragments: list[Fragment] = []
    for section, first, last in cut:
        text = "\n".join(lines[first - 1 : last])
        digest = digest_of_text(text)
        fragments.append(
            Fragment(
                id=fragment_id(note.path, digest, counts[digest]),
                path=note.path,
                title=note.title,
                heading_path=section.heading_path,
                ordinal=len(fragments),
                section=section.ordinal,
                line_start=first,
                line_end=last,
                text=text,
                tokens=count_tokens(text),
                digest=digest,
            )
        )
        counts[digest] += 1
    return tuple(fragments)


def fragment_id(path: str, digest: str, occurrence: int) -> str:
    """Return the id of a fragment from its note's path and its text's digest.

    `occurrence` counts equal passages of a note from 0.
    """
    return hashlib.blake2b(_bytes(f"{path}\0{digest}\0{occurrence}"), digest_size=6).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _ranges(section: Section, lines: Sequence[str], limits: FragmentLimits) -> list[tuple[int, int]]:
    """Return the first and last line of each fragment of a section."""
    ranges: list[tuple[int, int]] = []
    sizes: list[int] = []
    open_size = 0  # of the range that blocks are still added to, 0 if none
    for block in section.blocks:
        size = words_in("\n".join(lines[block.line_start - 1 : block.line_end]))
        if size > limits.maximum:
            pieces = list(_pieces(block, lines, limits))
            ranges += [(first, last) for first, last, _ in pieces]
            sizes += [size for _, _, size in pieces]
            open_size = 0
        elif open_size and open_size + size <= limits.maximum:
            ranges[-1] = (ranges[-1][0], block.line_end)
            open_size += size
            sizes[-1] = open_size
        else:
            ranges.append((block.line_start, block.line_end))
            open_size = max(size, 1)
            sizes.append(open_size)
        if open_size >= limits.target:
            open_size = 0
    if len(ranges) > 1 and sizes[-1] < limits.min_last and sizes[-2] + sizes[-1] <= limits.maximum:
        _, last = ranges.pop()
        ranges[-1] = (ranges[-1][0], last)
    return ranges


def _pieces(block: Block, lines: Sequence[str], limits: FragmentLimits) -> Iterator[tuple[int, int, int]]:
    """Yield first line, last line and words of the pieces of a block over the maximum, without blank edges."""
    sizes = [words_in(lines[number - 1]) for number in range(block.line_start, block.line_end + 1)]
    best = set(block.cuts)
    first = block.line_start
    while first <= block.line_end:
        last = first
        size = sizes[first - block.line_start]
        while last < block.line_end and size + sizes[last + 1 - block.line_start] <= limits.maximum:
            last += 1
            size += sizes[last - block.line_start]
        if last < block.line_end:
            last = _best_cut(first, last, lines, best)
        start, end = _without_blank_edges(first, last, lines)
        if start <= end:
            yield start, end, sum(sizes[start - block.line_start : end + 1 - block.line_start])
        first = last + 1


def _best_cut(first: int, last: int, lines: Sequence[str], best: set[int]) -> int:
    """Return the last line of a piece within `first`..`last`: before one of the block's cuts, or at a blank line."""
    for number in range(last, first - 1, -1):
        if number + 1 in best:
            return number
    for number in range(last, first + int((last - first) * _NEAR_END), -1):
        if not lines[number - 1].strip():
            return number
    return last


def _without_blank_edges(first: int, last: int, lines: Sequence[str]) -> tuple[int, int]:
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    return first, last
