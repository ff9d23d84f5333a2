"""Choice of the passages for a pack: the highest total value whose rendered text is within a token budget."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from excerpt.base.kinds import Scope
from excerpt.base.model import Fragment, Hit, Pack
from excerpt.pack.expand import (
    HitSpan,
    LineSpan,
    PackCandidate,
    build_frame_sample,
    build_ordinal_span,
    build_span_pack,
    find_header_above,
)
from excerpt.pack.hit_values import VALUE_UNIT
from excerpt.pack.shrink import find_block_span, iterate_block_parts
from excerpt.pack.source import CachedNote
from excerpt.pack.token_costs import TokenCosts

# A chain is a row of units, which are consecutive pieces of a note. Adjacent selected units make one pack. The pack
# costs its frame and its units, and has at least one unit with a hit. The most valuable selection is found exactly, by
# dynamic programming over costs in whole tokens as for a knapsack (Kellerer, Pferschy, Pisinger: Knapsack Problems,
# 2004). There are three tables of the best value by cost: the last unit is in no pack, in a pack without a hit so far,
# or in a pack with a hit.


class ChainUnit(Struct, frozen=True):
    """One or more consecutive fragments of a note, which enter a pack together.

    `opening_cost` are the tokens if a pack begins with this unit, with the pack's frame. `following_cost` are the
    tokens if the previous unit is in the same pack. `value` is what the unit adds to the pack, never negative.
    """

    opening_cost: int
    following_cost: int
    value: float
    has_hit: bool


class UnitChain(Struct, frozen=True):
    """The consecutive units of one candidate passage; each selection has the unit with the index `required`, if set."""

    units: tuple[ChainUnit, ...]
    required: int | None = None


class ChosenUnits(Struct, frozen=True):
    """The selection from one chain: runs of units, each as (first index, last index)."""

    runs: tuple[tuple[int, int], ...] = ()


ChainSelections = tuple[ChosenUnits, ...]
"""The selection from each chain, in the order of the chains."""

_ValueByCost = npt.NDArray[np.float64]
"""An array of the best values; the index is the cost in tokens, and -inf marks an unreachable cost."""
_FlagByCost = npt.NDArray[np.bool_]
"""An array of flags; the index is the cost in tokens."""


def iterate_selections(chains: Sequence[UnitChain], budget: int) -> Iterator[ChainSelections]:
    """Yield the best selection for each total cost up to `budget` tokens, most valuable first.

    The last one is empty, unless a unit is required. The selection for a cost does not depend on the budget. So a
    caller may test the selections further: the value of the first selection that passes never falls when the budget
    grows.
    """
    whole = sum(_compute_whole_chain_cost(chain) for chain in chains)
    if whole <= budget:
        yield tuple(ChosenUnits(((0, len(chain.units) - 1),)) for chain in chains)
    if budget < 0:
        if all(chain.required is None for chain in chains):
            yield tuple(ChosenUnits() for _ in chains)
        return
    best = np.zeros(1)
    steps = []
    for chain in chains:
        step = _ChainTables(chain, _extend_table(best, min(budget, len(best) - 1 + _compute_max_chain_cost(chain)) + 1))
        best = step.after
        steps.append(step)
    for cost in np.argsort(-best, kind="stable"):
        if best[cost] > -np.inf:
            yield _trace_selections(steps, int(cost))


def _compute_whole_chain_cost(chain: UnitChain) -> int:
    """Return the tokens of one pack with all units of a chain."""
    return chain.units[0].opening_cost + sum(unit.following_cost for unit in chain.units[1:])


def _compute_max_chain_cost(chain: UnitChain) -> int:
    """Return an upper bound of the tokens of any selection from a chain."""
    return sum(max(unit.opening_cost, unit.following_cost) for unit in chain.units)


def _extend_table(values: _ValueByCost, length: int) -> _ValueByCost:
    """Return the table extended to `length` costs, with -inf for the added costs."""
    return np.concatenate((values, np.full(length - len(values), -np.inf)))


class _Transitions(Struct, frozen=True):
    """The choices made at one unit that led to the best value of each cost.

    `without_hit_continues` and `with_hit_continues` say whether the unit's pack, which has no hit so far or has a hit,
    began before this unit. `had_no_hit` says that the pack got its first hit here. `closed` says that the unit is in no
    pack and that a pack ended before it.
    """

    without_hit_continues: _FlagByCost
    with_hit_continues: _FlagByCost
    had_no_hit: _FlagByCost
    closed: _FlagByCost


class _ChainTables:
    """The dynamic programming tables of one chain: the best values after it, and the choices that led to them.

    `before` has the best value of each cost from the earlier chains.
    """

    def __init__(self, chain: UnitChain, before: _ValueByCost) -> None:
        self.chain = chain
        self.marks: list[_Transitions] = []
        none = np.full_like(before, -np.inf)
        out, without_hit, with_hit = before, none, none
        any_without_hit = any_with_hit = False
        nothing = np.zeros(len(before), bool)
        for number, unit in enumerate(chain.units):
            opened = _add_to_table(out, unit.opening_cost, unit.value)
            closed = with_hit > out if any_with_hit else nothing
            after_out = np.maximum(with_hit, out) if any_with_hit else out
            if number == chain.required:
                closed, after_out = nothing, none
            had_no_hit = without_hit_continues = with_hit_continues = nothing
            if unit.has_hit:
                entered = opened
                if any_without_hit:
                    continued = _add_to_table(without_hit, unit.following_cost, unit.value)
                    had_no_hit = continued > entered
                    entered = np.maximum(continued, entered)
                if any_with_hit:
                    continued = _add_to_table(with_hit, unit.following_cost, unit.value)
                    with_hit_continues = continued >= entered
                    entered = np.maximum(continued, entered)
                without_hit, with_hit = none, entered
                any_without_hit, any_with_hit = False, True
            else:
                if any_without_hit:
                    continued = _add_to_table(without_hit, unit.following_cost, unit.value)
                    without_hit_continues = continued > opened
                    opened = np.maximum(continued, opened)
                without_hit, any_without_hit = opened, True
                if any_with_hit:
                    with_hit = _add_to_table(with_hit, unit.following_cost, unit.value)
                    with_hit_continues = ~nothing
            out = after_out
            self.marks.append(_Transitions(without_hit_continues, with_hit_continues, had_no_hit, closed))
        self.closed = with_hit > out
        self.after = np.maximum(with_hit, out)

    def trace_units(self, cost: int) -> tuple[ChosenUnits, int]:
        """Return this chain's part of the best selection of `cost` tokens, and the tokens left for earlier chains."""
        runs: list[tuple[int, int]] = []
        state = "having" if self.closed[cost] else "out"
        last = len(self.chain.units) - 1
        for number in range(len(self.chain.units) - 1, -1, -1):
            unit, mark = self.chain.units[number], self.marks[number]
            if state == "out":
                if mark.closed[cost]:
                    state, last = "having", number - 1
                continue
            continues = (mark.with_hit_continues if state == "having" else mark.without_hit_continues)[cost]
            gains_hit = state == "having" and not continues and mark.had_no_hit[cost]
            if continues or gains_hit:
                state = "lacking" if gains_hit else state
                cost -= unit.following_cost
            else:
                runs.append((number, last))
                cost -= unit.opening_cost
                state = "out"
        return ChosenUnits(tuple(reversed(runs))), cost


def _add_to_table(values: _ValueByCost, cost: int, value: float) -> _ValueByCost:
    """Return the table of best values after an item of this cost and value was added to every selection."""
    moved = np.empty_like(values)
    below = min(cost, len(values))
    moved[:below] = -np.inf
    np.add(values[: len(values) - below], value, out=moved[below:])
    return moved


def _trace_selections(steps: Sequence[_ChainTables], cost: int) -> ChainSelections:
    """Return the best selection with this total cost, by following the choices back from the last chain."""
    selection = []
    for step in reversed(steps):
        units, cost = step.trace_units(cost)
        selection.append(units)
    return tuple(reversed(selection))


_CONTEXT_SHARE = {Scope.NONE: 0.0, Scope.NEIGHBORS: 0.27, Scope.SECTION: 1.0, Scope.NOTE: 0.25}
"""Value of a fragment next to a hit (context), as a share of the hit's value, by the scope of the hit.

For fragments further away, the share is divided by the square of the distance in fragments.
"""
_MAX_CONTEXT_BASE = 0.01
"""Upper bound of the hit value that _CONTEXT_SHARE is multiplied with.

It is low, so that many hits get a little context instead of the best hits a lot. With 4,000 tokens, half of the hits
that can be extended are (docs/design/packs.md).
"""
_MAX_HIT_VALUE = 32.0
"""Upper bound of the value of a hit with all of its context."""

_OrdinalRange = tuple[int, int]


class DraftPack(Struct, frozen=True):
    """A pack with the hits in it, best first, and its cost: its tokens as a source after the first one."""

    pack: Pack
    hits: tuple[Hit, ...]
    cost: int


class CandidateChoices(Struct, frozen=True):
    """The selections that are possible from one candidate passage, as a chain of units.

    `ordinals_by_unit` has the first and last fragment ordinal of each unit of `chain`.
    """

    candidate: PackCandidate
    note: CachedNote
    costs: TokenCosts
    ordinals_by_unit: tuple[_OrdinalRange, ...]
    chain: UnitChain
    _drafts: dict[_OrdinalRange, DraftPack] = field(default_factory=dict)

    def add_value(self, chosen: ChosenUnits, total: float) -> float:
        """Return `total` plus the values of the selected units, added in the order of the optimisation."""
        for first, last in chosen.runs:
            for unit in self.chain.units[first : last + 1]:
                total += unit.value
        return total

    def draft_packs(self, chosen: ChosenUnits) -> list[DraftPack]:
        """Return the packs for a selection from this candidate, one for each run of units."""
        return [
            self._draft_run(self.ordinals_by_unit[first][0], self.ordinals_by_unit[last][1])
            for first, last in chosen.runs
        ]

    def _draft_run(self, first: int, last: int) -> DraftPack:
        """Return the pack of the fragments with ordinals `first` to `last`, cached."""
        pack = self._drafts.get((first, last))
        if pack is None:
            line_span = self._line_span(first, last)
            pack = self._draft_pack(
                line_span, [each for each in self.candidate.hit_spans if each.is_in_span(line_span)]
            )
            self._drafts[first, last] = pack
        return pack

    def iterate_parts(self, room: int) -> Iterator[DraftPack]:
        """Yield packs of growing parts of the best hit's best block, as long as they cost at most `room` tokens."""
        hit = self.candidate.best_hit
        for line_span in iterate_block_parts(hit, begins_in_table=self._begins_in_table(hit.fragment)):
            pack = self._draft_pack(line_span, self.candidate.hit_spans[:1])
            if pack.cost > room:
                break
            yield pack

    def draft_block(self, room: int) -> DraftPack | None:
        """Return the pack of the best hit's best block; None if that is the whole fragment or over `room` tokens."""
        line_span = find_block_span(self.candidate.best_hit)
        pack = self._draft_pack(line_span, self.candidate.hit_spans[:1]) if line_span else None
        return pack if pack is None or pack.cost <= room else None

    def _begins_in_table(self, fragment: Fragment) -> bool:
        """Return whether a fragment begins at a row of a table, below its header."""
        return find_header_above(fragment.text, fragment.line_start, self.note) is not None

    def _draft_pack(self, line_span: LineSpan, hit_spans: Sequence[HitSpan]) -> DraftPack:
        pack = build_span_pack(line_span, hit_spans, self.note)
        cost = self.costs.count_frame(2, pack) + self.costs.count_rendered(pack.text)
        return DraftPack(pack, tuple(each.hit for each in hit_spans), cost)

    def choose_best_hit(self) -> ChosenUnits:
        """Return the selection of the best hit's fragment alone."""
        unit = self._find_unit(self.candidate.best_hit)
        return ChosenUnits(((unit, unit),))

    def count_best_hit_text(self) -> int:
        """Return the tokens of the best hit's fragment, without the tokens of the pack's frame around it."""
        own = self.candidate.best_hit.fragment.ordinal
        return self.costs.count_range(own, own, self.note)

    def compute_part_value(self, number: int, others: float) -> float:
        """Return the value of a pack with a part of the best hit's fragment, and other hits with a value of `others`.

        Parts have the numbers 1, 2, … as they grow; 0 is no part. A larger part has more value than a smaller one with
        any other hits, and the whole fragment has more than any part, so a larger budget never gives less value.
        """
        size = number + others / (1 + others)
        return self.chain.units[self._find_unit(self.candidate.best_hit)].value * size / (size + 1)

    def count_hit_alone(self, hit: Hit) -> int:
        """Return the tokens of a pack with this hit's fragment alone."""
        return self.chain.units[self._find_unit(hit)].opening_cost

    def _find_unit(self, hit: Hit) -> int:
        return self.ordinals_by_unit.index((hit.fragment.ordinal, hit.fragment.ordinal))

    def can_fit(self, budget: int) -> bool:
        """Return whether the smallest possible pack of this candidate fits `budget` tokens alone."""
        return min(unit.opening_cost for unit in self.chain.units if unit.has_hit) <= budget

    def _line_span(self, first: int, last: int) -> LineSpan:
        """Return the lines of the fragments with ordinals `first` to `last`.

        If a hit requested exactly these fragments, its span is returned, which may have headings and blank lines too.
        """
        for line_span in (self.candidate.line_span, *(each.line_span for each in self.candidate.hit_spans)):
            if (line_span.first_ordinal, line_span.last_ordinal) == (first, last):
                return line_span
        return build_ordinal_span(self.note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def build_choices(
    candidate: PackCandidate,
    note: CachedNote,
    costs: TokenCosts,
    *,
    hit_digests: Collection[str],
    hit_count: int,
    is_first: bool,
) -> CandidateChoices:
    """Return the possible selections from one candidate.

    `hit_count` is the number of hits of all candidates, `hit_digests` are the digests of their texts. In the first
    candidate, the best hit is required, because it is the best hit of all.
    """
    sample = build_frame_sample(candidate, note)
    frame = costs.count_frame(2, sample)
    pieces = tuple(_divide_into_units(candidate))
    in_table = _count_header_tokens(candidate, note, costs, sample, pieces)
    values = _compute_fragment_values(candidate, note, hit_digests, VALUE_UNIT / _MAX_HIT_VALUE / hit_count)
    hit_ordinals = {each.hit.fragment.ordinal for each in candidate.hit_spans}
    inside = [costs.count_range(*ordinals, note) for ordinals in pieces]
    headings = [0, *(costs.count_between(before[1], after[0], note) for before, after in pairwise(pieces))]
    line_spans = [candidate.line_span, *(each.line_span for each in candidate.hit_spans)]
    above = {each.first_ordinal: costs.count_heading_tokens(each, note) for each in line_spans}
    units = tuple(
        ChainUnit(
            opening_cost=frame + in_table.get(ordinals[0], 0) + above.get(ordinals[0], 0) + tokens + 1,
            following_cost=between + tokens,
            value=sum(values[ordinal] for ordinal in range(ordinals[0], ordinals[1] + 1)),
            has_hit=ordinals[0] in hit_ordinals,
        )
        for ordinals, tokens, between in zip(pieces, inside, headings, strict=True)
    )
    own = candidate.best_hit.fragment.ordinal
    return CandidateChoices(
        candidate, note, costs, pieces, UnitChain(units, pieces.index((own, own)) if is_first else None)
    )


def _count_header_tokens(
    candidate: PackCandidate, note: CachedNote, costs: TokenCosts, sample: Pack, units: Sequence[_OrdinalRange]
) -> dict[int, int]:
    """Return the tokens of the table's header above each unit that begins at a later row of a table, by its ordinal.

    Most notes are not read for this, because none of their hits has a bar (`|`). `sample` is a pack without a header.
    """
    if not any("|" in each.hit.fragment.text for each in candidate.hit_spans):
        return {}
    headers = {first: note.table_header(note.fragment_infos(first, first)[0].line_start) for first, _ in units}
    frame = costs.count_frame(2, sample)
    return {
        first: costs.count_frame(2, replace(sample, table_header=header)) - frame
        for first, header in headers.items()
        if header is not None
    }


def _compute_fragment_values(
    candidate: PackCandidate, note: CachedNote, hit_digests: Collection[str], context_factor: float
) -> dict[int, float]:
    """Return the value of each fragment of a candidate, by ordinal.

    The values of context and of hits that are not primary are multiplied by `context_factor`. A fragment whose text is
    that of a hit (its digest is in `hit_digests`) adds no value as context.
    """
    line_span = candidate.line_span
    parts = note.fragment_infos(line_span.first_ordinal, line_span.last_ordinal)
    values = dict.fromkeys((part.ordinal for part in parts), 0.0)
    context = [part.ordinal for part in parts if part.digest not in hit_digests]
    for each in candidate.hit_spans:
        own = each.hit.fragment.ordinal
        for ordinal in context:
            if each.line_span.first_ordinal <= ordinal <= each.line_span.last_ordinal:
                share = _CONTEXT_SHARE[each.line_span.scope] / (ordinal - own) ** 2
                values[ordinal] += context_factor * share * min(each.value, _MAX_CONTEXT_BASE)
        values[own] += each.value if each.is_primary else context_factor * each.value
    return values


def _divide_into_units(candidate: PackCandidate) -> Iterator[_OrdinalRange]:
    """Yield the first and last ordinal of each unit: a hit's fragment alone, or some fragments between hits.

    Units between hits have 1, 2, 4, … fragments, counted from the nearest hit, so even a long note has few units.
    """
    ordinal = candidate.line_span.first_ordinal
    hits = sorted({each.hit.fragment.ordinal for each in candidate.hit_spans})
    for hit in hits:
        between = hit - ordinal
        before = 0 if ordinal == candidate.line_span.first_ordinal else between - between // 2
        sizes = [*_iterate_doubling_sizes(before), *reversed(list(_iterate_doubling_sizes(between - before)))]
        for size in sizes:
            yield ordinal, ordinal + size - 1
            ordinal += size
        yield hit, hit
        ordinal = hit + 1
    for size in _iterate_doubling_sizes(candidate.line_span.last_ordinal + 1 - ordinal):
        yield ordinal, ordinal + size - 1
        ordinal += size


def _iterate_doubling_sizes(total: int) -> Iterator[int]:
    """Yield the sizes 1, 2, 4, …, which add up to `total`; the last size may be smaller."""
    size = 1
    while total > 0:
        yield min(size, total)
        total -= size
        size *= 2
