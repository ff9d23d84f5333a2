"""A candidate as the choice sees it: the pieces that may be taken, what each costs and what it is worth."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from excerpt.kinds import Scope
from excerpt.model import Hit, Pack
from excerpt.pack.budget import Chain, Option, Taken, Unit
from excerpt.pack.cost import Costs
from excerpt.pack.expand import Stretch, spanning
from excerpt.pack.merge import Candidate, Wanted
from excerpt.pack.packs import draft, pack_of
from excerpt.pack.shrink import inner_stretches, parts_of_block
from excerpt.pack.source import OpenNote
from excerpt.pack.worth import GRAIN, leading_worth

_CONTEXT = {Scope.NONE: 0.0, Scope.NEIGHBORS: 0.27, Scope.SECTION: 1.0, Scope.NOTE: 0.25}
"""What a fragment beside a hit is worth, as a share of the hit, or of _MOST_WIDENED where that is less, divided by the
square of its distance: as little as has half of what could be widened at 4,000 tokens be so, many hits by a little
rather than the best by a lot (see docs/design/packs.md)."""
_MOST_WIDENED = 0.01
_MOST_BESIDE = 32.0
"""More than a hit and all of its context are worth."""
_CUT = 0.1
"""Share of a hit's worth that is lost where its own fragment is cut: more than context elsewhere can bring, less than
one more hit does."""

_Ordinals = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Made:
    """A pack, the hits in it, best first, and its tokens as a source among others."""

    pack: Pack
    hits: tuple[Hit, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be taken of a candidate. `pieces` are the ordinals, first and last, of each unit of `chain`; `inner` are
    the parts of the best hit's own fragment that its options stand for."""

    candidate: Candidate
    note: OpenNote
    costs: Costs
    pieces: tuple[_Ordinals, ...]
    chain: Chain
    inner: tuple[Stretch, ...]
    _made: dict[_Ordinals, Made] = field(default_factory=dict)

    def value(self, taken: Taken, before: float) -> float:
        """`before` and what is taken added up, in the order in which the choice adds it."""
        if taken.option is not None:
            return before + self.chain.options[taken.option].value
        for first, last in taken.runs:
            for unit in self.chain.units[first : last + 1]:
                before += unit.value
        return before

    def packs(self, taken: Taken) -> list[Made]:
        """The packs that are taken."""
        if taken.option is not None:
            return [self._pack(self.inner[taken.option], self.candidate.wanted[:1])]
        return [self._run(self.pieces[first][0], self.pieces[last][1]) for first, last in taken.runs]

    def _run(self, first: int, last: int) -> Made:
        made = self._made.get((first, last))
        if made is None:
            stretch = self._stretch(first, last)
            made = self._pack(stretch, [each for each in self.candidate.wanted if each.within(stretch)])
            self._made[first, last] = made
        return made

    def parts(self, room: int) -> Iterator[tuple[Stretch, float, Made]]:
        """Parts of the best hit's fragment that cost no more than `room`, smallest first, with their shares of it."""
        for stretch, share in parts_of_block(self.candidate.best):
            made = self._pack(stretch, self.candidate.wanted[:1])
            if made.cost > room:
                break
            yield stretch, share, made

    def _pack(self, stretch: Stretch, wanted: Sequence[Wanted]) -> Made:
        pack = pack_of(stretch, wanted, self.note)
        cost = self.costs.frame(2, pack) + self.costs.written(pack.text)
        return Made(pack, tuple(each.hit for each in wanted), cost)

    def best_alone(self, budget: int) -> Iterator[Taken]:
        """The best hit's fragment, whole or cut at blocks, as far as its cost is within `budget`."""
        own = self.candidate.best.fragment.ordinal
        unit = self.pieces.index((own, own))
        if self.chain.units[unit].opening <= budget:
            yield Taken(((unit, unit),))
        yield from (Taken(option=at) for at, option in enumerate(self.chain.options) if option.cost <= budget)

    def needs(self, hit: Hit) -> int:
        """Tokens of a hit's fragment as a passage of its own."""
        own = hit.fragment.ordinal
        return self.chain.units[self.pieces.index((own, own))].opening

    def fits(self, budget: int) -> bool:
        """Whether anything of it fits the budget if nothing else goes in."""
        asked = [unit.opening for unit in self.chain.units if unit.asked]
        return min(asked + [option.cost for option in self.chain.options]) <= budget

    def _stretch(self, first: int, last: int) -> Stretch:
        """What was asked for, if these fragments are just that; else they and the lines between them."""
        for stretch in (self.candidate.stretch, *(each.stretch for each in self.candidate.wanted)):
            if (stretch.first, stretch.last) == (first, last):
                return stretch
        return spanning(self.note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def choices(
    candidate: Candidate, note: OpenNote, costs: Costs, *, said: Collection[str], hits: int, cuts_fragment: bool
) -> Choices:
    """What may be taken of a candidate, one of those of as many `hits`, which are `said` (digests); with
    `cuts_fragment` also parts of the best hit's own fragment, for where the budget is less than that."""
    frame = costs.frame(2, draft(candidate, note))
    pieces = tuple(_pieces(candidate))
    values = _values(candidate, note, said, GRAIN / _MOST_BESIDE / hits)
    asked = {each.hit.fragment.ordinal for each in candidate.wanted}
    inside = [costs.fragments(*ordinals, note) for ordinals in pieces]
    headings = [0, *(costs.between(before[1], after[0], note) for before, after in pairwise(pieces))]
    stretches = [candidate.stretch, *(each.stretch for each in candidate.wanted)]
    above = {each.first: costs.above(each, note) for each in stretches}
    units = tuple(
        Unit(
            opening=frame + above.get(ordinals[0], 0) + tokens + 1,
            following=between + tokens,
            value=sum(values[ordinal] for ordinal in range(ordinals[0], ordinals[1] + 1)),
            asked=ordinals[0] in asked,
        )
        for ordinals, tokens, between in zip(pieces, inside, headings, strict=True)
    )
    inner = tuple(inner_stretches(candidate.best)) if cuts_fragment else ()
    worth = leading_worth(candidate.wanted[0].worth * (1 - _CUT))
    options = tuple(Option(frame + costs.lines(each.line_start, each.line_end, note), worth) for each in inner)
    return Choices(candidate, note, costs, pieces, Chain(units, options), inner)


def shrunk(offered: Sequence[Choices], room: int) -> list[Choices]:
    """The same where the best hit does not fit `room` even when cut at blocks: in place of its blocks, parts of the
    one with most of its match.

    A part is worth more than all others together, so that no weaker hit goes in for it, and all together less than
    the best hit cut at blocks, so that the budget that has room for that never has less value. Beyond that, a part
    counts by its share of the fragment, as others count by their worth.
    """
    first = offered[0]
    worth = first.candidate.wanted[0].worth
    scale = 0.5 * _CUT * worth / sum(unit.value for each in offered for unit in each.chain.units)
    stretches: list[Stretch] = []
    options: list[Option] = []
    for stretch, share, made in first.parts(room):
        stretches.append(stretch)
        cost = max([made.cost, *(option.cost for option in options[-1:])])
        options.append(Option(cost, worth * (1 - 2 * _CUT + scale * share)))
    scaled = [
        replace(each, chain=Chain(tuple(replace(unit, value=unit.value * scale) for unit in each.chain.units)))
        for each in offered
    ]
    parts = Chain(scaled[0].chain.units, tuple(options))
    return [replace(scaled[0], chain=parts, inner=tuple(stretches)), *scaled[1:]]


def _values(candidate: Candidate, note: OpenNote, said: Collection[str], beside: float) -> dict[int, float]:
    """What each fragment of a candidate adds, by ordinal. All that is worth less than the least leading hit, context
    and weaker hits, counts by the factor `beside`; what a hit says elsewhere adds nothing as context."""
    stretch = candidate.stretch
    parts = note.parts(stretch.first, stretch.last)
    values = dict.fromkeys((part.ordinal for part in parts), 0.0)
    context = [part.ordinal for part in parts if part.digest not in said]
    for each in candidate.wanted:
        own = each.hit.fragment.ordinal
        for ordinal in context:
            if each.stretch.first <= ordinal <= each.stretch.last:
                share = _CONTEXT[each.stretch.scope] / (ordinal - own) ** 2
                values[ordinal] += beside * share * min(each.worth, _MOST_WIDENED)
        values[own] += each.worth if each.leading else beside * each.worth
    return values


def _pieces(candidate: Candidate) -> Iterator[_Ordinals]:
    """Each hit's fragment alone, and what is between them in pieces of 1, 2, 4, … fragments counted from the nearest
    hit, so that they stay few in a long note."""
    at = candidate.stretch.first
    hits = sorted({each.hit.fragment.ordinal for each in candidate.wanted})
    for hit in hits:
        between = hit - at
        before = 0 if at == candidate.stretch.first else between - between // 2
        sizes = [*_doubling(before), *reversed(list(_doubling(between - before)))]
        for size in sizes:
            yield at, at + size - 1
            at += size
        yield hit, hit
        at = hit + 1
    for size in _doubling(candidate.stretch.last + 1 - at):
        yield at, at + size - 1
        at += size


def _doubling(count: int) -> Iterator[int]:
    """1, 2, 4, …, in all `count`."""
    size = 1
    while count > 0:
        yield min(size, count)
        count -= size
        size *= 2
