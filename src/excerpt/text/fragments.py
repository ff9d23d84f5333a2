"""Division of a note's sections into fragments, the passages that are indexed, ranked and shown.

Blocks of one section are joined until they are large enough to rank, except over lines that are no text. A block is
divided only if it alone is over the maximum size: at its list items, else at a blank line, else at any line. In a
transcript, only whole messages are joined, and no fragment of several is larger than that.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.kinds import Dialect
from excerpt.base.model import Block, Fragment, Note, Section
from excerpt.text.dialects import CHANGED_DIALECTS
from excerpt.text.languages import WIDE_RUN
from excerpt.text.transcripts import find_messages

FRAGMENTS_VERSION = 7
"""Version of what is read of a note and of its division into fragments; an index with an older one is rebuilt."""


def fragments_version(language: str, dialect: Dialect = Dialect.MARKDOWN) -> str:
    """Return the version of the rules that divide notes into fragments, with the vault's dialect and `language`.

    The version is stored with each note; a note with another version is divided again. `language` is the configured
    language, "" if there is none. The dialect is part of the version only if it changes how notes are read.
    """
    version = f"{FRAGMENTS_VERSION}@{dialect}" if dialect in CHANGED_DIALECTS else str(FRAGMENTS_VERSION)
    return f"{version}/{language}" if language else version


class FragmentLimits(Struct, frozen=True):
    """Limits on the size of fragments, in words as `count_words` counts them.

    No block is added to a fragment that has `target` words or more, or that would get more than `maximum` words. If the
    last fragment of a section has fewer than `min_last` words, it is joined to the fragment before it, unless the two
    together have more than `maximum` words.
    """

    target: int = 120
    maximum: int = 250
    min_last: int = 30


DEFAULT_LIMITS = FragmentLimits()

# A large block is divided at a blank line only if that is in the last part of the possible lines: after this share.
_MIN_CUT_SHARE = 0.5
_CHARACTERS_PER_WORD = 10


def count_words(text: str) -> int:
    """Return the size of a text in words.

    Two characters of a script without spaces count as a word. A text has at least one word per ten characters, so that
    tables of figures and encoded data have a size too.
    """
    spaced = max(len(text.split()), len(text) // _CHARACTERS_PER_WORD)
    return spaced if text.isascii() else spaced + sum(map(len, WIDE_RUN.findall(text))) // 2


def digest_of_text(text: str) -> str:
    """Return 16 hex digits that identify a fragment's text."""
    return hashlib.blake2b(_encode(text), digest_size=8).hexdigest()


def note_id(path: str) -> str:
    """Return 10 hex digits that identify a note's path."""
    return hashlib.blake2b(_encode(path), digest_size=5).hexdigest()


def fragments_of(
    note: Note, count_tokens: Callable[[str], int], limits: FragmentLimits = DEFAULT_LIMITS
) -> tuple[Fragment, ...]:
    """Divide a note into fragments and return them in the order of its lines; each block is in one fragment.

    `count_tokens` returns the number of tokens of a text. A note that has only headings is one fragment, from the first
    heading to the last, and an empty note one without text, so that searches can find them.
    """
    lines = note.lines
    messages = find_messages(lines)
    cut = [
        (section, *lines_of)
        for section in note.sections
        for lines_of in _fragment_ranges(section, lines, limits, messages)
    ]
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


def find_fragments_of_comments(note: Note, fragments: Sequence[Fragment]) -> list[int | None]:
    """Return, for each comment line of the note, the number of the fragment in which the note's author finds it.

    This is the fragment around the line, else the fragment of the comment's first line, else the nearest fragment, if
    possible in the section of the line, and rather one before the line than one after it. None if the note has no
    fragments.
    """
    starts = [fragment.line_start for fragment in fragments]
    section_starts = [section.line_start for section in note.sections]
    numbers: list[int | None] = []
    for comment in note.comments:
        before = bisect_right(starts, comment.line) - 1
        if before >= 0 and comment.line <= fragments[before].line_end:
            numbers.append(before)
        elif not comment.begins and numbers:
            numbers.append(numbers[-1])
        else:
            section = max(bisect_right(section_starts, comment.line) - 1, 0)
            nearest = [number for number in (before, before + 1) if 0 <= number < len(fragments)]
            nearest.sort(key=lambda number: fragments[number].section != section)
            numbers.append(nearest[0] if nearest else None)
    return numbers


def fragment_id(path: str, digest: str, occurrence: int) -> str:
    """Return the id of a fragment (12 hex digits), made from the note's path and the text's digest.

    `occurrence` is the number of earlier fragments of the note with the same text.
    """
    return hashlib.blake2b(_encode(f"{path}\0{digest}\0{occurrence}"), digest_size=6).hexdigest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _fragment_ranges(
    section: Section, lines: Sequence[str], limits: FragmentLimits, messages: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Return the first and last line of each fragment of a section; `messages` are the first lines of messages."""
    ranges: list[tuple[int, int]] = []
    sizes: list[int] = []
    open_size = 0  # of the range that blocks are still added to, 0 if none
    for blocks in _group_by_message(section.blocks, messages):
        is_message = _begins_message(blocks[0].line_start, messages)
        size_of_all = sum(_count_block_words(block, lines) for block in blocks) if is_message else 0
        if open_size + size_of_all > limits.target:
            open_size = 0
        for block in blocks:
            if open_size and not _are_blank_between(ranges[-1][1], block.line_start, lines):
                open_size = 0
            size = _count_block_words(block, lines)
            if size > limits.maximum:
                pieces = list(_split_block(block, lines, limits))
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
        if size_of_all > limits.target:
            open_size = 0
    if (
        len(ranges) > 1
        and sizes[-1] < limits.min_last
        and sizes[-2] + sizes[-1] <= limits.maximum
        and not _begins_message(ranges[-1][0], messages)
        and _are_blank_between(ranges[-2][1], ranges[-1][0], lines)
    ):
        _, last = ranges.pop()
        ranges[-1] = (ranges[-1][0], last)
    return ranges


def _group_by_message(blocks: Sequence[Block], messages: tuple[int, ...]) -> Iterator[list[Block]]:
    """Yield the blocks of each message, and those before the first one; a block is divided where a message begins."""
    group: list[Block] = []
    for block in blocks:
        inner = messages[bisect_left(messages, block.line_start) : bisect_right(messages, block.line_end)]
        starts = inner if inner[:1] == (block.line_start,) else (block.line_start, *inner)
        for first, after in zip(starts, (*starts[1:], block.line_end + 1), strict=True):
            if group and (first > block.line_start or starts is inner):
                yield group
                group = []
            group.append(block if len(starts) == 1 else _select_lines(block, first, after - 1))
    if group:
        yield group


def _select_lines(block: Block, first: int, last: int) -> Block:
    """Return the lines `first` to `last` of a block as a block."""
    cuts = block.cuts[bisect_right(block.cuts, first) : bisect_right(block.cuts, last)]
    return replace(block, line_start=first, line_end=last, cuts=cuts)


def _begins_message(line: int, messages: Sequence[int]) -> bool:
    number = bisect_left(messages, line)
    return number < len(messages) and messages[number] == line


def _count_block_words(block: Block, lines: Sequence[str]) -> int:
    return count_words("\n".join(lines[block.line_start - 1 : block.line_end]))


def _are_blank_between(last: int, first: int, lines: Sequence[str]) -> bool:
    """Return whether the lines between `last` and `first` are blank; keys of invalid frontmatter are not blank."""
    return not any(line.strip() for line in lines[last : first - 1])


def _split_block(block: Block, lines: Sequence[str], limits: FragmentLimits) -> Iterator[tuple[int, int, int]]:
    """Divide a block over the maximum size; yield (first line, last line, words) of each piece.

    A piece has no blank line at its beginning or end.
    """
    sizes = [count_words(lines[number - 1]) for number in range(block.line_start, block.line_end + 1)]
    cuts = set(block.cuts)
    first = block.line_start
    while first <= block.line_end:
        last = first
        size = sizes[first - block.line_start]
        while last < block.line_end and size + sizes[last + 1 - block.line_start] <= limits.maximum:
            last += 1
            size += sizes[last - block.line_start]
        if last < block.line_end:
            last = _last_line_before_cut(first, last, lines, cuts)
        start, end = _without_blank_edges(first, last, lines)
        if start <= end:
            yield start, end, sum(sizes[start - block.line_start : end + 1 - block.line_start])
        first = last + 1


def _last_line_before_cut(first: int, last: int, lines: Sequence[str], cuts: set[int]) -> int:
    """Return the line after which a block is divided, within `first`..`last`.

    It is the last line before one of `cuts` (the block's `cuts`), else the last blank line near `last`, else `last`.
    """
    for number in range(last, first - 1, -1):
        if number + 1 in cuts:
            return number
    for number in range(last, first + int((last - first) * _MIN_CUT_SHARE), -1):
        if not lines[number - 1].strip():
            return number
    return last


def _without_blank_edges(first: int, last: int, lines: Sequence[str]) -> tuple[int, int]:
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    return first, last
