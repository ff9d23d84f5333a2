"""Building of packs: passages around hits, within a token budget and rendered for a prompt."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Concatenate, Generic, ParamSpec

from msgspec import Struct, structs

from excerpt.base.cancellation import check_cancelled
from excerpt.base.kinds import Confidence, Fill, Scope, StopReason, Strategy
from excerpt.base.model import DROPPED_REASON, TOO_LARGE, Fragment, Hit, OmittedHit, Pack, PackResult, QuestionWord
from excerpt.base.settings import MAX_PACKED, PackSettings
from excerpt.pack.coverage import Unit, cut_hit, find_best_unit, make_whole_unit, order_units
from excerpt.pack.expand import HitSpan, build_ordinal_span, build_span_pack, expand_fragment, find_expansion_range
from excerpt.pack.fill import SURE, DraftPack, Filling, Piece
from excerpt.pack.formats.markdown_format import MarkdownRenderer
from excerpt.pack.formats.pack_format import Renderer
from excerpt.pack.near_copies import DuplicateRule, find_near_copy
from excerpt.pack.selection import NO_OVERRIDES, PackOverrides
from excerpt.pack.source import NoteCache, NoteSource, get_note_cache
from excerpt.pack.token_costs import TokenCosts
from excerpt.search.confidence import JUDGED_HITS
from excerpt.search.engine import Engine
from excerpt.text.display import line_range
from excerpt.text.tokens import Tokenizer

GONE_REASON = "no longer in the index"
SAME_TEXT_REASON = "same text as"
NEAR_COPY_REASON = "near copy of"

MARK_SCORE = 1.0
"""Score of a fragment marked by hand, whatever its score for the query."""

EXAMINED_HITS = 32
"""Number of hits examined for a pack that is not filled: more than are packed, because copies do not count."""
CONSIDERED_HITS = 12
"""Number of hits, copies not counted, whose units are compared: of those after them, hardly one is ever packed."""
UNSCORED_HITS = 8
"""The most hits of a pack of hits without a score, as of filters alone: nothing says which of them is the last one."""
UNSURE_PASSAGES, UNSURE_TOKENS = 4, 500
"""The most hits, and tokens, of a pack of an unsure result: few enough to be judged by a reader."""
UNSURE_SHARE = 0.65
"""The share of the first score from which a hit of an unsure result is packed."""
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
        """Add the best hits from which a pack is chosen; copies, which `duplicate` finds, do not count.

        Dropped hits are added too, so that no other is chosen in their place; `build_pack` leaves their pieces out.
        Unless the budget is to be filled, none is added if nothing near to the query was found. `confidence` is that of
        their result, None if only the hits have some.
        """
        if self.settings.fill is Fill.ENOUGH and hits and _is_nothing(hits, confidence):
            for hit in hits[:NEAREST_HITS]:
                self._leave_out(hit.fragment, NO_ANSWER_REASON)
            self.stopped = StopReason.NO_ANSWER
            return
        limit = self._limit(hits, confidence)
        if limit == CONSIDERED_HITS and any(hit.more_of_note for hit in hits):
            # As by their own scores: a list has few hits of one note at its top, a pack what the question needs of it.
            hits = sorted(hits, key=lambda hit: -hit.score)
        if limit == UNSURE_PASSAGES:
            hits = [hit for hit in hits if hit.score >= UNSURE_SHARE * hits[0].score]
        examined = hits[: MAX_PACKED if self.settings.fill is Fill.BUDGET else EXAMINED_HITS]
        self._record_dropped(examined)
        self._add_candidates(examined, limit, duplicate)

    def _limit(self, hits: Sequence[Hit], confidence: Confidence | None) -> int:
        """Return how many hits are added: those whose units are compared, if they can be, else those to be packed."""
        if self.settings.fill is Fill.BUDGET:
            return MAX_PACKED
        if confidence is Confidence.UNSURE:
            return UNSURE_PASSAGES
        return CONSIDERED_HITS if any(hit.confidence is not None for hit in hits) else UNSCORED_HITS

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
        self._record_dropped(candidates)
        self._add_candidates(candidates, len(candidates), lambda _fragment, _held: None)

    def _record_dropped(self, hits: Sequence[Hit]) -> None:
        for hit in hits:
            if hit.fragment.id in self.overrides.dropped_ids:
                self._leave_out(hit.fragment, DROPPED_REASON)

    def _add_candidates(self, hits: Sequence[Hit], limit: int, duplicate: DuplicateRule) -> None:
        """Add hits until `limit` are added, and leave out duplicates and lost fragments."""
        self.notes.prefetch(
            find_expansion_range(hit.fragment, self._get_scope(hit.fragment), self.settings.neighbors)
            for hit in hits[:limit]
        )
        for hit in hits:
            check_cancelled()
            if not limit:
                self.stopped = StopReason.LIMIT
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
            self.hit_spans.append(HitSpan(replace(hit, fragment=fragment), line_span))
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

    The first hit is packed whole, and the second if it is likely to answer and fits; of others the units that cover
    what is left of `words`, the content words of the query; of hits without a score, UNSCORED_HITS, and all marked
    fragments. Then they are extended to `settings.scope`. With `settings.fill` `enough`, no hit is packed if nothing is
    near to the query; of an unsure result, at most UNSURE_PASSAGES in UNSURE_TOKENS: the first, as many others as fit,
    the shortest first, and the best unit of each that is left, without `settings.scope`; with `budget`, all other hits
    follow, whole. The text never exceeds `settings.budget` tokens of `tokenizer`, and a larger budget never gives less
    value. Without `ranked`, the packs are the same, but in the order of the vault and with score 0. `overrides` are the
    user's decisions by hand; `duplicate` finds the better hit that a fragment repeats. `confidence` is that of the
    search for `hits`, `notice` what `renderer` says was not found, in its first line. The result is deterministic.
    """
    confidence = None if marked else confidence
    requested_budget = settings.budget
    is_unsure = confidence is Confidence.UNSURE and settings.fill is Fill.ENOUGH
    if is_unsure:
        settings = replace(
            settings,
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
    hit_spans = gathered.hit_spans
    chosen = _list_pieces(gathered, words, is_unsure=is_unsure, is_marked=bool(marked))
    pieces = [piece for piece in chosen if piece.hit.fragment.id not in overrides.dropped_ids]
    in_order = partial(_order_packs, hit_spans=hit_spans, overrides=overrides, ranked=ranked)
    choice, taken = _fill_budget(pieces, gathered, in_order)
    passages = tuple(replace(pack, tokens=costs.count(pack.text)) for pack in choice.packs)
    left = [piece for piece, is_in in zip(pieces, taken, strict=True) if not (is_in or choice.has(piece))]
    unfit = list({piece.hit.fragment.id: piece for piece in left if not choice.has_part(piece.hit)}.values())
    needs = [choice.filling.count_alone(piece) for piece in unfit]
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
        left_out=(
            *gathered.left_out,
            *(
                make_left_out(piece.hit.fragment, unfit_reason if tokens <= settings.budget else TOO_LARGE, costs)
                for piece, tokens in zip(unfit, needs, strict=True)
            ),
        ),
        text=choice.text,
        tokens=choice.tokens,
        value=choice.value,
        source_tokens=sum(notes[path].tokens for path in dict.fromkeys(pack.path for pack in passages)),
        format=settings.format,
        stopped=_explain_stop(gathered, chosen, is_unsure=is_unsure, is_full=bool(left)),
        costs=_count_pack_tokens(choice),
        needs=() if is_lowered else tuple(needs),
        confidence=confidence,
        left_out_comments=sum(notes[pack.path].count_comments(pack.line_start, pack.line_end) for pack in passages),
        notice="" if confidence is Confidence.UNSURE and not passages else notice,
    )


def _explain_stop(gathered: HitCollector, pieces: Sequence[Piece], *, is_unsure: bool, is_full: bool) -> StopReason:
    """Return why a pack has no more passages; `is_full`: a hit, or a part of one, did not fit."""
    if is_unsure:
        return StopReason.UNSURE
    if is_full:
        return StopReason.BUDGET
    has_all = len({piece.hit.fragment.id for piece in pieces}) == len(gathered.hit_spans)
    return gathered.stopped if has_all else StopReason.ENOUGH


def _list_pieces(
    gathered: HitCollector, words: Sequence[QuestionWord], *, is_unsure: bool, is_marked: bool
) -> list[Piece]:
    """Return the pieces of a pack in the order of their worth: the first hit whole, then what covers the question.

    Of marks and of hits that are not ranked, each is a piece, whole; so are those of an unsure result, the shortest
    first, and then the best unit of each. To fill the budget, all other hits follow.
    """
    hit_spans, notes = gathered.hit_spans, gathered.notes
    whole = [_make_piece(each, notes) for each in hit_spans]
    if is_marked or not whole or all(each.hit.confidence is None for each in hit_spans):
        return whole
    known = tuple(words)
    hits = [each.hit for each in hit_spans]
    if is_unsure:
        by_size = sorted(whole[1:], key=lambda piece: gathered.costs.count_fragment(piece.hit.fragment))
        best = (find_best_unit(each.hit, notes[each.hit.fragment.path]) for each in hit_spans[1:])
        parts = zip(hit_spans[1:], best, strict=True)
        return [whole[0], *by_size, *(_make_piece(each, notes, lines) for each, lines in parts)]
    compared = hits[:CONSIDERED_HITS]
    units = [make_whole_unit(index, hit, known) for index, hit in enumerate(compared)]

    def cut(index: int) -> Sequence[Unit]:
        return cut_hit(units[index], hits[index], notes[hits[index].fragment.path], known)

    ordered = order_units(compared, units, [word for word in words if word.is_found], cut)
    chosen: list[Piece] = []
    for unit in ordered:
        if unit.hit_index == 1 and hits[1].confidence in SURE:
            chosen.append(whole[1])
        chosen.append(_make_piece(hit_spans[unit.hit_index], notes, (unit.line_start, unit.line_end)))
    return [whole[0], *chosen, *(whole[1:] if gathered.settings.fill is Fill.BUDGET else ())]


def _make_piece(hit_span: HitSpan, notes: NoteCache, lines: tuple[int, int] | None = None) -> Piece:
    """Return a hit's fragment as a piece, or some lines of it."""
    fragment = hit_span.hit.fragment
    line_span = build_ordinal_span(notes[fragment.path], fragment.ordinal, fragment.ordinal, Scope.NONE)
    if lines is not None:
        line_span = structs.replace(line_span, line_start=lines[0], line_end=lines[1])
    return Piece(hit_span, line_span)


_PackOrdering = Callable[[Sequence[DraftPack]], list[Pack]]


class _PackChoice(Struct, frozen=True):
    """The chosen packs in their order, their rendered text with its token count, and their value."""

    filling: Filling
    packs: Sequence[Pack]
    text: str
    tokens: int
    value: float

    def has(self, piece: Piece) -> bool:
        """Return whether the lines of a piece are in a passage of its note."""
        lines = piece.line_span
        return any(
            pack.path == lines.path and pack.line_start <= lines.line_start and lines.line_end <= pack.line_end
            for pack in self.packs
        )

    def has_part(self, hit: Hit) -> bool:
        return any(hit.fragment.id in pack.fragment_ids for pack in self.packs)


def _fill_budget(
    pieces: Sequence[Piece],
    gathered: HitCollector,
    in_order: _PackOrdering,
) -> tuple[_PackChoice, Sequence[bool]]:
    """Return the pack of as many pieces as fit, and whether each is in.

    Token counts of parts do not add up exactly: if the rendered text is too long, it is counted for each addition, of
    context alone if the hits without it are not too long.
    """
    settings, notes, costs = gathered.settings, gathered.notes, gathered.costs
    room = settings.budget - (_count_shared_tokens(pieces[0], notes, costs) if pieces else 0)

    def count(packs: Sequence[Pack]) -> tuple[str, int]:
        text = costs.renderer.render(packs)
        return text, costs.tokenizer.count(text) if text else 0

    def is_within_budget(drafts: Sequence[DraftPack]) -> bool:
        check_cancelled()
        return count(in_order(drafts))[1] <= settings.budget

    filling = Filling(gathered.hit_spans, notes, costs, room)
    taken = filling.add_all(pieces)
    without_context = filling.copy(is_within_budget)
    filling.add_context(pieces, settings.neighbors)
    packs = in_order(filling.drafts)
    text, tokens = count(packs)
    if tokens > settings.budget and packs:
        filling = without_context
        if not is_within_budget(filling.drafts):
            filling = Filling(gathered.hit_spans, notes, costs, room, is_within_budget)
            taken = filling.add_all(pieces)
        filling.add_context(pieces, settings.neighbors)
        packs = in_order(filling.drafts)
        text, tokens = count(packs)
    return _PackChoice(filling, packs, text, tokens, _compute_value(pieces, taken, filling)), taken


def _compute_value(pieces: Sequence[Piece], taken: Sequence[bool], filling: Filling) -> float:
    """Return the value of a pack, by which it is worth more than any with less of a piece that comes earlier.

    A part of the first piece is worth more the larger it is, and less than the whole; of others it has no value.
    """
    cut = {draft.hit_spans[0].hit.fragment.id: draft.cost for draft in filling.drafts if draft.is_cut}
    whole = [is_in and piece.hit.fragment.id not in cut for piece, is_in in zip(pieces, taken, strict=True)]
    others = sum(2.0**-number for number, is_in in enumerate(whole) if is_in and number)
    if not pieces or whole[0]:
        return float(bool(pieces)) + others
    size = cut[pieces[0].hit.fragment.id] + others / (1 + others) if taken[0] else 0.0
    return size / (size + 1) if size else others / 2


def _count_shared_tokens(piece: Piece, notes: NoteCache, costs: TokenCosts) -> int:
    """Return the tokens of the text that is rendered once for all packs, such as the question."""
    pack = build_span_pack(piece.line_span, (piece.hit_span,), notes[piece.line_span.path])
    return max(costs.count_frame(1, pack) - costs.count_frame(2, pack), 0)


def _count_pack_tokens(choice: _PackChoice) -> tuple[int, ...]:
    """Return the tokens of each pack with its frame; they add up to the tokens of the whole text.

    The first pack gets the remainder of the total, because its frame includes the text that is rendered once and token
    counts of parts do not add up exactly.
    """
    by_id = {draft.pack.id: draft.cost for draft in choice.filling.drafts}
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

    A share of the first score would leave out whole questions; not if the queries are wordings of one question.
    """
    parsed = [engine.parse(query) for query in queries]
    several = (len(parsed) > 1 and not are_wordings) or any(len(alternatives) > 1 for alternatives in parsed)
    if settings.fill is Fill.ENOUGH and (several or any(each.sort for query in parsed for each in query)):
        return replace(settings, fill=Fill.BUDGET)
    return settings
