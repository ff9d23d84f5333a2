"""The notes that a topic is at home in, and the sections in them and elsewhere that say most on it."""

from __future__ import annotations

import numpy as np

from excerpt.insight.overview_parts import KeySection, MainNote, Place
from excerpt.insight.topic import Topic, worths
from excerpt.model import Fragment, Section

MAIN_NOTES = 5
SECTIONS = 6
PER_NOTE = 2
"""Sections of one note at most: the others can be seen in its outline."""
READ_FOR_SECTIONS = 100
"""Fragments whose sections are looked at, the best ones."""


def main_notes(topic: Topic) -> tuple[MainNote, ...]:
    """The notes that are worth most for a topic, best first."""
    table = topic.snapshot.table
    total = max(len(topic.rows), 1)
    first = list(topic.note_worths.items())[:MAIN_NOTES]
    topic.fragments([topic.best_row[note] for note, _ in first])
    return tuple(
        MainNote(
            place=topic.note_place(note),
            fragments=int(topic.counts[note]),
            of=int(np.count_nonzero(table.notes == note)),
            share=int(topic.counts[note]) / total,
            worth=worth,
        )
        for note, worth in first
    )


def key_sections(topic: Topic) -> tuple[KeySection, ...]:
    """The sections that are worth most for a topic, best first; what stands before a note's first heading, or under
    one that only repeats its title, is the note's and not a section of it."""
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
        if taken.get(path, 0) < PER_NOTE and _is_own(held[0]):
            taken[path] = taken.get(path, 0) + 1
            section = next(one for one in topic.snapshot.sections(path) if one.ordinal == ordinal)
            found.append(_key_section(topic, held, section, worth))
        if len(found) == SECTIONS:
            break
    return tuple(found)


def _is_own(fragment: Fragment) -> bool:
    return bool(fragment.heading_path) and fragment.heading_path != (fragment.title,)


def _key_section(topic: Topic, held: list[Fragment], section: Section, worth: float) -> KeySection:
    best = held[0]
    (parts,) = topic.snapshot.parts([(best.path, 0, None)])
    inside = [part for part in parts if section.line_start <= part.line_start <= section.line_end]
    place = Place(best.path, best.title, section.line_start, section.line_end, best.heading_path)
    return KeySection(place, len(held), sum(part.tokens for part in inside), worth)
