"""A note, or lines of it, and what it holds in brief: from the index, as it was read, so that lines are those of hits
and no path leads out of the vault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from excerpt.errors import NotThereError
from excerpt.index.links import names_other_file
from excerpt.index.snapshot import Snapshot
from excerpt.insight.naming import note_called, place_called, section_called
from excerpt.text.frontmatter import read_frontmatter
from excerpt.text.tokens import open_tokenizer

FIRST_LINES = 8
"""Lines of a note's beginning that a peek shows, the frontmatter passed over."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Lines of a note: `text` is exactly `line_start` to `line_end` of its `lines`, with LF line ends.

    `tokens` are those of `text` alone, `note_tokens` those of the whole note.
    """

    path: str
    title: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    lines: int
    tokens: int
    note_tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A section: its heading ("" of the text before the first), level (0 to 6), lines and tokens with those below."""

    level: int
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Peek:
    """What one wants to know of a note before reading it.

    `beginning` is its text from `line_start` to `line_end`. `modified` is the day of the file's last change, ISO 8601,
    UTC. `links_to` and `linked_from` count notes, each once; `links_nowhere` the links in it to notes that are not
    there.
    """

    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]
    language: str
    modified: str
    size: int
    lines: int
    tokens: int
    line_start: int
    line_end: int
    beginning: str
    outline: tuple[OutlineEntry, ...]
    links_to: int
    linked_from: int
    links_nowhere: int


def read(snapshot: Snapshot, name: str) -> Reading:
    """The note, lines or section that `name` names (`naming.place_called`). Lines past the end are left out.

    Raises NotThereError for a note, heading or first line that is not there.
    """
    place = place_called(snapshot, name)
    text = _lines(snapshot.note_text(place.path))
    first, last = place.first, place.last
    under: tuple[str, ...] = ()
    if place.heading:
        section = section_called(snapshot, place.path, place.heading)
        first, last, under = section.line_start, section.line_end, section.heading_path
    last = len(text) if last is None else min(last, len(text))
    if not 1 <= first <= max(len(text), 1):
        raise NotThereError(f"{place.path} has {len(text):,} lines, not {first:,}.")
    if first > last and text:
        raise NotThereError(f"Lines {first}-{place.last} of {place.path} are none.")
    info = snapshot.note_info(place.path)
    wanted = "\n".join(text[first - 1 : last])
    return Reading(
        path=place.path,
        title=info.title,
        heading_path=under,
        line_start=first,
        line_end=max(last, first),
        lines=len(text),
        tokens=open_tokenizer(snapshot.tokenizer).count(wanted),
        note_tokens=info.tokens,
        text=wanted,
    )


def peek(snapshot: Snapshot, name: str, first_lines: int = FIRST_LINES) -> Peek:
    """What a note holds, in brief: its first lines, outline and labels. Raises NotThereError."""
    path = note_called(snapshot, name)
    info, whole = snapshot.note_info(path), snapshot.note_text(path)
    text = _lines(whole)
    begin = _first_line(text, read_frontmatter(whole).lines)
    end = min(begin + first_lines - 1, len(text))
    number = snapshot.facets.numbers[path]
    sources, targets = snapshot.facets.links
    own = np.array([number], np.int32)
    labels = snapshot.facets.labels_of(own)
    return Peek(
        path=path,
        title=info.title,
        aliases=info.aliases,
        tags=info.tags,
        properties=tuple((label.name, label.value) for label in labels if not label.is_tag),
        language=info.language,
        modified=snapshot.note_modified(path),
        size=info.size,
        lines=len(text),
        tokens=info.tokens,
        line_start=begin,
        line_end=max(end, begin),
        beginning="\n".join(text[begin - 1 : end]).rstrip("\n"),
        outline=_outline(snapshot, path, text),
        links_to=int(np.count_nonzero(sources == number)),
        linked_from=int(np.count_nonzero(targets == number)),
        links_nowhere=sum(
            snapshot.facets.target_of(link) is None and not names_other_file(link.target)
            for link in snapshot.facets.written_links(own)
        ),
    )


def _outline(snapshot: Snapshot, path: str, text: Sequence[str]) -> tuple[OutlineEntry, ...]:
    count = open_tokenizer(snapshot.tokenizer).count
    found: list[OutlineEntry] = []
    for section in snapshot.sections(path):
        held = "\n".join(text[section.line_start - 1 : section.line_end])
        if section.level or held.strip():
            lines = section.line_start, section.line_end
            found.append(OutlineEntry(section.level, section.heading, section.heading_path, *lines, count(held)))
    return tuple(found)


def _first_line(text: Sequence[str], passed: int) -> int:
    """The first line with any text behind so many lines; 1 where there is none."""
    return next((number for number, line in enumerate(text[passed:], passed + 1) if line.strip()), 1)


def _lines(text: str) -> list[str]:
    """The note's lines; the end of the last is not the beginning of one more."""
    return text.removesuffix("\n").split("\n") if text else []
