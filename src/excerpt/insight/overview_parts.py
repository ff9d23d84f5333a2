"""The parts of an overview, and their Markdown. Each part has a location: a note's path and lines (1-based, inclusive).

`excerpt.insight.topic` chooses the fragments "about the topic"; all counts and shares refer to these fragments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from excerpt.base.json_forms import attributes_to_json, dataclass_to_json
from excerpt.base.kinds import Confidence
from excerpt.text.display import code_span, format_count, format_percent, format_source_location, visible_line
from excerpt.text.tokens import open_tokenizer


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Lines of a note. `title` is the note's title; `fragment_id` is "" if the lines are not exactly one fragment.

    For an attachment, `kind` is the file's kind ("pdf") and `place` the page, slide or cells; else both are "".
    """

    path: str
    title: str
    line_start: int
    line_end: int
    heading_path: tuple[str, ...] = ()
    fragment_id: str = ""
    kind: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class MainNote:
    """A note that is mainly about the topic.

    `place` is the location of its best fragment. The note has `of` fragments; `fragments` of these are about the topic,
    which is `share` (0 to 1) of all fragments about the topic. `value` is its value for the topic, 1 for the best note.
    """

    place: SourceLocation
    fragments: int
    of: int
    share: float
    value: float


@dataclass(frozen=True, slots=True)
class KeySection:
    """A section about the topic, or a hit of a search for it that is in no section.

    `fragments` is the number of its fragments that are about the topic or among the first hits, and `tokens` is its
    length. `value` is its value for the topic, 1 for the best section.
    """

    place: SourceLocation
    fragments: int
    tokens: int
    value: float


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note that links to main notes or is linked from them, without being a main note.

    `links_to` are the paths of the main notes that this note links to, `linked_from` those of the main notes that link
    to this note. `fragments` is the number of its own fragments about the topic.
    """

    place: SourceLocation
    links_to: tuple[str, ...]
    linked_from: tuple[str, ...]
    fragments: int


class LabelKind(StrEnum):
    """The kind of a distinctive label."""

    TAG = "tag"
    PROPERTY = "property"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class DistinctiveLabel:
    """A tag, property value or folder that is more frequent among notes about the topic than among other notes.

    `in_topic` of `topic_size` notes about the topic have the label (of very many notes, only the best are counted), and
    `overall` of `overall_of` notes of the vault. `g2` is the log-likelihood ratio (Dunning, 1993) of these counts.
    `name` is the property's name, "" for a tag or folder. `filter` is the query filter for the notes with the label.
    `place` is the best fragment of the best note with the label.
    """

    kind: LabelKind
    name: str
    value: str
    in_topic: int
    topic_size: int
    overall: int
    overall_of: int
    g2: float
    filter: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A person or thing that passages about the topic link to by name; its own note is not about the topic.

    `path` is the path of its own note, None if the note is missing. `notes` is the number of notes with passages about
    the topic that link to the name, and `overall` the number of all notes that link to it. `place` is the first link in
    the best of these notes.
    """

    name: str
    path: str | None
    notes: int
    overall: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Theme:
    """Similar fragments about the topic, and the words that distinguish them from the others.

    `fragments` and `notes` count the theme's fragments and their notes; `share` is the theme's share of all grouped
    fragments, 0 to 1. `place` is the theme's central fragment.
    """

    words: tuple[str, ...]
    fragments: int
    notes: int
    share: float
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Month:
    """The number of notes about the topic in a month (`2025-03`); `place` is the best fragment of the best note."""

    month: str
    notes: int
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Timeline:
    """The notes about the topic by month, ascending; months without notes are left out.

    `date` names the kind of date used: `created`, `modified`, or a property; "" if the notes have no dates, and then
    there are no months. `undated` is the number of notes about the topic without this date.
    """

    date: str
    months: tuple[Month, ...]
    undated: int


@dataclass(frozen=True, slots=True)
class KeyPassage:
    """A quotation about the topic: consecutive sentences of a fragment, without markup, on one line.

    A text that is too long is cut and ends in "…". `cut_before` and `cut_after` are true if the fragment has more
    sentences before or after the quotation. `score` is that of the fragment, 1 for the best fragment.
    """

    place: SourceLocation
    text: str
    cut_before: bool
    cut_after: bool
    score: float
    confidence: Confidence | None


@dataclass(frozen=True, slots=True)
class Overview:
    """An overview of a vault's content on a topic, each part best first.

    `fragments` and `notes` are the numbers of fragments and notes about the topic; `matched` is the number of matches
    of a search for the topic; `vault_fragments` and `vault_notes` are the vault's numbers. `budget` is the limit of the
    overview's Markdown, in tokens of `tokenizer`. `generation` is a number that each commit to the index raises. All
    parts are empty if nothing in the vault is about the topic.
    """

    topic: str
    budget: int
    tokenizer: str
    generation: int
    confidence: Confidence | None
    matched: int
    fragments: int
    notes: int
    vault_fragments: int
    vault_notes: int
    main_notes: tuple[MainNote, ...] = ()
    sections: tuple[KeySection, ...] = ()
    passages: tuple[KeyPassage, ...] = ()
    themes: tuple[Theme, ...] = ()
    standouts: tuple[DistinctiveLabel, ...] = ()
    related: tuple[LinkedNote, ...] = ()
    names: tuple[LinkedName, ...] = ()
    timeline: Timeline = Timeline("", (), 0)

    @property
    def found(self) -> bool:
        """Whether anything in the vault is about the topic."""
        return bool(self.main_notes)

    @property
    def text(self) -> str:
        """Markdown of at most `budget` tokens; "" if nothing is about the topic, or not even the first line fits."""
        return _render_markdown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt overview`, without the budget and the tokenizer.

        The fields of a part's `place` (its location) become fields of the part itself.
        """
        data = dataclass_to_json(self)
        del data["budget"], data["tokenizer"]
        timeline = data["timeline"]
        months = [_with_location(month) for month in timeline["months"]]
        return {
            **data,
            **{name: [_with_location(part) for part in data[name]] for name in _WITH_LOCATION},
            # The `path` of a linked name is that of its own note, not of the note that links to it.
            "names": [
                {
                    **attributes_to_json(name, "name"),
                    "note": name.path,
                    **attributes_to_json(name, "notes", "overall"),
                    **dataclass_to_json(name.place),
                }
                for name in self.names
            ],
            "timeline": {"date": timeline["date"], "undated": timeline["undated"], "months": months},
        }


_WITH_LOCATION = ("main_notes", "sections", "passages", "themes", "standouts", "related")


def _with_location(part: dict[str, Any]) -> dict[str, Any]:
    return {**part.pop("place"), **part}


# --- as Markdown ------------------------------------------------------------------------------------------------------
# An overview as Markdown within a limit of tokens: every line names a note.
#
# The order of parts is: main notes, passages, sections, themes, distinctive labels, related notes, timeline, names.
# First each part gets its required number of lines, in this order, until a line does not fit; later parts are left out.
# Then the parts that have lines get more, as many as fit. Tokens are counted for the whole text.

_MAX_MONTHS = 6
_MAX_PERIODS = 12
_MAX_HEADINGS = 2  # the number of a section's last headings that are shown
_SEPARATOR = " › "


class _RenderedPart(Struct, frozen=True):
    """A heading and its lines, best first; the first `required_lines` are added before any part gets more lines."""

    heading: str
    lines: tuple[str, ...]
    required_lines: int


def _render_markdown(overview: Overview) -> str:
    """Return `Overview.text`."""
    if not overview.found:
        return ""
    count = open_tokenizer(overview.tokenizer).count
    parts = _render_parts(overview)
    line_counts = [0] * len(parts)
    text = ""

    def add_line(number: int) -> bool:
        """Add the next line of the part at position `number` if it fits, and return whether it fits."""
        nonlocal text
        line_counts[number] += 1
        longer = _join_parts(overview, parts, line_counts)
        if count(longer) > overview.budget:
            line_counts[number] -= 1
            return False
        text = longer
        return True

    required = (number for number, part in enumerate(parts) for _ in part.lines[: part.required_lines])
    all(map(add_line, required))
    for number, part in enumerate(parts):
        while 0 < line_counts[number] < len(part.lines) and add_line(number):
            pass
    return text


def _join_parts(overview: Overview, parts: Sequence[_RenderedPart], line_counts: Sequence[int]) -> str:
    blocks = [_render_title(overview)]
    for part, lines in zip(parts, line_counts, strict=True):
        if lines:
            blocks.append("\n".join((f"## {part.heading}", "", *part.lines[:lines])).rstrip("\n"))
    return "\n\n".join(blocks) + "\n"


def _render_title(overview: Overview) -> str:
    topic = visible_line(" ".join(overview.topic.split()))
    return (
        f"# Overview: {topic}\n\n{overview.fragments:,} of {format_count(overview.vault_fragments, 'passage')}, in"
        f" {overview.notes:,} of {format_count(overview.vault_notes, 'note')}"
    )


def _render_parts(overview: Overview) -> list[_RenderedPart]:
    dates = overview.timeline
    return [
        _RenderedPart("Main notes", tuple(map(_render_main_note, overview.main_notes)), 4),
        _RenderedPart("Key passages", tuple(map(_render_passage, overview.passages)), 2),
        _RenderedPart("Sections that matter", tuple(map(_render_section, overview.sections)), 3),
        _RenderedPart("Themes", tuple(map(_render_theme, overview.themes)), 3),
        _RenderedPart("Stands out here", tuple(map(_render_label, overview.standouts)), 2),
        _RenderedPart("Related notes", tuple(map(_render_linked_note, overview.related)), 2),
        _RenderedPart(_timeline_heading(dates), _render_timeline(dates.months), 1),
        _RenderedPart("Also named", tuple(map(_render_name, overview.names)), 1),
    ]


# --- lines ------------------------------------------------------------------------------------------------------------


def _render_main_note(note: MainNote) -> str:
    share = format_percent(note.share).replace("<", "under ")
    return f"- {_title_and_path(note.place)}: {share}, {note.fragments} of its {format_count(note.of, 'passage')}"


def _render_passage(passage: KeyPassage) -> str:
    return f"> {visible_line(passage.text)} — {_lines_as_code(passage.place)}\n"


def _render_section(section: KeySection) -> str:
    below = _last_headings(section.place)
    return f"- {below} {_lines_as_code(section.place)}"


def _render_theme(theme: Theme) -> str:
    words = ", ".join(map(visible_line, theme.words))
    return f"- **{words}**: {format_count(theme.fragments, 'passage')}, as {_lines_as_code(theme.place)}"


def _render_label(standout: DistinctiveLabel) -> str:
    labels = {LabelKind.TAG: f"#{standout.value}", LabelKind.FOLDER: f"{standout.value}/"}
    label = visible_line(labels.get(standout.kind, f"{standout.name}: {standout.value}"))
    share = f"{standout.in_topic} of {format_count(standout.topic_size, 'note')} here, {standout.overall} in all"
    return f"- {label}: {share}, as {_path_as_code(standout.place)}"


def _render_linked_note(note: LinkedNote) -> str:
    to, by = len(note.links_to), len(note.linked_from)
    directions = [f"links to {to}"] * bool(to) + [f"linked from {by}"] * bool(by)
    return f"- {_title_and_path(note.place)}: {', '.join(directions)} of the main notes"


def _render_name(name: LinkedName) -> str:
    return f"- {visible_line(name.name)}: {format_count(name.notes, 'note')}, first {_lines_as_code(name.place)}"


def _timeline_heading(dates: Timeline) -> str:
    undated = f"; {format_count(dates.undated, 'note')} without" if dates.undated else ""
    return f"When ({visible_line(dates.date)}{undated})"


def _render_timeline(months: Sequence[Month]) -> tuple[str, ...]:
    """Return two lines: the notes per month (or per year if there are many months), and the latest month."""
    if not months:
        return ()
    spans: Counter[str] = Counter()
    for month in months:
        spans[month.month if len(months) <= _MAX_MONTHS else month.month[:4]] += month.notes
    counts = " · ".join(f"{span}: {notes:,}" for span, notes in list(spans.items())[-_MAX_PERIODS:])
    peak, latest = max(months, key=lambda month: (month.notes, month.month)), months[-1]
    return (
        f"- notes in {counts}; most in {peak.month}, as {_path_as_code(peak.place)}",
        f"- latest in {latest.month}: {format_count(latest.notes, 'note')}, as {_path_as_code(latest.place)}",
    )


def _title_and_path(location: SourceLocation) -> str:
    """Return a note's path as code, after its title if the title differs from the file name."""
    stem = PurePosixPath(location.path).stem
    return (
        f"{_path_as_code(location)}"
        if location.title == stem
        else f"{visible_line(location.title)} {_path_as_code(location)}"
    )


def _last_headings(location: SourceLocation) -> str:
    return visible_line(_SEPARATOR.join(location.heading_path[-_MAX_HEADINGS:]) or location.title)


def _path_as_code(location: SourceLocation) -> str:
    return code_span(location.path)


def _lines_as_code(span: SourceLocation) -> str:
    return code_span(format_source_location(span.path, span.line_start, span.line_end, span.place))
