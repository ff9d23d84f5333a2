"""Distinctive labels of a topic: tags, property values and folders that are frequent there.

The statistic is the log-likelihood ratio G² of a two-by-two table (Dunning, 1993): notes about the topic or not, with
the label or without. Unlike chi-squared it is valid for rare labels. Only labels that are more frequent here than
elsewhere count.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from excerpt.corpus.facets import property_name
from excerpt.insight.facet_map import folder_filter, tag_filter, value_filter
from excerpt.insight.overview_parts import LabelKind, Standout
from excerpt.insight.topic import MAX_COUNTED, Topic
from excerpt.text.dates import parse_date
from excerpt.text.words import fold

STANDOUTS = 6
PER_PROPERTY = 2
"""The most values of one property."""
SIGNIFICANT = 10.83
"""G² from which a label is distinctive: one in a thousand is so by chance (chi-squared, one degree of freedom)."""
MIN_NOTES = 2
MIN_SHARE = 0.05
"""The least share of the notes about the topic that have a distinctive label."""
SAME = 0.8
"""The share of common notes (Jaccard) from which two labels count as the same."""
LONGEST = 60
"""The most characters of a value; longer ones are sentences about one note."""
_Key = tuple[LabelKind, str, str]


@dataclass(frozen=True, slots=True)
class _CountedLabel:
    """A label with the notes about the topic that have it, best first, and the number of all notes that do."""

    kind: LabelKind
    name: str
    value: str
    notes: tuple[int, ...]
    overall: int


def log_likelihood(inside: int, inside_total: int, overall: int, overall_of: int) -> float:
    """Return G² of `here` of `here_of` notes, which are among `overall_of` notes, `overall` of them with the label.

    It is negative if the label is rarer here.
    """
    if not 0 < inside_total < overall_of:
        return 0.0
    elsewhere_of = overall_of - inside_total
    expected = (inside_total * overall / overall_of, elsewhere_of * overall / overall_of)
    without = (inside_total - expected[0], elsewhere_of - expected[1])
    observed = (inside, overall - inside, inside_total - inside, elsewhere_of - (overall - inside))
    total = sum(o * log(o / e) for o, e in zip(observed, (*expected, *without), strict=True) if o)
    return 2 * total if inside * overall_of >= overall * inside_total else -2 * total


def standouts(topic: Topic) -> tuple[Standout, ...]:
    """Return the distinctive labels, the most distinctive first."""
    notes = topic.note_order[:MAX_COUNTED]
    vault = len(topic.snapshot.table.paths)
    counted = [*_labels(topic, notes), *_folders(topic, notes)]
    scored = [(log_likelihood(len(label.notes), len(notes), label.overall, vault), label) for label in counted]
    scored = [(g2, label) for g2, label in scored if g2 >= SIGNIFICANT]
    scored.sort(key=lambda pair: (-pair[0], pair[1].kind, pair[1].name, pair[1].value))
    return tuple(
        Standout(
            kind=label.kind,
            name=label.name,
            value=label.value,
            here=len(label.notes),
            here_of=len(notes),
            overall=label.overall,
            overall_of=vault,
            g2=round(g2, 3),
            filter=_filter(label),
            place=topic.note_location(label.notes[0]),
        )
        for g2, label in _different(scored)
    )


def _different(scored: Sequence[tuple[float, _CountedLabel]]) -> list[tuple[float, _CountedLabel]]:
    """Return the first labels that are not redundant.

    No folder or tag is within another, and no label has nearly the same notes as another; among such labels a tag or
    folder is preferred to a property.
    """
    chosen: list[tuple[float, _CountedLabel]] = []
    for g2, label in scored:
        same = next((at for at, (_, other) in enumerate(chosen) if _is_duplicate(label, other)), None)
        if same is None:
            of_name = sum((other.kind, other.name) == (label.kind, label.name) for _, other in chosen)
            if of_name < (PER_PROPERTY if label.kind is LabelKind.PROPERTY else STANDOUTS):
                chosen.append((g2, label))
        elif chosen[same][1].kind is LabelKind.PROPERTY and label.kind is not LabelKind.PROPERTY:
            chosen[same] = g2, label
    return chosen[:STANDOUTS]


def _is_duplicate(label: _CountedLabel, other: _CountedLabel) -> bool:
    ours, theirs = set(label.notes), set(other.notes)
    if len(ours & theirs) >= SAME * len(ours | theirs):
        return True
    if label.kind is not other.kind or label.kind is LabelKind.PROPERTY:
        return False
    shorter, longer = sorted((fold(label.value), fold(other.value)), key=len)
    return longer.startswith(f"{shorter}/")


# --- what is counted --------------------------------------------------------------------------------------------------


def _labels(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
    """Yield the tags, with their ancestors, and the values of properties that enough of the notes have."""
    facets = topic.snapshot.facets
    same: dict[tuple[bool, str, str], list[int]] = {}
    for label in topic.labels:
        same.setdefault((label.is_tag, label.name, label.value), []).append(label.note)
    notes_by_label: dict[_Key, dict[int, None]] = {}
    spellings: dict[_Key, str] = {}
    for (is_tag, name, value), of in same.items():
        # A spelling that only one note has is hardly ever a variant of a frequent one: not worth folding thousands of
        # these.
        if len(of) < min(MIN_NOTES, len(notes)):
            continue
        for key, spelled in _keys(is_tag=is_tag, name=name, value=value):
            notes_by_label.setdefault(key, {}).update(dict.fromkeys(of))
            spellings.setdefault(key, spelled)
    order = {note: position for position, note in enumerate(notes)}
    for (kind, name, folded), label_notes in notes_by_label.items():
        if len(label_notes) < _min_notes(notes):
            continue
        notes_by_value = facets.tags if kind is LabelKind.TAG else facets.properties[name]
        overall = len(notes_by_value.get(folded, ()))
        yield _CountedLabel(
            kind,
            name,
            spellings[kind, name, folded],
            tuple(sorted(label_notes, key=order.__getitem__)),
            max(overall, len(label_notes)),
        )


def _min_notes(notes: Sequence[int]) -> float:
    """Return the least number of notes that must have a label."""
    return max(min(MIN_NOTES, len(notes)), MIN_SHARE * len(notes))


def _keys(*, is_tag: bool, name: str, value: str) -> Iterator[tuple[_Key, str]]:
    """Yield the keys that a label counts for, with spellings: a tag also counts for its ancestors.

    A date or a sentence counts for none.
    """
    if is_tag:
        tag = value.strip("/")
        ends = [end for end, sign in enumerate(tag) if sign == "/"]
        for end in (*ends, len(tag)):
            yield (LabelKind.TAG, "", fold(tag[:end])), tag[:end]
    elif 0 < len(value) <= LONGEST and parse_date(value) is None:
        spelled = " ".join(value.split())
        yield (LabelKind.PROPERTY, property_name(name), " ".join(fold(value).split())), spelled


def _folders(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
    paths = topic.snapshot.table.paths
    notes_by_folder: dict[str, list[int]] = {}
    for note in notes:
        folder = posixpath.dirname(paths[note])
        while folder:
            notes_by_folder.setdefault(folder, []).append(note)
            folder = posixpath.dirname(folder)
    for folder, folder_notes in notes_by_folder.items():
        if len(folder_notes) < _min_notes(notes):
            continue
        # Paths are sorted, and "0" is the character after "/".
        overall = bisect_left(paths, f"{folder}0") - bisect_left(paths, f"{folder}/")
        yield _CountedLabel(LabelKind.FOLDER, "", folder, tuple(folder_notes), overall)


def _filter(each: _CountedLabel) -> str:
    """Return the filter that selects the notes with a label."""
    if each.kind is LabelKind.PROPERTY:
        return value_filter(each.name, each.value)
    return folder_filter(each.value) if each.kind is LabelKind.FOLDER else tag_filter(each.value)
