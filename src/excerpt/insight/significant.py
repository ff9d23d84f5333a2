"""Tags, values of properties and folders that stand out where a topic is, against the whole vault.

The statistic is the log-likelihood ratio G² of a table of two by two (Dunning, 1993): notes about the topic or not,
with the label or without. Beside chi-squared it is true of rare labels too. It is taken only where the label is more
frequent here than elsewhere.
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
from excerpt.insight.topic import COUNTED, Topic
from excerpt.text.dates import day_of
from excerpt.text.words import fold

STANDOUTS = 6
PER_PROPERTY = 2
"""Values of one property at most."""
SIGNIFICANT = 10.83
"""G² from which a label stands out: by chance one of a thousand would (chi-squared, one degree of freedom)."""
LEAST_HERE = 2
LEAST_SHARE = 0.05
"""What fewer of the notes about the topic have says nothing of it, however rare it is elsewhere."""
SAME = 0.8
"""The share that two labels' notes have in common (Jaccard) from which they say the same."""
LONGEST = 60
"""Characters of a value; longer ones are sentences about one note."""
_Key = tuple[LabelKind, str, str]


@dataclass(frozen=True, slots=True)
class _CountedLabel:
    """A label: as it is written, the notes about the topic that have it, best first, and how many of all do."""

    kind: LabelKind
    name: str
    value: str
    notes: tuple[int, ...]
    overall: int


def log_likelihood(here: int, here_of: int, overall: int, overall_of: int) -> float:
    """G² of `here` among `here_of`, who are among `overall_of` of which `overall` have it; negative where it is rarer
    here than in all."""
    if not 0 < here_of < overall_of:
        return 0.0
    elsewhere_of = overall_of - here_of
    expected = (here_of * overall / overall_of, elsewhere_of * overall / overall_of)
    lacking = (here_of - expected[0], elsewhere_of - expected[1])
    observed = (here, overall - here, here_of - here, elsewhere_of - (overall - here))
    total = sum(o * log(o / e) for o, e in zip(observed, (*expected, *lacking), strict=True) if o)
    return 2 * total if here * overall_of >= overall * here_of else -2 * total


def standouts(topic: Topic) -> tuple[Standout, ...]:
    """What stands out, the most telling first."""
    notes = topic.note_order[:COUNTED]
    vault = len(topic.snapshot.table.paths)
    counted = [*_labels(topic, notes), *_folders(topic, notes)]
    scored = [(log_likelihood(len(one.notes), len(notes), one.overall, vault), one) for one in counted]
    scored = [(g2, one) for g2, one in scored if g2 >= SIGNIFICANT]
    scored.sort(key=lambda pair: (-pair[0], pair[1].kind, pair[1].name, pair[1].value))
    return tuple(
        Standout(
            kind=one.kind,
            name=one.name,
            value=one.value,
            here=len(one.notes),
            here_of=len(notes),
            overall=one.overall,
            overall_of=vault,
            g2=round(g2, 3),
            filter=_filter(one),
            place=topic.note_place(one.notes[0]),
        )
        for g2, one in _different(scored)
    )


def _different(scored: Sequence[tuple[float, _CountedLabel]]) -> list[tuple[float, _CountedLabel]]:
    """The first few that say something new: no folder or tag within or around another, no label of nearly the
    same notes; of these, a tag or folder goes before a property."""
    chosen: list[tuple[float, _CountedLabel]] = []
    for g2, one in scored:
        same = next((at for at, (_, other) in enumerate(chosen) if _says_the_same(one, other)), None)
        if same is None:
            of_name = sum((other.kind, other.name) == (one.kind, one.name) for _, other in chosen)
            if of_name < (PER_PROPERTY if one.kind is LabelKind.PROPERTY else STANDOUTS):
                chosen.append((g2, one))
        elif chosen[same][1].kind is LabelKind.PROPERTY and one.kind is not LabelKind.PROPERTY:
            chosen[same] = g2, one
    return chosen[:STANDOUTS]


def _says_the_same(one: _CountedLabel, other: _CountedLabel) -> bool:
    ours, theirs = set(one.notes), set(other.notes)
    if len(ours & theirs) >= SAME * len(ours | theirs):
        return True
    if one.kind is not other.kind or one.kind is LabelKind.PROPERTY:
        return False
    shorter, longer = sorted((fold(one.value), fold(other.value)), key=len)
    return longer.startswith(f"{shorter}/")


# --- what is counted --------------------------------------------------------------------------------------------------


def _labels(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
    """Tags, with those they are under, and values of properties."""
    facets = topic.snapshot.facets
    same: dict[tuple[bool, str, str], list[int]] = {}
    for label in topic.labels:
        same.setdefault((label.is_tag, label.name, label.value), []).append(label.note)
    having: dict[_Key, dict[int, None]] = {}
    written: dict[_Key, str] = {}
    for (is_tag, name, value), of in same.items():
        # What one note alone spells so is hardly ever a variant of what many have: not worth folding thousands.
        if len(of) < min(LEAST_HERE, len(notes)):
            continue
        for key, spelled in _keys(is_tag=is_tag, name=name, value=value):
            having.setdefault(key, {}).update(dict.fromkeys(of))
            written.setdefault(key, spelled)
    order = {note: place for place, note in enumerate(notes)}
    for (kind, name, folded), those in having.items():
        if len(those) < _least(notes):
            continue
        known = facets.tags if kind is LabelKind.TAG else facets.properties[name]
        overall = len(known.get(folded, ()))
        yield _CountedLabel(
            kind,
            name,
            written[kind, name, folded],
            tuple(sorted(those, key=order.__getitem__)),
            max(overall, len(those)),
        )


def _least(notes: Sequence[int]) -> float:
    """How many of the notes must have a label."""
    return max(min(LEAST_HERE, len(notes)), LEAST_SHARE * len(notes))


def _keys(*, is_tag: bool, name: str, value: str) -> Iterator[tuple[_Key, str]]:
    """What a label counts for, with its spelling: a tag also for those it is under; a date or a sentence for none."""
    if is_tag:
        tag = value.strip("/")
        ends = [end for end, sign in enumerate(tag) if sign == "/"]
        for end in (*ends, len(tag)):
            yield (LabelKind.TAG, "", fold(tag[:end])), tag[:end]
    elif 0 < len(value) <= LONGEST and day_of(value) is None:
        spelled = " ".join(value.split())
        yield (LabelKind.PROPERTY, property_name(name), " ".join(fold(value).split())), spelled


def _folders(topic: Topic, notes: Sequence[int]) -> Iterator[_CountedLabel]:
    paths = topic.snapshot.table.paths
    having: dict[str, list[int]] = {}
    for note in notes:
        folder = posixpath.dirname(paths[note])
        while folder:
            having.setdefault(folder, []).append(note)
            folder = posixpath.dirname(folder)
    for folder, those in having.items():
        if len(those) < _least(notes):
            continue
        # Paths are sorted, and "0" is the letter after "/".
        overall = bisect_left(paths, f"{folder}0") - bisect_left(paths, f"{folder}/")
        yield _CountedLabel(LabelKind.FOLDER, "", folder, tuple(those), overall)


def _filter(one: _CountedLabel) -> str:
    """What a query chooses the notes of a label by."""
    if one.kind is LabelKind.PROPERTY:
        return value_filter(one.name, one.value)
    return folder_filter(one.value) if one.kind is LabelKind.FOLDER else tag_filter(one.value)
