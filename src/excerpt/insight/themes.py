"""The themes of a topic: groups of fragments that are similar in meaning, and the words that name them.

The words are those with the highest log-odds of occurring in a fragment of the group against the others of the topic,
with an informative prior, as z-scores (Monroe, Colaresi and Quinn, 2008): so a word that two fragments have does not
rank above one that twenty have and few others. The prior is the frequency in the topic as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from excerpt.insight.overview_parts import Theme
from excerpt.insight.phrases import Phrases, extract_phrases
from excerpt.insight.topic import Topic

# Grouping of similar vectors: agglomerative clustering by Ward's rule.
#
# Unlike k-means it is deterministic, and for a few hundred vectors as quick. Ward's groups are of similar size, while
# other rules yield one large group and many small ones.

Vectors = npt.NDArray[np.float32]


def cluster_vectors(vectors: Vectors, count: int) -> list[list[int]]:
    """Return `count` groups of similar vectors, each as ascending positions in `vectors`.

    Groups are ordered by their first positions. With fewer than `count` vectors, each vector is a group.
    """
    size = len(vectors)
    members: dict[int, list[int]] = {row: [row] for row in range(size)}
    distances = _squared_distances(vectors)
    while len(members) > max(count, 1):
        first, second = sorted(divmod(int(np.argmin(distances)), size))
        note_sizes = np.array([len(members.get(row, ())) for row in range(size)], np.float64)
        distances[first] = _merge_distances(distances, note_sizes, first, second)
        distances[:, first] = distances[first]
        distances[second] = distances[:, second] = np.inf
        distances[first, first] = np.inf
        members[first] += members.pop(second)
    return sorted(sorted(rows) for rows in members.values())


def _squared_distances(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Return the squared distances of all pairs of vectors, rounded so that ties are equal on any processor."""
    exact = vectors.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    distances = np.round(np.maximum(squares[:, None] + squares - 2 * exact @ exact.T, 0), 6)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances)


def _merge_distances(
    distances: npt.NDArray[np.float64], note_sizes: npt.NDArray[np.float64], first: int, second: int
) -> npt.NDArray[np.float64]:
    """Return the distances of the union of groups `first` and `second` from all groups (Lance and Williams, 1967).

    `note_sizes` are the numbers of vectors in the groups.
    """
    total = note_sizes + note_sizes[first] + note_sizes[second]
    with np.errstate(invalid="ignore"):
        merged = (
            (note_sizes + note_sizes[first]) * distances[first]
            + (note_sizes + note_sizes[second]) * distances[second]
            - note_sizes * distances[first, second]
        ) / total
    return np.where(np.isfinite(distances[first]) & np.isfinite(distances[second]), merged, np.inf)


GROUPED_FRAGMENTS = 140
"""The number of best fragments that are grouped into themes."""
MAX_THEMES = 5
MAX_THEME_WORDS = 4
MIN_GROUPED_FRAGMENTS = 8
"""The fewest fragments from which themes are made; a topic with fewer has no themes."""
MIN_THEME_FRAGMENTS = 3
"""The fewest fragments of a theme."""
PRIOR_STRENGTH = 0.15
"""The strength of the prior in fragments, as a share of the fragments that are grouped."""
MIN_Z = 1.0
"""The least z-score of a word that distinguishes a theme."""
MIN_WORD_SHARE = 0.15
"""The least share of a theme's fragments that must have a word for it to name the theme; at least two must."""
SAME_NOTE_BONUS = 0.25
"""The similarity that is added for two fragments of one note: they share a subject that they may not mention."""

Floats = npt.NDArray[np.float32]


def find_themes(topic: Topic) -> tuple[Theme, ...]:
    """Return the themes of a topic, the largest first; none if few fragments are about the topic."""
    rows = topic.best[:GROUPED_FRAGMENTS]
    if len(rows) < MIN_GROUPED_FRAGMENTS:
        return ()
    vectors = _build_group_vectors(topic, rows)
    group_count = min(max(round(sqrt(len(rows) / 2)), 2), MAX_THEMES + 2)
    groups = [group for group in cluster_vectors(vectors, group_count) if len(group) >= MIN_THEME_FRAGMENTS]
    groups.sort(key=lambda group: (-len(group), group))
    phrases = extract_phrases(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    notes = topic.best_notes
    result = [
        Theme(
            words=words,
            fragments=len(group),
            notes=len({int(notes[row]) for row in group}),
            share=len(group) / len(rows),
            place=topic.locate_row(int(rows[_find_central_row(vectors, group)])),
        )
        for group in groups
        if (words := _choose_theme_words(phrases, group, len(rows)))
    ]
    return tuple(result[:MAX_THEMES])


def _build_group_vectors(topic: Topic, rows: npt.NDArray[np.int32]) -> Floats:
    """Return the vectors to group: minus their mean, scaled to length 1, with one more dimension for each note."""
    vectors = topic.snapshot.vectors.rows(rows)
    vectors = vectors - vectors.mean(axis=0)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    notes = topic.snapshot.table.notes[rows]
    marks = (notes[:, None] == np.unique(notes)).astype(np.float32) * np.float32(sqrt(SAME_NOTE_BONUS))
    return np.hstack([vectors, marks]).astype(np.float32)


def _find_central_row(vectors: Floats, group: Sequence[int]) -> int:
    """Return the position in `vectors` of the group's vector nearest to its mean; ties go to the highest-ranked."""
    mean = vectors[group].mean(axis=0)
    return group[int(np.argmax(np.round(vectors[group] @ mean, 5)))]


def _choose_theme_words(phrases: Phrases, group: Sequence[int], total: int) -> tuple[str, ...]:
    """Return the words and pairs of words that distinguish a group from the other fragments, best first.

    `group` holds positions of fragments, `total` is the number of all grouped fragments. No two results share a term.
    """
    inside = Counter(key for row in group for key in phrases.keys_by_fragment[row])
    distinctive = [
        (z, key)
        for key, count in inside.items()
        if count >= max(2, MIN_WORD_SHARE * len(group))
        and (z := _z_score(count, len(group), phrases.counts[key], total)) >= MIN_Z
    ]
    phrases.prefetch_rarities(key for _, key in distinctive)
    scored = [(z * phrases.weight(key), key) for z, key in distinctive]
    scored.sort(key=lambda pair: (-round(pair[0], 6), pair[1]))
    chosen: list[tuple[str, ...]] = []
    for _, key in scored:
        if not any(set(key) & set(other) for other in chosen):
            chosen.append(key)
        if len(chosen) == MAX_THEME_WORDS:
            break
    return tuple(phrases.spelling(key) for key in chosen)


def _z_score(inside: int, size: int, everywhere: int, total: int) -> float:
    """Return the z-score of the log-odds ratio of a word in a group against the other fragments.

    `inside` of the group's `size` fragments have the word, and `everywhere` of all `total` fragments.
    """
    strength = PRIOR_STRENGTH * total
    prior = strength * everywhere / total
    outside, others = everywhere - inside, total - size
    of_group = (inside + prior) / max(size + strength - inside - prior, 0.5)
    of_others = (outside + prior) / max(others + strength - outside - prior, 0.5)
    return (log(of_group) - log(of_others)) / sqrt(1 / (inside + prior) + 1 / (outside + prior))
