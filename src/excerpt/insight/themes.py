"""What a topic falls into: groups of fragments that are alike in meaning, and the words that set each apart.

The words are those with the highest log-odds of standing in a fragment of the group against the others of the topic,
with an informative prior, as z-scores (Monroe, Colaresi and Quinn, 2008): so a word that two fragments have does not
beat one that twenty have and few others. The prior is what the vault says of the topic as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from excerpt.insight.grouping import groups_of
from excerpt.insight.overview_parts import Theme
from excerpt.insight.phrases import Phrases, phrases_of
from excerpt.insight.topic import Topic

GROUPED = 140
"""Fragments that are grouped, the best ones."""
THEMES = 5
WORDS = 4
LEAST_GROUPED = 8
"""With fewer fragments there is nothing to tell apart."""
LEAST = 3
"""Fragments of a theme at least."""
WEIGHED = 60
"""Words and pairs of which it is looked up how rare they are in the vault."""
PRIOR = 0.15
"""Fragments that the prior counts for, as a share of those that are grouped."""
TELLING = 1.0
"""The z-score from which a word sets a theme apart."""
SPREAD, FEW = 0.15, 8
"""The least share of a theme's fragments that have a word that names it; they are three, in a theme of fewer than FEW
two."""
SAME_NOTE = 0.25
"""What the note adds to the likeness of its fragments: they share a subject that their words may not say."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Group:
    places: list[int]
    centre: int


def themes(topic: Topic) -> tuple[Theme, ...]:
    """The themes of a topic, the largest first; none where few fragments are about it."""
    rows = topic.best[:GROUPED]
    if len(rows) < LEAST_GROUPED:
        return ()
    vectors = _vectors(topic, rows)
    wanted = min(max(round(sqrt(len(rows) / 2)), 2), THEMES + 2)
    groups = [_Group(places, _centre(vectors, places)) for places in groups_of(vectors, wanted) if len(places) >= LEAST]
    groups.sort(key=lambda group: (-len(group.places), group.places))
    phrases = phrases_of(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    notes = topic.best_notes
    found = [
        Theme(
            words=words,
            fragments=len(group.places),
            notes=len({int(notes[place]) for place in group.places}),
            share=len(group.places) / len(rows),
            place=topic.place(int(rows[group.centre])),
        )
        for group in groups
        if (words := _words(phrases, group.places, len(rows)))
    ]
    return tuple(found[:THEMES])


def _vectors(topic: Topic, rows: npt.NDArray[np.int32]) -> Floats:
    """The fragments' vectors without what all of them have in common, of length 1, beside a mark of their notes."""
    vectors = topic.snapshot.vectors.rows(rows)
    vectors = vectors - vectors.mean(axis=0)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    notes = topic.snapshot.table.notes[rows]
    marks = (notes[:, None] == np.unique(notes)).astype(np.float32) * np.float32(sqrt(SAME_NOTE))
    return np.hstack([vectors, marks]).astype(np.float32)


def _centre(vectors: Floats, places: Sequence[int]) -> int:
    """The place of the vector nearest to the mean of its group; of equals the first, which ranks highest."""
    mean = vectors[places].mean(axis=0)
    return places[int(np.argmax(np.round(vectors[places] @ mean, 5)))]


# --- words ------------------------------------------------------------------------------------------------------------


def _words(phrases: Phrases, places: Sequence[int], total: int) -> tuple[str, ...]:
    """The words and phrases that set a group apart, none within another."""
    inside = Counter(key for place in places for key in phrases.of[place])
    scored = [
        (z * phrases.weight(key), key)
        for key, count in inside.items()
        if count >= max(2, SPREAD * len(places))
        and (z := _z(count, len(places), phrases.counts[key], total)) >= TELLING
    ]
    scored.sort(key=lambda pair: (-round(pair[0], 6), pair[1]))
    chosen: list[tuple[str, ...]] = []
    for _, key in scored:
        if not any(set(key) & set(other) for other in chosen):
            chosen.append(key)
        if len(chosen) == WORDS:
            break
    return tuple(phrases.spelled(key) for key in chosen)


def _z(inside: int, size: int, everywhere: int, total: int) -> float:
    """The z-score of the log-odds ratio: in how many of a group's fragments a word stands, against the others of
    `total`."""
    strength = PRIOR * total
    prior = strength * everywhere / total
    outside, others = everywhere - inside, total - size
    of_group = (inside + prior) / max(size + strength - inside - prior, 0.5)
    of_others = (outside + prior) / max(others + strength - outside - prior, 0.5)
    return (log(of_group) - log(of_others)) / sqrt(1 / (inside + prior) + 1 / (outside + prior))
