"""A hit's fragment -> the stretch of its note that the scope asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from excerpt.model import Fragment, Scope
from excerpt.pack.source import OpenNote


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines of one note that hold the fragments `first`..`last` (ordinals) whole.

    `section` is the ordinal of the section that it is, if it is one.
    """

    path: str
    first: int
    last: int
    line_start: int
    line_end: int
    scope: Scope
    section: int | None = None


def expand(fragment: Fragment, note: OpenNote, scope: Scope, neighbors: int) -> Stretch:
    """The stretch around `fragment`: itself, `neighbors` fragments on each side, its innermost section with the
    subsections and the heading line, or the whole note below its frontmatter. A note without headings has no section
    to offer and gives neighbours instead."""
    if scope is Scope.SECTION and not any(section.level for section in note.sections):
        scope = Scope.NEIGHBORS
    if scope is Scope.NOTE:
        return _lines(note, note.sections[0].line_start, len(note.lines), scope)
    if scope is Scope.SECTION:
        section = next(section for section in note.sections if section.ordinal == fragment.section)
        if section.line_start <= fragment.line_start and fragment.line_end <= section.line_end:
            return _lines(note, section.line_start, section.line_end, scope, section.ordinal)
        scope = Scope.NEIGHBORS  # a note of headings alone: they are one fragment, across sections
    reach = neighbors if scope is Scope.NEIGHBORS else 0
    around = note.fragments(max(fragment.ordinal - reach, 0), fragment.ordinal + reach)
    return spanning(around, scope)


def spanning(fragments: Sequence[Fragment], scope: Scope) -> Stretch:
    """Consecutive fragments of a note and the lines between them."""
    first, last = fragments[0], fragments[-1]
    return Stretch(first.path, first.ordinal, last.ordinal, first.line_start, last.line_end, scope)


def _lines(note: OpenNote, line_start: int, line_end: int, scope: Scope, section: int | None = None) -> Stretch:
    """The lines, without blank ones at the ends, and the fragments in them."""
    while not note.lines[line_end - 1].strip():
        line_end -= 1
    while not note.lines[line_start - 1].strip():
        line_start += 1
    inside = note.fragments_in(line_start, line_end)
    return Stretch(note.path, inside[0].ordinal, inside[-1].ordinal, line_start, line_end, scope, section)
