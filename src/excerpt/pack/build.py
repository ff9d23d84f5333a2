"""Building of packs from hits, within a token budget and rendered for a prompt."""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from heapq import nlargest
from typing import Concatenate, Generic, ParamSpec

from excerpt.kinds import Scope, StopReason, Strategy
from excerpt.model import TOO_LARGE, Fragment, Hit, OmittedHit, Pack, PackResult, Result
from excerpt.pack.budget import (
    MAX_PRIMARY_HITS,
    Choices,
    ChosenUnits,
    Costs,
    DraftPack,
    Selection,
    choices,
    hit_values,
    primary_value,
    selections,
    shrunk,
)
from excerpt.pack.expand import DuplicateRule, HitSpan, draft, expand, merge, near_copy, reading
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.selection import AS_RANKED, Overrides
from excerpt.pack.source import NoteSource, SourceNotes, notes_of
from excerpt.search.engine import Engine, count_matching
from excerpt.search.evidence import POOL
from excerpt.settings import PackSettings
from excerpt.text.display import line_range
from excerpt.text.tokens import Tokenizer

# --- gather -----------------------------------------------------------------------------------------------------------
# Which hits are extended, the value of each, and those left out before the selection.

DROPPED = "dropped by hand"
GONE = "no longer in the index"
SAME_TEXT = "same text as"
NEAR_COPY = "near copy of"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand, whatever its score for the query."""

HITS_PER_PACKED = 4
"""Number of hits examined per hit of the limit, because copies and dropped ones do not count."""


@dataclass
class Gathering:
    """Collection of hits for the candidates, best first, and of those left out: copies, and lost ones."""

    notes: SourceNotes
    settings: PackSettings
    overrides: Overrides
    costs: Costs
    hit_spans: list[HitSpan] = field(default_factory=list)
    left_out: list[OmittedHit] = field(default_factory=list)
    is_limited: bool = False
    """Whether there are more hits than were examined."""
    _by_digest: dict[str, Fragment] = field(default_factory=dict)

    def add_hits(self, hits: Sequence[Hit], duplicate: DuplicateRule) -> None:
        """Add the first hits of a ranking up to the limit; copies and dropped ones do not count."""
        candidates = self._without_dropped(hits[: self.settings.limit * HITS_PER_PACKED])
        values = hit_values(candidates)
        min_primary = min(nlargest(MAX_PRIMARY_HITS, values), default=0.0)
        self._add(candidates, values, min_primary, self.settings.limit, duplicate)

    def add_marks(self, marked: Sequence[str], hits: Sequence[Hit]) -> None:
        """Add all marked fragments, with the query's spans if it found them. A marked near copy goes in.

        Fragments that are no longer in the index are left out.
        """
        spans = {hit.fragment.id: hit.spans for hit in hits}
        candidates = []
        for fragment_id in marked:
            fragment = self.notes.source.fragment(fragment_id)
            if fragment:
                candidates.append(Hit(fragment, MARK_SCORE, spans=spans.get(fragment_id, ())))
            else:
                self.left_out.append(OmittedHit(fragment_id, 0, 0, 0, GONE))
        candidates = self._without_dropped(candidates)
        self._add(
            candidates, [MARK_SCORE] * len(candidates), MARK_SCORE, len(candidates), lambda _fragment, _held: None
        )

    def _without_dropped(self, hits: Sequence[Hit]) -> list[Hit]:
        remaining = [hit for hit in hits if hit.fragment.id not in self.overrides.dropped]
        for hit in hits:
            if hit.fragment.id in self.overrides.dropped:
                self._leave_out(hit.fragment, DROPPED)
        return remaining

    def _add(
        self, hits: Sequence[Hit], values: Sequence[float], min_primary: float, limit: int, duplicate: DuplicateRule
    ) -> None:
        self.notes.read(
            reading(hit.fragment, self._scope(hit.fragment), self.settings.neighbors) for hit in hits[:limit]
        )
        for hit, value in zip(hits, values, strict=True):
            if not limit:
                self.is_limited = True
                break
            note = self.notes[hit.fragment.path]
            fragment = note.refresh(hit.fragment)
            if fragment is None:
                self._leave_out(hit.fragment, GONE)
                continue
            twin, why = self._twin(fragment, duplicate)
            if twin:
                if twin.id != fragment.id:
                    self._leave_out(fragment, f"{why} {twin.path}:{line_range(twin.line_start, twin.line_end)}")
                continue
            self._by_digest[fragment.digest] = fragment
            line_span = expand(fragment, note, self._scope(fragment), self.settings.neighbors, self.overrides.dropped)
            current_hit = replace(hit, fragment=fragment)
            if value >= min_primary:
                self.hit_spans.append(HitSpan(current_hit, line_span, primary_value(value), is_primary=True))
            else:
                self.hit_spans.append(HitSpan(current_hit, line_span, value, is_primary=False))
            limit -= 1

    def _scope(self, fragment: Fragment) -> Scope:
        return self._scopes.get(fragment.id, self.settings.scope)

    @cached_property
    def _scopes(self) -> Mapping[str, Scope]:
        return dict(self.overrides.scopes)

    def _twin(self, fragment: Fragment, duplicate: DuplicateRule) -> tuple[Fragment | None, str]:
        """Return the better hit that makes this one redundant, and the reason."""
        if fragment.digest in self._by_digest:
            return self._by_digest[fragment.digest], SAME_TEXT
        return duplicate(fragment, self._by_digest.values()), NEAR_COPY

    def _leave_out(self, fragment: Fragment, reason: str) -> None:
        self.left_out.append(left_out(fragment, reason, self.costs))


def left_out(fragment: Fragment, reason: str, costs: Costs) -> OmittedHit:
    """Return a hit as left out, with the tokens of its own text."""
    return OmittedHit(fragment.path, fragment.line_start, fragment.line_end, costs.own(fragment), reason)


# --- pack -------------------------------------------------------------------------------------------------------------

_Ordering = Callable[[Sequence[DraftPack]], list[Pack]]

OUT_OF_BUDGET = "out of budget"
MARKDOWN = MarkdownRenderer()


def build_pack(
    source: NoteSource,
    hits: Sequence[Hit],
    *,
    query: str,
    strategy: Strategy,
    settings: PackSettings,
    tokenizer: Tokenizer,
    renderer: Renderer = MARKDOWN,
    marked: Sequence[str] = (),
    overrides: Overrides = AS_RANKED,
    ranked: bool = True,
    duplicate: DuplicateRule = near_copy,
) -> PackResult:
    """Build packs from the fragments with the ids `marked`, in that order, or else from the top `hits` (best first).

    At most `settings.limit` hits, without copies of others and dropped ones, are extended to `settings.scope`; marks
    all are. The rendered text is never above `settings.budget` tokens of `tokenizer`, and a larger budget never gives
    less value. `renderer` makes the text; the result is deterministic. If not `ranked`, the packs are the same, in the
    order of the vault, with score 0.
    """
    notes = notes_of(source)
    costs = Costs(tokenizer, renderer, source.tokenizer)
    gathered = Gathering(notes, settings, overrides, costs)
    if marked:
        gathered.add_marks(marked, hits)
    else:
        gathered.add_hits(hits, duplicate)
    in_order = partial(_in_order, hit_spans=gathered.hit_spans, overrides=overrides, ranked=ranked)
    choices, choice = _choices_of(gathered.hit_spans, notes, costs), _NOTHING
    if settings.budget > 0:  # with 0, a caller gets the text around a pack
        choices, choice = _choose(choices, settings.budget, costs, in_order)
        alone = [each.alone(notes[each.line_span.path]) for each in gathered.hit_spans]
        if any(each.line_span != hit.line_span for each, hit in zip(gathered.hit_spans, alone, strict=True)):
            # Token counts do not add up exactly: the hits alone are tried too, so that context never displaces a hit.
            by_hits = _choose(_choices_of(alone, notes, costs), settings.budget, costs, in_order)
            choices, choice = max((choices, choice), by_hits, key=lambda tried: tried[1].value)
    packs = tuple(replace(pack, tokens=costs.count(pack.text)) for pack in choice.packs)
    unchosen = list(_unchosen(choices, choice))
    notes.forget()
    return PackResult(
        query=query,
        strategy=strategy,
        budget=settings.budget,
        tokenizer=tokenizer.name,
        packs=packs,
        left_out=(*gathered.left_out, *_left_out(unchosen, settings.budget, costs)),
        text=choice.text,
        tokens=choice.tokens,
        value=choice.value,
        source_tokens=sum(notes[path].tokens for path in dict.fromkeys(pack.path for pack in packs)),
        format=settings.format,
        stopped=StopReason.BUDGET if unchosen else StopReason.LIMIT if gathered.is_limited else StopReason.END,
        costs=_costs(choice),
        needs=tuple(each.needs(hit) for each, hit in unchosen),
    )


# --- what goes in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """The chosen packs in order, their text with its tokens, and their value."""

    packs: Sequence[Pack]
    drafts: Sequence[DraftPack]
    text: str
    tokens: int
    value: float


_NOTHING = _Choice((), (), "", 0, 0.0)


def _choices_of(hit_spans: Sequence[HitSpan], notes: SourceNotes, costs: Costs) -> list[Choices]:
    """Return the choices of each candidate, best first."""
    digests = {each.hit.fragment.digest for each in hit_spans}
    return [
        choices(each, notes[each.line_span.path], costs, digests=digests, hits=len(hit_spans), cuts_fragment=rank == 0)
        for rank, each in enumerate(merge(hit_spans))
    ]


def _choose(offered: list[Choices], budget: int, costs: Costs, in_order: _Ordering) -> tuple[list[Choices], _Choice]:
    """Return the most valuable selection whose rendered text is within the budget, and the choices it is from.

    If the best hit does not fit alone, these include parts of its blocks.
    """
    if not offered:
        return offered, _NOTHING
    room = budget - _shared_cost(offered, costs)
    first_within = partial(_first_within, budget=budget, room=room, costs=costs, in_order=in_order)
    others = (ChosenUnits(),) * (len(offered) - 1)
    best = first_within(((units, *others) for units in offered[0].best_alone(room)), offered)
    if best is None:
        offered = shrunk(offered, room)
    chosen = first_within(selections([each.chain for each in offered], room), offered)
    choice = max((each for each in (chosen, best) if each), key=lambda each: each.value, default=_NOTHING)
    for each in offered[1:]:
        if not each.fits(budget):
            choice = _with_part(choice, each, budget=budget, room=room, costs=costs, in_order=in_order)
    return offered, choice


def _with_part(
    choice: _Choice, large: Choices, *, budget: int, room: int, costs: Costs, in_order: _Ordering
) -> _Choice:
    """Return the selection, with a part of a hit that is larger than the budget if there is room.

    It adds no value, because a budget with room for the whole hit may have a better use for that.
    """
    remaining = room - sum(drafts.cost for drafts in choice.drafts)
    for _, _, part in reversed(list(large.parts(remaining))):
        drafts = [*choice.drafts, part]
        packs = in_order(drafts)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text)
        if tokens <= budget:
            return _Choice(packs, drafts, text, tokens, choice.value)
    return choice


def _first_within(
    selected: Iterable[Selection],
    offered: Sequence[Choices],
    *,
    budget: int,
    room: int,
    costs: Costs,
    in_order: _Ordering,
) -> _Choice | None:
    """Return the first selection whose rendered text is within the budget.

    `room` is the budget without the text that is rendered once.
    """
    for selection in selected:
        drafts = [drafts for each, units in zip(offered, selection, strict=True) for drafts in each.packs(units)]
        # Counted source by source first: cheap, since selections of similar costs have most sources in common.
        if sum(draft.cost for draft in drafts) > room:
            continue
        packs = in_order(drafts)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text) if text else 0
        if tokens <= budget:
            value = 0.0
            for each, units in zip(offered, selection, strict=True):
                value = each.value(units, value)
            return _Choice(packs, drafts, text, tokens, value)
    return None


def _shared_cost(offered: Sequence[Choices], costs: Costs) -> int:
    """Return the tokens of the text that is rendered once for all packs; the first frame includes it."""
    pack = draft(offered[0].candidate, offered[0].note)
    return max(costs.frame(1, pack) - costs.frame(2, pack), 0)


def _costs(choice: _Choice) -> tuple[int, ...]:
    """Return the tokens of each pack with its frame.

    The first pack gets the difference to the total: it includes the text that is rendered once, and tokens of parts do
    not add up exactly.
    """
    by_id = {draft.pack.id: draft.cost for draft in choice.drafts}
    others = tuple(by_id[pack.id] for pack in choice.packs[1:])
    return (choice.tokens - sum(others), *others) if choice.packs else ()


def _in_order(
    drafts: Sequence[DraftPack], *, hit_spans: Sequence[HitSpan], overrides: Overrides, ranked: bool
) -> list[Pack]:
    """Return the packs in order: of their best hits, of the user, or of the vault."""
    packs = [draft.pack for draft in drafts]
    if not ranked:
        unscored = [replace(pack, entry=replace(pack.entry, score=0.0)) for pack in packs]
        return sorted(unscored, key=lambda pack: (pack.path, pack.line_start))
    ranks = {each.hit.fragment.id: rank for rank, each in enumerate(hit_spans)}
    manual_ranks = {fragment_id: rank for rank, fragment_id in enumerate(overrides.order)}

    def rank(pack: Pack) -> tuple[int, int]:
        position = min(
            (manual_ranks[each] for each in pack.fragment_ids if each in manual_ranks), default=len(manual_ranks)
        )
        return position, ranks[pack.entry.fragment_id]

    return sorted(packs, key=rank)


def _unchosen(offered: Sequence[Choices], choice: _Choice) -> Iterator[tuple[Choices, Hit]]:
    """Yield the hits that are in no pack."""
    inside = {hit.fragment.id for draft in choice.drafts for hit in draft.hits}
    for each in offered:
        for hit_span in each.candidate.hit_spans:
            if hit_span.hit.fragment.id not in inside:
                yield each, hit_span.hit


def _left_out(unchosen: Iterable[tuple[Choices, Hit]], budget: int, costs: Costs) -> Iterator[OmittedHit]:
    for each, hit in unchosen:
        yield left_out(hit.fragment, OUT_OF_BUDGET if each.fits(budget) else TOO_LARGE, costs)


# --- the last packs ---------------------------------------------------------------------------------------------------
# Cache of the last packs, for a screen that requests the same one again.

Options = ParamSpec("Options")

MAX = 32
"""Maximum number of cached packs: the scopes and budgets tried for one query and for the one before."""


class PackCache(Generic[Options]):
    """A cache of the results of `build`, which is `build_pack`.

    Packs are cached for one source, which is one generation of an index: with another source the cache is cleared, even
    if it has the number of an earlier one, as after a rebuild. For one thread at a time.
    """

    def __init__(
        self, build: Callable[Concatenate[NoteSource, Sequence[Hit], Options], PackResult], size: int = MAX
    ) -> None:
        self._build = build
        self._size = size
        self._source: Callable[[], NoteSource | None] = lambda: None
        self._results: OrderedDict[Hashable, PackResult] = OrderedDict()

    def __call__(
        self, source: NoteSource, hits: Sequence[Hit], *args: Options.args, **kwargs: Options.kwargs
    ) -> PackResult:
        """Return the pack built earlier from the same source, hits and options, or build it."""
        if self._source() is not source:
            self._results.clear()
            self._source = weakref.ref(source)
        hit_keys = tuple((hit.fragment.id, hit.fragment.ordinal, hit.score, hit.spans) for hit in hits)
        option_keys = tuple((name, _hashable(value)) for name, value in sorted(kwargs.items()))
        key = (hit_keys, tuple(map(_hashable, args)), option_keys)
        result = self._results.pop(key, None)
        if result is None:
            result = self._build(source, hits, *args, **kwargs)
        self._results[key] = result
        if len(self._results) > self._size:
            self._results.popitem(last=False)
        return result

    def __len__(self) -> int:
        return len(self._results)


def _hashable(value: object) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


# --- several queries --------------------------------------------------------------------------------------------------
# Several queries as one search.


def search_all(engine: Engine, queries: Sequence[str], strategy: Strategy, limit: int) -> Result:
    """Return the hits of all `queries`, best first; a fragment has its best score.

    The queries are like alternatives of one, but parsed separately: an unpaired quotation mark or a forced strategy
    affects its own query alone. The first query names the strategy.
    """
    if len(queries) == 1:
        return engine.search(queries[0], strategy, limit)
    started = time.perf_counter()
    answers = []
    for query in queries:
        alternatives = engine.parse(query)
        used = alternatives[0].strategy or strategy
        answers += [engine.answer(alternative, used, max(POOL, limit)) for alternative in alternatives]
    hits = engine.hits(engine.ranking(answers), 0, limit)
    matched = count_matching(answers)
    elapsed = (time.perf_counter() - started) * 1e3
    query = " | ".join(queries)
    return Result(query, strategy, answers[0].strategy, hits, matched, elapsed, engine.snapshot.generation)
