"""Lookup of a note, or of lines of it, by the name that a user gives, and summaries of notes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz import process

from excerpt.base.errors import NotFoundError
from excerpt.base.json_forms import dataclass_to_json
from excerpt.base.locations import locations_overlap
from excerpt.base.model import Section
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.facets import UNKNOWN_DAY
from excerpt.corpus.interface import Corpus
from excerpt.corpus.links import has_other_suffix
from excerpt.insight.results import DatedNote
from excerpt.text.comments import mark_comments
from excerpt.text.display import code_span, format_count, line_range, visible, visible_line
from excerpt.text.folding import fold
from excerpt.text.frontmatter import read_frontmatter
from excerpt.text.tokens import open_tokenizer

# --- what a user names ------------------------------------------------------------------------------------------------
# Resolves a name that a user gives to a note of the index, or lines of it. A file that is not indexed is never found,
# so no name leads out of the vault.

_LINES = lazy_pattern(r"(?P<note>.+):(?P<first>\d{1,9})(?P<on>-(?P<last>\d{1,9})?)?", re.DOTALL)
_MIN_NAME_SIMILARITY = 70  # percent (rapidfuzz); a less similar name is not suggested
_MAX_LISTED_NAMES = 3


class RequestedLines(Struct, frozen=True):
    """Lines `first` to `last` of a note (None: to its end) or, if `heading` is given, the section with that heading."""

    path: str
    first: int = 1
    last: int | None = None
    heading: str = ""


def find_lines(snapshot: Corpus, name: str) -> RequestedLines:
    """Return the lines that `name` refers to: `NOTE`, `NOTE:LINE`, `NOTE:A-B`, `NOTE:A-`, `NOTE#Heading` or `NOTE#^id`.

    `find_note` finds NOTE; a note whose own name has one of these forms takes precedence. Raises NotFoundError if there
    is no such note or block.
    """
    if path := _resolve_note(snapshot, name):
        return RequestedLines(path)
    if match := _LINES.fullmatch(name):
        first = int(match["first"])
        last = (int(match["last"]) if match["last"] else None) if match["on"] else first
        return RequestedLines(find_note(snapshot, match["note"]), first, last)
    note, _, heading = name.partition("#")
    path = find_note(snapshot, note if heading else name)
    if heading.startswith("^"):
        first, last = _find_block(snapshot, path, heading[1:].strip())
        return RequestedLines(path, first, last)
    return RequestedLines(path, heading=heading)


def _find_block(snapshot: Corpus, path: str, block_id: str) -> tuple[int, int]:
    """Return the first and last line of the block with this Obsidian id. Raises NotFoundError if no block has it."""
    from excerpt.text.markdown import find_block

    lines = None if snapshot.note_info(path).kind else find_block(path, snapshot.note_text(path), block_id)
    if lines is None:
        raise NotFoundError(f"{path} has no block ^{block_id}.")
    return lines


def find_note(snapshot: Corpus, name: str) -> str:
    """Return the path of the note whose path, file name, end of the path, title or alias is `name`, in this order.

    Raises NotFoundError, with similar names, if there is no such note, or if several notes have this title or alias, or
    this file name in several vaults.
    """
    path = _resolve_note(snapshot, name)
    if path is None:
        raise NotFoundError(f"No note is called {name or repr(name)}.", _suggest_similar_names(snapshot, name))
    return path


def find_section(snapshot: Corpus, path: str, heading: str, line: int = 0) -> Section:
    """Return the first section of the note `path` with this heading, or an attachment's section at `page=12`.

    `A#B` means the heading B anywhere under A; a heading that is written so takes precedence, and so do the headings
    from the first level on. If several sections match, the one that begins at `line` is returned. Raises NotFoundError
    if there is no such section.
    """
    parts = [_fold_name(part) for part in heading.split("#") if part.strip()]
    sections = snapshot.sections(path)
    if section_span := next(
        (section for section in sections if section.place and locations_overlap(section.place, heading)), None
    ):
        return section_span
    whole = _fold_name(heading)
    exact = [
        section
        for section in sections
        if section.heading and whole in (_fold_name(section.heading), _fold_name("#".join(section.heading_path)))
    ]
    found = exact or [section for section in sections if _is_under(section, parts)]
    if not found:
        raise NotFoundError(f"{path} has no heading {heading}.", _suggest_similar_headings(sections, heading))
    return next((section for section in found if section.line_start == line), found[0])


def _suggest_similar_headings(sections: Sequence[Section], heading: str) -> str:
    names = dict.fromkeys(section.heading for section in sections if section.heading)
    near = process.extract(heading, [*names], processor=_fold_name, limit=_MAX_LISTED_NAMES)
    return (
        f"The note's nearest headings: {', '.join(name for name, *_ in near)}." if near else "The note has no headings."
    )


def _is_under(section: Section, parts: Sequence[str]) -> bool:
    """Return whether the heading of a section is the last of `parts`, and the others are above it in this order."""
    above = iter([_fold_name(part) for part in section.heading_path])
    is_last = bool(parts and section.heading) and _fold_name(section.heading) == parts[-1]
    return is_last and all(part in above for part in parts)


def _fold_name(text: str) -> str:
    return " ".join(fold(text).split())


def _resolve_note(snapshot: Corpus, name: str) -> str | None:
    if not name.strip():
        return None
    if name in snapshot.facets.numbers:
        return name
    found = snapshot.facets.find_targets(name).tolist() or snapshot.notes_named(name)
    paths = [snapshot.table.paths[number] for number in found]
    if len(paths) > 1:
        remainder = f" and {len(paths) - _MAX_LISTED_NAMES} more" if len(paths) > _MAX_LISTED_NAMES else ""
        listed = ", ".join(paths[:_MAX_LISTED_NAMES])
        raise NotFoundError(
            f"{format_count(len(paths), 'note')} are called {name}.",
            f"Name one of them by its path: {listed}{remainder}.",
        )
    return paths[0] if paths else None


def _suggest_similar_names(snapshot: Corpus, name: str) -> str:
    stems = {path: path.rpartition("/")[2].rpartition(".")[0].casefold() for path in snapshot.table.paths}
    stem = PurePosixPath(name.casefold()).stem
    near = process.extract(stem, stems, score_cutoff=_MIN_NAME_SIMILARITY, limit=_MAX_LISTED_NAMES)
    return f"Did you mean {' or '.join(path for _, _, path in near)}?" if near else ""


# --- in brief ---------------------------------------------------------------------------------------------------------
# Parts and summaries of notes. They are read from the index, so that lines are the same as in hits and no path leads
# out of the vault.

DEFAULT_FIRST_LINES = 8
"""The default number of lines that a peek (summary) shows from a note's beginning, after the frontmatter."""


@dataclass(frozen=True, slots=True)
class NoteLines:
    """Lines `line_start` to `line_end` of a note that has `lines` lines; `text` is their text, with LF line ends.

    `tokens` is the length of `text`, `note_tokens` that of the whole note. For an attachment, `kind` is the file's kind
    ("pdf") and `place` the page, slide or cells of the lines; else both are "".
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
        return dataclass_to_json(self)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A section in a note's outline; `tokens` include its subsections.

    The text before a note's first heading is a section with level 0 and heading "". Other levels are 1 to 6.
    """

    level: int
    heading: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    tokens: int
    place: str = ""

    @property
    def text(self) -> str:
        """The section as a list item of Markdown, indented by its level."""
        heading = visible_line(self.heading) if self.level else "(before the first heading)"
        lines = code_span(line_range(self.line_start, self.line_end))
        return f"{'  ' * max(self.level - 1, 0)}- {heading} {lines}: {format_count(self.tokens, 'token')}"


@dataclass(frozen=True, slots=True)
class Peek:
    """A summary of a note. `beginning` is the note's text from `line_start` to `line_end`.

    `modified` is the day of the file's last change, ISO 8601, UTC. `links_to` is the number of notes that this note
    links to, `linked_from` the number of notes that link to this note, and `links_nowhere` the number of its links to
    missing notes.
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

    @property
    def text(self) -> str:
        """The summary as Markdown: size, tags, properties, links, first lines and outline."""
        changed = f"changed {self.modified}" if self.modified else "day of change unknown"
        size = f"{format_count(self.tokens, 'token')} · {format_count(self.lines, 'line')} · {changed}"
        links = f"links to {format_count(self.links_to, 'note')} · linked from {format_count(self.linked_from, 'note')}"
        labels = [*(("alias", alias) for alias in self.aliases), *(("tag", tag) for tag in self.tags), *self.properties]
        return "\n".join(
            (
                f"# {visible_line(self.title)}\n",
                f"{code_span(self.path)} · {size} · {links}\n",
                *(f"- {visible_line(f'{name}: {value}')}" for name, value in labels),
                *([""] if labels else []),
                *(f"> {visible(line)}" for line in self.beginning.split("\n") if self.beginning),
                *(["", "## Outline", ""] if self.outline else []),
                *(entry.text for entry in self.outline),
                "",
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt peek`, with the values of a property in one list."""
        properties: dict[str, list[str]] = {}
        for name, value in self.properties:
            properties.setdefault(name, []).append(value)
        return {**dataclass_to_json(self), "properties": properties}


def read(snapshot: Corpus, name: str) -> NoteLines:
    """Return the text of the note, lines or section that `name` refers to (see `find_lines`).

    Lines past the note's end are left out. Where a comment is left out, a mark says so in its first line. Raises
    NotFoundError for an unknown note or heading, or if the first line is past the end.
    """
    span = find_lines(snapshot, name)
    marked = mark_comments(snapshot.note_text(span.path).split("\n"), 1, snapshot.comments(span.path))
    text = _split_lines("\n".join(marked))
    first, last = span.first, span.last
    headings: tuple[str, ...] = ()
    if span.heading:
        section = find_section(snapshot, span.path, span.heading)
        first, last, headings = section.line_start, section.line_end, section.heading_path
    last = len(text) if last is None else min(last, len(text))
    if not 1 <= first <= max(len(text), 1):
        raise NotFoundError(f"{span.path} has no line {first:,}: it has {format_count(len(text), 'line')}.")
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


def peek(snapshot: Corpus, name: str, first_lines: int = DEFAULT_FIRST_LINES) -> Peek:
    """Return a summary of the note `name` (see `find_note`): `first_lines` lines, outline, tags and properties.

    Raises NotFoundError for an unknown note.
    """
    path = find_note(snapshot, name)
    info, whole = snapshot.note_info(path), snapshot.note_text(path)
    text = _split_lines(whole)
    begin = _find_first_text_line(text, read_frontmatter(whole).lines)
    end = min(begin + first_lines - 1, len(text))
    number = snapshot.facets.numbers[path]
    sources, targets = snapshot.facets.links
    own = np.array([number], np.int32)
    labels = snapshot.facets.tags_and_properties(own)
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
        outline=_build_outline(snapshot, path, text),
        links_to=int(np.count_nonzero(sources == number)),
        linked_from=int(np.count_nonzero(targets == number)),
        kind=info.kind,
        links_nowhere=sum(
            snapshot.facets.resolve_link(link) is None and not has_other_suffix(link.target)
            for link in snapshot.facets.written_links(own)
        ),
    )


def _build_outline(snapshot: Corpus, path: str, text: Sequence[str]) -> tuple[OutlineEntry, ...]:
    count = open_tokenizer(snapshot.tokenizer).count
    entries: list[OutlineEntry] = []
    sections = _join_pages(snapshot.sections(path))
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


def _join_pages(sections: Sequence[Section]) -> Sequence[Section]:
    """Return the sections of a PDF or notebook, with pages or cells merged under each bookmark or heading.

    Sections of other files, and pages under no bookmark, stay as they are.
    """
    joined: list[Section] = []
    open_sections: list[int] = []  # indexes in `joined` of the bookmarks above the current page, the topmost first
    for section in sections:
        above = section.heading_path[:-1] if section.place.startswith(_PLACES_UNDER_HEADINGS) else ()
        while open_sections and joined[open_sections[-1]].heading_path != above[: len(open_sections)]:
            open_sections.pop()
        for index in open_sections:
            joined[index] = replace(joined[index], line_end=section.line_end)
        for level in range(len(open_sections) + 1, len(above) + 1):
            open_sections.append(len(joined))
            joined.append(replace(section, level=level, heading=above[level - 1], heading_path=above[:level]))
        if not above:
            joined.append(section)
    return joined


_PLACES_UNDER_HEADINGS = ("page=", "cell=")


def _find_first_text_line(text: Sequence[str], skipped_lines: int) -> int:
    """Return the number (1-based) of the first non-blank line after `skipped_lines` lines; 1 if all are blank."""
    return next((number for number, line in enumerate(text[skipped_lines:], skipped_lines + 1) if line.strip()), 1)


def _split_lines(text: str) -> list[str]:
    """Return the lines of a note's text; a line feed at the end does not begin another line."""
    return text.removesuffix("\n").split("\n") if text else []


# --- the newest notes -------------------------------------------------------------------------------------------------

_DAY_SECONDS = 86_400
_EPOCH = date(1970, 1, 1)


def list_newest_notes(snapshot: Corpus, limit: int, today: date) -> tuple[DatedNote, ...]:
    """Return at most `limit` notes, newest day first, ties by the time of the file's last change.

    If the date in a note is after `today`, as in a plan, the day of its file is used. The days of files are not used if
    a copy or checkout set them. Attachments are left out.
    """
    facets = snapshot.facets
    seconds, days = facets.modified // 10**9, facets.created
    is_dated = (days != UNKNOWN_DAY) & (days <= (today - _EPOCH).days)
    days = np.where(is_dated, days, (seconds + time.localtime().tm_gmtoff) // _DAY_SECONDS)
    numbers = np.lexsort((-seconds, -days))
    numbers = numbers[(is_dated | ~facets.is_copied)[numbers]]
    return tuple(islice(_list_dated_notes(snapshot, numbers.tolist(), days.tolist()), limit))


def _list_dated_notes(snapshot: Corpus, numbers: Sequence[int], days: Sequence[int]) -> Iterator[DatedNote]:
    paths = snapshot.note_paths()
    for number in numbers:
        info = snapshot.note_info(paths[number])
        if not info.kind:
            yield DatedNote(paths[number], info.title, _EPOCH + timedelta(days=days[number]))
