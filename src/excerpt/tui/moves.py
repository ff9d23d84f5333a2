"""How far each row has moved since the query was refined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

LOOKED_AT = 0.8
"""Seconds that a list stands until it counts as looked at: a key typed within them goes on with the same refinement."""

_TOP = 10
_SHARED = 1 / 3
"""Of the first ten, what must have been in the list before: where it is less, it is another question, and everything
would be new."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ids of a list in their order, those of the list that the user last looked at, and since when the list stands
    (seconds of any one clock)."""

    ids: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    since: float = 0.0

    def refined(self, ids: Sequence[str], at: float) -> Ranking:
        """The list that follows at that time: what is typed fast is compared with what stood before all of it."""
        looked_at = self.ids if at - self.since >= LOOKED_AT else self.before
        return Ranking(tuple(ids), looked_at, at)

    def again(self, ids: Sequence[str]) -> Ranking:
        """The same question, answered anew since the vault has changed."""
        return replace(self, ids=tuple(ids))

    def moves(self) -> Mapping[str, int | None]:
        """For each id how many places it went up (down if negative), None where it is new; only those that moved."""
        known = {one: place for place, one in enumerate(self.before)}
        shared = sum(one in known for one in self.ids[:_TOP])
        if shared < _SHARED * min(_TOP, len(self.ids)) or not shared:
            return {}
        moved = {one: known[one] - place if one in known else None for place, one in enumerate(self.ids)}
        return {one: by for one, by in moved.items() if by != 0}


def move_sign(by: int | None) -> str:
    """A move in at most four cells."""
    if by is None:
        return "new"
    return f"{'↑' if by > 0 else '↓'}{abs(by)}"
