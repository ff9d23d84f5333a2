"""A hit's fragment -> the stretch of its note that the scope asks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from excerpt.kinds import Scope
from excerpt.model import Fragment
from excerpt.pack.source import OpenNote, Range


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of one note that hold the fragments `first`..`last` (ordinals) whole, or a part of one that was shrunk. A
    section or a note may have blank lines at its ends, which no pack has.

    `section` is the ordinal of the section that it is, if it is one. `skipped` are the characters that it leaves out,
    at the beginning of its first line and at the end of its last.
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
    """What `expand` will ask of the fragment's note."""
    if scope in (Scope.SECTION, Scope.NOTE):
        return fragment.path, 0, None
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    return fragment.path, max(fragment.ordinal - reach, 0), fragment.ordinal + reach


def expand(fragment: Fragment, note: OpenNote, scope: Scope, neighbors: int, dropped: Collection[str] = ()) -> Stretch:
    """The stretch around `fragment`: itself, `neighbors` fragments on each side, its innermost section with the
    subsections and the heading line, or the whole note below its frontmatter. A note without headings has no section
    to offer and gives neighbours instead. The stretch ends before a fragment that is `dropped`."""
    stretch = _expanded(fragment, note, scope, neighbors)
    if not dropped:
        return stretch
    first = last = fragment.ordinal
    ids = {part.ordinal: part.id for part in note.parts(stretch.first, stretch.last)}
    while first > stretch.first and ids[first - 1] not in dropped:
        first -= 1
    while last < stretch.last and ids[last + 1] not in dropped:
        last += 1
    if (first, last) == (stretch.first, stretch.last):
        return stretch
    return spanning(note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def _expanded(fragment: Fragment, note: OpenNote, scope: Scope, neighbors: int) -> Stretch:
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


def spanning(note: OpenNote, first: int, last: int, scope: Scope) -> Stretch:
    """The fragments of these ordinals, as far as there are any, and the lines between them."""
    parts = note.parts(max(first, 0), last)
    head, tail = parts[0], parts[-1]
    return Stretch(note.path, head.ordinal, tail.ordinal, head.line_start, tail.line_end, scope)


def _lines(note: OpenNote, line_start: int, line_end: int, scope: Scope, section: int | None = None) -> Stretch:
    inside = note.parts_in(line_start, line_end)
    return Stretch(note.path, inside[0].ordinal, inside[-1].ordinal, line_start, line_end, scope, section)
