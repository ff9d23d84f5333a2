"""Overviews of a vault's content on a topic: notes, sections, themes, dates and links."""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from operator import itemgetter

import numpy as np
from msgspec import Struct

from excerpt.base.kinds import Confidence
from excerpt.base.model import Fragment, Section
from excerpt.corpus.facets import UNKNOWN_DAY, Label, NoteLink, property_name
from excerpt.corpus.links import has_other_suffix, swapped_target
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
from excerpt.insight.passages import choose_key_passages
from excerpt.insight.significant import find_distinctive_labels
from excerpt.insight.themes import GROUPED_FRAGMENTS, find_themes
from excerpt.insight.topic import Topic, combine_values, find_topic, locate_fragment
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine
from excerpt.text.dates import parse_date
from excerpt.text.tokens import open_tokenizer

# --- linked -----------------------------------------------------------------------------------------------------------
# The links of a topic: notes linked with its main notes, and people and things that its passages link to.

MAX_RELATED_NOTES = 8
MAX_LINKED_NAMES = 8
NOTES_READ_FOR_LINKS = 120
"""The number of best notes about the topic whose links are read for linked names."""
MIN_LINKING_NOTES = 2
"""The least number of notes that must link to a listed name; one is enough in a small topic."""
SMALL_TOPIC_NOTES = 4
"""A topic with fewer notes than this is small."""


def find_linked_notes(topic: Topic, main: Sequence[MainNote]) -> tuple[LinkedNote, ...]:
    """Return the notes that link to the main notes or are linked from them, best first, without the main notes.

    A note's score is its number of links with main notes, in both directions, divided by the logarithm of the number of
    all its links: one of many links is weak evidence (Adamic and Adar, 2003). A note about the topic gets its value for
    the topic (0 to 1) in addition.
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

    chosen = sorted(links_by_note, key=lambda other: (-score(other), other))[:MAX_RELATED_NOTES]
    linked: list[LinkedNote] = []
    for other in chosen:
        link_targets, backlinks = ([table.paths[number] for number in some] for some in links_by_note[other])
        linked.append(
            LinkedNote(_locate_note(topic, other), tuple(link_targets), tuple(backlinks), int(topic.counts[other]))
        )
    return tuple(linked)


def _locate_note(topic: Topic, note: int) -> SourceLocation:
    """Return the location of the note's best fragment about the topic, or else of its first fragment."""
    if note in topic.best_row:
        return topic.locate_note(note)
    path = topic.snapshot.table.paths[note]
    first = topic.snapshot.note_fragments(path, 0, 0)
    return locate_fragment(first[0]) if first else SourceLocation(path, topic.snapshot.note_info(path).title, 1, 1)


# --- names ------------------------------------------------------------------------------------------------------------


class _LinkTarget(Struct, frozen=True):
    """A link target in passages about the topic: its spellings, and the number of its note (None for a missing note).

    `lines_by_note` maps the notes that link to it, best first, to the line of the first link.
    """

    spellings: Counter[str]
    note: int | None
    lines_by_note: dict[int, int]


def find_linked_names(topic: Topic, excluded: Sequence[SourceLocation]) -> tuple[LinkedName, ...]:
    """Return the names that passages about a topic link to, the most frequent first.

    Notes about the topic and the notes at the `excluded` locations are left out. What remains are related people,
    places and things.
    """
    facets = topic.snapshot.facets
    notes_read = topic.ranked_notes[:NOTES_READ_FOR_LINKS]
    link_targets_by_key = _collect_link_targets(topic, notes_read)
    left_out = {facets.numbers[location.path] for location in excluded}
    min_notes = MIN_LINKING_NOTES if len(notes_read) >= SMALL_TOPIC_NOTES else 1
    overall = _count_linking_notes(topic, link_targets_by_key)
    chosen = [
        (entry, overall[key])
        for key, entry in link_targets_by_key.items()
        if len(entry.lines_by_note) >= min_notes
        and entry.note not in left_out
        and (entry.note is None or not topic.counts[entry.note])
    ]

    def score(entry: _LinkTarget, everywhere: int) -> float:
        # The number of topic notes that link to the name, times their share of all notes that link to the name.
        return len(entry.lines_by_note) * len(entry.lines_by_note) / max(everywhere, len(entry.lines_by_note))

    chosen.sort(key=lambda pair: (-score(*pair), min(pair[0].spellings)))
    return tuple(
        LinkedName(
            name=_choose_display_name(topic, entry),
            path=None if entry.note is None else topic.snapshot.table.paths[entry.note],
            notes=len(entry.lines_by_note),
            overall=max(everywhere, len(entry.lines_by_note)),
            place=_locate_line(topic, *next(iter(entry.lines_by_note.items()))),
        )
        for entry, everywhere in chosen[:MAX_LINKED_NAMES]
    )


def _collect_link_targets(topic: Topic, notes: Sequence[int]) -> dict[int | str, _LinkTarget]:
    """Return the link targets in passages about the topic in `notes`.

    The key is the number of the target's note or, if the note is missing, the case-folded name.
    """
    facets = topic.snapshot.facets
    titles: dict[int | str, Counter[str]] = {}
    lines_by_note: dict[int | str, dict[int, int]] = {}
    links: dict[int, list[NoteLink]] = {}
    # The target of a link depends only on the folder and the text, and most links occur many times.
    resolved_links: dict[tuple[str, str, str], int | None] = {}
    paths = topic.snapshot.table.paths
    for link in facets.written_links(np.array(notes, np.int32)):
        links.setdefault(link.note, []).append(link)
    spans = _list_topic_line_ranges(topic, notes)
    for note in notes:
        for link in links.get(note, ()):
            if not _is_in_line_ranges(link.line, spans[note]):
                continue
            link_key = (posixpath.dirname(paths[note]), link.target, swapped_target(link.text))
            if link_key not in resolved_links:
                resolved_links[link_key] = facets.resolve_link(link)
            target = resolved_links[link_key]
            if target == note or (target is None and not _can_be_name(link.target)):
                continue
            key: int | str = _strip_folder_and_suffix(link.target).casefold() if target is None else target
            titles.setdefault(key, Counter())[_strip_folder_and_suffix(link.target)] += 1
            lines_by_note.setdefault(key, {}).setdefault(note, link.line)
    return {
        key: _LinkTarget(titles[key], key if isinstance(key, int) else None, lines_by_note[key])
        for key in lines_by_note
    }


def _choose_display_name(topic: Topic, entry: _LinkTarget) -> str:
    """Return the title of the target's note or, if the note is missing, the commonest spelling of the name."""
    if entry.note is not None:
        return topic.snapshot.note_info(topic.snapshot.table.paths[entry.note]).title
    return min(entry.spellings, key=lambda name: (-entry.spellings[name], name))


def _count_linking_notes(topic: Topic, link_targets_by_key: dict[int | str, _LinkTarget]) -> dict[int | str, int]:
    """Return, for each link target, the number of notes of the vault that link to its note.

    If the note is missing, only notes about the topic are counted.
    """
    _, targets = topic.snapshot.facets.links
    counts = np.bincount(targets, minlength=len(topic.snapshot.table.paths))
    return {
        key: len(entry.lines_by_note) if entry.note is None else int(counts[entry.note])
        for key, entry in link_targets_by_key.items()
    }


def _list_topic_line_ranges(topic: Topic, notes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return, for each of `notes`, the line ranges (end exclusive) of its fragments about the topic, ascending."""
    lines, of_note = topic.snapshot.table.lines, topic.snapshot.table.notes
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in topic.rows[np.isin(topic.notes, notes)].tolist():
        spans.setdefault(int(of_note[row]), []).append((int(lines[row]), _find_next_line(row, lines, of_note)))
    return spans


def _find_next_line(row: int, lines: Rows, notes: Rows) -> int:
    """Return the first line of the note's next fragment after `row`; for the last fragment, 2³¹."""
    after = row + 1
    return int(lines[after]) if after < len(lines) and notes[after] == notes[row] else 1 << 31


def _is_in_line_ranges(line: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether `line` is in one of `spans`, which are line ranges (end exclusive), ascending."""
    at = bisect_right(spans, line, key=itemgetter(0)) - 1
    return at >= 0 and line < spans[at][1]


def _locate_line(topic: Topic, note: int, line: int) -> SourceLocation:
    path = topic.snapshot.table.paths[note]
    return SourceLocation(path, topic.snapshot.note_info(path).title, line, line)


def _strip_folder_and_suffix(target: str) -> str:
    """Return the link target `target` without its folder and the suffix .md."""
    return posixpath.basename(target.rstrip("/")).removesuffix(".md")


def _can_be_name(target: str) -> bool:
    """Return whether the target of an unresolved link can be a name: not a file such as a picture, and no path."""
    return "/" not in target and not has_other_suffix(target)


# --- main notes -------------------------------------------------------------------------------------------------------
# The notes that are mainly about a topic, and the best sections about it in these and other notes.

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
    (parts,) = topic.snapshot.parts([(location.path, 0, None)])
    return sum(part.tokens for part in parts if location.line_start <= part.line_start <= location.line_end)


# --- timeline ---------------------------------------------------------------------------------------------------------
# When a topic was written about: its notes by month.

MIN_DATED_SHARE = 0.5
"""The least share of the notes about the topic that must have a kind of date for the timeline to use that kind."""
MIN_DATED_NOTES = 2
"""The fewest notes with a date of which a timeline is made if no kind of date is in most notes."""
MAX_DATE_PROPERTIES_READ = 3
"""The most properties whose dates are read for all notes about the topic."""

_EPOCH = date(1970, 1, 1)
_DAY_NS = 86_400 * 10**9


def build_timeline(topic: Topic) -> Timeline:
    """Return the number of notes about the topic per month, by the first kind of date that most of these notes have.

    Kinds of dates are tried in this order: the date of creation (from a property or the file name), another property
    that holds dates, the file's modification time. Modification times are skipped if a copy or checkout set them. If
    most notes have no date, the most frequent kind is used, as in a vault with a diary.
    """
    notes = topic.ranked_notes
    largest: tuple[str, dict[int, date]] = ("", {})
    for name, days in _list_date_sources(topic):
        if days and len(days) >= MIN_DATED_SHARE * len(notes):
            return _group_by_month(topic, name, days)
        largest = max(largest, (name, days), key=lambda pair: len(pair[1]))
    times = topic.snapshot.facets.modified
    if notes and not topic.snapshot.facets.is_copied.any():
        modified = {note: _EPOCH + timedelta(int(times[note]) // _DAY_NS) for note in notes}
        return _group_by_month(topic, "modified", modified)
    return _group_by_month(topic, *largest) if len(largest[1]) >= MIN_DATED_NOTES else Timeline("", (), len(notes))


def _list_date_sources(topic: Topic) -> Iterator[tuple[str, dict[int, date]]]:
    """Yield the kinds of dates, the best first: the name ("created" or a property) and the date of each note."""
    yield "created", _read_created_dates(topic)
    for name in _find_date_properties(topic):
        yield name, _read_property_dates(topic, name)


def _read_created_dates(topic: Topic) -> dict[int, date]:
    days = topic.snapshot.facets.created
    return {note: _EPOCH + timedelta(int(days[note])) for note in topic.ranked_notes if days[note] != UNKNOWN_DAY}


def _find_date_properties(topic: Topic) -> list[str]:
    """Return the properties that hold at most one date per note, those that the most notes have first."""
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
    return sorted(dated, key=lambda name: (-dated[name], name))[:MAX_DATE_PROPERTIES_READ]


def _read_property_dates(topic: Topic, name: str) -> dict[int, date]:
    """Return the date in the property `name` of each note about the topic that has one, the best notes first."""
    days: dict[int, date] = {}
    for value, notes in topic.snapshot.facets.properties[name].items():
        topic_notes = notes[topic.counts[notes] > 0]
        if len(topic_notes) and (day := parse_date(value)):
            days.update(dict.fromkeys(topic_notes.tolist(), day))
    return {note: days[note] for note in topic.ranked_notes if note in days}


def _group_by_month(topic: Topic, name: str, days: Mapping[int, date]) -> Timeline:
    """Return the timeline of `days`, which maps notes, best first, to dates; `name` is the kind of date."""
    notes_by_month: dict[str, list[int]] = {}
    for note, day in days.items():
        notes_by_month.setdefault(f"{day.year:04}-{day.month:02}", []).append(note)
    topic.fragments([topic.best_row[notes[0]] for notes in notes_by_month.values()])
    months = tuple(
        Month(month, len(notes), topic.locate_note(notes[0])) for month, notes in sorted(notes_by_month.items())
    )
    return Timeline(name, months, len(topic.ranked_notes) - len(days))


# --- overview ---------------------------------------------------------------------------------------------------------
# Overviews of a vault's content on a topic: notes, sections, themes, dates and passages.

DEFAULT_BUDGET_TOKENS = 800
"""The default limit of an overview's Markdown, in tokens: about one screen."""


def overview(engine: Engine, topic: str, budget: int = DEFAULT_BUDGET_TOKENS) -> Overview:
    """Return an overview of the engine's vault on `topic`, which is parsed as a query.

    `budget` limits the overview's Markdown (`excerpt.insight.render`), in tokens of the index's tokenizer. The same
    index, settings and topic give the same overview.
    """
    found_topic = find_topic(engine, topic)
    # Load all fragments that themes, sections and passages use, in one query.
    found_topic.fragments(found_topic.best[:GROUPED_FRAGMENTS].tolist())
    main = rank_main_notes(found_topic)
    related = find_linked_notes(found_topic, main)
    locations = [note.place for note in main] + [note.place for note in related]
    snapshot = engine.snapshot
    passages = choose_key_passages(found_topic, open_tokenizer(snapshot.tokenizer).count)
    return Overview(
        topic=topic,
        budget=budget,
        tokenizer=snapshot.tokenizer,
        generation=snapshot.generation,
        confidence=_find_highest_confidence(found_topic),
        matched=found_topic.matched,
        fragments=len(found_topic.rows),
        notes=len(found_topic.ranked_notes),
        vault_fragments=snapshot.lexical.corpus_size,
        vault_notes=len(snapshot.table.paths),
        main_notes=main,
        sections=choose_key_sections(found_topic, passages),
        passages=passages,
        themes=find_themes(found_topic),
        standouts=find_distinctive_labels(found_topic),
        related=related,
        names=find_linked_names(found_topic, locations),
        timeline=build_timeline(found_topic),
    )


def _find_highest_confidence(topic: Topic) -> Confidence | None:
    """Return the highest confidence of any fragment about the topic; None if the query has only filters."""
    sure = [confidence for confidence in topic.confidences if confidence is not None]
    if not sure:
        return None if len(topic.rows) else Confidence.NOTHING
    return min(sure, key=list(Confidence).index)
