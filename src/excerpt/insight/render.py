"""Rendering of an overview as Markdown within its budget: every line names a note.

If not all fits, parts are dropped from the end of this order: main notes, passages, sections, themes, distinctive
labels, related notes, timeline, names. First each part gets its least number of lines, in this order, until one does
not fit; then the started parts get the rest. Tokens are counted for the whole text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    SourceLocation,
    Standout,
    Theme,
    Timeline,
)
from excerpt.text.display import format_count, format_percent, format_source_location, visible_line
from excerpt.text.tokens import open_tokenizer

_MAX_MONTHS = 6
_MAX_SPANS = 12
_HEADINGS = 2  # the number of a section's last headings that are shown
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class _RenderedPart:
    """A heading and lines under it, best first; `required_lines` of them are added before any other part gets more."""

    heading: str
    lines: tuple[str, ...]
    required_lines: int


def as_markdown(overview: Overview) -> str:
    """Return the overview as Markdown within its budget, in tokens of its tokenizer.

    Returns "" if not even the first line fits, or nothing was found.
    """
    if not overview.found:
        return ""
    count = open_tokenizer(overview.tokenizer).count
    parts = _parts(overview)
    line_counts = [0] * len(parts)
    text = ""

    def add_line(number: int) -> bool:
        """Add one more line of a part, if it fits; return whether it did."""
        nonlocal text
        line_counts[number] += 1
        longer = _text(overview, parts, line_counts)
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


def _text(overview: Overview, parts: Sequence[_RenderedPart], line_counts: Sequence[int]) -> str:
    blocks = [_title(overview)]
    for part, lines in zip(parts, line_counts, strict=True):
        if lines:
            blocks.append("\n".join((f"## {part.heading}", "", *part.lines[:lines])).rstrip("\n"))
    return "\n\n".join(blocks) + "\n"


def _title(overview: Overview) -> str:
    topic = visible_line(" ".join(overview.topic.split()))
    return (
        f"# Overview: {topic}\n\n{overview.fragments:,} of {format_count(overview.vault_fragments, 'passage')}, in"
        f" {overview.notes:,} of {format_count(overview.vault_notes, 'note')}"
    )


def _parts(overview: Overview) -> list[_RenderedPart]:
    dates = overview.timeline
    return [
        _RenderedPart("Main notes", tuple(map(_main_note, overview.main_notes)), 4),
        _RenderedPart("Key passages", tuple(map(_passage, overview.passages)), 2),
        _RenderedPart("Sections that matter", tuple(map(_section, overview.sections)), 3),
        _RenderedPart("Themes", tuple(map(_theme, overview.themes)), 3),
        _RenderedPart("Stands out here", tuple(map(_standout, overview.standouts)), 2),
        _RenderedPart("Related notes", tuple(map(_related_line, overview.related)), 2),
        _RenderedPart(_dates_line(dates), _timeline(dates.months), 1),
        _RenderedPart("Also named", tuple(map(_name, overview.names)), 1),
    ]


# --- lines ------------------------------------------------------------------------------------------------------------


def _main_note(note: MainNote) -> str:
    share = format_percent(note.share).replace("<", "under ")
    return f"- {_link_to(note.place)}: {share}, {note.fragments} of its {format_count(note.of, 'passage')}"


def _passage(passage: KeyPassage) -> str:
    return f"> {visible_line(passage.text)} — {_lines(passage.place)}\n"


def _section(section: KeySection) -> str:
    below = _heading_text(section.place)
    return f"- {below} {_lines(section.place)}"


def _theme(theme: Theme) -> str:
    words = ", ".join(map(visible_line, theme.words))
    return f"- **{words}**: {format_count(theme.fragments, 'passage')}, as {_lines(theme.place)}"


def _standout(standout: Standout) -> str:
    labels = {LabelKind.TAG: f"#{standout.value}", LabelKind.FOLDER: f"{standout.value}/"}
    label = visible_line(labels.get(standout.kind, f"{standout.name}: {standout.value}"))
    share = f"{standout.here} of {format_count(standout.here_of, 'note')} here, {standout.overall} in all"
    return f"- {label}: {share}, as {_path(standout.place)}"


def _related_line(note: LinkedNote) -> str:
    to, by = len(note.links_to), len(note.linked_from)
    directions = [f"links to {to}"] * bool(to) + [f"linked from {by}"] * bool(by)
    return f"- {_link_to(note.place)}: {', '.join(directions)} of the main notes"


def _name(name: LinkedName) -> str:
    return f"- {visible_line(name.name)}: {format_count(name.notes, 'note')}, first {_lines(name.place)}"


def _dates_line(dates: Timeline) -> str:
    undated = f"; {format_count(dates.undated, 'note')} without" if dates.undated else ""
    return f"When ({visible_line(dates.date)}{undated})"


def _timeline(months: Sequence[Month]) -> tuple[str, ...]:
    """Return the lines of the timeline: the notes per month, or per year if there are many, and the latest month."""
    if not months:
        return ()
    spans: Counter[str] = Counter()
    for month in months:
        spans[month.month if len(months) <= _MAX_MONTHS else month.month[:4]] += month.notes
    counts = " · ".join(f"{span}: {notes:,}" for span, notes in list(spans.items())[-_MAX_SPANS:])
    peak, latest = max(months, key=lambda month: (month.notes, month.month)), months[-1]
    return (
        f"- notes in {counts}; most in {peak.month}, as {_path(peak.place)}",
        f"- latest in {latest.month}: {format_count(latest.notes, 'note')}, as {_path(latest.place)}",
    )


def _link_to(location: SourceLocation) -> str:
    """Return a note's path, with its title if that differs from the file name."""
    stem = PurePosixPath(location.path).stem
    return f"{_path(location)}" if location.title == stem else f"{visible_line(location.title)} {_path(location)}"


def _heading_text(location: SourceLocation) -> str:
    return visible_line(_SEPARATOR.join(location.heading_path[-_HEADINGS:]) or location.title)


def _path(location: SourceLocation) -> str:
    return _code(location.path)


def _lines(span: SourceLocation) -> str:
    return _code(format_source_location(span.path, span.line_start, span.line_end, span.place))


def _code(text: str) -> str:
    """Return `text` on one line as a code span, with as many backticks as needed."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{visible_line(text)}{space}{marks}"
