"""Selection of packs, and of their sizes, so that the budget holds the highest total value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from excerpt.kinds import Scope
from excerpt.model import Fragment, FragmentInfo, Hit, Pack
from excerpt.pack.expand import Candidate, HitSpan, LineSpan, draft, inner_spans, pack_of, parts_of_block, spanning
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.source import OpenNote
from excerpt.text.tokens import Tokenizer
from excerpt.text.words import stem

# --- value ------------------------------------------------------------------------------------------------------------
# The value of each hit, from the ranking alone, before the selection.

_BY_SCORE = 2.0
_BY_RANK = 0.75
_BY_NOTE = 1.5
"""Exponents of the value of a hit.

The value is its score ** _BY_SCORE / rank ** _BY_RANK / rank among the hits of its note ** _BY_NOTE. Tuned on three
sets, tested on two others (see docs/design/packs.md).
"""
_NEW_WORDS = 0.5
"""Share that is added to the value of a hit with all words of the query if no better hit has any of them."""
MAX_PRIMARY_HITS = 15
"""Number of the most valuable hits that go in before any context and before any weaker hit.

Of 606 questions, 16 have their target first in hits 11 to 15, and none has it beside one of the first ten.
"""
GRAIN = 2.0**-22
"""Unit of the values of primary hits, so that their sums are exact; all other values together are below one unit."""
_MIN_GRAINS = 4
_MIN = 1e-6
"""Value of a hit without a positive score, before discounts: it goes in only if there is room."""
_CACHED_WORDS = 4096


def hit_values(hits: Sequence[Hit]) -> list[float]:
    """Return the value that each of `hits`, best first, adds to a pack with it.

    The probability that a hit is the answer falls with its rank and with each better hit of its note, and less if it
    has words of the query that no better hit has. All of that is known before the selection, so the value of packs is a
    plain sum, and the best selection for a budget never has less value than that for a smaller one.
    """
    best = max((hit.score for hit in hits if hit.score > 0), default=1.0)
    words = [frozenset(map(_word, {hit.fragment.text[span.start : span.end] for span in hit.spans})) for hit in hits]
    word_count = len(frozenset().union(*words)) or 1
    seen_words: set[str] = set()
    of_note: Counter[str] = Counter()
    values = []
    for rank, (hit, has) in enumerate(zip(hits, words, strict=True), start=1):
        of_note[hit.fragment.path] += 1
        gain = 1 + _NEW_WORDS * len(has - seen_words) / word_count
        seen_words |= has
        likely = max(hit.score / best, _MIN) ** _BY_SCORE
        values.append(likely * gain / rank**_BY_RANK / of_note[hit.fragment.path] ** _BY_NOTE)
    return values


def primary_value(value: float) -> float:
    """Return the value of a primary hit, rounded down to a multiple of GRAIN."""
    return max(int(value / GRAIN), _MIN_GRAINS) * GRAIN


@lru_cache(maxsize=_CACHED_WORDS)
def _word(matched: str) -> str:
    """Return the common stem of the variants of a word."""
    return stem(matched, "")


_CACHED_COUNTS = 8192


# --- cost -------------------------------------------------------------------------------------------------------------
# The cost of texts in tokens, if possible without reading them.

_SAMPLE = "Qa Éb\nc\n\n    d <&>\"'`\\{}[]*#=\t.\n" + "A long line of words. " * 50 + "\nThe End."
"""What a format may rewrite: letters of both cases, lines, an indent, special characters, a long line.

A format that leaves this text unchanged is assumed to leave a note's text unchanged.
"""


class Costs:
    """Token counts of rendered packs.

    A range costs the sum of its fragments, which the index has counted, and of the lines between them. If the index
    uses another tokenizer, or the renderer changes the text, fragments are read and counted. The sum differs little
    from the count of the whole: line ends that tokenizers join with the text before them are counted separately. The
    rendered whole is counted before it is used.
    """

    def __init__(self, tokenizer: Tokenizer, renderer: Renderer, indexed_by: str) -> None:
        self.tokenizer = tokenizer
        self.renderer = renderer
        self._counted = indexed_by == tokenizer.name
        self._verbatim = renderer.escape(_SAMPLE) == _SAMPLE

    def count(self, text: str) -> int:
        return _tokens(self.tokenizer, text)

    def own(self, fragment: Fragment) -> int:
        """Return the tokens of a fragment's text as it is in the note."""
        return fragment.tokens if self._counted else self.count(fragment.text)

    def frame(self, number: int, pack: Pack) -> int:
        return sum(map(self.count, self.renderer.frame(number, pack)))

    def fragments(self, first: int, last: int, note: OpenNote) -> int:
        """Return the tokens of whole fragments, by ordinals, and of the line ends and headings between them."""
        parts = note.parts(first, last)
        return sum(self._part(part, note) for part in parts) + sum(
            self._between(before, after) for before, after in pairwise(parts)
        )

    def between(self, before: int, after: int, note: OpenNote) -> int:
        """Return the tokens of the line ends and headings between two consecutive fragments."""
        return self._between(*note.parts(before, after))

    def above(self, line_span: LineSpan, note: OpenNote) -> int:
        """Return the tokens of the heading at the beginning of a section or a note."""
        first = note.parts(line_span.first, line_span.first)[0]
        return self._headings(first, 1) if line_span.line_start < first.line_start else 0

    def source_tokens(self, text: str) -> int:
        """Return the tokens of a text as the renderer writes it in a source."""
        return self.count(text) if self._verbatim else _escaped_tokens(self.tokenizer, self.renderer, text)

    def lines(self, line_start: int, line_end: int, note: OpenNote) -> int:
        """Return the tokens of lines, which are read from the note."""
        return self.source_tokens(note.text(line_start, line_end) + "\n")

    def _part(self, part: FragmentInfo, note: OpenNote) -> int:
        if self._counted and self._verbatim:
            return part.tokens
        return self.source_tokens(note.text(part.line_start, part.line_end))

    def _between(self, before: FragmentInfo, after: FragmentInfo) -> int:
        return 1 + self._headings(after, after.section - before.section)

    def _headings(self, part: FragmentInfo, sections: int) -> int:
        """Return the tokens of the heading above a fragment, times the `sections` between it and the one before."""
        if not part.level or sections < 1:
            return 0
        return sections * self.count(f"{'#' * part.level} {part.heading}\n\n")


@lru_cache(maxsize=_CACHED_COUNTS)
def _tokens(tokenizer: Tokenizer, text: str) -> int:
    return tokenizer.count(text)


@lru_cache(maxsize=_CACHED_COUNTS)
def _escaped_tokens(tokenizer: Tokenizer, renderer: Renderer, text: str) -> int:
    return tokenizer.count(renderer.escape(text))


# --- choice -----------------------------------------------------------------------------------------------------------
# A chain is a row of units, consecutive pieces of a note. Adjacent selected units make one pack, which costs its frame
# and its units; a pack has at least one unit with a hit. The most valuable selection is found exactly by dynamic
# programming over costs in whole tokens, as for a knapsack (Kellerer, Pferschy, Pisinger: Knapsack Problems, 2004),
# with three tables: the last unit is in no pack, in one without a hit yet, or in one with a hit.


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a note.

    `opening` is its cost in tokens if a pack begins with it, frame included; `following` if the previous unit is in the
    pack too. `value` is what it adds, never negative; `has_hit` is true if it contains a hit.
    """

    opening: int
    following: int
    value: float
    has_hit: bool


@dataclass(frozen=True, slots=True)
class Option:
    """An alternative to all units of a chain."""

    cost: int
    value: float


@dataclass(frozen=True, slots=True)
class UnitChain:
    units: tuple[Unit, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class ChosenUnits:
    """The selection from one chain: runs of units (first and last), or an option."""

    runs: tuple[tuple[int, int], ...] = ()
    option: int | None = None


Selection = tuple[ChosenUnits, ...]
"""The selection from each chain."""

_Values = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]


def selections(chains: Sequence[UnitChain], budget: int) -> Iterator[Selection]:
    """Yield the best selection of each total cost up to `budget`, most valuable first; the last one is empty.

    The selection for one cost does not depend on the budget. So if a caller tests the selections further, the value of
    the first one that passes never falls when the budget grows.
    """
    whole = sum(_whole_cost(chain) for chain in chains)
    if whole <= budget:
        yield tuple(ChosenUnits(((0, len(chain.units) - 1),)) for chain in chains)
    if budget < 0:
        yield tuple(ChosenUnits() for _ in chains)
        return
    best = np.zeros(1)
    steps = []
    for chain in chains:
        step = _Step(chain, _longer(best, min(budget, len(best) - 1 + _max_cost(chain)) + 1))
        best = step.after
        steps.append(step)
    for cost in np.argsort(-best, kind="stable"):
        if best[cost] > -np.inf:
            yield _trace(steps, int(cost))


def _whole_cost(chain: UnitChain) -> int:
    return chain.units[0].opening + sum(unit.following for unit in chain.units[1:])


def _max_cost(chain: UnitChain) -> int:
    """Return an upper bound of a chain's cost."""
    units = sum(max(unit.opening, unit.following) for unit in chain.units)
    return max((units, *(option.cost for option in chain.options)))


def _longer(values: _Values, length: int) -> _Values:
    """Return the table extended to higher costs, with -inf there."""
    return np.concatenate((values, np.full(length - len(values), -np.inf)))


@dataclass(frozen=True, slots=True)
class _Transitions:
    """How the best value of each cost was reached, after one unit.

    The flags say whether the unit's pack (without, with a hit) continues from the previous unit; for a hit, whether
    that pack had no hit before; and, if the unit is in no pack, whether the previous one was in one.
    """

    without_hit_continues: _Marks
    with_hit_continues: _Marks
    had_no_hit: _Marks
    closed: _Marks


class _Step:
    """The tables of one chain: best values before and after it, and how they were reached."""

    def __init__(self, chain: UnitChain, before: _Values) -> None:
        self.chain = chain
        self.marks: list[_Transitions] = []
        none = np.full_like(before, -np.inf)
        out, without_hit, with_hit = before, none, none
        any_without_hit = any_with_hit = False
        nothing = np.zeros(len(before), bool)
        for unit in chain.units:
            opened = _shift(out, unit.opening, unit.value)
            closed = with_hit > out if any_with_hit else nothing
            after_out = np.maximum(with_hit, out) if any_with_hit else out
            had_no_hit = without_hit_continues = with_hit_continues = nothing
            if unit.has_hit:
                entered = opened
                if any_without_hit:
                    continued = _shift(without_hit, unit.following, unit.value)
                    had_no_hit = continued > entered
                    entered = np.maximum(continued, entered)
                if any_with_hit:
                    continued = _shift(with_hit, unit.following, unit.value)
                    with_hit_continues = continued >= entered
                    entered = np.maximum(continued, entered)
                without_hit, with_hit = none, entered
                any_without_hit, any_with_hit = False, True
            else:
                if any_without_hit:
                    continued = _shift(without_hit, unit.following, unit.value)
                    without_hit_continues = continued > opened
                    opened = np.maximum(continued, opened)
                without_hit, any_without_hit = opened, True
                if any_with_hit:
                    with_hit = _shift(with_hit, unit.following, unit.value)
                    with_hit_continues = ~nothing
            out = after_out
            self.marks.append(_Transitions(without_hit_continues, with_hit_continues, had_no_hit, closed))
        self.closed = with_hit > out
        after = np.maximum(with_hit, out)
        self.option_by_cost = np.full(len(before), -1, np.int16)
        for number, option in enumerate(chain.options):
            instead = _shift(before, option.cost, option.value)
            better = instead > after
            after = np.maximum(instead, after)
            self.option_by_cost[better] = number
        self.after = after

    def trace(self, cost: int) -> tuple[ChosenUnits, int]:
        """Return what the best selection of a cost takes from this chain, and the cost that is left for the others."""
        if (option := int(self.option_by_cost[cost])) >= 0:
            return ChosenUnits(option=option), cost - self.chain.options[option].cost
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
                cost -= unit.following
            else:
                runs.append((number, last))
                cost -= unit.opening
                state = "out"
        return ChosenUnits(tuple(reversed(runs))), cost


def _shift(values: _Values, cost: int, value: float) -> _Values:
    """Return the table after adding something of this cost and value."""
    moved = np.empty_like(values)
    below = min(cost, len(values))
    moved[:below] = -np.inf
    np.add(values[: len(values) - below], value, out=moved[below:])
    return moved


def _trace(steps: Sequence[_Step], cost: int) -> Selection:
    selection = []
    for step in reversed(steps):
        units, cost = step.trace(cost)
        selection.append(units)
    return tuple(reversed(selection))


# --- candidates as units ----------------------------------------------------------------------------------------------
# A candidate for the selection: its pieces, and the cost and value of each.

_CONTEXT = {Scope.NONE: 0.0, Scope.NEIGHBORS: 0.27, Scope.SECTION: 1.0, Scope.NOTE: 0.25}
"""Value of a fragment beside a hit, as a share of the hit's value, by scope.

The share is of the hit's value or of _MAX_WIDENED, whichever is less, and is divided by the square of the distance.
_MAX_WIDENED is so small that half of the hits that could be widened at 4,000 tokens are: many hits get a little context
instead of the best ones a lot (see docs/design/packs.md).
"""
_MAX_WIDENED = 0.01
_MAX_CONTEXT = 32.0
"""Upper bound of the value of a hit with all of its context."""
_CUT = 0.1
"""Share of a hit's value that is lost if its own fragment is cut: more than context elsewhere adds, less than a hit."""

_Ordinals = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DraftPack:
    """A pack, the hits in it, best first, and its cost in tokens as one of several sources."""

    pack: Pack
    hits: tuple[Hit, ...]
    cost: int


@dataclass(frozen=True, slots=True)
class Choices:
    """The possible selections from a candidate.

    `pieces` are the ordinals, first and last, of each unit of `chain`; `inner` are the parts of the best hit's own
    fragment that its options represent.
    """

    candidate: Candidate
    note: OpenNote
    costs: Costs
    pieces: tuple[_Ordinals, ...]
    chain: UnitChain
    inner: tuple[LineSpan, ...]
    _drafts: dict[_Ordinals, DraftPack] = field(default_factory=dict)

    def value(self, chosen: ChosenUnits, before: float) -> float:
        """Return `before` plus the values of the selected units, summed in the order of the optimisation."""
        if chosen.option is not None:
            return before + self.chain.options[chosen.option].value
        for first, last in chosen.runs:
            for unit in self.chain.units[first : last + 1]:
                before += unit.value
        return before

    def packs(self, chosen: ChosenUnits) -> list[DraftPack]:
        """Return the selected packs."""
        if chosen.option is not None:
            return [self._pack(self.inner[chosen.option], self.candidate.hit_spans[:1])]
        return [self._run(self.pieces[first][0], self.pieces[last][1]) for first, last in chosen.runs]

    def _run(self, first: int, last: int) -> DraftPack:
        pack = self._drafts.get((first, last))
        if pack is None:
            line_span = self._line_span(first, last)
            pack = self._pack(line_span, [each for each in self.candidate.hit_spans if each.within(line_span)])
            self._drafts[first, last] = pack
        return pack

    def parts(self, room: int) -> Iterator[tuple[LineSpan, float, DraftPack]]:
        """Yield the parts of the best hit's fragment that cost at most `room`, smallest first, with shares of it."""
        for line_span, share in parts_of_block(self.candidate.best):
            pack = self._pack(line_span, self.candidate.hit_spans[:1])
            if pack.cost > room:
                break
            yield line_span, share, pack

    def _pack(self, line_span: LineSpan, hit_spans: Sequence[HitSpan]) -> DraftPack:
        pack = pack_of(line_span, hit_spans, self.note)
        cost = self.costs.frame(2, pack) + self.costs.source_tokens(pack.text)
        return DraftPack(pack, tuple(each.hit for each in hit_spans), cost)

    def best_alone(self, budget: int) -> Iterator[ChosenUnits]:
        """Yield the best hit's fragment, whole or cut at blocks, if its cost is within `budget`."""
        own = self.candidate.best.fragment.ordinal
        unit = self.pieces.index((own, own))
        if self.chain.units[unit].opening <= budget:
            yield ChosenUnits(((unit, unit),))
        yield from (ChosenUnits(option=at) for at, option in enumerate(self.chain.options) if option.cost <= budget)

    def needs(self, hit: Hit) -> int:
        """Return the tokens of a hit's fragment as a passage of its own."""
        own = hit.fragment.ordinal
        return self.chain.units[self.pieces.index((own, own))].opening

    def fits(self, budget: int) -> bool:
        """Return whether the smallest possible pack fits the budget alone."""
        openings = [unit.opening for unit in self.chain.units if unit.has_hit]
        return min(openings + [option.cost for option in self.chain.options]) <= budget

    def _line_span(self, first: int, last: int) -> LineSpan:
        """Return the requested range if it has just these fragments; else the fragments and the lines between them."""
        for line_span in (self.candidate.line_span, *(each.line_span for each in self.candidate.hit_spans)):
            if (line_span.first, line_span.last) == (first, last):
                return line_span
        return spanning(self.note, first, last, Scope.NEIGHBORS if first < last else Scope.NONE)


def choices(
    candidate: Candidate, note: OpenNote, costs: Costs, *, digests: Collection[str], hits: int, cuts_fragment: bool
) -> Choices:
    """Return the possible selections from a candidate.

    It is one of several that have `hits` hits together, with the digests `digests`. With `cuts_fragment` parts of the
    best hit's own fragment are included, for a budget below its size.
    """
    frame = costs.frame(2, draft(candidate, note))
    pieces = tuple(_pieces(candidate))
    values = _values(candidate, note, digests, GRAIN / _MAX_CONTEXT / hits)
    hit_ordinals = {each.hit.fragment.ordinal for each in candidate.hit_spans}
    inside = [costs.fragments(*ordinals, note) for ordinals in pieces]
    headings = [0, *(costs.between(before[1], after[0], note) for before, after in pairwise(pieces))]
    line_spans = [candidate.line_span, *(each.line_span for each in candidate.hit_spans)]
    above = {each.first: costs.above(each, note) for each in line_spans}
    units = tuple(
        Unit(
            opening=frame + above.get(ordinals[0], 0) + tokens + 1,
            following=between + tokens,
            value=sum(values[ordinal] for ordinal in range(ordinals[0], ordinals[1] + 1)),
            has_hit=ordinals[0] in hit_ordinals,
        )
        for ordinals, tokens, between in zip(pieces, inside, headings, strict=True)
    )
    inner = tuple(inner_spans(candidate.best)) if cuts_fragment else ()
    value = primary_value(candidate.hit_spans[0].value * (1 - _CUT))
    options = tuple(Option(frame + costs.lines(each.line_start, each.line_end, note), value) for each in inner)
    return Choices(candidate, note, costs, pieces, UnitChain(units, options), inner)


def shrunk(offered: Sequence[Choices], room: int) -> list[Choices]:
    """Return the choices for a best hit that does not fit, with parts of its best block in place of blocks.

    A part has more value than all other hits together, so that no weaker hit replaces it, and all together have less
    than the best hit cut at blocks, so that a budget with room for that never has less value. Otherwise a part counts
    by its share of the fragment, and others by their value.
    """
    first = offered[0]
    value = first.candidate.hit_spans[0].value
    scale = 0.5 * _CUT * value / sum(unit.value for each in offered for unit in each.chain.units)
    line_spans: list[LineSpan] = []
    options: list[Option] = []
    for line_span, share, part in first.parts(room):
        line_spans.append(line_span)
        cost = max([part.cost, *(option.cost for option in options[-1:])])
        options.append(Option(cost, value * (1 - 2 * _CUT + scale * share)))
    scaled = [
        replace(each, chain=UnitChain(tuple(replace(unit, value=unit.value * scale) for unit in each.chain.units)))
        for each in offered
    ]
    parts = UnitChain(scaled[0].chain.units, tuple(options))
    return [replace(scaled[0], chain=parts, inner=tuple(line_spans)), *scaled[1:]]


def _values(candidate: Candidate, note: OpenNote, digests: Collection[str], context_factor: float) -> dict[int, float]:
    """Return the value of each fragment of a candidate, by ordinal.

    Context and weaker hits are multiplied by `context_factor`; the text of another hit adds no value as context.
    """
    line_span = candidate.line_span
    parts = note.parts(line_span.first, line_span.last)
    values = dict.fromkeys((part.ordinal for part in parts), 0.0)
    context = [part.ordinal for part in parts if part.digest not in digests]
    for each in candidate.hit_spans:
        own = each.hit.fragment.ordinal
        for ordinal in context:
            if each.line_span.first <= ordinal <= each.line_span.last:
                share = _CONTEXT[each.line_span.scope] / (ordinal - own) ** 2
                values[ordinal] += context_factor * share * min(each.value, _MAX_WIDENED)
        values[own] += each.value if each.is_primary else context_factor * each.value
    return values


def _pieces(candidate: Candidate) -> Iterator[_Ordinals]:
    """Yield each hit's fragment alone, and the fragments between hits in pieces.

    The pieces have 1, 2, 4, … fragments from the nearest hit, so that there are few even in a long note.
    """
    ordinal = candidate.line_span.first
    hits = sorted({each.hit.fragment.ordinal for each in candidate.hit_spans})
    for hit in hits:
        between = hit - ordinal
        before = 0 if ordinal == candidate.line_span.first else between - between // 2
        sizes = [*_doubling(before), *reversed(list(_doubling(between - before)))]
        for size in sizes:
            yield ordinal, ordinal + size - 1
            ordinal += size
        yield hit, hit
        ordinal = hit + 1
    for size in _doubling(candidate.line_span.last + 1 - ordinal):
        yield ordinal, ordinal + size - 1
        ordinal += size


def _doubling(count: int) -> Iterator[int]:
    """Yield 1, 2, 4, … until the sum is `count`; the last one may be smaller."""
    size = 1
    while count > 0:
        yield min(size, count)
        count -= size
        size *= 2
