"""Hits -> packs within a budget, ready for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from excerpt.kinds import Stopped, Strategy
from excerpt.model import Hit, LeftOut, Pack, PackResult
from excerpt.pack.budget import Selection, Taken, selections
from excerpt.pack.cost import Costs
from excerpt.pack.duplicates import DuplicateRule, near_copy
from excerpt.pack.gather import Gathering, left_out
from excerpt.pack.merge import Wanted, merge
from excerpt.pack.packs import draft
from excerpt.pack.render import MarkdownRenderer, Renderer
from excerpt.pack.source import Notes, NoteSource, notes_of
from excerpt.pack.units import Choices, Made, choices, shrunk
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
    in_order = partial(_in_order, wanted=gathered.wanted, wishes=wishes, ranked=ranked)
    alone = [each.alone(notes[each.stretch.path]) for each in gathered.wanted]
    offered, choice = _choose(_offered(alone, notes, costs), settings.budget, costs, in_order)
    if any(each.stretch != hit.stretch for each, hit in zip(gathered.wanted, alone, strict=True)):
        # What costs add up to is not exact: the hits alone are tried too, so that context is in no better one's place.
        grown = _choose(_offered(gathered.wanted, notes, costs), settings.budget, costs, in_order)
        offered, choice = max(grown, (offered, choice), key=lambda tried: tried[1].value)
    packs = tuple(replace(pack, tokens=costs.count(pack.text)) for pack in choice.packs)
    unchosen = list(_unchosen(offered, choice))
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
        stopped=Stopped.BUDGET if unchosen else Stopped.LIMIT if gathered.is_limited else Stopped.END,
        costs=_costs(choice),
        needs=tuple(each.needs(hit) for each, hit in unchosen),
    )


# --- what goes in -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """The packs that go in, in their order and as they were made, the text and its tokens, and what they are worth."""

    packs: Sequence[Pack]
    made: Sequence[Made]
    text: str
    tokens: int
    value: float


_NOTHING = _Choice((), (), "", 0, 0.0)


def _offered(wanted: Sequence[Wanted], notes: Notes, costs: Costs) -> list[Choices]:
    """What may be taken of each candidate, best first."""
    said = {each.hit.fragment.digest for each in wanted}
    return [
        choices(each, notes[each.stretch.path], costs, said=said, hits=len(wanted), cuts_fragment=place == 0)
        for place, each in enumerate(merge(wanted))
    ]


def _choose(offered: list[Choices], budget: int, costs: Costs, in_order: _Ordering) -> tuple[list[Choices], _Choice]:
    """The most valuable choice whose rendered whole is within the budget, and what it was chosen from: where the best
    hit does not fit alone, parts of its blocks too."""
    if not offered:
        return offered, _NOTHING
    room = budget - _shared_cost(offered, costs)
    first_within = partial(_first_within, budget=budget, room=room, costs=costs, in_order=in_order)
    others = (Taken(),) * (len(offered) - 1)
    best = first_within(((taken, *others) for taken in offered[0].best_alone(room)), offered)
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
    """The choice and, where it leaves room, a part of a hit that is larger than the budget. It adds no value: a budget
    that has room for the whole of it may have a better use for that."""
    left = room - sum(made.cost for made in choice.made)
    for _, _, part in reversed(list(large.parts(left))):
        made = [*choice.made, part]
        packs = in_order(made)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text)
        if tokens <= budget:
            return _Choice(packs, made, text, tokens, choice.value)
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
    """The first selection whose rendered whole is within the budget; `room` is the budget without what is rendered
    once."""
    for selection in selected:
        made = [made for each, taken in zip(offered, selection, strict=True) for made in each.packs(taken)]
        # Counted source by source first: cheap, since the selections of like costs have most of them in common.
        if sum(one.cost for one in made) > room:
            continue
        packs = in_order(made)
        text = costs.renderer.render(packs)
        tokens = costs.tokenizer.count(text) if text else 0
        if tokens <= budget:
            value = 0.0
            for each, taken in zip(offered, selection, strict=True):
                value = each.value(taken, value)
            return _Choice(packs, made, text, tokens, value)
    return None


def _shared_cost(offered: Sequence[Choices], costs: Costs) -> int:
    """What is rendered once, however many packs there are: the first one's frame has it."""
    pack = draft(offered[0].candidate, offered[0].note)
    return max(costs.frame(1, pack) - costs.frame(2, pack), 0)


def _costs(choice: _Choice) -> tuple[int, ...]:
    """Tokens of each pack with what stands around it. What the sum misses of the whole is the first one's: it has what
    is rendered once, and tokens of parts do not add up exactly."""
    by_id = {made.pack.id: made.cost for made in choice.made}
    others = tuple(by_id[pack.id] for pack in choice.packs[1:])
    return (choice.tokens - sum(others), *others) if choice.packs else ()


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


def _unchosen(offered: Sequence[Choices], choice: _Choice) -> Iterator[tuple[Choices, Hit]]:
    """The hits that are in no pack."""
    inside = {hit.fragment.id for made in choice.made for hit in made.hits}
    for each in offered:
        for one in each.candidate.wanted:
            if one.hit.fragment.id not in inside:
                yield each, one.hit


def _left_out(unchosen: Iterable[tuple[Choices, Hit]], budget: int, costs: Costs) -> Iterator[LeftOut]:
    for each, hit in unchosen:
        yield left_out(hit.fragment, OUT_OF_BUDGET if each.fits(budget) else TOO_LARGE, costs)
