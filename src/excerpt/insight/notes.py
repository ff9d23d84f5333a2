"""Lookup of a note, or of lines of it, by the name that a user gives, and summaries of notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from rapidfuzz import process

from excerpt.corpus.interface import Corpus
from excerpt.corpus.links import names_other_file
from excerpt.errors import NotFoundError
from excerpt.json_forms import fields_of
from excerpt.locations import locations_overlap
from excerpt.model import Section
from excerpt.text.display import format_count
from excerpt.text.frontmatter import read_frontmatter
from excerpt.text.tokens import open_tokenizer
from excerpt.text.words import fold

# --- what a user names ------------------------------------------------------------------------------------------------
# Resolves a name that a user gives to a note of the index, or lines of it. A file that is not indexed is never found,
# so no name leads out of the vault.

_LINES = re.compile(r"(?P<note>.+):(?P<first>\d{1,9})(?P<on>-(?P<last>\d{1,9})?)?", re.DOTALL)
_MIN_RATIO = 70  # of 100; below, a name is another name
_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class RequestedLines:
    """Lines of a note as requested: `last` None is the note's end, `heading` selects the section with that heading."""

    path: str
    first: int = 1
    last: int | None = None
    heading: str = ""


def find_lines(snapshot: Corpus, name: str) -> RequestedLines:
    """Return the location that `NOTE`, `NOTE:LINE`, `NOTE:A-B`, `NOTE:A-` or `NOTE#Heading` names, see `find_note`.

    A note whose own name has one of these forms takes precedence. Raises NotFoundError.
    """
    if path := _resolve_note(snapshot, name):
        return RequestedLines(path)
    if match := _LINES.fullmatch(name):
        first = int(match["first"])
        last = (int(match["last"]) if match["last"] else None) if match["on"] else first
        return RequestedLines(find_note(snapshot, match["note"]), first, last)
    note, _, heading = name.partition("#")
    return RequestedLines(find_note(snapshot, note if heading else name), heading=heading)


def find_note(snapshot: Corpus, name: str) -> str:
    """Return the path of the note with this path, file name, end of a path, title or alias, in this order.

    Raises NotFoundError with similar names if there is none, or if several notes have that title or alias.
    """
    path = _resolve_note(snapshot, name)
    if path is None:
        raise NotFoundError(f"No note is called {name or repr(name)}.", _similar_name(snapshot, name))
    return path


def find_section(snapshot: Corpus, path: str, heading: str) -> Section:
    """Return the first section of a note with this heading, or of an attachment at this location (`page=12`).

    `A#B` is B somewhere under A. Raises NotFoundError.
    """
    parts = [_fold_name(part) for part in heading.split("#") if part.strip()]
    sections = snapshot.sections(path)
    if section_span := next(
        (section for section in sections if section.place and locations_overlap(section.place, heading)), None
    ):
        return section_span
    for section in sections:
        above = iter([_fold_name(part) for part in section.heading_path])
        if parts and section.heading and _fold_name(section.heading) == parts[-1] and all(p in above for p in parts):
            return section
    raise NotFoundError(f"{path} has no heading {heading}.", "`excerpt peek` lists its headings.")


def _fold_name(text: str) -> str:
    return " ".join(fold(text).split())


def _resolve_note(snapshot: Corpus, name: str) -> str | None:
    if not name.strip():
        return None
    if name in snapshot.facets.numbers:
        return name
    path = snapshot.facets.targets.resolve(name, "")
    if path is not None:
        return path
    paths = [snapshot.table.paths[number] for number in snapshot.notes_named(name)]
    if len(paths) > 1:
        remainder = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
        listed = ", ".join(paths[:_MAX_NAMED])
        raise NotFoundError(
            f"{format_count(len(paths), 'note')} are called {name}.", f"Name one by its path: {listed}{remainder}."
        )
    return paths[0] if paths else None


def _similar_name(snapshot: Corpus, name: str) -> str:
    stems = {path: PurePosixPath(path).stem.casefold() for path in snapshot.table.paths}
    stem = PurePosixPath(name.casefold()).stem
    near = process.extract(stem, stems, score_cutoff=_MIN_RATIO, limit=_MAX_NAMED)
    return f"Did you mean {' or '.join(path for _, _, path in near)}?" if near else ""


# --- in brief ---------------------------------------------------------------------------------------------------------
# Parts and summaries of notes. They are read from the index, so that lines are the same as in hits and no path leads
# out of the vault.

FIRST_LINES = 8
"""The number of lines that a peek shows from a note's beginning, after the frontmatter."""


@dataclass(frozen=True, slots=True)
class NoteLines:
    """Lines of a note: `text` is exactly `line_start` to `line_end` of its `lines`, with LF line ends.

    `tokens` are those of `text` alone, `note_tokens` those of the whole note. `kind` and `place` are those of an
    attachment, see Fragment.
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
    kind: str = ""
    place: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt read`."""
        return fields_of(self)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A section: its heading ("" before the first one), level (0 to 6), lines, and tokens including its subsections."""

    level: int
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    tokens: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class Peek:
    """A summary of a note. `beginning` is its text from `line_start` to `line_end`.

    `modified` is the day of the file's last change, ISO 8601, UTC. `links_to` and `linked_from` count notes, each once;
    `links_nowhere` counts the links in it to missing notes.
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
    kind: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt peek`, with the values of a property in one list."""
        properties: dict[str, list[str]] = {}
        for name, value in self.properties:
            properties.setdefault(name, []).append(value)
        return {**fields_of(self), "properties": properties}


def read(snapshot: Corpus, name: str) -> NoteLines:
    """Return the note, lines or section that `name` refers to (see `find_lines`), without lines past the end.

    Raises NotFoundError for an unknown note, heading or first line.
    """
    span = find_lines(snapshot, name)
    text = _lines(snapshot.note_text(span.path))
    first, last = span.first, span.last
    headings: tuple[str, ...] = ()
    if span.heading:
        section = find_section(snapshot, span.path, span.heading)
        first, last, headings = section.line_start, section.line_end, section.heading_path
    last = len(text) if last is None else min(last, len(text))
    if not 1 <= first <= max(len(text), 1):
        raise NotFoundError(f"{span.path} has {format_count(len(text), 'line')}, not {first:,}.")
    if first > last and text:
        raise NotFoundError(f"Lines {first}-{span.last} are not in {span.path}.")
    info = snapshot.note_info(span.path)
    excerpted = "\n".join(text[first - 1 : last])
    return NoteLines(
        path=span.path,
        title=info.title,
        heading_path=headings,
        line_start=first,
        line_end=max(last, first),
        lines=len(text),
        tokens=open_tokenizer(snapshot.tokenizer).count(excerpted),
        note_tokens=info.tokens,
        text=excerpted,
        kind=info.kind,
        place=snapshot.place(span.path, first, max(last, first)) if info.kind else "",
    )


def peek(snapshot: Corpus, name: str, first_lines: int = FIRST_LINES) -> Peek:
    """Return a summary of a note: first lines, outline and labels. Raises NotFoundError."""
    path = find_note(snapshot, name)
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
        kind=info.kind,
        links_nowhere=sum(
            snapshot.facets.resolve_link(link) is None and not names_other_file(link.target)
            for link in snapshot.facets.written_links(own)
        ),
    )


def _outline(snapshot: Corpus, path: str, text: Sequence[str]) -> tuple[OutlineEntry, ...]:
    count = open_tokenizer(snapshot.tokenizer).count
    entries: list[OutlineEntry] = []
    sections = snapshot.sections(path)
    for number, section in enumerate(sections):
        if not section.level and sections[number + 1 :] and sections[number + 1].line_start <= section.line_start:
            continue  # there is no text before the first heading
        text_of_section = "\n".join(text[section.line_start - 1 : section.line_end])
        if section.level or text_of_section.strip():
            under, lines = section.heading_path, (section.line_start, section.line_end)
            entries.append(
                OutlineEntry(section.level, section.heading, under, *lines, count(text_of_section), section.place)
            )
    return tuple(entries)


def _first_line(text: Sequence[str], passed: int) -> int:
    """Return the number of the first non-blank line after the first `passed` lines; 1 if there is none."""
    return next((number for number, line in enumerate(text[passed:], passed + 1) if line.strip()), 1)


def _lines(text: str) -> list[str]:
    """Return the note's lines; a final line feed does not begin another."""
    return text.removesuffix("\n").split("\n") if text else []
