"""Hits -> packs within a budget, ready for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from excerpt.kinds import Strategy
from excerpt.model import Hit, LeftOut, Pack, PackResult
from excerpt.pack.budget import selections
from excerpt.pack.cost import Costs
from excerpt.pack.duplicates import DuplicateRule, near_copy
from excerpt.pack.gather import Gathering, left_out
from excerpt.pack.merge import Wanted, merge
from excerpt.pack.packs import draft
from excerpt.pack.render import MarkdownRenderer, Renderer
from excerpt.pack.source import NoteSource, notes_of
from excerpt.pack.units import Choices, Made, choices
from excerpt.pack.wishes import AS_RANKED, Wishes
from excerpt.settings import PackSettings
from excerpt.text.tokens import Tokenizer

_Ordering = Callable[[Sequence[Made]], list[Pack]]

TOO_LARGE = "too large"
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
    wishes: Wishes = AS_RANKED,
    ranked: bool = True,
    duplicate: DuplicateRule = near_copy,
) -> PackResult:
    """Packs from the fragments with the ids `marked`, in that order, or else from the top `hits` (best first).

    At most `settings.limit` hits, copies of others and dropped ones not counted, are grown to `settings.scope`; marks
    all are. The rendered text is never above `settings.budget` tokens of `tokenizer`, and a larger budget never gives
    less value. `renderer` makes the text; the same arguments give the same bytes. If not `ranked`, the packs are the
    same, in the order of the vault, with score 0.
    """
    notes = notes_of(source)
    costs = Costs(tokenizer, renderer, source.tokenizer)
    gathered = Gathering(notes, settings, wishes, costs)
    if marked:
        gathered.add_marks(marked, hits)
    else:
        gathered.add_hits(hits, duplicate)
    candidates = merge(gathered.wanted)
    offered = [
        choices(each, notes[each.stretch.path], costs, cuts_fragment=place == 0)
        for place, each in enumerate(candidates)
    ]
    choice = _choose(
        offered, settings.budget, costs, partial(_in_order, wanted=gathered.wanted, wishes=wishes, ranked=ranked)
    )
    packs = tuple(replace(pack, tokens=costs.count(pack.text)) for pack in choice.packs)
    notes.forget()
    return PackResult(
        query=query,
        strategy=strategy,
        budget=settings.budget,
        tokenizer=tokenizer.name,
        packs=packs,
        left_out=(*gathered.left_out, *_unchosen(offered, choice, settings.budget, costs)),
        text=choice.text,
        tokens=choice.tokens,
        value=choice.value,
        source_tokens=sum(notes[path].tokens for path in dict.fromkeys(pack.path for pack in packs)),
        format=settings.format,
    )


# --- what goes in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """The packs that go in, the hits in them, the text and its tokens, and what they are worth."""

    packs: Sequence[Pack]
    hits: Sequence[Hit]
    text: str
    tokens: int
    value: float


def _choose(offered: Sequence[Choices], budget: int, costs: Costs, in_order: _Ordering) -> _Choice:
    """The most valuable choice whose rendered whole is within the budget."""
    shared = _shared_cost(offered, costs)
    for selection in selections([each.chain for each in offered], budget - shared):
        made = [made for each, taken in zip(offered, selection, strict=True) for made in each.packs(taken)]
        # Counted source by source first: cheap, since the selections of like costs have most of them in common.
        if sum(one.cost for one in made) + shared > budget:
            continue
        packs = in_order(made)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text) if text else 0
        if tokens <= budget:
            value = 0.0
            for each, taken in zip(offered, selection, strict=True):
                value = each.value(taken, value)
            return _Choice(packs, [hit for one in made for hit in one.hits], text, tokens, value)
    return _Choice((), (), "", 0, 0.0)


def _shared_cost(offered: Sequence[Choices], costs: Costs) -> int:
    """What is rendered once, however many packs there are: the first one's frame has it."""
    if not offered:
        return 0
    pack = draft(offered[0].candidate, offered[0].note)
    return max(costs.frame(1, pack) - costs.frame(2, pack), 0)


def _in_order(made: Sequence[Made], *, wanted: Sequence[Wanted], wishes: Wishes, ranked: bool) -> list[Pack]:
    """Packs as they are to stand: by their best hits as these are ranked, or as the user or the vault has them."""
    packs = [one.pack for one in made]
    if not ranked:
        unscored = [replace(pack, entry=replace(pack.entry, score=0.0)) for pack in packs]
        return sorted(unscored, key=lambda pack: (pack.path, pack.line_start))
    places = {each.hit.fragment.id: place for place, each in enumerate(wanted)}
    by_hand = {fragment_id: place for place, fragment_id in enumerate(wishes.order)}

    def place(pack: Pack) -> tuple[int, int]:
        wished = min((by_hand[each] for each in pack.fragment_ids if each in by_hand), default=len(by_hand))
        return wished, places[pack.entry.fragment_id]

    return sorted(packs, key=place)


def _unchosen(offered: Sequence[Choices], choice: _Choice, budget: int, costs: Costs) -> Iterator[LeftOut]:
    """The hits that are in no pack, and why."""
    inside = {hit.fragment.id for hit in choice.hits}
    for each in offered:
        reason = OUT_OF_BUDGET if each.fits(budget) else TOO_LARGE
        for one in each.candidate.wanted:
            if one.hit.fragment.id not in inside:
                yield left_out(one.hit.fragment, reason, costs)
