"""How close a query's words stand to each other in a fragment, in its text, headings or names.

What counts is the nearness of words that are neighbours in the query, in its order: the ordered pairs of the
sequential dependence model (Metzler and Croft, 2005), by distance as in Tao and Zhai (2007). The smallest stretch that
holds all words was measured too and added nothing to it (docs/design/quality.md).

All candidates are worked out at once: the places of a word, in all of them, are one sorted array of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from excerpt.search.lexical import NUMBERED, Reader, Rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Distances = npt.NDArray[np.float64]

FAR = 1 << 20
"""Farther than two places in one fragment can be: candidates are this far apart on one number line."""

_NOWHERE = np.zeros(0, np.int64)

PLACES: Mapping[str, int] = {"title": 0, "alias": 1 << 12, "above": 2 << 12, "heading": 3 << 12, "text": 4 << 12}
"""Fields in which closeness counts, and where each begins: far enough apart that nothing is close across two."""


class Places(Protocol):
    """Occurrences of a term in some rows: the place of the row among those asked for, ascending; the field's number;
    and the position there."""

    @property
    def at(self) -> Ints: ...
    @property
    def fields(self) -> npt.NDArray[np.uint8]: ...
    @property
    def positions(self) -> Rows: ...


class Postings(Protocol):
    """Where a term stands in one field: rows, ascending."""

    @property
    def rows(self) -> Rows: ...


class PositionReader(Reader, Protocol):
    """A reader that also knows where in a field a term stands."""

    def postings(self, field: str, term: str) -> Postings: ...
    def places(self, term: str, rows: Rows) -> Places: ...


def line_of(reader: PositionReader, fields: Mapping[str, int], terms: Sequence[str], rows: Rows) -> Ints:
    """Where any of `terms` stands in the ascending `rows`: number of the row in `rows` times FAR plus position, all
    on one number line, ascending. `fields` says at which position each field begins."""
    begins = np.array([fields.get(field, -1) for field in NUMBERED], np.int64)
    found = [_NOWHERE]
    for term in terms:
        places = reader.places(term, rows)
        if not len(places.at):
            continue
        begin = begins[places.fields]
        # A place so far into one endless line that it would reach into the next candidate counts as its end.
        line = places.at * FAR + np.minimum(places.positions + begin, FAR - 1)
        found.append(line if len(fields) == len(NUMBERED) else line[begin >= 0])
    # One term's places in one field ascend, and mostly there is only one of each.
    return np.sort(np.concatenate(found), kind="stable")


def closeness(lines: Sequence[Ints], rarity: Sequence[float], query: Sequence[int], count: int) -> Floats:
    """How close the words at `lines` (see `line_of`) stand in each of `count` candidates, 0 to 1.

    The mean over words that are neighbours in the query of 1 / (1 + how far off their distance in the query they
    stand), the wrong way round half as much; each pair weighs as its less rare word (`rarity`). `query` is each word's
    place in the query.
    """
    total, weights = np.zeros(count), 0.0
    for left in range(len(lines) - 1):
        right = left + 1
        apart = query[right] - query[left]
        weight = min(rarity[left], rarity[right])
        weights += weight
        if not len(lines[left]) or not len(lines[right]):
            continue
        near = np.zeros(count)
        ahead, behind = _distances(lines[left], lines[right])
        at = lines[left] // FAR
        np.maximum.at(near, at, 1.0 / (1.0 + np.abs(ahead - apart)))
        np.maximum.at(near, at, 0.5 / np.maximum(behind, 1))
        total += weight * near
    return (total / max(weights, 1e-9)).astype(np.float32)


def _distances(left: Ints, right: Ints) -> tuple[Distances, Distances]:
    """From each place of `left` to the next place of `right` in the same candidate, and back to the one before;
    infinite where there is none."""
    after = np.searchsorted(right, left, side="right")
    next_one = right[np.minimum(after, len(right) - 1)]
    one_before = right[np.maximum(after - 1, 0)]
    ahead = np.where((next_one > left) & (next_one // FAR == left // FAR), next_one - left, np.inf)
    behind = np.where((after > 0) & (one_before // FAR == left // FAR), left - one_before, np.inf)
    return ahead, behind
