"""How close a query's words stand to each other in a fragment.

Everything is worked out for all candidates at once: the places of all words, sorted by candidate and position, are one
array of events, and the last place of each word seen so far is a running maximum over it.

Two measures: the smallest stretch that holds the words (Tao and Zhai, 2007, found minimum distances the better kind of
measure), and the nearness of words that are neighbours in the query, in its order (the ordered pairs of Metzler and
Croft's sequential dependence model, 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from excerpt.search.lexical import Reader, Rows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

FAR = 1 << 20
"""Farther than two places in one fragment can be: candidates are this far apart on one number line."""


PLACES: Mapping[str, int] = {"title": 0, "alias": 1 << 12, "heading": 1 << 13, "text": 1 << 14}
"""Fields in which closeness counts, and where each begins: far enough apart that nothing is close across two."""


class Positions(Protocol):
    """Places of a term in all its rows: those in the i-th are `values[offsets[i]:offsets[i + 1]]`, ascending."""

    @property
    def offsets(self) -> Ints: ...
    @property
    def values(self) -> Rows: ...


class PositionReader(Reader, Protocol):
    """A reader that also knows where in a field a term stands, in the rows of its postings."""

    def positions(self, field: str, term: str) -> Positions: ...


@dataclass(frozen=True, slots=True)
class Closeness:
    """Per candidate, 0 to 1. `pairs`: how near the query's neighbouring words stand, by their rarity. `density`: how
    little stands between the words in the smallest stretch that holds all of those present, if two or more are.
    `window`: the words' positions in that stretch, 0 where there is none."""

    pairs: Floats
    density: Floats
    window: Ints


def line_of(reader: PositionReader, fields: Mapping[str, int], terms: Sequence[str], rows: Rows) -> Ints:
    """Where any of `terms` stands in the ascending `rows`: number of the row in `rows` times FAR plus position, all
    on one number line, ascending. `fields` says at which position each field begins."""
    found = [_line_of_term(reader, field, term, rows) + begin for field, begin in fields.items() for term in terms]
    return found[0] if len(found) == 1 else np.sort(np.concatenate(found))


def _line_of_term(reader: PositionReader, field: str, term: str, rows: Rows) -> Ints:
    have = reader.postings(field, term).rows
    if not len(have) or not len(rows):
        return np.zeros(0, np.int64)
    at = np.minimum(np.searchsorted(have, rows), len(have) - 1)
    wanted = np.flatnonzero(have[at] == rows)
    at = at[wanted]
    places = reader.positions(field, term)
    begins = places.offsets[at].astype(np.int64)
    counts = places.offsets[at + 1].astype(np.int64) - begins
    ends = np.cumsum(counts)
    picked = places.values[np.repeat(begins - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)]
    line: Ints = np.repeat(wanted * FAR, counts) + picked
    return line


def closeness(lines: Sequence[Ints], rarity: Sequence[float], query: Sequence[int], count: int) -> Closeness:
    """How close the words at `lines` (see `line_of`) stand in `count` candidates. `rarity` weighs each word; `query`
    is its place in the query."""
    pairs = _pairs(lines, rarity, query, count)
    window, held = _windows(lines, count)
    density = np.where(held > 1, (held - 1) / np.maximum(window - 1, 1), 0.0)
    return Closeness(pairs, np.minimum(density, 1.0).astype(np.float32), window)


def _pairs(lines: Sequence[Ints], rarity: Sequence[float], query: Sequence[int], count: int) -> Floats:
    """Mean over neighbouring words of 1 / how far off their distance in the query they stand, weighed by the less
    rare of the two; the wrong way round counts half."""
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


def _distances(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """From each place of `left` to the next place of `right` in the same candidate, and back to the one before."""
    after = np.searchsorted(right, left, side="right")
    next_one = right[np.minimum(after, len(right) - 1)] - left
    before = left - right[np.maximum(after - 1, 0)]
    ahead = np.where((after < len(right)) & (next_one < FAR // 2), next_one, FAR)
    behind = np.where((after > 0) & (before < FAR // 2), before, FAR)
    return ahead, behind


def _windows(lines: Sequence[Ints], count: int) -> tuple[Ints, Ints]:
    """Per candidate: the smallest stretch that holds every word it has at all, and how many words these are."""
    present = np.zeros((len(lines), count), bool)
    for word, line in enumerate(lines):
        present[word, line // FAR] = True
    held = present.sum(axis=0)
    window = np.zeros(count, np.int64)
    if not any(len(line) for line in lines):
        return window, held
    events = np.unique(np.concatenate(lines))
    at = events // FAR
    first = np.full(len(events), FAR * (count + 1))
    for word, line in enumerate(lines):
        if not len(line):
            continue
        seen = np.searchsorted(line, events, side="right") - 1
        last = np.where(seen >= 0, line[np.maximum(seen, 0)], -1)
        # A word of the candidate that has not come yet makes the stretch endless; one it does not have is passed over.
        last = np.where(last // FAR == at, last, -FAR)
        first = np.where(present[word, at], np.minimum(first, last), first)
    stretch = events - first + 1
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    window[at[starts]] = np.minimum.reduceat(stretch, starts)
    return window, held
