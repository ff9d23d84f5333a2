"""Rendering of an overview as Markdown within a limit of tokens: every line names a note.

The order of parts is: main notes, passages, sections, themes, distinctive labels, related notes, timeline, names. First
each part gets its required number of lines, in this order, until a line does not fit; later parts are left out. Then
the parts that have lines get more, as many as fit. Tokens are counted for the whole text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from excerpt.insight.overview_parts import (
    DistinctiveLabel,
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    SourceLocation,
    Theme,
    Timeline,
)
from excerpt.text.display import format_count, format_percent, format_source_location, visible_line
from excerpt.text.tokens import open_tokenizer

_MAX_MONTHS = 6
_MAX_PERIODS = 12
_MAX_HEADINGS = 2  # the number of a section's last headings that are shown
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class _RenderedPart:
    """A heading and the lines below it, best first; the first `required_lines` are added before other parts' extras."""

    heading: str
    lines: tuple[str, ...]
    required_lines: int


def render_markdown(overview: Overview) -> str:
    """Return the overview as Markdown of at most `overview.budget` tokens.

    Returns "" if not even the first line fits, or nothing in the vault is about the topic.
    """
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
    return _code_span(location.path)


def _lines_as_code(span: SourceLocation) -> str:
    return _code_span(format_source_location(span.path, span.line_start, span.line_end, span.place))


def _code_span(text: str) -> str:
    """Return `text` on one line as a code span, with as many backticks as needed."""
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{visible_line(text)}{space}{marks}"
