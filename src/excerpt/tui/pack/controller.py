"""What goes into the pack: decisions by hand, scope, budget and format; asked for, and the newest answer kept."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from excerpt.kinds import Format, Scope, Strategy, next_of
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.pack.selection import AS_RANKED, NOTHING_KEPT, KeptMarks, Mark, Overrides
from excerpt.settings import PackSettings
from excerpt.text.display import counted
from excerpt.tui.common.pause import After, Pause
from excerpt.tui.engine_worker import Asks
from excerpt.tui.messages import CopyRequested, Failure

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Pack, Result
    from excerpt.pack.memories import MarkMoves
    from excerpt.tui.pack.packer import Cost, Left, Packed, Packer, PackRequest

BUDGETS = (250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 64_000, 128_000)
"""The steps a token budget takes on the screen: from a remark to what large models take."""

_SETTLED = 0.15
"""Seconds a selection stands before its exact cost is asked for: whoever moves on needs none."""

_SUFFIXES = {Format.MARKDOWN: ".md", Format.XML: ".xml", Format.JSON: ".json"}

MOST_STEPS = 200
"""Decisions that can be taken back."""


@dataclass(frozen=True, slots=True)
class PackChoices:
    """Marks, and the overrides for the pack: of them, or, while nothing is marked, of the top hits of a query.

    Overrides for marks stay while the query changes. Those for top hits are the query's, and are there again with it. A
    value: each method gives another one.
    """

    marks: tuple[Mark, ...] = ()
    of_marks: Overrides = AS_RANKED
    of_queries: Mapping[str, Overrides] = field(default_factory=dict)
    ranked: bool = True
    before: KeptMarks = NOTHING_KEPT
    """Marks of an earlier session, in no pack until they are taken up."""

    @property
    def marked(self) -> frozenset[str]:
        """Ids of the marked fragments."""
        return frozenset(mark.fragment for mark in self.marks)

    def overrides(self, query: str) -> Overrides:
        """Those that count for the pack as it is now, where `query` is asked."""
        return self.of_marks if self.marks else self.of_queries.get(query, AS_RANKED)

    def kept(self, query: str) -> KeptMarks:
        """What is kept from one session to the next: the marks, with what belongs to them."""
        taken = self.taking_up()
        return KeptMarks(query or self.before.query, taken.marks, taken.of_marks) if taken.marks else NOTHING_KEPT

    def taking_up(self) -> PackChoices:
        """With the marks of an earlier session before those of this one."""
        marks = tuple({mark.fragment: mark for mark in (*self.before.marks, *self.marks)}.values())
        overrides = self.of_marks if self.marks else self.before.overrides
        return replace(self, marks=marks, of_marks=overrides, before=NOTHING_KEPT)

    def without(self, fragment_ids: Collection[str]) -> PackChoices:
        """Without the marks of these, and without those of an earlier session."""
        marks = tuple(mark for mark in self.marks if mark.fragment not in fragment_ids)
        return replace(self, marks=marks, of_marks=self.of_marks if marks else AS_RANKED, before=NOTHING_KEPT)

    def toggling(self, mark: Mark) -> PackChoices:
        """Marked, or no longer. A fragment that was dropped before comes back with its mark."""
        marks = tuple(each for each in self.marks if each.fragment != mark.fragment)
        if len(marks) == len(self.marks):
            marks = (*marks, mark)
        if not marks:
            return self.unmarked()
        dropped = self.of_marks.dropped - {mark.fragment}
        return replace(self, marks=marks, of_marks=replace(self.of_marks, dropped=dropped))

    def unmarked(self) -> PackChoices:
        return replace(self, marks=(), of_marks=AS_RANKED)

    def dropping(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        return self._overridden(query, self.overrides(query).dropping(fragment_ids))

    def returning(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        """With these no longer dropped."""
        overrides = self.overrides(query)
        return self._overridden(query, replace(overrides, dropped=overrides.dropped.difference(fragment_ids)))

    def growing(self, query: str, fragment_ids: Iterable[str], scope: Scope) -> PackChoices:
        return self._overridden(query, self.overrides(query).growing(fragment_ids, scope))

    def ordering(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        """The packs of these fragments first, in this order, and then as they were."""
        ids = tuple(fragment_ids)
        overrides = self.overrides(query)
        after = (each for each in overrides.order if each not in ids)
        return replace(self, ranked=True)._overridden(query, overrides.ordering((*ids, *after)))

    def next_order(self, query: str) -> PackChoices:
        """From an own order back to that of the scores, from there to that of the vault, and round again."""
        overrides = self.overrides(query)
        if self.ranked and overrides.order:
            return self._overridden(query, overrides.ordering(()))
        return replace(self, ranked=not self.ranked)

    def order_name(self, query: str) -> str:
        """`own order`, `vault order`, or "" for that of the scores."""
        if not self.ranked:
            return "vault order"
        return "own order" if self.overrides(query).order else ""

    def moving(self, moves: MarkMoves) -> PackChoices:
        """The same for the fragments as they are called now."""
        return replace(self, marks=moves.of_marks(self.marks), of_marks=moves.of_overrides(self.of_marks))

    def _overridden(self, query: str, overrides: Overrides) -> PackChoices:
        if self.marks:
            return replace(self, of_marks=overrides)
        return replace(self, of_queries={**self.of_queries, query: overrides})


class History:
    """The choices as they are `now`, those before, and those taken back."""

    def __init__(self) -> None:
        self.now = PackChoices()
        self._before: list[PackChoices] = []
        self._after: list[PackChoices] = []

    def decide(self, choices: PackChoices) -> bool:
        """Take these in place of those now; False if they are the same."""
        if choices == self.now:
            return False
        self._before, self._after = [*self._before[-MOST_STEPS + 1 :], self.now], []
        self.now = choices
        return True

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    def undo(self) -> bool:
        """Go back to the choices before; False if there are none."""
        if not self._before:
            return False
        self._after.append(self.now)
        self.now = self._before.pop()
        return True

    def redo(self) -> bool:
        """Do again what was taken back last; False if nothing was."""
        if not self._after:
            return False
        self._before.append(self.now)
        self.now = self._after.pop()
        return True

    def move(self, moves: MarkMoves) -> None:
        """Go on with the fragments as they are called now, and no step more to take back."""
        self.now = self.now.moving(moves)
        self._before = [each.moving(moves) for each in self._before]
        self._after = [each.moving(moves) for each in self._after]

    def restore(self, kept: KeptMarks) -> None:
        """Have what an earlier session kept be there in all that was decided in this one."""
        self.now = replace(self.now, before=kept)
        self._before = [replace(each, before=kept) for each in self._before]
        self._after = [replace(each, before=kept) for each in self._after]


class PackController:
    """Own what goes into the pack; ask for it, and keep the newest answer and what one more passage would cost.

    Told from outside: the selected hit, and the memories among some marks (None while they are being read, after which
    the pack is asked for again). `changed` is called when pack or cost is another, `built` for each that has come,
    `failed` where none could be built, `keep` with what is to be there in the next session.
    """

    def __init__(
        self,
        engine: Asks,
        open_packer: Callable[[], Packer],
        after: After,
        settings: PackSettings,
        *,
        selected: Callable[[], Hit | None],
        memories: Callable[[Sequence[Mark]], tuple[Memory, ...] | None],
        changed: Callable[[], object],
        built: Callable[[], object],
        failed: Callable[[], object],
        keep: Callable[[KeptMarks], object],
    ) -> None:
        self.wanted = settings
        """The settings, with scope, budget and format as the keys have them now."""
        self.packed: Packed | None = None
        """None while there is nothing to pack."""
        self.cost: Cost | None = None
        """Of the selected fragment; None where it is marked already."""
        self.query = ""
        """The question of the pack: the last one asked, which stays when the query is cleared."""
        self._engine = engine
        self._open_packer = open_packer
        self._settings = settings
        self._selected = selected
        self._memories = memories
        self._changed = changed
        self._built = built
        self._failed = failed
        self._keep = keep
        self._history = History()
        self._request: PackRequest | None = None
        self._is_delayed = False
        self._settling = Pause(after)
        self._told_gone: frozenset[str] = frozenset()
        self._listed: frozenset[str] = frozenset()
        self._is_of_marks = False

    @cached_property
    def _packer(self) -> Packer:
        return self._open_packer()

    # --- what is decided ----------------------------------------------------------------------------------------------

    @property
    def choices(self) -> PackChoices:
        """The decisions by hand as they are now."""
        return self._history.now

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to take back."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether a decision was taken back."""
        return self._history.can_redo

    @property
    def order(self) -> str:
        """The order where it is not that of the scores: `vault order` or `own order`."""
        return self.choices.order_name(self.query)

    def restore(self, kept: KeptMarks) -> None:
        """Know the marks of an earlier session; they are in no pack until they are taken up."""
        self._history.restore(kept)
        self.keep()

    @property
    def earlier(self) -> tuple[Mark, ...]:
        """The marks that are not among what is listed now: of other queries, and of an earlier session."""
        choices = self.choices
        marked, before = choices.marked, choices.before.marks
        elsewhere = (mark for mark in choices.marks if mark.fragment not in self._listed)
        return (
            *(mark for mark in before if mark.fragment not in marked),
            *(mark for mark in elsewhere if memory_id_of(mark.path) is None),
        )

    def take_up(self) -> bool:
        """Mark again what an earlier session had marked."""
        self.query = self.query or self.choices.before.query
        return self.decide(self.choices.taking_up())

    def drop_earlier(self) -> bool:
        """Take the marks away that are not among what is listed now."""
        return self.decide(self.choices.without({mark.fragment for mark in self.earlier}))

    @property
    def packed_fragments(self) -> frozenset[str]:
        """Ids of the fragments in the pack; none while it is still of the best hits and something is marked, or the
        other way round."""
        if self.packed is None or self._is_of_marks != bool(self.choices.marks):
            return frozenset()
        return frozenset(each for pack in self.packed.result.packs for each in pack.fragment_ids)

    def keep(self) -> None:
        """Hand out what is to be there in the next session."""
        self._keep(self.choices.kept(self.query))

    def decide(self, choices: PackChoices) -> bool:
        """Take these in place of those now; False if they are the same."""
        decided = self._history.decide(choices)
        if decided:
            self.keep()
        return decided

    def undo(self) -> bool:
        """Take back the last decision; False if there is none."""
        undone = self._history.undo()
        if undone:
            self.keep()
        return undone

    def redo(self) -> bool:
        """Decide again what was taken back last; False if nothing was."""
        redone = self._history.redo()
        if redone:
            self.keep()
        return redone

    def toggle(self, mark: Mark) -> bool:
        """Mark a fragment, or take its mark away."""
        return self.decide(self.choices.toggling(mark))

    def drop(self, row: Pack | Left) -> bool:
        """Drop a pack, or bring back what was dropped. A mark whose text is gone goes."""
        from excerpt.model import Pack

        choices, ids = self.choices, row.fragment_ids
        if not isinstance(row, Pack) and row.dropped:
            return self.decide(choices.returning(self.query, ids))
        if not isinstance(row, Pack) and not row.line_start:
            return self.decide(choices.toggling(Mark(ids[0], row.path)))
        return self.decide(choices.dropping(self.query, ids))

    def shift(self, at: int, places: int) -> bool:
        """Move the pack in row `at`."""
        entries = [pack.entry.fragment_id for pack in self.packed.result.packs] if self.packed is not None else []
        to = at + places
        if not (at < len(entries) and 0 <= to < len(entries)):
            return False
        entries.insert(to, entries.pop(at))
        return self.decide(self.choices.ordering(self.query, entries))

    def next_own_scope(self, pack: Pack) -> bool:
        """Take the next scope for that pack alone."""
        own = dict(self.choices.overrides(self.query).scopes).get(pack.entry.fragment_id, self.wanted.scope)
        return self.decide(self.choices.growing(self.query, pack.fragment_ids, next_of(list(Scope), own)))

    # --- how it is wanted ---------------------------------------------------------------------------------------------

    def use(self, settings: PackSettings) -> bool:
        """Go by other settings from now on: what they say differently holds in place of the keys. False if none is."""
        before, self._settings, now = self._settings, settings, self.wanted
        self.wanted = replace(
            settings,
            scope=now.scope if before.scope is settings.scope else settings.scope,
            budget=now.budget if before.budget == settings.budget else settings.budget,
            format=now.format if before.format is settings.format else settings.format,
        )
        return before != settings

    def want(self, *, scope: Scope | None = None, budget: int | None = None, form: Format | None = None) -> bool:
        """Want the pack otherwise; False if it was wanted so."""
        before, now = self.wanted, self.wanted
        self.wanted = replace(now, scope=scope or now.scope, budget=budget or now.budget, format=form or now.format)
        return self.wanted != before

    def next_scope(self) -> bool:
        """Want the next scope."""
        return self.want(scope=next_of(list(Scope), self.wanted.scope))

    def next_format(self) -> bool:
        """Want the next format; that of a template only where the settings name one."""
        with_template = bool(self._settings.template) or self._settings.format is Format.TEMPLATE
        formats = [each for each in Format if each is not Format.TEMPLATE or with_template]
        return self.want(form=next_of(formats, self.wanted.format))

    # --- the pack -----------------------------------------------------------------------------------------------------

    @property
    def is_answered(self) -> bool:
        """Whether the pack is what was asked for last."""
        return not self._is_delayed and not self._engine.waits("pack")

    @property
    def cost_is_known(self) -> bool:
        """Whether nothing is on the way about what the selected fragment costs."""
        return not self._settling.waits and not self._engine.waits("cost")

    @property
    def is_empty(self) -> bool:
        """Whether there is no passage to take along."""
        return self.packed is None or not self.packed.result.packs

    def ask(self, found: Result | None, strategy: Strategy) -> None:
        """Ask for the pack that would be copied now: of the marks, else of the top hits of what was found."""
        marks = self.choices.marks
        if found is not None and found.query != self.query:
            self.query = found.query
            if marks:
                self.keep()
        hits = found.hits if found is not None else ()
        self._listed = frozenset(hit.fragment.id for hit in hits)
        # Without an index it is asked for again when that is open.
        memories = self._memories(marks) if self._engine.is_open else None
        self._is_delayed = bool(marks) and memories is None
        if memories is None or not (marks or hits):
            self._engine.forget("pack")
            if memories is not None:
                self._request = None
                self._take(None)
            return
        from excerpt.tui.pack.packer import AskPack, PackRequest

        self._request = PackRequest(
            query=self.query,
            strategy=strategy if marks or found is None else found.strategy,
            hits=hits,
            marks=marks,
            settings=self.wanted,
            overrides=self.choices.overrides(self.query),
            ranked=self.choices.ranked,
            memories=memories,
        )
        self._engine.ask(AskPack(self._packer, self._request), self._pack_came, self._pack_failed)

    @property
    def lacks_memories(self) -> bool:
        """Whether memories are marked that the pack was not asked for with, as it should be by now."""
        memories = self._memories(self.choices.marks)
        return bool(memories) and (self._request is None or self._request.memories != memories)

    def _pack_failed(self, _failure: Failure) -> None:
        self._take(None)
        self._failed()

    def _pack_came(self, packed: Packed) -> None:
        if packed.moves:
            self._history.move(packed.moves)
            self.keep()
        self._is_of_marks = self._request is not None and bool(self._request.marks)
        self._take(packed)
        self._built()

    def _take(self, packed: Packed | None) -> None:
        if packed != self.packed:
            self.packed = packed
            self.show_cost()
            self._changed()

    def newly_gone(self) -> int:
        """Return how many marked fragments are gone from the vault since this was asked last."""
        gone = frozenset(mark.fragment for mark in self.packed.gone) if self.packed is not None else frozenset()
        new, self._told_gone = gone - self._told_gone, gone
        return len(new)

    # --- what one more would cost -------------------------------------------------------------------------------------

    def show_cost(self) -> None:
        """Tell at once what is known of the selected fragment; the exact cost follows when it stays selected."""
        hit, packed = self._selected(), self.packed
        self._settling.stop()
        self._engine.forget("cost")
        if hit is None or packed is None or hit.fragment.id in self.choices.marked:
            self.cost = None
            return
        from excerpt.tui.pack.packer import Cost

        alone = not self.choices.marks
        inside = not alone and any(hit.fragment.id in pack.fragment_ids for pack in packed.result.packs)
        self.cost = Cost(hit.fragment.id, 0 if inside else hit.fragment.tokens, alone)
        self._settling.begin(_SETTLED, self._ask_cost)

    def _ask_cost(self) -> None:
        hit = self._selected()
        if hit is not None and self._request is not None:
            from excerpt.tui.pack.packer import AskCost

            mark = mark_of(hit)
            memories = self._memories((*self.choices.marks, mark))
            request = replace(self._request, memories=memories or ())
            self._engine.ask(AskCost(self._packer, request, mark), self._cost_came)

    def _cost_came(self, cost: Cost) -> None:
        self.cost = cost
        self._changed()

    # --- taking it along ----------------------------------------------------------------------------------------------

    def to_copy(self, *, to_file: bool) -> CopyRequested | None:
        """Return what asks for the pack to be copied; None for an empty one."""
        packed = self.packed
        if packed is None or not packed.result.packs:
            return None
        packs = packed.result.packs
        return CopyRequested(
            text=packed.text,
            what=f"Pack of {counted(len(packs), 'passage')}",
            tokens=packed.tokens,
            notes=tuple((one.path, one.entry.fragment_id) for one in packs),
            pack=packed.result,
            suffix=_SUFFIXES.get(packed.result.format, ".txt"),
            to_file=to_file,
        )


def mark_of(hit: Hit) -> Mark:
    """Return the mark of a hit."""
    return Mark(hit.fragment.id, hit.fragment.path, hit.spans)


_LEAST_BUDGET, _MOST_BUDGET = 50, 1_000_000


def typed_budget(text: str) -> int | str:
    """Return the tokens that were typed, such as `4000`, `4,000` or `4k`; else a sentence that says what is wrong."""
    written = text.strip().lower().replace(",", "").replace("_", "").replace(" ", "")
    thousands = written.endswith("k")
    digits = written.removesuffix("k")
    if not (digits.isascii() and digits.isdigit()):
        return "A budget is a number of tokens, such as 4000 or 4k."
    tokens = int(digits[:9]) * (1_000 if thousands else 1)
    if _LEAST_BUDGET <= tokens <= _MOST_BUDGET:
        return tokens
    return f"A budget is {_LEAST_BUDGET} tokens at the least and {_MOST_BUDGET:,} at the most."


def next_budget(budget: int, steps: int) -> int:
    """Return the next larger (`steps` 1) or smaller (-1) step; a budget between two steps goes to its neighbour."""
    at = bisect_right(BUDGETS, budget) if steps > 0 else bisect_left(BUDGETS, budget) - 1
    return BUDGETS[max(0, min(at, len(BUDGETS) - 1))]
