"""Spans of lines around hits: extension of a fragment to its scope, and the pack of a span."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.kinds import Scope
from excerpt.base.locations import location_of_lines
from excerpt.base.model import EntryHit, Fragment, Hit, Pack, TableHeader
from excerpt.pack.source import CachedNote, FragmentRange
from excerpt.text.fragments import digest_of_text, note_id


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
    ids = {part.ordinal: part.id for part in note.fragment_infos(line_span.first_ordinal, line_span.last_ordinal)}
    while first > line_span.first_ordinal and ids[first - 1] not in dropped_ids:
        first -= 1
    while last < line_span.last_ordinal and ids[last + 1] not in dropped_ids:
        last += 1
    if (first, last) == (line_span.first_ordinal, line_span.last_ordinal):
        return line_span
    return build_ordinal_span(note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def _expand_to_whole_scope(fragment: Fragment, note: CachedNote, scope: Scope, neighbors: int) -> LineSpan:
    """Return the lines that a scope asks for, as `expand_fragment` does, including dropped fragments."""
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
    parts = note.fragment_infos(max(first, 0), last)
    head, tail = parts[0], parts[-1]
    return LineSpan(note.path, head.ordinal, tail.ordinal, head.line_start, tail.line_end, scope)


def build_line_span(note: CachedNote, line_start: int, line_end: int, bound: LineSpan) -> LineSpan:
    """Return the span of some lines within `bound`, with all fragments that have one of them."""
    parts = note.fragment_infos(bound.first_ordinal, bound.last_ordinal)
    inside = [part.ordinal for part in parts if part.line_start <= line_end and part.line_end >= line_start]
    first, last = (inside[0], inside[-1]) if inside else (bound.first_ordinal, bound.first_ordinal)
    scope = Scope.NEIGHBORS if first < last else Scope.NONE
    return LineSpan(note.path, first, last, line_start, line_end, scope)


def _build_section_span(
    note: CachedNote, line_start: int, line_end: int, scope: Scope, section: int | None = None
) -> LineSpan:
    """Return the span of these lines, with the fragments that are completely in it; `section` is an ordinal."""
    inside = note.fragment_infos_in(line_start, line_end)
    return LineSpan(note.path, inside[0].ordinal, inside[-1].ordinal, line_start, line_end, scope, section)


class HitSpan(Struct, frozen=True):
    """A hit, and the lines that it may be extended to."""

    hit: Hit
    line_span: LineSpan


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
    is_trimmed = (first, last) != (line_span.line_start, line_span.line_end)
    trimmed = replace(line_span, line_start=first, line_end=last) if is_trimmed else line_span
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


WHOLE_SCOPES = (Scope.SECTION, Scope.NOTE)


def _is_text_left_out_above(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: CachedNote) -> bool:
    """Return whether the text that a hit asks for continues above the span: its fragment, section or note.

    Neighbours that did not fit do not count as a cut.
    """
    missing = any(
        each.line_span.first_ordinal < line_span.first_ordinal
        for each in hit_spans
        if each.line_span.scope in WHOLE_SCOPES
    )
    own = note.fragment_infos(line_span.first_ordinal, line_span.first_ordinal)[0]
    return missing or line_span.line_start > own.line_start or line_span.skipped_characters[0] > 0


def _is_cut_below(line_span: LineSpan, hit_spans: Sequence[HitSpan], note: CachedNote) -> bool:
    """Return whether the text that a hit asks for continues below the span; see `_is_text_left_out_above`."""
    missing = any(
        each.line_span.last_ordinal > line_span.last_ordinal
        for each in hit_spans
        if each.line_span.scope in WHOLE_SCOPES
    )
    own = note.fragment_infos(line_span.last_ordinal, line_span.last_ordinal)[0]
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
        fragment_ids=tuple(part.id for part in note.fragment_infos(line_span.first_ordinal, line_span.last_ordinal)),
        text=text,
        tokens=0,
        digest=digest,
        cut_above=cut[0],
        cut_below=cut[1],
        modified=modified,
        kind=fragment.kind,
        place=location_of_lines(note.sections, line_span.line_start, line_span.line_end) if fragment.place else "",
        table_header=table_header,
        replaced=note.replaced,
    )
