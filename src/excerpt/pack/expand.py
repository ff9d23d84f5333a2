"""Extension of a hit's fragment to the span of its scope; merging, cutting and deduplication of spans."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from excerpt.kinds import BlockKind, Scope
from excerpt.locations import location_of_lines
from excerpt.model import Block, EntryHit, Fragment, Hit, Pack, Span
from excerpt.pack.source import OpenNote, Range
from excerpt.text.fragments import digest_of_text, note_id
from excerpt.text.words import WIDE_CHARACTERS, fold

# --- expand -----------------------------------------------------------------------------------------------------------
# From a hit's fragment to the span of its note that the scope requests.


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines of one note that contain the fragments `first`..`last` (ordinals), or a part of one.

    A section or a note may have blank lines at its ends, which are not in a pack. `section` is the ordinal of the
    section that the span equals, if any. `skipped` are the numbers of characters left out at the beginning of the first
    line and at the end of the last.
    """

    path: str
    first: int
    last: int
    line_start: int
    line_end: int
    scope: Scope
    section: int | None = None
    skipped: tuple[int, int] = (0, 0)


def reading(fragment: Fragment, scope: Scope, neighbors: int) -> Range:
    """Return the range of the fragment's note that `expand` will read."""
    if scope in (Scope.SECTION, Scope.NOTE):
        return fragment.path, 0, None
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    return fragment.path, max(fragment.ordinal - reach, 0), fragment.ordinal + reach


def expand(fragment: Fragment, note: OpenNote, scope: Scope, neighbors: int, dropped: Collection[str] = ()) -> LineSpan:
    """Return the range around `fragment` for a scope.

    That is the fragment itself, `neighbors` fragments on each side, its innermost section with subsections and heading,
    or the whole note below its frontmatter. In a note without headings, neighbours replace the section. The range ends
    before a fragment that is `dropped`.
    """
    line_span = _expand_scope(fragment, note, scope, neighbors)
    if not dropped:
        return line_span
    first = last = fragment.ordinal
    ids = {part.ordinal: part.id for part in note.parts(line_span.first, line_span.last)}
    while first > line_span.first and ids[first - 1] not in dropped:
        first -= 1
    while last < line_span.last and ids[last + 1] not in dropped:
        last += 1
    if (first, last) == (line_span.first, line_span.last):
        return line_span
    return spanning(note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def _expand_scope(fragment: Fragment, note: OpenNote, scope: Scope, neighbors: int) -> LineSpan:
    if scope is Scope.SECTION and not any(section.level for section in note.sections):
        scope = Scope.NEIGHBORS
    if scope is Scope.NOTE:
        last = note.sections[-1]  # a heading's section reaches the end; text before any heading may end sooner
        line_end = last.line_end if last.level else len(note.lines)
        return _lines(note, note.sections[0].line_start, line_end, scope)
    if scope is Scope.SECTION:
        section = next(section for section in note.sections if section.ordinal == fragment.section)
        if section.line_start <= fragment.line_start and fragment.line_end <= section.line_end:
            return _lines(note, section.line_start, section.line_end, scope, section.ordinal)
        scope = Scope.NEIGHBORS  # a note of headings alone: they are one fragment, across sections
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    return spanning(note, fragment.ordinal - reach, fragment.ordinal + reach, scope)


def spanning(note: OpenNote, first: int, last: int, scope: Scope) -> LineSpan:
    """Return the existing fragments of these ordinals, and the lines between them."""
    parts = note.parts(max(first, 0), last)
    head, tail = parts[0], parts[-1]
    return LineSpan(note.path, head.ordinal, tail.ordinal, head.line_start, tail.line_end, scope)


def _lines(note: OpenNote, line_start: int, line_end: int, scope: Scope, section: int | None = None) -> LineSpan:
    inside = note.parts_in(line_start, line_end)
    return LineSpan(note.path, inside[0].ordinal, inside[-1].ordinal, line_start, line_end, scope, section)


# --- merge ------------------------------------------------------------------------------------------------------------
# Overlapping or adjacent spans become one.


@dataclass(frozen=True, slots=True)
class HitSpan:
    """A hit, its requested range and its value; `is_primary` if it goes in before any context."""

    hit: Hit
    line_span: LineSpan
    value: float
    is_primary: bool

    def alone(self, note: OpenNote) -> HitSpan:
        """Return the same hit without context."""
        own = self.hit.fragment.ordinal
        return replace(self, line_span=spanning(note, own, own, Scope.NONE))

    def within(self, line_span: LineSpan) -> bool:
        return line_span.first <= self.hit.fragment.ordinal <= line_span.last


@dataclass(frozen=True, slots=True)
class Candidate:
    """A range that may become a pack, and the hits whose ranges it merges, best first."""

    line_span: LineSpan
    hit_spans: tuple[HitSpan, ...]

    @property
    def best(self) -> Hit:
        return self.hit_spans[0].hit


def merge(hit_spans: Sequence[HitSpan]) -> list[Candidate]:
    """Merge ranges of a note that share a fragment or are adjacent into one candidate each.

    `hit_spans` is best first, and so is the result, by each candidate's best hit. No fragment is in two candidates.
    """
    by_start = sorted(enumerate(hit_spans), key=lambda item: (item[1].line_span.path, item[1].line_span.first, item[0]))
    groups: list[tuple[LineSpan, list[int]]] = []
    for rank, each in by_start:
        if groups and _meet(groups[-1][0], each.line_span):
            whole, ranks = groups.pop()
            groups.append((_union(whole, each.line_span), [*ranks, rank]))
        else:
            groups.append((each.line_span, [rank]))
    groups.sort(key=lambda group: min(group[1]))
    return [Candidate(line_span, tuple(hit_spans[rank] for rank in sorted(ranks))) for line_span, ranks in groups]


def _meet(before: LineSpan, after: LineSpan) -> bool:
    return before.path == after.path and after.first <= before.last + 1


def _union(first: LineSpan, second: LineSpan) -> LineSpan:
    """Return the range from one to the other; a section if one range is a section that contains the other."""
    lines = min(first.line_start, second.line_start), max(first.line_end, second.line_end)
    for outer in (first, second):
        if (outer.line_start, outer.line_end) == lines:
            return outer
    return replace(
        first,
        first=min(first.first, second.first),
        last=max(first.last, second.last),
        line_start=lines[0],
        line_end=lines[1],
        section=None,
    )


# --- packs ------------------------------------------------------------------------------------------------------------
# From lines of a note to a pack.

_SOME_DAY = "2000-01-01"  # a placeholder with the length of any date


def draft(candidate: Candidate, note: OpenNote) -> Pack:
    """Return the pack of a whole candidate with the text of the best hit alone, to measure its frame."""
    fragment = candidate.best.fragment
    is_cut = candidate.line_span.scope in _WHOLE
    return _pack(
        candidate.line_span,
        candidate.hit_spans,
        note,
        text=fragment.text,
        digest=fragment.digest,
        modified=_SOME_DAY,
        cut=(is_cut, is_cut),
    )


def pack_of(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: OpenNote) -> Pack:
    """Return the pack of a range, without blank lines at its ends, with the hits in it, best first.

    Its tokens are not counted yet.
    """
    first, last = line_span.line_start, line_span.line_end
    text = note.text(first, last)
    lines = text[line_span.skipped[0] : len(text) - line_span.skipped[1]].split("\n")
    while not lines[0].strip():
        del lines[0]
        first += 1
    while not lines[-1].strip():
        del lines[-1]
        last -= 1
    text = "\n".join(lines)
    trimmed = replace(line_span, line_start=first, line_end=last)
    cut = _cut_above(trimmed, hit_spans, note), _cut_below(trimmed, hit_spans, note)
    return _pack(trimmed, hit_spans, note, text=text, digest=digest_of_text(text), modified=note.modified, cut=cut)


_WHOLE = (Scope.SECTION, Scope.NOTE)


def _cut_above(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: OpenNote) -> bool:
    """Return whether the fragment, section or note continues above but did not fit.

    Missing neighbours are not a cut.
    """
    missing = any(each.line_span.first < line_span.first for each in hit_spans if each.line_span.scope in _WHOLE)
    own = note.parts(line_span.first, line_span.first)[0]
    return missing or line_span.line_start > own.line_start or line_span.skipped[0] > 0


def _cut_below(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: OpenNote) -> bool:
    missing = any(each.line_span.last > line_span.last for each in hit_spans if each.line_span.scope in _WHOLE)
    own = note.parts(line_span.last, line_span.last)[0]
    return missing or line_span.line_end < own.line_end or line_span.skipped[1] > 0


def _pack(
    line_span: LineSpan,
    hit_spans: Sequence[HitSpan],
    note: OpenNote,
    *,
    text: str,
    digest: str,
    modified: str,
    cut: tuple[bool, bool],
) -> Pack:
    hit = hit_spans[0].hit
    fragment = hit.fragment
    heading_path = fragment.heading_path
    if line_span.scope is Scope.NOTE:
        heading_path = ()
    elif line_span.section is not None:
        heading_path = next(each.heading_path for each in note.sections if each.ordinal == line_span.section)
    span = f"o:{line_span.first}-{line_span.last}" if line_span.section is None else f"s:{line_span.section}"
    return Pack(
        id=f"{note_id(note.path)}:{span}",
        path=note.path,
        title=fragment.title,
        heading_path=heading_path,
        line_start=line_span.line_start,
        line_end=line_span.line_end,
        scope=line_span.scope,
        entry=EntryHit(fragment.id, fragment.ordinal, hit.score, fragment.heading_path),
        fragment_ids=tuple(part.id for part in note.parts(line_span.first, line_span.last)),
        text=text,
        tokens=0,
        digest=digest,
        cut_above=cut[0],
        cut_below=cut[1],
        modified=modified,
        kind=fragment.kind,
        place=location_of_lines(note.sections, line_span.line_start, line_span.line_end) if fragment.place else "",
    )


_CACHED_BLOCKS = 64  # fragments: the best hits of the last queries


# --- shrink -----------------------------------------------------------------------------------------------------------
# Parts of a hit's fragment: cut at the borders of blocks, and within a block at sentences, lines or words.

_FEWEST_WORDS = 4  # on each side of the match: fewer have no meaning
_MAX_READ = 100_000  # characters on each side of the match, of a block without end

_WITHOUT_SENTENCES = (BlockKind.CODE, BlockKind.TABLE)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_WORD = re.compile(rf"[{WIDE_CHARACTERS}][^\w\s]*|[^\s{WIDE_CHARACTERS}]+")

_Piece = tuple[int, int]
"""A range of characters of a text; the end is exclusive."""


def inner_spans(hit: Hit) -> list[LineSpan]:
    """Return growing parts of the hit's fragment: the block with most of its match, then with blocks around it.

    A fragment of a single block has none.
    """
    fragment = hit.fragment
    blocks = _blocks(fragment.path, fragment.text)
    if len(blocks) < 2:
        return []
    offset = fragment.line_start - 2
    return [
        LineSpan(
            path=fragment.path,
            first=fragment.ordinal,
            last=fragment.ordinal,
            line_start=blocks[first].line_start + offset,
            line_end=blocks[last].line_end + offset,
            scope=Scope.NONE,
        )
        for first, last in _growing(_best(blocks, hit), len(blocks))
    ]


def parts_of_block(hit: Hit) -> Iterator[tuple[LineSpan, float]]:
    """Yield growing parts of the block with most of the hit's match, each with its share of the fragment.

    They are words around the match, then lines, then sentences, with more and more of them on both sides.
    """
    text = hit.fragment.text
    within, sentences = _densest_block(hit)
    levels = []
    for pieces, reach in ((sentences, 0), (_LINE, 0), (_WORD, _FEWEST_WORDS)):
        inside = _pieces(pieces, text, within)
        if not inside:
            break
        centre = _centre(inside, hit.spans)
        levels.append([(inside[a][0], inside[b][1]) for a, b in _growing(centre, len(inside), reach)])
        within = inside[centre]
    for start, end in (part for level in reversed(levels) for part in level):
        yield _line_span(hit.fragment, start, end), (end - start) / len(text)


@lru_cache(maxsize=_CACHED_BLOCKS)
def _blocks(path: str, text: str) -> tuple[Block, ...]:
    from excerpt.text.markdown import parse_note  # not imported if every hit fits whole: it takes .05 s

    # The empty line prevents that a fragment that begins with dashes is parsed as frontmatter.
    return tuple(block for section in parse_note(path, "\n" + text).sections for block in section.blocks)


def _best(blocks: Sequence[Block], hit: Hit) -> int:
    """Return the number of the block with most of the match."""
    matched = [hit.fragment.text.count("\n", 0, span.start) + 2 for span in hit.spans]
    match_counts = [sum(block.line_start <= line <= block.line_end for line in matched) for block in blocks]
    return match_counts.index(max(match_counts))


def _growing(centre: int, count: int, reach: int = 0) -> Iterator[tuple[int, int]]:
    """Yield growing ranges (first and last) around `centre`, at first `reach` on each side, but never all `count`."""
    while centre - reach > 0 or centre + reach < count - 1:
        yield max(centre - reach, 0), min(centre + reach, count - 1)
        reach = max(reach + 1, reach * 5 // 4)


# --- within a block ---------------------------------------------------------------------------------------------------


def _densest_block(hit: Hit) -> tuple[_Piece, Sequence[_Piece]]:
    """Return the block with most of the match, and its sentences, including items of lists and quotes."""
    text = hit.fragment.text
    blocks = _blocks(hit.fragment.path, text)
    if not blocks:
        return (0, len(text)), [(0, len(text))]
    block = blocks[_best(blocks, hit)]
    lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text) + 1]
    start, end = lines[block.line_start - 2], lines[block.line_end - 1] - 1
    middle = next((span.start for span in hit.spans if start <= span.start < end), start)
    if middle - start > _MAX_READ:
        start = _after_space(text, middle - _MAX_READ, middle)
    if end - middle > _MAX_READ:
        end = _after_space(text, middle + _MAX_READ, end)
    if block.kind in _WITHOUT_SENTENCES:
        return (start, end), [(start, end)]
    from excerpt.text.paragraphs import Paragraph

    ends = {start + stop for _, stop in Paragraph(text[start:end]).sentences()}
    ends |= {at for line in block.cuts if start < (at := lines[line - 2]) < end}
    borders = sorted(ends | {start, end})
    return (start, end), list(pairwise(borders))


def _after_space(text: str, offset: int, limit: int) -> int:
    match = re.compile(r"\s").search(text, offset, limit)
    return match.end() if match else offset


def _pieces(pieces: re.Pattern[str] | Sequence[_Piece], text: str, within: _Piece) -> Sequence[_Piece]:
    return [match.span() for match in pieces.finditer(text, *within)] if isinstance(pieces, re.Pattern) else pieces


def _centre(pieces: Sequence[_Piece], spans: Sequence[Span]) -> int:
    """Return the index of the piece with most of the match.

    That is the middle one of several equal ones, and the first one without a match.
    """
    inside = [span.start for span in spans if pieces[0][0] <= span.start < pieces[-1][1]]
    counts = Counter(bisect_right(pieces, span, key=_start) - 1 for span in inside)
    fullest = sorted(number for number in counts if counts[number] == max(counts.values()))
    return fullest[(len(fullest) - 1) // 2] if fullest else 0


def _start(piece: _Piece) -> int:
    return piece[0]


def _line_span(fragment: Fragment, start: int, end: int) -> LineSpan:
    """Return the lines that contain a part of the fragment, and the characters left out of the first and the last."""
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
        first=fragment.ordinal,
        last=fragment.ordinal,
        line_start=line_start,
        line_end=line_start + text.count("\n", start, end),
        scope=Scope.NONE,
        # An indent does not count as text that is left out.
        skipped=(len(before) if before.strip() else 0, len(after) if after.strip() else 0),
    )


# --- duplicates -------------------------------------------------------------------------------------------------------
# Texts that repeat another text.

DuplicateRule = Callable[[Fragment, Iterable[Fragment]], Fragment | None]
"""A function that returns which of the fragments of better hits makes another one redundant, if any.

Identical texts are left out before any rule is called.
"""

_RUN = 4
"""Length of the compared runs of words and special characters."""
_MIN_WORDS = 20
"""Least number of words of a text that is compared: a shorter one says little without its heading and costs little."""
_PIECES = re.compile(r"\w+|[^\w\s]")
_LONG = 6
"""Least number of letters of a word that few other texts have."""
_CACHED_TEXTS = 4096

Run = tuple[str, ...]


def near_copy(fragment: Fragment, fragments: Iterable[Fragment]) -> Fragment | None:
    """Return the first of `fragments` that has every run of words and signs of `fragment`, None if there is none.

    It is the same text except for case and white space, or contains it. Texts that share nine tenths of their runs are
    often reference pages that differ in a name, a number or an operator (figures in docs/design/packs.md).
    """
    own = _read(fragment.text)
    if not own.rare_words:
        return None
    longest = own.rare_words[0]
    for other in fragments:
        text = _read(other.text)
        if longest in text.folded and _has_all(text, own):
            return other
    return None


@dataclass(frozen=True, slots=True)
class _Text:
    """A text for comparison: folded, with its longest words.

    These are searched first, as strings: most texts lack one of them, and then neither text has to be tokenized.
    """

    folded: str
    rare_words: tuple[str, ...]


@lru_cache(maxsize=_CACHED_TEXTS)
def _read(text: str) -> _Text:
    """Return a text prepared for comparison; one that is too short has no long words."""
    folded = fold(text)
    words = folded.split()
    if len(words) < _MIN_WORDS:
        return _Text(folded, ())
    rare_words = {word for word in words if len(word) >= _LONG and word.isalnum()} or _PIECES.findall(folded)
    return _Text(folded, tuple(sorted(rare_words, key=len, reverse=True)))


def _has_all(other: _Text, own: _Text) -> bool:
    """Return whether the other text, if long enough to compare, has every run of `own`."""
    if not other.rare_words or not all(word in other.folded for word in own.rare_words):
        return False
    runs = _runs(own.folded)
    return bool(runs) and runs <= _runs(other.folded)


@lru_cache(maxsize=_CACHED_TEXTS)
def _runs(folded: str) -> frozenset[Run]:
    pieces = _PIECES.findall(folded)
    return frozenset(zip(*(pieces[start:] for start in range(_RUN)), strict=False))
