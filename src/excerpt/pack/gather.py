"""Which hits are to be grown, what each is worth, and what is left out before anything is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nlargest

from excerpt.kinds import Scope
from excerpt.model import Fragment, Hit, LeftOut
from excerpt.pack.cost import Costs
from excerpt.pack.duplicates import DuplicateRule
from excerpt.pack.expand import expand, reading
from excerpt.pack.merge import Wanted
from excerpt.pack.source import Notes
from excerpt.pack.wishes import Wishes
from excerpt.pack.worth import LEADING, leading_worth, worths
from excerpt.settings import PackSettings
from excerpt.text.line_range import line_range

DROPPED = "dropped by hand"
GONE = "no longer in the index"
SAME_TEXT = "same text as"
NEAR_COPY = "near copy of"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand: a mark counts the same whatever the query says now."""

_EXPANDED = 4  # times the limit: how many hits are looked at where copies are left out


@dataclass
class Gathering:
    """Hits on their way to candidates, best first, and what was left out: copies of better hits, and what is gone."""

    notes: Notes
    settings: PackSettings
    wishes: Wishes
    costs: Costs
    wanted: list[Wanted] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    is_limited: bool = False
    """Whether there are hits behind those that were looked at."""
    _by_digest: dict[str, Fragment] = field(default_factory=dict)

    def add_hits(self, hits: Sequence[Hit], duplicate: DuplicateRule) -> None:
        """The first hits of a ranking, as many as the limit, copies and dropped ones not counted."""
        asking = self._without_dropped(hits[: self.settings.limit * _EXPANDED])
        worth = worths(asking)
        least = min(nlargest(LEADING, worth), default=0.0)
        self._add(asking, worth, least, self.settings.limit, duplicate)

    def add_marks(self, marked: Sequence[str], hits: Sequence[Hit]) -> None:
        """All marked fragments, with the query's spans where it found them too. A near copy goes in: the user chose it
        himself. What the index no longer has is left out."""
        spans = {hit.fragment.id: hit.spans for hit in hits}
        asking = []
        for fragment_id in marked:
            fragment = self.notes.source.fragment(fragment_id)
            if fragment:
                asking.append(Hit(fragment, MARK_SCORE, spans=spans.get(fragment_id, ())))
            else:
                self.left_out.append(LeftOut(fragment_id, 0, 0, 0, GONE))
        asking = self._without_dropped(asking)
        self._add(asking, [MARK_SCORE] * len(asking), MARK_SCORE, len(asking), lambda _fragment, _held: None)

    def _without_dropped(self, hits: Sequence[Hit]) -> list[Hit]:
        kept = [hit for hit in hits if hit.fragment.id not in self.wishes.dropped]
        for hit in hits:
            if hit.fragment.id in self.wishes.dropped:
                self._leave_out(hit.fragment, DROPPED)
        return kept

    def _add(
        self, hits: Sequence[Hit], worth: Sequence[float], least: float, limit: int, duplicate: DuplicateRule
    ) -> None:
        self.notes.read(
            reading(hit.fragment, self._scope(hit.fragment), self.settings.neighbors) for hit in hits[:limit]
        )
        for hit, value in zip(hits, worth, strict=True):
            if not limit:
                self.is_limited = True
                break
            note = self.notes[hit.fragment.path]
            fragment = note.now(hit.fragment)
            if fragment is None:
                self._leave_out(hit.fragment, GONE)
                continue
            twin, why = self._twin(fragment, duplicate)
            if twin:
                if twin.id != fragment.id:
                    self._leave_out(fragment, f"{why} {twin.path}:{line_range(twin.line_start, twin.line_end)}")
                continue
            self._by_digest[fragment.digest] = fragment
            stretch = expand(fragment, note, self._scope(fragment), self.settings.neighbors, self.wishes.dropped)
            found = replace(hit, fragment=fragment)
            if value >= least:
                self.wanted.append(Wanted(found, stretch, leading_worth(value), leading=True))
            else:
                self.wanted.append(Wanted(found, stretch, value, leading=False))
            limit -= 1

    def _scope(self, fragment: Fragment) -> Scope:
        return self._scopes.get(fragment.id, self.settings.scope)

    @cached_property
    def _scopes(self) -> Mapping[str, Scope]:
        return dict(self.wishes.scopes)

    def _twin(self, fragment: Fragment, duplicate: DuplicateRule) -> tuple[Fragment | None, str]:
        """Return the better hit that makes this one needless, and in what way."""
        if fragment.digest in self._by_digest:
            return self._by_digest[fragment.digest], SAME_TEXT
        return duplicate(fragment, self._by_digest.values()), NEAR_COPY

    def _leave_out(self, fragment: Fragment, reason: str) -> None:
        self.left_out.append(left_out(fragment, reason, self.costs))


def left_out(fragment: Fragment, reason: str, costs: Costs) -> LeftOut:
    """A hit that is in no pack, with the tokens of its own text."""
    return LeftOut(fragment.path, fragment.line_start, fragment.line_end, costs.own(fragment), reason)
