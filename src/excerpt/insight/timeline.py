"""A topic's notes by month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from excerpt.corpus.facets import UNKNOWN_DAY, Label, property_name
from excerpt.insight.overview_parts import (
    Month,
    Timeline,
)
from excerpt.insight.topic import Topic
from excerpt.text.dates import parse_date

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
    most notes have no date of any kind, as in a vault whose only dated notes are a diary, the most frequent kind is
    used.
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
    """Return the properties that hold at most one date per note, the most frequent first."""
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
