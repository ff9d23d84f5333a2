"""Places in the vault that the context showed, and the way back through them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from excerpt.model import Span


_MOST = 100


@dataclass(frozen=True, slots=True)
class Spot:
    """A fragment that is looked at. Where its id is gone, what stands at its line now takes its place. `by_meaning`
    says that meaning had a part in finding it; `top` is the line that was first in sight, if it was scrolled."""

    fragment_id: str
    path: str
    line: int
    spans: tuple[Span, ...] = ()
    by_meaning: bool = False
    top: int | None = None

    def is_at(self, other: Spot) -> bool:
        """Whether both are the same fragment, at whatever line and however it was scrolled."""
        return self.fragment_id == other.fragment_id


@dataclass(frozen=True, slots=True)
class Trail:
    """Spots in the order in which they were visited, and which of them is looked at."""

    spots: tuple[Spot, ...] = ()
    at: int = -1

    @property
    def here(self) -> Spot | None:
        return self.spots[self.at] if self.spots else None

    def visiting(self, spot: Spot) -> Trail:
        """Go on to `spot` from here; what was ahead is left behind. The spot one is at is only noted anew."""
        if self.here is not None and self.here.is_at(spot):
            return Trail((*self.spots[: self.at], spot, *self.spots[self.at + 1 :]), self.at)
        kept = (*self.spots[: self.at + 1], spot)[-_MOST:]
        return Trail(kept, len(kept) - 1)

    def going(self, by: int) -> Trail:
        """Back if negative, or forward; as far as there is a way."""
        return Trail(self.spots, max(0, min(self.at + by, len(self.spots) - 1))) if self.spots else self
