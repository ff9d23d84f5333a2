"""When a topic was written about: its notes by month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import numpy as np
import numpy.typing as npt

from excerpt.index.facets import UNKNOWN_DAY, Label
from excerpt.insight.overview_parts import Month, Timeline
from excerpt.insight.topic import COUNTED, Topic
from excerpt.text.dates import day_of

MOST_HAVE = 0.5
"""The share of the notes that must have a date for the timeline to be made of it."""
FEW_HAVE = 2
ALIKE = 0.9
"""Where more than this share of a vault's notes was modified within one day, a copy or a checkout wrote the times."""

_EPOCH = date(1970, 1, 1)
_DAY_NS = 86_400 * 10**9


def timeline(topic: Topic) -> Timeline:
    """The months by the best date that most of the notes have: when they were created, by property or file name; a
    property of another name that holds a date; when the files were modified, where those times say anything. If most
    notes have none, what few have is taken, as in a vault with a diary."""
    notes = topic.note_order
    dated = [("created", _created(topic, notes)), *_by_property(topic)]
    for name, days in dated:
        if days and len(days) >= MOST_HAVE * min(len(notes), COUNTED):
            return _timeline(topic, name, days)
    times = topic.snapshot.facets.modified
    if notes and not _alike(times):
        modified = {note: datetime.fromtimestamp(int(times[note]) // 10**9, UTC).date() for note in notes}
        return _timeline(topic, "modified", modified)
    name, days = max(dated, key=lambda pair: len(pair[1]))
    return _timeline(topic, name, days) if len(days) >= FEW_HAVE else Timeline("", (), len(notes))


def _created(topic: Topic, notes: Sequence[int]) -> dict[int, date]:
    days = topic.snapshot.facets.created
    return {note: _EPOCH + timedelta(int(days[note])) for note in notes if days[note] != UNKNOWN_DAY}


def _by_property(topic: Topic) -> list[tuple[str, dict[int, date]]]:
    """Properties that hold a date, one a note; the one that most of the notes have first."""
    held: dict[str, list[Label]] = {}
    for label in topic.labels:
        if not label.is_tag:
            held.setdefault(label.name, []).append(label)
    found: dict[str, dict[int, date]] = {}
    for name, labels in held.items():
        if len({label.note for label in labels}) == len(labels):
            days = {label.note: day for label in labels if (day := day_of(label.value))}
            # What is a date only now and then is none.
            if len(days) > MOST_HAVE * len(labels):
                found[name] = days
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


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
