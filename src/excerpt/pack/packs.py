"""Lines of a note -> a pack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from excerpt.kinds import Scope
from excerpt.model import Entry, Pack
from excerpt.pack.expand import Stretch
from excerpt.pack.merge import Candidate, Wanted
from excerpt.pack.source import OpenNote
from excerpt.text.fragments import digest_of_text, note_id

_SOME_DAY = "2000-01-01"  # as long as any


def draft(candidate: Candidate, note: OpenNote) -> Pack:
    """The pack of all of a candidate, with the text of the best hit alone: enough to tell what stands around it."""
    fragment = candidate.best.fragment
    cut = candidate.stretch.scope in _WHOLE
    return _pack(
        candidate.stretch,
        candidate.wanted,
        note,
        text=fragment.text,
        digest=fragment.digest,
        modified=_SOME_DAY,
        cut=(cut, cut),
    )


def pack_of(stretch: Stretch, wanted: Sequence[Wanted], note: OpenNote) -> Pack:
    """The pack of a stretch, without blank lines at its ends, and of the hits in it, best first. Its tokens are not
    counted yet."""
    first, last = stretch.line_start, stretch.line_end
    text = note.text(first, last)
    lines = text[stretch.skipped[0] : len(text) - stretch.skipped[1]].split("\n")
    while not lines[0].strip():
        del lines[0]
        first += 1
    while not lines[-1].strip():
        del lines[-1]
        last -= 1
    text = "\n".join(lines)
    trimmed = replace(stretch, line_start=first, line_end=last)
    cut = _cut_above(trimmed, wanted, note), _cut_below(trimmed, wanted, note)
    return _pack(trimmed, wanted, note, text=text, digest=digest_of_text(text), modified=note.modified, cut=cut)


_WHOLE = (Scope.SECTION, Scope.NOTE)


def _cut_above(stretch: Stretch, wanted: Sequence[Wanted], note: OpenNote) -> bool:
    """Whether the fragment, section or note goes on above but had no room. Less neighbours are no cut: they are as many
    as there was room for."""
    missing = any(each.stretch.first < stretch.first for each in wanted if each.stretch.scope in _WHOLE)
    own = note.parts(stretch.first, stretch.first)[0]
    return missing or stretch.line_start > own.line_start or stretch.skipped[0] > 0


def _cut_below(stretch: Stretch, wanted: Sequence[Wanted], note: OpenNote) -> bool:
    missing = any(each.stretch.last > stretch.last for each in wanted if each.stretch.scope in _WHOLE)
    own = note.parts(stretch.last, stretch.last)[0]
    return missing or stretch.line_end < own.line_end or stretch.skipped[1] > 0


def _pack(
    stretch: Stretch,
    wanted: Sequence[Wanted],
    note: OpenNote,
    *,
    text: str,
    digest: str,
    modified: str,
    cut: tuple[bool, bool],
) -> Pack:
    hit = wanted[0].hit
    fragment = hit.fragment
    heading_path = fragment.heading_path
    if stretch.scope is Scope.NOTE:
        heading_path = ()
    elif stretch.section is not None:
        heading_path = next(each.heading_path for each in note.sections if each.ordinal == stretch.section)
    kind = f"o:{stretch.first}-{stretch.last}" if stretch.section is None else f"s:{stretch.section}"
    return Pack(
        id=f"{note_id(note.path)}:{kind}",
        path=note.path,
        title=fragment.title,
        heading_path=heading_path,
        line_start=stretch.line_start,
        line_end=stretch.line_end,
        scope=stretch.scope,
        entry=Entry(fragment.id, fragment.ordinal, hit.score, fragment.heading_path),
        fragment_ids=tuple(part.id for part in note.parts(stretch.first, stretch.last)),
        text=text,
        tokens=0,
        digest=digest,
        cut_above=cut[0],
        cut_below=cut[1],
        modified=modified,
    )
