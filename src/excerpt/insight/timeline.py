"""When a topic was written about: its notes by month."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta

import numpy as np
import numpy.typing as npt

from excerpt.index.facets import UNKNOWN_DAY, Label, property_name
from excerpt.insight.overview_parts import Month, Timeline
from excerpt.insight.topic import Topic
from excerpt.text.dates import day_of

MOST_HAVE = 0.5
"""The share of the notes that must have a date for the timeline to be made of it."""
FEW_HAVE = 2
TRIED = 3
"""Properties of which the dates of all notes are read."""
ALIKE = 0.9
"""Where more than this share of a vault's notes was modified within one day, a copy or a checkout wrote the times."""

_EPOCH = date(1970, 1, 1)
_DAY_NS = 86_400 * 10**9


def timeline(topic: Topic) -> Timeline:
    """The months by the best date that most of the notes have: when they were created, by property or file name; a
    property of another name that holds a date; when the files were modified, where those times say anything. If most
    notes have none, what few have is taken, as in a vault with a diary."""
    notes = topic.note_order
    most: tuple[str, dict[int, date]] = ("", {})
    for name, days in _dated(topic):
        if days and len(days) >= MOST_HAVE * len(notes):
            return _timeline(topic, name, days)
        most = max(most, (name, days), key=lambda pair: len(pair[1]))
    times = topic.snapshot.facets.modified
    if notes and not _alike(times):
        modified = {note: datetime.fromtimestamp(int(times[note]) // 10**9, UTC).date() for note in notes}
        return _timeline(topic, "modified", modified)
    return _timeline(topic, *most) if len(most[1]) >= FEW_HAVE else Timeline("", (), len(notes))


def _dated(topic: Topic) -> Iterator[tuple[str, dict[int, date]]]:
    """What tells the dates of notes, the best first, with the days by note."""
    yield "created", _created(topic)
    for name in _date_properties(topic):
        yield name, _by_property(topic, name)


def _created(topic: Topic) -> dict[int, date]:
    days = topic.snapshot.facets.created
    return {note: _EPOCH + timedelta(int(days[note])) for note in topic.note_order if days[note] != UNKNOWN_DAY}


def _date_properties(topic: Topic) -> list[str]:
    """Properties that hold a date, one a note; the one that most of the notes have first."""
    held: dict[str, list[Label]] = {}
    for label in topic.labels:
        if not label.is_tag:
            held.setdefault(property_name(label.name), []).append(label)
    dated: dict[str, int] = {}
    for name, labels in held.items():
        if len({label.note for label in labels}) == len(labels):
            days = sum(day_of(label.value) is not None for label in labels)
            # What is a date only now and then is none.
            if days > MOST_HAVE * len(labels):
                dated[name] = days
    return sorted(dated, key=lambda name: (-dated[name], name))[:TRIED]


def _by_property(topic: Topic, name: str) -> dict[int, date]:
    """The date that a property tells of each note about the topic that has one, the best notes first."""
    days: dict[int, date] = {}
    for value, notes in topic.snapshot.facets.properties[name].items():
        here = notes[topic.counts[notes] > 0]
        if len(here) and (day := day_of(value)):
            days.update(dict.fromkeys(here.tolist(), day))
    return {note: days[note] for note in topic.note_order if note in days}


def _alike(times: npt.NDArray[np.int64]) -> bool:
    ordered = np.sort(times)
    ends = np.searchsorted(ordered, ordered + _DAY_NS, side="right")
    return int((ends - np.arange(len(ordered))).max(initial=0)) > ALIKE * len(ordered)


def _timeline(topic: Topic, name: str, days: Mapping[int, date]) -> Timeline:
    """`days` are by note, the best notes first."""
    of_month: dict[str, list[int]] = {}
    for note, day in days.items():
        of_month.setdefault(f"{day.year:04}-{day.month:02}", []).append(note)
    topic.fragments([topic.best_row[notes[0]] for notes in of_month.values()])
    months = tuple(Month(month, len(notes), topic.note_place(notes[0])) for month, notes in sorted(of_month.items()))
    return Timeline(name, months, len(topic.note_order) - len(days))
