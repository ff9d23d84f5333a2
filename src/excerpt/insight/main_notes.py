"""The notes that a topic is at home in, and the sections in them and elsewhere that say most on it."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.insight.overview_parts import KeySection, MainNote, Place
from excerpt.insight.topic import Topic, worths
from excerpt.model import Fragment, Section

MAIN_NOTES = 5
SECTIONS = 6
PER_NOTE = 2
"""Sections of one note at most: the others can be seen in its outline."""
NEARLY_ALL = 0.8
"""The share of a note's lines from which a section is the note itself under another name."""
READ_FOR_SECTIONS = 100
"""Fragments whose sections are looked at, the best ones."""


def main_notes(topic: Topic) -> tuple[MainNote, ...]:
    """The notes that are worth most for a topic, best first."""
    total = max(len(topic.rows), 1)
    first = list(topic.note_worths.items())[:MAIN_NOTES]
    topic.fragments([topic.best_row[note] for note, _ in first])
    return tuple(
        MainNote(
            place=topic.note_place(note),
            fragments=int(topic.counts[note]),
            of=int(topic.sizes[note]),
            share=int(topic.counts[note]) / total,
            worth=worth,
        )
        for note, worth in first
    )


def key_sections(topic: Topic) -> tuple[KeySection, ...]:
    """The sections that are worth most for a topic, best first; what stands before a note's first heading, or is
    nearly all of it, is no section of it."""
    rows = topic.best[:READ_FOR_SECTIONS].tolist()
    fragments = topic.fragments(rows)
    where = [(fragment.path, fragment.section) for fragment in fragments]
    by_section: dict[tuple[str, int], list[Fragment]] = {}
    for key, fragment in zip(where, fragments, strict=True):
        by_section.setdefault(key, []).append(fragment)
    found: list[KeySection] = []
    taken: dict[str, int] = {}
    for (path, ordinal), worth in worths(where, topic.scores[: len(rows)].tolist()).items():
        held = by_section[path, ordinal]
        if taken.get(path, 0) < PER_NOTE and held[0].heading_path:
            sections = {section.ordinal: section for section in topic.snapshot.sections(path)}
            if _is_part(sections[ordinal], sections.values()) and not _is_nested(sections[ordinal], path, found):
                taken[path] = taken.get(path, 0) + 1
                found.append(_key_section(topic, held, sections[ordinal], worth))
        if len(found) == SECTIONS:
            break
    return tuple(found)


def _is_part(section: Section, sections: Iterable[Section]) -> bool:
    """Whether a section is less than nearly all of its note."""
    lines = max(one.line_end for one in sections)
    return section.line_end - section.line_start + 1 < NEARLY_ALL * lines


def _is_nested(section: Section, path: str, chosen: Iterable[KeySection]) -> bool:
    """Whether a section is within, or around, one of those already chosen."""
    places = [one.place for one in chosen if one.place.path == path]
    return any(one.line_start <= section.line_end and section.line_start <= one.line_end for one in places)


def _key_section(topic: Topic, held: list[Fragment], section: Section, worth: float) -> KeySection:
    best = held[0]
    (parts,) = topic.snapshot.parts([(best.path, 0, None)])
    inside = [part for part in parts if section.line_start <= part.line_start <= section.line_end]
    place = Place(best.path, best.title, section.line_start, section.line_end, best.heading_path)
    return KeySection(place, len(held), sum(part.tokens for part in inside), worth)
