"""Distinctive labels of a topic: tags, property values and folders that are frequent there.

The statistic is the log-likelihood ratio G² of a two-by-two table (Dunning, 1993): notes about the topic or not, with
the label or without. Unlike chi-squared it is valid for rare labels. Only labels that are more frequent in notes about
the topic than in other notes count.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import log

from msgspec import Struct

from excerpt.corpus.facets import property_name
from excerpt.insight.filter_text import format_folder_filter, format_property_filter, format_tag_filter
from excerpt.insight.overview_parts import DistinctiveLabel, LabelKind
from excerpt.insight.topic import MAX_COUNTED_NOTES, Topic
from excerpt.text.dates import parse_date
from excerpt.text.folding import fold

MAX_LABELS = 6
MAX_VALUES_PER_PROPERTY = 2
"""The most values of one property that are listed."""
MIN_G2 = 10.83
"""The least G² of a distinctive label: by chance, one label in a thousand has it (chi-squared, one degree)."""
MIN_NOTES = 2
"""The fewest notes about the topic that have a distinctive label."""
MIN_SHARE = 0.05
"""The least share of the notes about the topic that have a distinctive label."""
DUPLICATE_OVERLAP = 0.8
"""Two labels are duplicates if they share at least this part of their notes (Jaccard index)."""
MAX_VALUE_CHARS = 60
"""The most characters of a property's value that counts; a longer value is a sentence about one note."""
_LabelKey = tuple[LabelKind, str, str]


class _CountedLabel(Struct, frozen=True):
    """A label, the notes about the topic with the label, best first, and the number of notes in the vault with it."""

    kind: LabelKind
    name: str
    value: str
    notes: tuple[int, ...]
    overall: int


def log_likelihood(inside: int, inside_total: int, overall: int, overall_total: int) -> float:
    """Return the log-likelihood ratio G² of a label's frequency inside a subset, negative if it is rarer inside.

    `inside` of the subset's `inside_total` items have the label, and `overall` of all `overall_total` items.
    """
    if not 0 < inside_total < overall_total:
        return 0.0
    outside_total = overall_total - inside_total
    expected = (inside_total * overall / overall_total, outside_total * overall / overall_total)
    without = (inside_total - expected[0], outside_total - expected[1])
    observed = (inside, overall - inside, inside_total - inside, outside_total - (overall - inside))
    total = sum(o * log(o / e) for o, e in zip(observed, (*expected, *without), strict=True) if o)
    return 2 * total if inside * overall_total >= overall * inside_total else -2 * total


def find_distinctive_labels(topic: Topic) -> tuple[DistinctiveLabel, ...]:
    """Return the distinctive tags, property values and folders of a topic, the most distinctive first."""
    notes = topic.ranked_notes[:MAX_COUNTED_NOTES]
    vault = len(topic.snapshot.table.paths)
    counted = [*_count_tags_and_values(topic, notes), *_count_folders(topic, notes)]
    scored = [(log_likelihood(len(label.notes), len(notes), label.overall, vault), label) for label in counted]
    scored = [(g2, label) for g2, label in scored if g2 >= MIN_G2]
    scored.sort(key=lambda pair: (-pair[0], pair[1].kind, pair[1].name, pair[1].value))
    return tuple(
        DistinctiveLabel(
            kind=label.kind,
            name=label.name,
            value=label.value,
            in_topic=len(label.notes),
            topic_size=len(notes),
            overall=label.overall,
            overall_of=vault,
            g2=round(g2, 3),
            filter=_build_filter(label),
            place=topic.locate_note(label.notes[0]),
        )
        for g2, label in _drop_duplicates(scored)
    )


def _drop_duplicates(scored: Sequence[tuple[float, _CountedLabel]]) -> list[tuple[float, _CountedLabel]]:
    """Return the first MAX_LABELS of the `scored` labels (pairs of G² and label), without duplicates.

    Two labels are duplicates if they have nearly the same notes, or if one folder or tag is within the other. Of two
    duplicates, the first is kept, but a tag or folder replaces a property value.
    """
    chosen: list[tuple[float, _CountedLabel]] = []
    for g2, label in scored:
        same = next((at for at, (_, other) in enumerate(chosen) if _is_duplicate(label, other)), None)
        if same is None:
            of_name = sum((other.kind, other.name) == (label.kind, label.name) for _, other in chosen)
            if of_name < (MAX_VALUES_PER_PROPERTY if label.kind is LabelKind.PROPERTY else MAX_LABELS):
                chosen.append((g2, label))
        elif chosen[same][1].kind is LabelKind.PROPERTY and label.kind is not LabelKind.PROPERTY:
            chosen[same] = g2, label
    return chosen[:MAX_LABELS]


def _is_duplicate(label: _CountedLabel, other: _CountedLabel) -> bool:
    ours, theirs = set(label.notes), set(other.notes)
    if len(ours & theirs) >= DUPLICATE_OVERLAP * len(ours | theirs):
        return True
    if label.kind is not other.kind or label.kind is LabelKind.PROPERTY:
        return False
    shorter, longer = sorted((fold(label.value), fold(other.value)), key=len)
    return longer.startswith(f"{shorter}/")


# --- what is counted --------------------------------------------------------------------------------------------------


def _count_tags_and_values(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
    """Yield the tags, ancestors of tags, and property values that enough of `notes` have, with their notes."""
    facets = topic.snapshot.facets
    same: dict[tuple[bool, str, str], list[int]] = {}
    for label in topic.labels:
        same.setdefault((label.is_tag, label.name, label.value), []).append(label.note)
    notes_by_label: dict[_LabelKey, dict[int, None]] = {}
    spellings: dict[_LabelKey, str] = {}
    for (is_tag, name, value), of in same.items():
        # A spelling that only one note has is hardly ever a variant of a frequent one: case-folding thousands of these
        # would take time for nothing.
        if len(of) < min(MIN_NOTES, len(notes)):
            continue
        for key, spelled in _yield_label_keys(is_tag=is_tag, name=name, value=value):
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
    """Return the least number of `notes` that must have a label for it to count."""
    return max(min(MIN_NOTES, len(notes)), MIN_SHARE * len(notes))


def _yield_label_keys(*, is_tag: bool, name: str, value: str) -> Iterator[tuple[_LabelKey, str]]:
    """Yield the case-folded keys under which a label is counted, each with its spelling.

    A tag is also counted for its ancestors. A property value that is a date or a sentence has no key.
    """
    if is_tag:
        tag = value.strip("/")
        ends = [end for end, sign in enumerate(tag) if sign == "/"]
        for end in (*ends, len(tag)):
            yield (LabelKind.TAG, "", fold(tag[:end])), tag[:end]
    elif 0 < len(value) <= MAX_VALUE_CHARS and parse_date(value) is None:
        spelled = " ".join(value.split())
        yield (LabelKind.PROPERTY, property_name(name), " ".join(fold(value).split())), spelled


def _count_folders(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
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


def _build_filter(each: _CountedLabel) -> str:
    """Return the query filter that matches the notes with a label."""
    if each.kind is LabelKind.PROPERTY:
        return format_property_filter(each.name, each.value)
    return format_folder_filter(each.value) if each.kind is LabelKind.FOLDER else format_tag_filter(each.value)
