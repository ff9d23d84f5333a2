"""Building of packs: passages around hits, within a token budget and rendered for a prompt."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from heapq import nlargest
from typing import Concatenate, Generic, ParamSpec, Protocol

from msgspec import Struct, structs

from excerpt.base.cancellation import check_cancelled
from excerpt.base.kinds import Confidence, Fill, Scope, StopReason, Strategy
from excerpt.base.model import TOO_LARGE, Fragment, Hit, OmittedHit, Pack, PackResult, QuestionWord
from excerpt.base.settings import PackSettings
from excerpt.pack.budget import (
    CandidateChoices,
    ChainSelections,
    ChosenUnits,
    DraftPack,
    build_choices,
    iterate_selections,
)
from excerpt.pack.coverage import find_uncovered_words
from excerpt.pack.expand import HitSpan, build_frame_sample, expand_fragment, find_expansion_range, merge_hit_spans
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.hit_values import MAX_PRIMARY_HITS, compute_hit_values, round_primary_value
from excerpt.pack.near_copies import DuplicateRule, find_near_copy
from excerpt.pack.selection import NO_OVERRIDES, PackOverrides
from excerpt.pack.source import NoteCache, NoteSource, get_note_cache
from excerpt.pack.token_costs import TokenCosts
from excerpt.search.confidence import JUDGED_HITS
from excerpt.search.engine import Engine
from excerpt.text.display import line_range
from excerpt.text.tokens import Tokenizer

DROPPED_REASON = "dropped by hand"
GONE_REASON = "no longer in the index"
SAME_TEXT_REASON = "same text as"
NEAR_COPY_REASON = "near copy of"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand, whatever its score for the query."""

HITS_PER_PACKED = 4
"""Number of hits examined for each hit of the limit, because copies and dropped hits do not count."""

ENOUGH_SHARE = 0.7
"""The share of the first hit's score below which a hit is not packed, unless the budget is to be filled.

Of the answers among eight hits, 0.985 remain, in a quarter of the tokens (docs/design/packs.md).
"""
MIN_ENOUGH = 2
"""Number of hits packed whatever their scores: where a query names one thing, the second hit may be the answer."""
UNSURE_PASSAGES, UNSURE_TOKENS = 4, 500
"""The most hits, and tokens, of a pack of an unsure result: few enough to be judged by a reader."""
UNSURE_VALUE = 1.0
"""Value of each hit of an unsure result: scores tell little there, so as many hits as possible are packed whole."""
UNSURE_REASON = f"over the {UNSURE_TOKENS} tokens of an unsure pack"
NO_ANSWER_REASON = "unlikely to answer"
NEAREST_HITS = 3
"""Number of hits named as nearest if no hit is likely to answer the query."""


@dataclass
class HitCollector:
    """Collects the hits to pack, best first, and the hits to leave out: copies, dropped hits, deleted hits."""

    notes: NoteCache
    settings: PackSettings
    overrides: PackOverrides
    costs: TokenCosts
    hit_spans: list[HitSpan] = field(default_factory=list)
    left_out: list[OmittedHit] = field(default_factory=list)
    stopped: StopReason = StopReason.END
    """Why no more hits were collected."""
    _by_digest: dict[str, Fragment] = field(default_factory=dict)

    def add_hits(self, hits: Sequence[Hit], duplicate: DuplicateRule, confidence: Confidence | None) -> None:
        """Add the best hits up to `settings.limit`; copies (found by `duplicate`) and dropped hits do not count.

        Unless the budget is to be filled, hits far below the best one are not added; if nothing near the query was
        found, no hit is. `confidence` is the confidence of the hits' result; None if only single hits have one. Hits
        without a confidence are not ranked, so all are added. The few hits of an unsure result have equal values and
        are all added too.
        """
        stops_early = self.settings.fill is Fill.ENOUGH
        if stops_early and hits and _is_nothing(hits, confidence):
            for hit in hits[:NEAREST_HITS]:
                self._leave_out(hit.fragment, NO_ANSWER_REASON)
            self.stopped = StopReason.NO_ANSWER
            return
        candidates = self._without_dropped(hits[: self.settings.limit * HITS_PER_PACKED])
        is_unsure = stops_early and confidence is Confidence.UNSURE
        values = [UNSURE_VALUE] * len(candidates) if is_unsure else compute_hit_values(candidates)
        min_primary = min(nlargest(MAX_PRIMARY_HITS, values), default=0.0)
        ranked = stops_early and not is_unsure and any(hit.confidence is not None for hit in candidates)
        min_score = max(hit.score for hit in candidates) * ENOUGH_SHARE if ranked else 0.0
        self._add_candidates(candidates, values, min_primary, self.settings.limit, duplicate, min_score=min_score)

    def add_marks(self, marked: Sequence[str], hits: Sequence[Hit]) -> None:
        """Add the fragments with the ids `marked`, in this order; the ids that are no longer indexed are left out.

        A fragment that is also one of `hits` gets the hit's matched spans. A marked fragment is kept even if it nearly
        repeats another.
        """
        spans = {hit.fragment.id: hit.spans for hit in hits}
        candidates = []
        for fragment_id in marked:
            fragment = self.notes.source.fragment(fragment_id)
            if fragment:
                candidates.append(Hit(fragment, MARK_SCORE, spans=spans.get(fragment_id, ())))
            else:
                self.left_out.append(OmittedHit(fragment_id, 0, 0, 0, GONE_REASON))
        candidates = self._without_dropped(candidates)
        self._add_candidates(
            candidates, [MARK_SCORE] * len(candidates), MARK_SCORE, len(candidates), lambda _fragment, _held: None
        )

    def _without_dropped(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits without the dropped ones, which are recorded as left out."""
        remaining = [hit for hit in hits if hit.fragment.id not in self.overrides.dropped_ids]
        for hit in hits:
            if hit.fragment.id in self.overrides.dropped_ids:
                self._leave_out(hit.fragment, DROPPED_REASON)
        return remaining

    def _add_candidates(
        self,
        hits: Sequence[Hit],
        values: Sequence[float],
        min_primary: float,
        limit: int,
        duplicate: DuplicateRule,
        *,
        min_score: float = 0.0,
    ) -> None:
        """Add hits until `limit` are added, and leave out duplicates and lost fragments.

        `values` are the values of `hits`; a hit of at least `min_primary` is a primary hit, packed before any context.
        After the first hits, stop at a score below `min_score`.
        """
        self.notes.prefetch(
            find_expansion_range(hit.fragment, self._get_scope(hit.fragment), self.settings.neighbors)
            for hit in hits[:limit]
        )
        for hit, value in zip(hits, values, strict=True):
            check_cancelled()
            if not limit:
                self.stopped = StopReason.LIMIT
                break
            if hit.score < min_score and len(self.hit_spans) >= MIN_ENOUGH:
                self.stopped = StopReason.ENOUGH
                break
            note = self.notes[hit.fragment.path]
            fragment = note.refresh_fragment(hit.fragment)
            if fragment is None:
                self._leave_out(hit.fragment, GONE_REASON)
                continue
            twin, why = self._find_duplicate(fragment, duplicate)
            if twin:
                if twin.id != fragment.id:
                    self._leave_out(fragment, f"{why} {twin.path}:{line_range(twin.line_start, twin.line_end)}")
                continue
            self._by_digest[fragment.digest] = fragment
            line_span = expand_fragment(
                fragment, note, self._get_scope(fragment), self.settings.neighbors, self.overrides.dropped_ids
            )
            current_hit = replace(hit, fragment=fragment)
            if value >= min_primary:
                self.hit_spans.append(HitSpan(current_hit, line_span, round_primary_value(value), is_primary=True))
            else:
                self.hit_spans.append(HitSpan(current_hit, line_span, value, is_primary=False))
            limit -= 1

    def _get_scope(self, fragment: Fragment) -> Scope:
        return self._scope_by_id.get(fragment.id, self.settings.scope)

    @cached_property
    def _scope_by_id(self) -> Mapping[str, Scope]:
        return dict(self.overrides.scopes)

    def _find_duplicate(self, fragment: Fragment, duplicate: DuplicateRule) -> tuple[Fragment | None, str]:
        """Return the better hit that has the same text or nearly so, if any, and the reason to leave out `fragment`.

        Empty notes have no text and do not count as copies of each other.
        """
        if not fragment.text.strip():
            return None, ""
        if fragment.digest in self._by_digest:
            return self._by_digest[fragment.digest], SAME_TEXT_REASON
        return duplicate(fragment, self._by_digest.values()), NEAR_COPY_REASON

    def _leave_out(self, fragment: Fragment, reason: str) -> None:
        self.left_out.append(make_left_out(fragment, reason, self.costs))


def make_left_out(fragment: Fragment, reason: str, costs: TokenCosts) -> OmittedHit:
    """Return the record of a fragment that was left out, with its token count and the reason."""
    return OmittedHit(fragment.path, fragment.line_start, fragment.line_end, costs.count_fragment(fragment), reason)


_PackOrdering = Callable[[Sequence[DraftPack]], list[Pack]]

OUT_OF_BUDGET_REASON = "out of budget"
MARKDOWN_RENDERER = MarkdownRenderer()


def build_pack(
    source: NoteSource,
    hits: Sequence[Hit],
    *,
    query: str,
    strategy: Strategy,
    settings: PackSettings,
    tokenizer: Tokenizer,
    renderer: Renderer = MARKDOWN_RENDERER,
    marked: Sequence[str] = (),
    overrides: PackOverrides = NO_OVERRIDES,
    ranked: bool = True,
    duplicate: DuplicateRule = find_near_copy,
    confidence: Confidence | None = None,
    notice: str = "",
    words: Sequence[QuestionWord] = (),
) -> PackResult:
    """Return packs of the best `hits` (best first), or of the fragments with the ids `marked`, in their order.

    Hits are extended to `settings.scope`: at most `settings.limit` of them, not counting copies and dropped hits, but
    all marked fragments. With `settings.fill` `enough`, hits that score far below the first are not packed, none if
    nothing is near to the query, and of an unsure result at most UNSURE_PASSAGES in UNSURE_TOKENS: the first, as many
    others as fit, the shortest first, and the best block of each that is left, without `settings.scope`. The text never
    exceeds `settings.budget` tokens of `tokenizer`, and a larger budget never gives less value. Without `ranked`,
    the packs are the same, but in the order of the vault and with score 0. `overrides` are the user's decisions by
    hand; `duplicate` finds the better hit that a fragment repeats. `confidence` is that of the search for `hits`,
    `notice` what `renderer` says was not found, in its first line, `words` are the content words of the query. The
    result is deterministic.
    """
    confidence = None if marked else confidence
    requested_budget = settings.budget
    is_unsure = confidence is Confidence.UNSURE and settings.fill is Fill.ENOUGH
    if is_unsure:
        settings = replace(
            settings,
            limit=min(settings.limit, UNSURE_PASSAGES),
            budget=min(settings.budget, UNSURE_TOKENS),
            scope=Scope.NONE,
        )
    notes = get_note_cache(source)
    costs = TokenCosts(tokenizer, renderer, source.tokenizer)
    gathered = HitCollector(notes, settings, overrides, costs)
    if marked:
        gathered.add_marks(marked, hits)
    else:
        gathered.add_hits(hits, duplicate, confidence)
    in_order = partial(_order_packs, hit_spans=gathered.hit_spans, overrides=overrides, ranked=ranked)
    choices, choice = _build_all_choices(gathered.hit_spans, notes, costs), _EMPTY_CHOICE
    if settings.budget > 0:  # with 0, a caller gets the text around a pack
        choice = _choose_packs(choices, settings.budget, costs, in_order)
        alone = [each.without_context(notes[each.line_span.path]) for each in gathered.hit_spans]
        if any(each.line_span != hit.line_span for each, hit in zip(gathered.hit_spans, alone, strict=True)):
            # Token counts do not add up exactly: the hits alone are tried too, so that context never displaces a hit.
            hit_choices = _build_all_choices(alone, notes, costs)
            by_hits = _choose_packs(hit_choices, settings.budget, costs, in_order)
            choices, choice = max((choices, choice), (hit_choices, by_hits), key=lambda tried: tried[1].value)
        if is_unsure:
            choice = _add_best_blocks(choice, choices, settings.budget, costs, in_order)
    passages = tuple(replace(pack, tokens=costs.count(pack.text)) for pack in choice.packs)
    unchosen = list(_iterate_unchosen_hits(choices, choice))
    # Of a pack with less than the requested budget, no larger one would hold a hit.
    is_lowered = settings.budget < requested_budget
    unfit_reason = UNSURE_REASON if is_lowered else OUT_OF_BUDGET_REASON
    notes.evict_old_notes()
    return PackResult(
        query=query,
        strategy=strategy,
        budget=requested_budget,
        tokenizer=tokenizer.name,
        passages=passages,
        left_out=(*gathered.left_out, *_iterate_unchosen_reasons(unchosen, requested_budget, costs, unfit_reason)),
        text=choice.text,
        tokens=choice.tokens,
        value=choice.value,
        source_tokens=sum(notes[path].tokens for path in dict.fromkeys(pack.path for pack in passages)),
        format=settings.format,
        stopped=_explain_stop(gathered, is_unsure=is_unsure, is_full=bool(unchosen)),
        costs=_count_pack_tokens(choice),
        needs=() if is_lowered else tuple(each.count_hit_alone(hit) for each, hit in unchosen),
        confidence=confidence,
        left_out_comments=sum(notes[pack.path].count_comments(pack.line_start, pack.line_end) for pack in passages),
        notice=notice if passages else "",
        uncovered_words=find_uncovered_words(words, passages, [each.hit for each in gathered.hit_spans]),
    )


def _explain_stop(gathered: HitCollector, *, is_unsure: bool, is_full: bool) -> StopReason:
    """Return why a pack has no more passages; `is_full`: a hit did not fit."""
    if is_unsure:
        return StopReason.UNSURE
    return StopReason.BUDGET if is_full else gathered.stopped


class _PackChoice(Struct, frozen=True):
    """The chosen packs in their order, their rendered text with its token count, and their value.

    `drafts` has the same packs in any order, with their hits and costs.
    """

    packs: Sequence[Pack]
    drafts: Sequence[DraftPack]
    text: str
    tokens: int
    value: float


_EMPTY_CHOICE = _PackChoice((), (), "", 0, 0.0)


class _FirstWithin(Protocol):
    """The function `_find_first_within` with its arguments about the budget already given."""

    def __call__(
        self,
        selected: Iterable[ChainSelections],
        offered: Sequence[CandidateChoices],
        *,
        fixed: Sequence[DraftPack] = (),
    ) -> _PackChoice | None: ...


def _build_all_choices(hit_spans: Sequence[HitSpan], notes: NoteCache, costs: TokenCosts) -> list[CandidateChoices]:
    """Return the possible selections from each merged passage, in the order of their best hits."""
    digests = {each.hit.fragment.digest for each in hit_spans}
    return [
        build_choices(
            each,
            notes[each.line_span.path],
            costs,
            hit_digests=digests,
            hit_count=len(hit_spans),
            is_first=rank == 0,
        )
        for rank, each in enumerate(merge_hit_spans(hit_spans))
    ]


def _choose_packs(
    offered: Sequence[CandidateChoices], budget: int, costs: TokenCosts, in_order: _PackOrdering
) -> _PackChoice:
    """Return the most valuable packs whose rendered text is within `budget` tokens.

    The packs have the best hit's whole fragment if it fits alone, else the largest part of its best block that fits. So
    a larger budget never gives less of the best hit.
    """
    check_cancelled()
    if not offered:
        return _EMPTY_CHOICE
    room = budget - _count_shared_tokens(offered, costs)
    first_within = partial(_find_first_within, budget=budget, room=room, costs=costs, in_order=in_order)
    choice = _choose_with_best_hit(offered, room, first_within) or _choose_with_part(offered, room, first_within)
    for each in offered[1:]:
        if not each.can_fit(budget):
            parts = each.iterate_parts(room - _count_tokens(choice))
            choice = _add_part(choice, list(parts), budget=budget, costs=costs, in_order=in_order)
    return choice


def _choose_with_best_hit(
    offered: Sequence[CandidateChoices], room: int, first_within: _FirstWithin
) -> _PackChoice | None:
    """Return the most valuable packs with the best hit's whole fragment; None if that fragment does not fit alone."""
    if offered[0].count_best_hit_text() > room:
        return None
    chosen = first_within(iterate_selections([each.chain for each in offered], room), offered)
    alone = first_within([(offered[0].choose_best_hit(), *(ChosenUnits() for _ in offered[1:]))], offered)
    return max((each for each in (chosen, alone) if each), key=lambda each: each.value, default=None)


def _choose_with_part(offered: Sequence[CandidateChoices], room: int, first_within: _FirstWithin) -> _PackChoice:
    """Return the most valuable packs with the largest part of the best hit's best block that fits alone, if any."""
    first, others = offered[0], offered[1:]
    block = first.draft_block(room)
    parts = [(), *((part,) for part in first.iterate_parts(room)), *([(block,)] if block else ())]
    for number, part in reversed(list(enumerate(parts))):
        if first_within([tuple(ChosenUnits() for _ in others)], others, fixed=part):
            left = room - sum(draft.cost for draft in part)
            choice = first_within(iterate_selections([each.chain for each in others], left), others, fixed=part)
            if choice:
                return structs.replace(choice, value=first.compute_part_value(number, choice.value))
    return _EMPTY_CHOICE


def _add_best_blocks(
    choice: _PackChoice, offered: Sequence[CandidateChoices], budget: int, costs: TokenCosts, in_order: _PackOrdering
) -> _PackChoice:
    """Return the choice with the best block of each hit that is in no pack, as far as they fit, best hit first."""
    room = budget - _count_shared_tokens(offered, costs) if offered else 0
    for each, hit in list(_iterate_unchosen_hits(offered, choice)):
        block = each.draft_block(room - _count_tokens(choice)) if hit is each.candidate.best_hit else None
        if block:
            choice = _add_part(choice, [block], budget=budget, costs=costs, in_order=in_order)
    return choice


def _count_tokens(choice: _PackChoice) -> int:
    return sum(draft.cost for draft in choice.drafts)


def _add_part(
    choice: _PackChoice, parts: Sequence[DraftPack], *, budget: int, costs: TokenCosts, in_order: _PackOrdering
) -> _PackChoice:
    """Return the choice with the largest of the `parts` of a hit, ascending, with which it is within `budget` tokens.

    A part adds no value, because a budget with room for the whole hit may have a better use for these tokens.
    """
    for part in reversed(parts):
        drafts = [*choice.drafts, part]
        packs = in_order(drafts)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text)
        if tokens <= budget:
            return _PackChoice(packs, drafts, text, tokens, choice.value)
    return choice


def _find_first_within(
    selected: Iterable[ChainSelections],
    offered: Sequence[CandidateChoices],
    *,
    budget: int,
    room: int,
    costs: TokenCosts,
    in_order: _PackOrdering,
    fixed: Sequence[DraftPack] = (),
) -> _PackChoice | None:
    """Return the packs of the first selection whose rendered text is within `budget` tokens, None if there is none.

    `room` is `budget` without the text that is rendered once. `in_order` sorts the packs. Packs in `fixed` are added to
    each selection and have no value.
    """
    for selection in selected:
        drafts = [*fixed]
        for each, units in zip(offered, selection, strict=True):
            drafts += each.draft_packs(units)
        # Counted source by source first: cheap, since selections of similar costs have most sources in common.
        if sum(draft.cost for draft in drafts) > room:
            continue
        packs = in_order(drafts)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text) if text else 0
        if tokens <= budget:
            value = 0.0
            for each, units in zip(offered, selection, strict=True):
                value = each.add_value(units, value)
            return _PackChoice(packs, drafts, text, tokens, value)
    return None


def _count_shared_tokens(offered: Sequence[CandidateChoices], costs: TokenCosts) -> int:
    """Return the tokens of the text that is rendered once for all packs, such as the question."""
    pack = build_frame_sample(offered[0].candidate, offered[0].note)
    return max(costs.count_frame(1, pack) - costs.count_frame(2, pack), 0)


def _count_pack_tokens(choice: _PackChoice) -> tuple[int, ...]:
    """Return the tokens of each pack with its frame; they add up to the tokens of the whole text.

    The first pack gets the remainder of the total, because its frame includes the text that is rendered once and token
    counts of parts do not add up exactly.
    """
    by_id = {draft.pack.id: draft.cost for draft in choice.drafts}
    others = tuple(by_id[pack.id] for pack in choice.packs[1:])
    return (choice.tokens - sum(others), *others) if choice.packs else ()


def _order_packs(
    drafts: Sequence[DraftPack], *, hit_spans: Sequence[HitSpan], overrides: PackOverrides, ranked: bool
) -> list[Pack]:
    """Return the packs ordered by the user's order, then by their best hits; without `ranked`, as in the vault."""
    packs = [draft.pack for draft in drafts]
    if not ranked:
        unscored = [replace(pack, entry=replace(pack.entry, score=0.0)) for pack in packs]
        return sorted(unscored, key=lambda pack: (pack.path, pack.line_start))
    ranks = {each.hit.fragment.id: rank for rank, each in enumerate(hit_spans)}
    manual_ranks = {fragment_id: rank for rank, fragment_id in enumerate(overrides.ordered_ids)}

    def rank(pack: Pack) -> tuple[int, int]:
        position = min(
            (manual_ranks[each] for each in pack.fragment_ids if each in manual_ranks), default=len(manual_ranks)
        )
        return position, ranks[pack.entry.fragment_id]

    return sorted(packs, key=rank)


def _iterate_unchosen_hits(
    offered: Sequence[CandidateChoices], choice: _PackChoice
) -> Iterator[tuple[CandidateChoices, Hit]]:
    """Yield the hits that are in no chosen pack, each with the choices of its candidate."""
    inside = {hit.fragment.id for draft in choice.drafts for hit in draft.hits}
    for each in offered:
        for hit_span in each.candidate.hit_spans:
            if hit_span.hit.fragment.id not in inside:
                yield each, hit_span.hit


def _iterate_unchosen_reasons(
    unchosen: Iterable[tuple[CandidateChoices, Hit]], budget: int, costs: TokenCosts, reason: str
) -> Iterator[OmittedHit]:
    """Yield the record of each hit that is in no chosen pack; `reason` is for hits that would fit `budget` alone."""
    for each, hit in unchosen:
        yield make_left_out(hit.fragment, reason if each.can_fit(budget) else TOO_LARGE, costs)


PackArguments = ParamSpec("PackArguments")

MAX_CACHED_PACKS = 32
"""Maximum number of cached packs: enough for the scopes and budgets tried for two queries."""


class PackCache(Generic[PackArguments]):
    """A cache of up to `size` results of `build`, a function with the arguments of `build_pack`. Not thread-safe.

    It holds packs of one source object, which reads one generation (commit) of an index. A call with another source
    object clears it, even if the generations have equal numbers, as after a rebuild.
    """

    def __init__(
        self,
        build: Callable[Concatenate[NoteSource, Sequence[Hit], PackArguments], PackResult],
        size: int = MAX_CACHED_PACKS,
    ) -> None:
        self._build = build
        self._size = size
        self._source: Callable[[], NoteSource | None] = lambda: None
        self._results: OrderedDict[Hashable, PackResult] = OrderedDict()

    def __call__(
        self, source: NoteSource, hits: Sequence[Hit], *args: PackArguments.args, **kwargs: PackArguments.kwargs
    ) -> PackResult:
        """Return the pack built earlier from the same source, hits and options, or build it."""
        if self._source() is not source:
            self._results.clear()
            self._source = weakref.ref(source)
        hit_keys = tuple((hit.fragment.id, hit.fragment.ordinal, hit.score, hit.spans) for hit in hits)
        option_keys = tuple((name, _make_hashable(value)) for name, value in sorted(kwargs.items()))
        key = (hit_keys, tuple(map(_make_hashable, args)), option_keys)
        result = self._results.pop(key, None)
        if result is None:
            result = self._build(source, hits, *args, **kwargs)
        self._results[key] = result
        if len(self._results) > self._size:
            self._results.popitem(last=False)
        return result

    def __len__(self) -> int:
        return len(self._results)


def _make_hashable(value: object) -> Hashable:
    """Return a list as a tuple, any other value unchanged."""
    return tuple(value) if isinstance(value, list) else value


def _is_nothing(hits: Sequence[Hit], confidence: Confidence | None) -> bool:
    """Return whether nothing near the query was found, by `confidence` or else by the confidence of the first hits."""
    if confidence is not None:
        return confidence is Confidence.NOTHING
    return all(hit.confidence is Confidence.NOTHING for hit in _judged_hits(hits))


def _judged_hits(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits by which the search judged its answer: the first ones before meaning or a reranker moved them."""
    return [hit for rank, hit in enumerate(hits, 1) if _judged_rank(hit, rank) <= JUDGED_HITS]


def _judged_rank(hit: Hit, rank: int) -> int:
    if hit.orders is not None:
        return hit.orders.words
    return hit.rerank.moved_from if hit.rerank is not None else rank


def with_fill(
    settings: PackSettings, engine: Engine, queries: Sequence[str], *, are_wordings: bool = False
) -> PackSettings:
    """Return the settings for a pack of `queries`; with several queries, alternatives or a list by date, it is filled.

    A share of the first score would leave out whole questions; not if they are wordings of one question.
    """
    parsed = [each for query in queries for each in engine.parse(query)]
    several = len(parsed) > 1 and not are_wordings
    if settings.fill is Fill.ENOUGH and (several or any(each.sort for each in parsed)):
        return replace(settings, fill=Fill.BUDGET)
    return settings
