"""A topic's main notes, and the sections of them to read."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.base.model import Fragment, Section
from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    MainNote,
    SourceLocation,
)
from excerpt.insight.topic import Topic, combine_values

MAX_MAIN_NOTES = 5
MAX_SECTIONS = 6
MAX_SECTIONS_PER_NOTE = 2
"""The most listed sections of one note; a reader can see the others in the note's outline."""
WHOLE_NOTE_SHARE = 0.8
"""A section with at least this share of a note's lines counts as the whole note."""
FRAGMENTS_READ_FOR_SECTIONS = 100
"""The number of best fragments about the topic whose sections are considered."""


def rank_main_notes(topic: Topic) -> tuple[MainNote, ...]:
    """Return the notes that are mainly about the topic: those with the highest values, best first."""
    total = max(len(topic.rows), 1)
    first = list(topic.note_values.items())[:MAX_MAIN_NOTES]
    topic.fragments([topic.best_row[note] for note, _ in first])
    return tuple(
        MainNote(
            place=topic.locate_note(note),
            fragments=int(topic.counts[note]),
            of=int(topic.note_sizes[note]),
            share=int(topic.counts[note]) / total,
            value=value,
        )
        for note, value in first
    )


def choose_key_sections(topic: Topic, passages: Iterable[KeyPassage]) -> tuple[KeySection, ...]:
    """Return the sections of the search's first hits, then other sections by their value for the topic, best first.

    A note's text before its first heading, and a section that is nearly the whole note, are left out. No section
    overlaps another. A first hit that is in no listed section is listed itself, unless it is before its note's first
    heading and one of the `passages` quotes it.
    """
    best = zip(topic.best[:FRAGMENTS_READ_FOR_SECTIONS].tolist(), topic.scores.tolist(), strict=False)
    scores = dict(sorted({**topic.answers, **dict(best)}.items(), key=lambda item: -item[1]))
    fragments = dict(zip(scores, topic.fragments(list(scores)), strict=True))
    section_keys = {row: (fragment.path, fragment.section) for row, fragment in fragments.items()}
    values = combine_values(list(section_keys.values()), list(scores.values()))
    fragment_by_section = {section_keys[row]: fragment for row, fragment in reversed(fragments.items())}
    quoted = {passage.place.fragment_id for passage in passages}
    sections: list[KeySection] = []

    def add(fragment: Fragment, first: int, last: int) -> None:
        location = SourceLocation(fragment.path, fragment.title, first, last, fragment.heading_path)
        count = sum(_contains(location, item) for item in fragments.values())
        sections.append(
            KeySection(location, count, _count_tokens(topic, location), values[fragment.path, fragment.section])
        )

    def is_quoted(fragment: Fragment) -> bool:
        return not fragment.heading_path and fragment.id in quoted

    for fragment in topic.fragments(list(topic.answers)):
        section, is_partial = _find_section(topic, fragment)
        if is_partial and fragment.heading_path and not _overlaps_chosen_section(section, fragment.path, sections):
            add(fragment, section.line_start, section.line_end)
        elif not (is_quoted(fragment) or any(_contains(item.place, fragment) for item in sections)):
            add(fragment, fragment.line_start, fragment.line_end)
    for path, ordinal in values:
        if len(sections) >= MAX_SECTIONS:
            break
        fragment = fragment_by_section[path, ordinal]
        if sum(item.place.path == path for item in sections) < MAX_SECTIONS_PER_NOTE and fragment.heading_path:
            section, is_partial = _find_section(topic, fragment)
            if is_partial and not _overlaps_chosen_section(section, path, sections):
                add(fragment, section.line_start, section.line_end)
    return tuple(sections)


def _find_section(topic: Topic, fragment: Fragment) -> tuple[Section, bool]:
    """Return the section of a fragment, and whether the section is clearly less than the whole note."""
    sections = {section.ordinal: section for section in topic.snapshot.sections(fragment.path)}
    return sections[fragment.section], _is_partial_section(sections[fragment.section], sections.values())


def _contains(location: SourceLocation, fragment: Fragment) -> bool:
    return location.path == fragment.path and location.line_start <= fragment.line_start <= location.line_end


def _is_partial_section(section: Section, sections: Iterable[Section]) -> bool:
    """Return whether `section` has less than WHOLE_NOTE_SHARE of its note's lines; `sections` are all of the note."""
    lines = max(fragment.line_end for fragment in sections)
    return section.line_end - section.line_start + 1 < WHOLE_NOTE_SHARE * lines


def _overlaps_chosen_section(section: Section, path: str, chosen: Iterable[KeySection]) -> bool:
    """Return whether `section` of the note `path` overlaps one of the `chosen` sections."""
    locations = [other.place for other in chosen if other.place.path == path]
    return any(other.line_start <= section.line_end and section.line_start <= other.line_end for other in locations)


def _count_tokens(topic: Topic, location: SourceLocation) -> int:
    (parts,) = topic.snapshot.fragment_infos([(location.path, 0, None)])
    return sum(part.tokens for part in parts if location.line_start <= part.line_start <= location.line_end)
