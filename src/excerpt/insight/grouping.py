"""Vectors -> groups of vectors that are alike: agglomerative clustering by Ward's rule.

Deterministic, unlike k-means, and for a few hundred vectors as quick. Ward's groups are of similar size, where those of
other rules are one large one and many stray ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


def groups_of(vectors: Vectors, count: int) -> list[list[int]]:
    """`count` groups (fewer vectors: one each) as places of `vectors`, ascending, by their first."""
    size = len(vectors)
    members: dict[int, list[int]] = {place: [place] for place in range(size)}
    distances = _distances(vectors)
    while len(members) > max(count, 1):
        one, other = sorted(divmod(int(np.argmin(distances)), size))
        sizes = np.array([len(members.get(place, ())) for place in range(size)], np.float64)
        distances[one] = _joined(distances, sizes, one, other)
        distances[:, one] = distances[one]
        distances[other] = distances[:, other] = np.inf
        distances[one, one] = np.inf
        members[one] += members.pop(other)
    return sorted(sorted(places) for places in members.values())


def _distances(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Squared distances, rounded so that ties are ties on any processor."""
    exact = vectors.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    found = np.round(np.maximum(squares[:, None] + squares - 2 * exact @ exact.T, 0), 6)
    np.fill_diagonal(found, np.inf)
    return np.asarray(found)


def _joined(
    distances: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], one: int, other: int
) -> npt.NDArray[np.float64]:
    """How far the union of two groups is from each of the others (Lance and Williams, 1967)."""
    total = sizes + sizes[one] + sizes[other]
    with np.errstate(invalid="ignore"):
        found = (
            (sizes + sizes[one]) * distances[one]
            + (sizes + sizes[other]) * distances[other]
            - sizes * distances[one, other]
        ) / total
    return np.where(np.isfinite(distances[one]) & np.isfinite(distances[other]), found, np.inf)
