"""The notes that a topic is at home in, and the sections in them and elsewhere that say most on it."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.insight.overview_parts import KeyPassage, KeySection, MainNote, Place
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


def key_sections(topic: Topic, passages: Iterable[KeyPassage]) -> tuple[KeySection, ...]:
    """The sections of the first hits, then those that are worth most for a topic, best first.

    What stands before a note's first heading, or is nearly all of it, is no section of it, and none is within another.
    A first hit in none of them stands for itself, unless it is before all headings and one of the `passages` quotes it.
    """
    best = zip(topic.best[:READ_FOR_SECTIONS].tolist(), topic.scores.tolist(), strict=False)
    scores = dict(sorted({**topic.answers, **dict(best)}.items(), key=lambda one: -one[1]))
    fragments = dict(zip(scores, topic.fragments(list(scores)), strict=True))
    where = {row: (fragment.path, fragment.section) for row, fragment in fragments.items()}
    worth = worths(list(where.values()), list(scores.values()))
    leading = {where[row]: fragment for row, fragment in reversed(fragments.items())}
    quoted = {passage.place.fragment_id for passage in passages}
    found: list[KeySection] = []

    def add(fragment: Fragment, first: int, last: int) -> None:
        place = Place(fragment.path, fragment.title, first, last, fragment.heading_path)
        held = sum(_holds(place, one) for one in fragments.values())
        found.append(KeySection(place, held, _tokens(topic, place), worth[fragment.path, fragment.section]))

    def is_told(fragment: Fragment) -> bool:
        return not fragment.heading_path and fragment.id in quoted

    for fragment in topic.fragments(list(topic.answers)):
        section, is_part = _section_of(topic, fragment)
        if is_part and fragment.heading_path and not _is_nested(section, fragment.path, found):
            add(fragment, section.line_start, section.line_end)
        elif not (is_told(fragment) or any(_holds(one.place, fragment) for one in found)):
            add(fragment, fragment.line_start, fragment.line_end)
    for path, ordinal in worth:
        if len(found) >= SECTIONS:
            break
        fragment = leading[path, ordinal]
        if sum(one.place.path == path for one in found) < PER_NOTE and fragment.heading_path:
            section, is_part = _section_of(topic, fragment)
            if is_part and not _is_nested(section, path, found):
                add(fragment, section.line_start, section.line_end)
    return tuple(found)


def _section_of(topic: Topic, fragment: Fragment) -> tuple[Section, bool]:
    """The section that a fragment is of, and whether that is less than nearly all of its note."""
    sections = {section.ordinal: section for section in topic.snapshot.sections(fragment.path)}
    return sections[fragment.section], _is_part(sections[fragment.section], sections.values())


def _holds(place: Place, fragment: Fragment) -> bool:
    return place.path == fragment.path and place.line_start <= fragment.line_start <= place.line_end


def _is_part(section: Section, sections: Iterable[Section]) -> bool:
    """Whether a section is less than nearly all of its note."""
    lines = max(one.line_end for one in sections)
    return section.line_end - section.line_start + 1 < NEARLY_ALL * lines


def _is_nested(section: Section, path: str, chosen: Iterable[KeySection]) -> bool:
    """Whether a section is within, or around, one of those already chosen."""
    places = [one.place for one in chosen if one.place.path == path]
    return any(one.line_start <= section.line_end and section.line_start <= one.line_end for one in places)


def _tokens(topic: Topic, place: Place) -> int:
    (parts,) = topic.snapshot.parts([(place.path, 0, None)])
    return sum(part.tokens for part in parts if place.line_start <= part.line_start <= place.line_end)
