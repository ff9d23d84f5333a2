"""Stretches that overlap or touch become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from excerpt.kinds import Scope
from excerpt.model import Hit
from excerpt.pack.expand import Stretch, spanning
from excerpt.pack.source import OpenNote


@dataclass(frozen=True, slots=True)
class Wanted:
    """A hit, the stretch that it asks for, and what it is worth; `leading` if no context is, beside it."""

    hit: Hit
    stretch: Stretch
    worth: float
    leading: bool

    def alone(self, note: OpenNote) -> Wanted:
        """The same without context."""
        own = self.hit.fragment.ordinal
        return replace(self, stretch=spanning(note, own, own, Scope.NONE))

    def within(self, stretch: Stretch) -> bool:
        return stretch.first <= self.hit.fragment.ordinal <= stretch.last


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stretch that may become a pack, and what asked for it, best first."""

    stretch: Stretch
    wanted: tuple[Wanted, ...]

    @property
    def best(self) -> Hit:
        return self.wanted[0].hit


def merge(wanted: Sequence[Wanted]) -> list[Candidate]:
    """One candidate for all stretches of a note that share a fragment or stand side by side.

    `wanted` is best first, and so is what comes out, by each candidate's best hit. No fragment is in two of them.
    """
    by_place = sorted(enumerate(wanted), key=lambda item: (item[1].stretch.path, item[1].stretch.first, item[0]))
    groups: list[tuple[Stretch, list[int]]] = []
    for rank, each in by_place:
        if groups and _meet(groups[-1][0], each.stretch):
            whole, ranks = groups.pop()
            groups.append((_union(whole, each.stretch), [*ranks, rank]))
        else:
            groups.append((each.stretch, [rank]))
    groups.sort(key=lambda group: min(group[1]))
    return [Candidate(stretch, tuple(wanted[rank] for rank in sorted(ranks))) for stretch, ranks in groups]


def _meet(before: Stretch, after: Stretch) -> bool:
    return before.path == after.path and after.first <= before.last + 1


def _union(one: Stretch, other: Stretch) -> Stretch:
    """Both and what is between; still a section if one of them is and holds the other."""
    lines = min(one.line_start, other.line_start), max(one.line_end, other.line_end)
    for outer in (one, other):
        if (outer.line_start, outer.line_end) == lines:
            return outer
    return replace(
        one,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        line_start=lines[0],
        line_end=lines[1],
        section=None,
    )
