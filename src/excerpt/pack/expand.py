"""Spans of lines around hits: extension of a fragment to its scope, and merging, cutting and deduplication."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.kinds import BlockKind, Scope
from excerpt.base.locations import location_of_lines
from excerpt.base.model import Block, EntryHit, Fragment, Hit, Pack, Span, TableHeader
from excerpt.pack.source import CachedNote, FragmentRange
from excerpt.text.fragments import digest_of_text, note_id
from excerpt.text.words import WIDE_CHARACTERS, fold

# --- expand -----------------------------------------------------------------------------------------------------------
# From a hit's fragment to the lines of its note that the scope asks for.


class LineSpan(Struct, frozen=True):
    """A range of lines of one note, with the ordinals of the fragments in it; it may be a part of one fragment.

    Lines count from 1, both ends included. A section or a note may have blank lines at its ends, which a pack leaves
    out. `section_ordinal` is set if the span is exactly this section. `skipped_characters` are the numbers of
    characters left out at the beginning of the first line and at the end of the last line. `without_table_header` is
    set for a row of a table, or a part of it, that is packed alone.
    """

    path: str
    first_ordinal: int
    last_ordinal: int
    line_start: int
    line_end: int
    scope: Scope
    section_ordinal: int | None = None
    skipped_characters: tuple[int, int] = (0, 0)
    without_table_header: bool = False


def find_expansion_range(fragment: Fragment, scope: Scope, neighbors: int) -> FragmentRange:
    """Return the range of fragments that `expand_fragment` will read for the same arguments."""
    if scope in (Scope.SECTION, Scope.NOTE):
        return fragment.path, 0, None
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    return fragment.path, max(fragment.ordinal - reach, 0), fragment.ordinal + reach


def expand_fragment(
    fragment: Fragment, note: CachedNote, scope: Scope, neighbors: int, dropped_ids: Collection[str] = ()
) -> LineSpan:
    """Return the lines around `fragment` that a scope asks for.

    Scope `none` is the fragment alone, `neighbors` adds that number of fragments on each side, `section` is the
    innermost section with its heading and subsections, `note` the whole note below its frontmatter. In a note without
    headings, `section` is treated as `neighbors`. The span ends before a fragment whose id is in `dropped_ids`.
    """
    line_span = _expand_to_whole_scope(fragment, note, scope, neighbors)
    if not dropped_ids:
        return line_span
    first = last = fragment.ordinal
    ids = {part.ordinal: part.id for part in note.parts(line_span.first_ordinal, line_span.last_ordinal)}
    while first > line_span.first_ordinal and ids[first - 1] not in dropped_ids:
        first -= 1
    while last < line_span.last_ordinal and ids[last + 1] not in dropped_ids:
        last += 1
    if (first, last) == (line_span.first_ordinal, line_span.last_ordinal):
        return line_span
    return build_ordinal_span(note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def _expand_to_whole_scope(fragment: Fragment, note: CachedNote, scope: Scope, neighbors: int) -> LineSpan:
    """Return the lines that a scope asks for, as `expand_fragment`, but with dropped fragments."""
    if scope is Scope.SECTION and not any(section.level for section in note.sections):
        scope = Scope.NEIGHBORS
    if scope is Scope.NOTE:
        last = note.sections[-1]  # a heading's section reaches the end; text before any heading may end sooner
        line_end = last.line_end if last.level else len(note.lines)
        return _build_section_span(note, note.sections[0].line_start, line_end, scope)
    if scope is Scope.SECTION:
        section = next(section for section in note.sections if section.ordinal == fragment.section)
        if section.line_start <= fragment.line_start and fragment.line_end <= section.line_end:
            return _build_section_span(note, section.line_start, section.line_end, scope, section.ordinal)
        scope = Scope.NEIGHBORS  # a note of headings alone: they are one fragment, across sections
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    return build_ordinal_span(note, fragment.ordinal - reach, fragment.ordinal + reach, scope)


def build_ordinal_span(note: CachedNote, first: int, last: int, scope: Scope) -> LineSpan:
    """Return the lines of the fragments with ordinals `first` to `last`; ordinals that do not exist are ignored."""
    parts = note.parts(max(first, 0), last)
    head, tail = parts[0], parts[-1]
    return LineSpan(note.path, head.ordinal, tail.ordinal, head.line_start, tail.line_end, scope)


def _build_section_span(
    note: CachedNote, line_start: int, line_end: int, scope: Scope, section: int | None = None
) -> LineSpan:
    """Return the span of these lines, with the fragments that are completely in it; `section` is an ordinal."""
    inside = note.parts_in(line_start, line_end)
    return LineSpan(note.path, inside[0].ordinal, inside[-1].ordinal, line_start, line_end, scope, section)


# --- merge ------------------------------------------------------------------------------------------------------------
# Overlapping or adjacent spans become one.


class HitSpan(Struct, frozen=True):
    """A hit, the lines that it should be extended to, and its value for the choice of packs.

    A primary hit (one of the most valuable) is packed before any context.
    """

    hit: Hit
    line_span: LineSpan
    value: float
    is_primary: bool

    def without_context(self, note: CachedNote) -> HitSpan:
        """Return the same hit with the lines of its own fragment only."""
        own = self.hit.fragment.ordinal
        return replace(self, line_span=build_ordinal_span(note, own, own, Scope.NONE))

    def is_in_span(self, line_span: LineSpan) -> bool:
        """Return whether the hit's own fragment is in `line_span`."""
        return line_span.first_ordinal <= self.hit.fragment.ordinal <= line_span.last_ordinal


class PackCandidate(Struct, frozen=True):
    """A passage that may become one or more packs, and the hits whose spans it merges, best first."""

    line_span: LineSpan
    hit_spans: tuple[HitSpan, ...]

    @property
    def best_hit(self) -> Hit:
        """The best of the merged hits."""
        return self.hit_spans[0].hit


def merge_hit_spans(hit_spans: Sequence[HitSpan]) -> list[PackCandidate]:
    """Merge the spans of a note that overlap or are adjacent, and return one candidate for each merged span.

    `hit_spans` are best first; the candidates are ordered by their best hits. No fragment is in two candidates.
    """
    by_start = sorted(
        enumerate(hit_spans), key=lambda item: (item[1].line_span.path, item[1].line_span.first_ordinal, item[0])
    )
    groups: list[tuple[LineSpan, list[int]]] = []
    for rank, each in by_start:
        if groups and _overlap_or_touch(groups[-1][0], each.line_span):
            whole, ranks = groups.pop()
            groups.append((_unite_spans(whole, each.line_span), [*ranks, rank]))
        else:
            groups.append((each.line_span, [rank]))
    groups.sort(key=lambda group: min(group[1]))
    return [PackCandidate(line_span, tuple(hit_spans[rank] for rank in sorted(ranks))) for line_span, ranks in groups]


def _overlap_or_touch(before: LineSpan, after: LineSpan) -> bool:
    """Return whether two spans of notes, ordered by first ordinal, overlap or are adjacent."""
    return before.path == after.path and after.first_ordinal <= before.last_ordinal + 1


def _unite_spans(first: LineSpan, second: LineSpan) -> LineSpan:
    """Return the lines from the first of two spans to the last; the larger span itself if it contains the other."""
    lines = min(first.line_start, second.line_start), max(first.line_end, second.line_end)
    for outer in (first, second):
        if (outer.line_start, outer.line_end) == lines:
            return outer
    return replace(
        first,
        first_ordinal=min(first.first_ordinal, second.first_ordinal),
        last_ordinal=max(first.last_ordinal, second.last_ordinal),
        line_start=lines[0],
        line_end=lines[1],
        section_ordinal=None,
    )


# --- packs ------------------------------------------------------------------------------------------------------------
# Build a pack from lines of a note.

_PLACEHOLDER_DATE = "2000-01-01"  # as long as any date


def build_frame_sample(candidate: PackCandidate, note: CachedNote) -> Pack:
    """Return a sample pack for a candidate, to measure what the renderer adds around the text (the frame).

    It has the candidate's headings and lines, but only the text of the best hit, and a placeholder as its date.
    """
    fragment = candidate.best_hit.fragment
    is_cut = candidate.line_span.scope in _WHOLE_SCOPES
    return _make_pack(
        candidate.line_span,
        candidate.hit_spans,
        note,
        text=fragment.text,
        digest=fragment.digest,
        modified=_PLACEHOLDER_DATE,
        cut=(is_cut, is_cut),
    )


def build_span_pack(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: CachedNote) -> Pack:
    """Return the pack of a span, without blank lines at its ends; its `tokens` are 0, to be counted later.

    `hit_spans` are the hits in the span, best first: the first one gives the pack its title and score.
    """
    first, last = line_span.line_start, line_span.line_end
    text = note.text(first, last)
    lines = text[line_span.skipped_characters[0] : len(text) - line_span.skipped_characters[1]].split("\n")
    while len(lines) > 1 and not lines[-1].strip():  # of a note of blank lines, the first is left
        del lines[-1]
        last -= 1
    while len(lines) > 1 and not lines[0].strip():
        del lines[0]
        first += 1
    text = "\n".join(lines)
    trimmed = replace(line_span, line_start=first, line_end=last)
    cut = _is_text_left_out_above(trimmed, hit_spans, note), _is_cut_below(trimmed, hit_spans, note)
    return _make_pack(
        trimmed,
        hit_spans,
        note,
        text=text,
        digest=digest_of_text(text),
        modified=note.modified,
        cut=cut,
        table_header=None if line_span.without_table_header else find_header_above(lines[0], first, note),
    )


def find_header_above(text: str, line: int, note: CachedNote) -> TableHeader | None:
    """Return the header of the table that has a line, which begins `text`, among its rows; None if there is none."""
    return note.table_header(line) if "|" in text.partition("\n")[0] else None


_WHOLE_SCOPES = (Scope.SECTION, Scope.NOTE)


def _is_text_left_out_above(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: CachedNote) -> bool:
    """Return whether the text that a hit asks for continues above the span: its fragment, section or note.

    Neighbours that did not fit do not count as a cut.
    """
    missing = any(
        each.line_span.first_ordinal < line_span.first_ordinal
        for each in hit_spans
        if each.line_span.scope in _WHOLE_SCOPES
    )
    own = note.parts(line_span.first_ordinal, line_span.first_ordinal)[0]
    return missing or line_span.line_start > own.line_start or line_span.skipped_characters[0] > 0


def _is_cut_below(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: CachedNote) -> bool:
    """Return whether the text that a hit asks for continues below the span; see `_is_text_left_out_above`."""
    missing = any(
        each.line_span.last_ordinal > line_span.last_ordinal
        for each in hit_spans
        if each.line_span.scope in _WHOLE_SCOPES
    )
    own = note.parts(line_span.last_ordinal, line_span.last_ordinal)[0]
    return missing or line_span.line_end < own.line_end or line_span.skipped_characters[1] > 0


def _make_pack(
    line_span: LineSpan,
    hit_spans: Sequence[HitSpan],
    note: CachedNote,
    *,
    text: str,
    digest: str,
    modified: str,
    cut: tuple[bool, bool],
    table_header: TableHeader | None = None,
) -> Pack:
    """Return the pack of a span, with a given text; `cut` says whether it is cut above and below."""
    hit = hit_spans[0].hit
    fragment = hit.fragment
    # Of merged hits, the first of the note has the heading under which the text begins.
    inside = [each.hit.fragment for each in hit_spans if each.hit.fragment.ordinal >= line_span.first_ordinal]
    heading_path = min(inside, key=lambda each: each.ordinal, default=fragment).heading_path
    if line_span.scope is Scope.NOTE:
        heading_path = ()
    elif line_span.section_ordinal is not None:
        heading_path = next(each.heading_path for each in note.sections if each.ordinal == line_span.section_ordinal)
    span = (
        f"o:{line_span.first_ordinal}-{line_span.last_ordinal}"
        if line_span.section_ordinal is None
        else f"s:{line_span.section_ordinal}"
    )
    return Pack(
        id=f"{note_id(note.path)}:{span}",
        path=note.path,
        title=fragment.title,
        heading_path=heading_path,
        line_start=line_span.line_start,
        line_end=line_span.line_end,
        scope=line_span.scope,
        entry=EntryHit(fragment.id, fragment.ordinal, hit.score, fragment.heading_path),
        fragment_ids=tuple(part.id for part in note.parts(line_span.first_ordinal, line_span.last_ordinal)),
        text=text,
        tokens=0,
        digest=digest,
        cut_above=cut[0],
        cut_below=cut[1],
        modified=modified,
        kind=fragment.kind,
        place=location_of_lines(note.sections, line_span.line_start, line_span.line_end) if fragment.place else "",
        table_header=table_header,
    )


_MAX_CACHED_FRAGMENTS = 64  # whose blocks stay parsed: the best hits of the last queries


# --- shrink -----------------------------------------------------------------------------------------------------------
# Parts of a hit's fragment: cut at the borders of blocks, and within a block at sentences, lines or words.

_MIN_WORDS_PER_SIDE = 4  # words kept on each side of a match: fewer have no meaning
_MAX_SIDE_CHARACTERS = 100_000  # characters read on each side of a match: a block may be a whole file

_NONBLANK_LINE = re.compile(r"[^\n]*\S[^\n]*")
_WORD_PATTERN = re.compile(rf"[{WIDE_CHARACTERS}][^\w\s]*|[^\s{WIDE_CHARACTERS}]+")

_TextRange = tuple[int, int]
"""Start and end of a range of characters in a text; the end is exclusive."""


def find_block_span(hit: Hit) -> LineSpan | None:
    """Return the span of the block with most matches, for a fragment that does not fit; None if it has only one."""
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

    The parts begin with a few words around the match and grow by words, then by lines, then by sentences. Of a table,
    they are words of a row, the row, the row below the table's header, and more rows below it. `begins_in_table` is set
    if the fragment begins at a later row of a table.
    """
    text = hit.fragment.text
    block, sentences, is_table = _find_densest_block(hit, begins_in_table=begins_in_table)
    within, levels = block, []
    for pieces, reach in ((sentences, 0), (_NONBLANK_LINE, 0), (_WORD_PATTERN, _MIN_WORDS_PER_SIDE)):
        inside = _split_into_pieces(pieces, text, within)
        if not inside:
            break
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


# --- within a block ---------------------------------------------------------------------------------------------------


def _find_densest_block(hit: Hit, *, begins_in_table: bool) -> tuple[_TextRange, Sequence[_TextRange], bool]:
    """Return the characters of the block with most matches, of its sentences, and whether it is a table.

    List items and quotes count as sentences. A code block or a table has none: the block itself is returned as one.
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
    return [match.span() for match in pieces.finditer(text, *within)] if isinstance(pieces, re.Pattern) else pieces


def _find_piece_with_most_matches(pieces: Sequence[_TextRange], spans: Sequence[Span]) -> int:
    """Return the index of the piece in which most of the matched `spans` begin.

    If several pieces have equally many, it is the middle one; without a match, it is 0.
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


# --- duplicates -------------------------------------------------------------------------------------------------------
# Detection of texts that repeat another text.

DuplicateRule = Callable[[Fragment, Iterable[Fragment]], Fragment | None]
"""A function that gets a fragment and the fragments of all better hits, and returns the one that it repeats, if any.

Fragments with identical texts are left out before the function is called.
"""

_RUN_LENGTH = 4
"""Number of consecutive words and punctuation marks that are compared at once."""
_MIN_COMPARED_WORDS = 20
"""Minimum number of words of a compared text: a shorter text says little without its heading and costs little."""
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")
_MIN_RARE_LETTERS = 6
"""Minimum number of letters of a word that is taken for rare."""
_MAX_CACHED_TEXTS = 4096

WordRun = tuple[str, ...]
"""_RUN_LENGTH consecutive words and punctuation marks of a text."""


def find_near_copy(fragment: Fragment, fragments: Iterable[Fragment]) -> Fragment | None:
    """Return the first of `fragments` whose text contains that of `fragment`, None if there is none.

    Case and white space are ignored. The text counts as contained if every run of _RUN_LENGTH words and punctuation
    marks is. Sharing nine tenths of the runs is not enough: such texts are often reference pages that differ in a name,
    a number or an operator (figures in docs/design/packs.md).
    """
    own = _prepare_text(fragment.text)
    if not own.rare_words:
        return None
    longest = own.rare_words[0]
    for other in fragments:
        text = _prepare_text(other.text)
        if longest in text.folded and _contains_all_runs(text, own):
            return other
    return None


class _ComparableText(Struct, frozen=True):
    """A text prepared for comparison: case-folded, with its rare words, the longest first.

    The rare words are searched first, as substrings. Most texts lack one of them and then need no tokenization. A text
    that is too short to compare has no rare words.
    """

    folded: str
    rare_words: tuple[str, ...]


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _prepare_text(text: str) -> _ComparableText:
    """Return a text prepared for comparison."""
    folded = fold(text)
    words = folded.split()
    if len(words) < _MIN_COMPARED_WORDS:
        return _ComparableText(folded, ())
    rare_words = {word for word in words if len(word) >= _MIN_RARE_LETTERS and word.isalnum()} or _WORD_OR_SIGN.findall(
        folded
    )
    return _ComparableText(folded, tuple(sorted(rare_words, key=len, reverse=True)))


def _contains_all_runs(other: _ComparableText, own: _ComparableText) -> bool:
    """Return whether `other` has every run of words of `own`; False if `other` is too short to compare."""
    if not other.rare_words or not all(word in other.folded for word in own.rare_words):
        return False
    runs = _collect_runs(own.folded)
    return bool(runs) and runs <= _collect_runs(other.folded)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _collect_runs(folded: str) -> frozenset[WordRun]:
    """Return all runs of _RUN_LENGTH consecutive words and punctuation marks of a folded text."""
    pieces = _WORD_OR_SIGN.findall(folded)
    return frozenset(zip(*(pieces[start:] for start in range(_RUN_LENGTH)), strict=False))
