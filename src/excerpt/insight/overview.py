"""Overviews of a vault's content on a topic: notes, sections, themes, dates and links."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from excerpt.corpus.facets import UNKNOWN_DAY, Label, WrittenLink, property_name
from excerpt.corpus.links import names_other_file
from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    SourceLocation,
    Timeline,
)
from excerpt.insight.passages import key_passages
from excerpt.insight.significant import standouts
from excerpt.insight.themes import GROUPED, themes
from excerpt.insight.topic import Topic, combined_values, find_topic, location_of
from excerpt.kinds import Confidence
from excerpt.model import Fragment, Section
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine
from excerpt.text.dates import parse_date
from excerpt.text.tokens import open_tokenizer

# --- linked -----------------------------------------------------------------------------------------------------------
# The links of a topic: notes linked with its main notes, and people and things that its passages link to.

RELATED = 8
NAMES = 8
LINKS_READ = 120
"""The number of notes, the best ones, whose links are read for names."""
MIN_NAMED = 2
"""The least number of notes that must link to a name; one is enough in a topic of few notes."""
SMALL_TOPIC = 4


def related_notes(topic: Topic, main: Sequence[MainNote]) -> tuple[LinkedNote, ...]:
    """Return the notes that the main notes link to or are linked from, best first.

    Each linked main note counts, twice if both link; notes about the topic come first. A count is divided by the
    logarithm of all links of a note, because one of many links is weak evidence (Adamic and Adar, 2003).
    """
    facets, table = topic.snapshot.facets, topic.snapshot.table
    sources, targets = facets.links
    numbers = [facets.numbers[note.place.path] for note in main]
    degrees = np.bincount(sources, minlength=len(table.paths)) + np.bincount(targets, minlength=len(table.paths))
    links_by_note: dict[int, tuple[list[int], list[int]]] = {}
    for number in numbers:
        for other in targets[sources == number].tolist():
            links_by_note.setdefault(other, ([], []))[1].append(number)
        for other in sources[targets == number].tolist():
            links_by_note.setdefault(other, ([], []))[0].append(number)
    for number in numbers:
        links_by_note.pop(number, None)

    def score(other: int) -> float:
        links = sum(map(len, links_by_note[other])) / np.log2(2 + degrees[other])
        return float(links + topic.note_values.get(other, 0.0))

    chosen = sorted(links_by_note, key=lambda other: (-score(other), other))[:RELATED]
    linked: list[LinkedNote] = []
    for other in chosen:
        to, by = ([table.paths[number] for number in some] for some in links_by_note[other])
        linked.append(LinkedNote(_location_of_note(topic, other), tuple(to), tuple(by), int(topic.counts[other])))
    return tuple(linked)


def _location_of_note(topic: Topic, note: int) -> SourceLocation:
    """Return the location of a note's best fragment about the topic, or of the first fragment of another note."""
    if note in topic.best_row:
        return topic.note_location(note)
    path = topic.snapshot.table.paths[note]
    first = topic.snapshot.note_fragments(path, 0, 0)
    return location_of(first[0]) if first else SourceLocation(path, topic.snapshot.note_info(path).title, 1, 1)


# --- names ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LinkedEntry:
    """A name: its spellings, its note (None: none), and the notes with the name in passages about the topic.

    These notes are best first, each with the first line that has the name.
    """

    spellings: Counter[str]
    note: int | None
    lines_by_note: dict[int, int]


def linked_names(topic: Topic, excluded: Sequence[SourceLocation]) -> tuple[LinkedName, ...]:
    """Return the names that passages about a topic link to, the most frequent first.

    The notes `excluded` and notes about the topic itself are left out: the rest are related people, places and things.
    """
    facets = topic.snapshot.facets
    notes_read = topic.note_order[:LINKS_READ]
    named = _linked_entries(topic, notes_read)
    left_out = {facets.numbers[location.path] for location in excluded}
    min_notes = MIN_NAMED if len(notes_read) >= SMALL_TOPIC else 1
    overall = _overall(topic, named)
    chosen = [
        (entry, overall[key])
        for key, entry in named.items()
        if len(entry.lines_by_note) >= min_notes
        and entry.note not in left_out
        and (entry.note is None or not topic.counts[entry.note])
    ]

    def score(entry: _LinkedEntry, everywhere: int) -> float:
        # The number of these notes times their share of all notes that link to it.
        return len(entry.lines_by_note) * len(entry.lines_by_note) / max(everywhere, len(entry.lines_by_note))

    chosen.sort(key=lambda pair: (-score(*pair), min(pair[0].spellings)))
    return tuple(
        LinkedName(
            name=_name(topic, entry),
            path=None if entry.note is None else topic.snapshot.table.paths[entry.note],
            notes=len(entry.lines_by_note),
            overall=max(everywhere, len(entry.lines_by_note)),
            place=_location_of_line(topic, *next(iter(entry.lines_by_note.items()))),
        )
        for entry, everywhere in chosen[:NAMES]
    )


def _linked_entries(topic: Topic, notes: Sequence[int]) -> dict[int | str, _LinkedEntry]:
    """Return the names linked from `notes`, by the number of their note or, without one, by the folded name."""
    facets = topic.snapshot.facets
    titles: dict[int | str, Counter[str]] = {}
    lines_by_note: dict[int | str, dict[int, int]] = {}
    links: dict[int, list[WrittenLink]] = {}
    # The target of a link depends only on the folder and the text, and most links occur many times.
    resolved_links: dict[tuple[str, str], int | None] = {}
    paths = topic.snapshot.table.paths
    for link in facets.written_links(np.array(notes, np.int32)):
        links.setdefault(link.note, []).append(link)
    spans = _spans(topic, notes)
    for note in notes:
        for link in links.get(note, ()):
            if not _is_in(link.line, spans[note]):
                continue
            link_key = (posixpath.dirname(paths[note]), link.target)
            if link_key not in resolved_links:
                resolved_links[link_key] = facets.resolve_link(link)
            target = resolved_links[link_key]
            if target == note or (target is None and not _is_name(link.target)):
                continue
            key: int | str = _bare(link.target).casefold() if target is None else target
            titles.setdefault(key, Counter())[_bare(link.target)] += 1
            lines_by_note.setdefault(key, {}).setdefault(note, link.line)
    return {
        key: _LinkedEntry(titles[key], key if isinstance(key, int) else None, lines_by_note[key])
        for key in lines_by_note
    }


def _name(topic: Topic, entry: _LinkedEntry) -> str:
    """Return the title of the named note, or else the commonest spelling of the name."""
    if entry.note is not None:
        return topic.snapshot.note_info(topic.snapshot.table.paths[entry.note]).title
    return min(entry.spellings, key=lambda name: (-entry.spellings[name], name))


def _overall(topic: Topic, named: dict[int | str, _LinkedEntry]) -> dict[int | str, int]:
    """Return the number of notes of the vault that link to each name's note.

    For a name without a note, return the number of notes about the topic with the name.
    """
    _, targets = topic.snapshot.facets.links
    counts = np.bincount(targets, minlength=len(topic.snapshot.table.paths))
    return {
        key: len(entry.lines_by_note) if entry.note is None else int(counts[entry.note]) for key, entry in named.items()
    }


def _spans(topic: Topic, notes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each note, the line ranges of its fragments about the topic, ascending; the end is exclusive."""
    lines, of_note = topic.snapshot.table.lines, topic.snapshot.table.notes
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in topic.rows[np.isin(topic.notes, notes)].tolist():
        spans.setdefault(int(of_note[row]), []).append((int(lines[row]), _next_line(row, lines, of_note)))
    return spans


def _next_line(row: int, lines: Rows, notes: Rows) -> int:
    """Return the first line of the fragment after `row`; for a note's last fragment, a number above all lines."""
    after = row + 1
    return int(lines[after]) if after < len(lines) and notes[after] == notes[row] else 1 << 31


def _is_in(line: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a line is in one of the ascending spans."""
    at = bisect_right(spans, line, key=itemgetter(0)) - 1
    return at >= 0 and line < spans[at][1]


def _location_of_line(topic: Topic, note: int, line: int) -> SourceLocation:
    path = topic.snapshot.table.paths[note]
    return SourceLocation(path, topic.snapshot.note_info(path).title, line, line)


def _bare(target: str) -> str:
    """Return a target without folder and suffix."""
    return posixpath.basename(target.rstrip("/")).removesuffix(".md")


def _is_name(target: str) -> bool:
    """Return whether the target of an unresolved link may be a name: no picture and no path to a missing file."""
    return "/" not in target and not names_other_file(target)


# --- main notes -------------------------------------------------------------------------------------------------------
# The notes that are mainly about a topic, and the best sections about it in these and other notes.

MAIN_NOTES = 5
SECTIONS = 6
PER_NOTE = 2
"""The most sections of one note: the others can be seen in its outline."""
NEARLY_ALL = 0.8
"""The share of a note's lines from which a section counts as the whole note."""
READ_FOR_SECTIONS = 100
"""The number of fragments, the best ones, whose sections are considered."""


def main_notes(topic: Topic) -> tuple[MainNote, ...]:
    """Return the notes of the highest value for a topic, best first."""
    total = max(len(topic.rows), 1)
    first = list(topic.note_values.items())[:MAIN_NOTES]
    topic.fragments([topic.best_row[note] for note, _ in first])
    return tuple(
        MainNote(
            place=topic.note_location(note),
            fragments=int(topic.counts[note]),
            of=int(topic.sizes[note]),
            share=int(topic.counts[note]) / total,
            worth=value,
        )
        for note, value in first
    )


def key_sections(topic: Topic, passages: Iterable[KeyPassage]) -> tuple[KeySection, ...]:
    """Return the sections of the first hits, then those of the highest value for a topic, best first.

    The opening section, and one that is nearly the whole note, do not count, and none is inside another. A first hit in
    none of them is listed itself, unless it is before all headings and one of the `passages` quotes it.
    """
    best = zip(topic.best[:READ_FOR_SECTIONS].tolist(), topic.scores.tolist(), strict=False)
    scores = dict(sorted({**topic.answers, **dict(best)}.items(), key=lambda item: -item[1]))
    fragments = dict(zip(scores, topic.fragments(list(scores)), strict=True))
    section_keys = {row: (fragment.path, fragment.section) for row, fragment in fragments.items()}
    values = combined_values(list(section_keys.values()), list(scores.values()))
    fragment_by_section = {section_keys[row]: fragment for row, fragment in reversed(fragments.items())}
    quoted = {passage.place.fragment_id for passage in passages}
    sections: list[KeySection] = []

    def add(fragment: Fragment, first: int, last: int) -> None:
        location = SourceLocation(fragment.path, fragment.title, first, last, fragment.heading_path)
        count = sum(_contains(location, item) for item in fragments.values())
        sections.append(KeySection(location, count, _tokens(topic, location), values[fragment.path, fragment.section]))

    def is_told(fragment: Fragment) -> bool:
        return not fragment.heading_path and fragment.id in quoted

    for fragment in topic.fragments(list(topic.answers)):
        section, is_part = _section_of(topic, fragment)
        if is_part and fragment.heading_path and not _is_nested(section, fragment.path, sections):
            add(fragment, section.line_start, section.line_end)
        elif not (is_told(fragment) or any(_contains(item.place, fragment) for item in sections)):
            add(fragment, fragment.line_start, fragment.line_end)
    for path, ordinal in values:
        if len(sections) >= SECTIONS:
            break
        fragment = fragment_by_section[path, ordinal]
        if sum(item.place.path == path for item in sections) < PER_NOTE and fragment.heading_path:
            section, is_part = _section_of(topic, fragment)
            if is_part and not _is_nested(section, path, sections):
                add(fragment, section.line_start, section.line_end)
    return tuple(sections)


def _section_of(topic: Topic, fragment: Fragment) -> tuple[Section, bool]:
    """Return the section of a fragment, and whether it is clearly less than the whole note."""
    sections = {section.ordinal: section for section in topic.snapshot.sections(fragment.path)}
    return sections[fragment.section], _is_part(sections[fragment.section], sections.values())


def _contains(location: SourceLocation, fragment: Fragment) -> bool:
    return location.path == fragment.path and location.line_start <= fragment.line_start <= location.line_end


def _is_part(section: Section, sections: Iterable[Section]) -> bool:
    """Return whether a section is clearly less than the whole note (NEARLY_ALL)."""
    lines = max(fragment.line_end for fragment in sections)
    return section.line_end - section.line_start + 1 < NEARLY_ALL * lines


def _is_nested(section: Section, path: str, chosen: Iterable[KeySection]) -> bool:
    """Return whether a section overlaps one of those already chosen."""
    locations = [other.place for other in chosen if other.place.path == path]
    return any(other.line_start <= section.line_end and section.line_start <= other.line_end for other in locations)


def _tokens(topic: Topic, location: SourceLocation) -> int:
    (parts,) = topic.snapshot.parts([(location.path, 0, None)])
    return sum(part.tokens for part in parts if location.line_start <= part.line_start <= location.line_end)


# --- timeline ---------------------------------------------------------------------------------------------------------
# When a topic was written about: its notes by month.

MIN_DATED_SHARE = 0.5
"""The least share of the notes that must have a date for the timeline to use it."""
MIN_DATED = 2
MAX_DATE_PROPERTIES = 3
"""The number of properties whose dates are read for all notes."""
SAME_DAY_SHARE = 0.9
"""If more than this share of a vault's notes was modified within one day, a copy or a checkout set the times."""

_EPOCH = date(1970, 1, 1)
_DAY_NS = 86_400 * 10**9


def timeline(topic: Topic) -> Timeline:
    """Return the months by the best date that most of the notes have.

    The order is: when notes were created, by property or file name; a property of another name that holds a date; when
    files were modified, if those times are meaningful. If no date is in most notes, the most frequent is used, as in a
    vault with a diary.
    """
    notes = topic.note_order
    largest: tuple[str, dict[int, date]] = ("", {})
    for name, days in _date_sources(topic):
        if days and len(days) >= MIN_DATED_SHARE * len(notes):
            return _timeline(topic, name, days)
        largest = max(largest, (name, days), key=lambda pair: len(pair[1]))
    times = topic.snapshot.facets.modified
    if notes and not _is_copied(times):
        modified = {note: _EPOCH + timedelta(int(times[note]) // _DAY_NS) for note in notes}
        return _timeline(topic, "modified", modified)
    return _timeline(topic, *largest) if len(largest[1]) >= MIN_DATED else Timeline("", (), len(notes))


def _date_sources(topic: Topic) -> Iterator[tuple[str, dict[int, date]]]:
    """Yield the kinds of dates, the best first, each with the days by note."""
    yield "created", _created_dates(topic)
    for name in _date_properties(topic):
        yield name, _by_property(topic, name)


def _created_dates(topic: Topic) -> dict[int, date]:
    days = topic.snapshot.facets.created
    return {note: _EPOCH + timedelta(int(days[note])) for note in topic.note_order if days[note] != UNKNOWN_DAY}


def _date_properties(topic: Topic) -> list[str]:
    """Return the properties that hold one date a note, those that most of the notes have first."""
    labels_by_property: dict[str, list[Label]] = {}
    for label in topic.labels:
        if not label.is_tag:
            labels_by_property.setdefault(property_name(label.name), []).append(label)
    dated: dict[str, int] = {}
    for name, labels in labels_by_property.items():
        if len({label.note for label in labels}) == len(labels):
            days = sum(parse_date(label.value) is not None for label in labels)
            # A property whose values are only sometimes dates is not a date.
            if days > MIN_DATED_SHARE * len(labels):
                dated[name] = days
    return sorted(dated, key=lambda name: (-dated[name], name))[:MAX_DATE_PROPERTIES]


def _by_property(topic: Topic, name: str) -> dict[int, date]:
    """Return the date in a property of each note about the topic, the best notes first."""
    days: dict[int, date] = {}
    for value, notes in topic.snapshot.facets.properties[name].items():
        topic_notes = notes[topic.counts[notes] > 0]
        if len(topic_notes) and (day := parse_date(value)):
            days.update(dict.fromkeys(topic_notes.tolist(), day))
    return {note: days[note] for note in topic.note_order if note in days}


def _is_copied(times: npt.NDArray[np.int64]) -> bool:
    ordered = np.sort(times)
    ends = np.searchsorted(ordered, ordered + _DAY_NS, side="right")
    return int((ends - np.arange(len(ordered))).max(initial=0)) > SAME_DAY_SHARE * len(ordered)


def _timeline(topic: Topic, name: str, days: Mapping[int, date]) -> Timeline:
    """Return the timeline of the dates `days`, which are by note, the best notes first."""
    of_month: dict[str, list[int]] = {}
    for note, day in days.items():
        of_month.setdefault(f"{day.year:04}-{day.month:02}", []).append(note)
    topic.fragments([topic.best_row[notes[0]] for notes in of_month.values()])
    months = tuple(Month(month, len(notes), topic.note_location(notes[0])) for month, notes in sorted(of_month.items()))
    return Timeline(name, months, len(topic.note_order) - len(days))


# --- overview ---------------------------------------------------------------------------------------------------------
# Overviews of a vault's content on a topic: notes, sections, themes, dates and passages.

BUDGET = 800
"""The default limit of an overview's Markdown, in tokens: one screen."""


def overview(engine: Engine, topic: str, budget: int = BUDGET) -> Overview:
    """Return an overview of the engine's vault on `topic`, which is parsed as a query.

    `budget` limits its Markdown (`excerpt.insight.render`), in tokens of the index's tokenizer. The same index,
    settings and topic give the same overview.
    """
    subject = find_topic(engine, topic)
    # Load all fragments that themes, sections and passages use, in one query.
    subject.fragments(subject.best[:GROUPED].tolist())
    main = main_notes(subject)
    related = related_notes(subject, main)
    locations = [note.place for note in main] + [note.place for note in related]
    snapshot = engine.snapshot
    passages = key_passages(subject, open_tokenizer(snapshot.tokenizer).count)
    return Overview(
        topic=topic,
        budget=budget,
        tokenizer=snapshot.tokenizer,
        generation=snapshot.generation,
        confidence=_surest(subject),
        matched=subject.matched,
        fragments=len(subject.rows),
        notes=len(subject.note_order),
        vault_fragments=snapshot.lexical.corpus_size,
        vault_notes=len(snapshot.table.paths),
        main_notes=main,
        sections=key_sections(subject, passages),
        passages=passages,
        themes=themes(subject),
        standouts=standouts(subject),
        related=related,
        names=linked_names(subject, locations),
        timeline=timeline(subject),
    )


def _surest(topic: Topic) -> Confidence | None:
    """Return the highest confidence of a fragment; None for filters alone."""
    sure = [confidence for confidence in topic.confidences if confidence is not None]
    if not sure:
        return None if len(topic.rows) else Confidence.NOTHING
    return min(sure, key=list(Confidence).index)
