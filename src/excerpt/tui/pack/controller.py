"""What goes into the pack: decisions by hand, scope, budget and format. Requests packs and keeps the newest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from excerpt.kinds import Format, Scope, Strategy, next_of
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.pack.selection import AS_RANKED, NO_MARKS, Mark, Overrides, SavedMarks
from excerpt.settings import PackSettings
from excerpt.text.display import counted
from excerpt.tui.common.debouncer import Debouncer, Schedule
from excerpt.tui.engine_worker import QuestionQueue
from excerpt.tui.messages import CopyRequested, Failure

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Pack, Result
    from excerpt.pack.memories import MarkMoves
    from excerpt.tui.pack.packer import Cost, Left, Packed, Packer, PackRequest

BUDGETS = (250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 64_000, 128_000)
"""Token budgets to step through on the screen, from a short remark to what large models accept."""

_SETTLED = 0.15
"""Seconds before the exact cost of a selected fragment is requested, so that moving on requests none."""

_SUFFIXES = {Format.MARKDOWN: ".md", Format.XML: ".xml", Format.JSON: ".json"}

MAX_STEPS = 200
"""Maximum number of decisions that can be undone."""


@dataclass(frozen=True, slots=True)
class PackChoices:
    """The user's marks, and the overrides for the pack. Immutable: each method returns a changed value.

    The overrides apply to the marks, or, while nothing is marked, to the top hits of a query. Those for marks stay when
    the query changes. Those for top hits belong to their query, and apply again when it is asked again.
    """

    marks: tuple[Mark, ...] = ()
    of_marks: Overrides = AS_RANKED
    of_queries: Mapping[str, Overrides] = field(default_factory=dict)
    ranked: bool = True
    before: SavedMarks = NO_MARKS
    """Marks of an earlier session. They are in no pack until the user takes them up."""

    @property
    def marked(self) -> frozenset[str]:
        """Ids of the marked fragments."""
        return frozenset(mark.fragment for mark in self.marks)

    def overrides(self, query: str) -> Overrides:
        """Return the overrides for the current pack, where `query` is the current query."""
        return self.of_marks if self.marks else self.of_queries.get(query, AS_RANKED)

    def kept(self, query: str) -> SavedMarks:
        """Return what is kept for the next session: the marks, the query and the overrides for the marks."""
        taken = self.taking_up()
        return SavedMarks(query or self.before.query, taken.marks, taken.of_marks) if taken.marks else NO_MARKS

    def taking_up(self) -> PackChoices:
        """Return the choices with the marks of an earlier session before those of this one."""
        marks = tuple({mark.fragment: mark for mark in (*self.before.marks, *self.marks)}.values())
        overrides = self.of_marks if self.marks else self.before.overrides
        return replace(self, marks=marks, of_marks=overrides, before=NO_MARKS)

    def without(self, fragment_ids: Collection[str]) -> PackChoices:
        """Return the choices without the marks of these fragments, and without those of an earlier session."""
        marks = tuple(mark for mark in self.marks if mark.fragment not in fragment_ids)
        return replace(self, marks=marks, of_marks=self.of_marks if marks else AS_RANKED, before=NO_MARKS)

    def toggling(self, mark: Mark) -> PackChoices:
        """Return the choices with this mark added, or removed if it is there. Its fragment is no longer dropped."""
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
        """Return the choices with these fragments no longer dropped."""
        overrides = self.overrides(query)
        return self._overridden(query, replace(overrides, dropped=overrides.dropped.difference(fragment_ids)))

    def growing(self, query: str, fragment_ids: Iterable[str], scope: Scope) -> PackChoices:
        return self._overridden(query, self.overrides(query).growing(fragment_ids, scope))

    def ordering(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        """Return the choices with the packs of these fragments first, in this order; the others follow as before."""
        ids = tuple(fragment_ids)
        overrides = self.overrides(query)
        after = (each for each in overrides.order if each not in ids)
        return replace(self, ranked=True)._overridden(query, overrides.ordering((*ids, *after)))

    def next_order(self, query: str) -> PackChoices:
        """Return the choices with the next order.

        The user's own order is cleared, which leaves that of the scores; after this, vault order and scores alternate.
        """
        overrides = self.overrides(query)
        if self.ranked and overrides.order:
            return self._overridden(query, overrides.ordering(()))
        return replace(self, ranked=not self.ranked)

    def order_name(self, query: str) -> str:
        """Return `vault order`, `own order`, or "" for the order of the scores."""
        if not self.ranked:
            return "vault order"
        return "own order" if self.overrides(query).order else ""

    def moving(self, moves: MarkMoves) -> PackChoices:
        """Return the choices with the current ids of the fragments."""
        return replace(self, marks=moves.of_marks(self.marks), of_marks=moves.of_overrides(self.of_marks))

    def _overridden(self, query: str, overrides: Overrides) -> PackChoices:
        if self.marks:
            return replace(self, of_marks=overrides)
        return replace(self, of_queries={**self.of_queries, query: overrides})


class History:
    """The undo history of the choices: those `now`, those before, and those undone."""

    def __init__(self) -> None:
        self.now = PackChoices()
        self._before: list[PackChoices] = []
        self._after: list[PackChoices] = []

    def decide(self, choices: PackChoices) -> bool:
        """Replace the current choices; return False if the new ones are the same."""
        if choices == self.now:
            return False
        self._before, self._after = [*self._before[-MAX_STEPS + 1 :], self.now], []
        self.now = choices
        return True

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    def undo(self) -> bool:
        """Restore the previous choices; return False if there are none."""
        if not self._before:
            return False
        self._after.append(self.now)
        self.now = self._before.pop()
        return True

    def redo(self) -> bool:
        """Restore the choices undone last; return False if there are none."""
        if not self._after:
            return False
        self._before.append(self.now)
        self.now = self._after.pop()
        return True

    def move(self, moves: MarkMoves) -> None:
        """Replace the ids of moved fragments in all choices. This is no step to undo."""
        self.now = self.now.moving(moves)
        self._before = [each.moving(moves) for each in self._before]
        self._after = [each.moving(moves) for each in self._after]

    def restore(self, kept: SavedMarks) -> None:
        """Add the marks kept by an earlier session to all choices, so that undo does not remove them."""
        self.now = replace(self.now, before=kept)
        self._before = [replace(each, before=kept) for each in self._before]
        self._after = [replace(each, before=kept) for each in self._after]


class PackController:
    """Controller of the pack: the user's choices, the newest pack, and the cost of one more passage.

    `selected` returns the selected hit, `memories` the memories among some marks, or None while they are being read
    (the pack is requested again afterwards). `changed` is called when the pack or the cost has changed, `built` after
    each pack, `failed` if none could be built, `keep` with what is to be kept for the next session.
    """

    def __init__(
        self,
        engine: QuestionQueue,
        open_packer: Callable[[], Packer],
        after: Schedule,
        settings: PackSettings,
        *,
        selected: Callable[[], Hit | None],
        memories: Callable[[Sequence[Mark]], tuple[Memory, ...] | None],
        changed: Callable[[], object],
        built: Callable[[], object],
        failed: Callable[[], object],
        keep: Callable[[SavedMarks], object],
    ) -> None:
        self.wanted = settings
        """The settings, with scope, budget and format as set by keys."""
        self.packed: Packed | None = None
        """The newest pack; None if there is nothing to pack."""
        self.cost: Cost | None = None
        """Cost of the selected fragment; None if it is marked already."""
        self.query = ""
        """Query of the pack: the last one asked, also after the query was cleared."""
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
        self._settling = Debouncer(after)
        self._told_gone: frozenset[str] = frozenset()
        self._listed: frozenset[str] = frozenset()
        self._is_of_marks = False

    @cached_property
    def _packer(self) -> Packer:
        return self._open_packer()

    # --- decisions ----------------------------------------------------------------------------------------------------

    @property
    def choices(self) -> PackChoices:
        """The current decisions by hand."""
        return self._history.now

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to undo."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether there is a decision to redo."""
        return self._history.can_redo

    @property
    def order(self) -> str:
        """Order of the pack: `vault order`, `own order`, or "" for that of the scores."""
        return self.choices.order_name(self.query)

    def restore(self, kept: SavedMarks) -> None:
        """Load the marks of an earlier session. They are in no pack until the user takes them up."""
        self._history.restore(kept)
        self.keep()

    @property
    def earlier(self) -> tuple[Mark, ...]:
        """Marks of an earlier session, and marked fragments of notes that are not in the list now."""
        choices = self.choices
        marked, before = choices.marked, choices.before.marks
        elsewhere = (mark for mark in choices.marks if mark.fragment not in self._listed)
        return (
            *(mark for mark in before if mark.fragment not in marked),
            *(mark for mark in elsewhere if memory_id_of(mark.path) is None),
        )

    def restore_marks(self) -> bool:
        """Mark again what an earlier session had marked; return False if nothing changed."""
        self.query = self.query or self.choices.before.query
        return self.decide(self.choices.taking_up())

    def drop_earlier(self) -> bool:
        """Remove the marks in `earlier`; return False if nothing changed."""
        return self.decide(self.choices.without({mark.fragment for mark in self.earlier}))

    @property
    def packed_fragments(self) -> frozenset[str]:
        """Ids of the fragments in the pack.

        Empty while the pack is still built from the best hits although something is marked, or the reverse.
        """
        if self.packed is None or self._is_of_marks != bool(self.choices.marks):
            return frozenset()
        return frozenset(each for pack in self.packed.result.packs for each in pack.fragment_ids)

    def keep(self) -> None:
        """Pass on what is to be kept for the next session."""
        self._keep(self.choices.kept(self.query))

    def decide(self, choices: PackChoices) -> bool:
        """Replace the current choices; return False if the new ones are the same."""
        decided = self._history.decide(choices)
        if decided:
            self.keep()
        return decided

    def undo(self) -> bool:
        """Undo the last decision; return False if there is none."""
        undone = self._history.undo()
        if undone:
            self.keep()
        return undone

    def redo(self) -> bool:
        """Redo the decision undone last; return False if there is none."""
        redone = self._history.redo()
        if redone:
            self.keep()
        return redone

    def toggle(self, mark: Mark) -> bool:
        """Mark a fragment, or remove its mark."""
        return self.decide(self.choices.toggling(mark))

    def drop(self, row: Pack | Left) -> bool:
        """Drop a pack, or restore a dropped one. Remove the mark of a fragment that is gone."""
        from excerpt.model import Pack

        choices, ids = self.choices, row.fragment_ids
        if not isinstance(row, Pack) and row.dropped:
            return self.decide(choices.returning(self.query, ids))
        if not isinstance(row, Pack) and not row.line_start:
            return self.decide(choices.toggling(Mark(ids[0], row.path)))
        return self.decide(choices.dropping(self.query, ids))

    def shift(self, at: int, places: int) -> bool:
        """Move the pack in row `at` by `places` rows; return False if that is impossible."""
        entries = [pack.entry.fragment_id for pack in self.packed.result.packs] if self.packed is not None else []
        to = at + places
        if not (at < len(entries) and 0 <= to < len(entries)):
            return False
        entries.insert(to, entries.pop(at))
        return self.decide(self.choices.ordering(self.query, entries))

    def next_scope_of(self, pack: Pack) -> bool:
        """Use the next scope for this pack alone."""
        own = dict(self.choices.overrides(self.query).scopes).get(pack.entry.fragment_id, self.wanted.scope)
        return self.decide(self.choices.growing(self.query, pack.fragment_ids, next_of(list(Scope), own)))

    # --- settings -----------------------------------------------------------------------------------------------------

    def use(self, settings: PackSettings) -> bool:
        """Use other settings from now on; return False if they are the same.

        A scope, budget or format set by keys stays, unless that setting has changed.
        """
        before, self._settings, now = self._settings, settings, self.wanted
        self.wanted = replace(
            settings,
            scope=now.scope if before.scope is settings.scope else settings.scope,
            budget=now.budget if before.budget == settings.budget else settings.budget,
            format=now.format if before.format is settings.format else settings.format,
        )
        return before != settings

    def want(self, *, scope: Scope | None = None, budget: int | None = None, form: Format | None = None) -> bool:
        """Change scope, budget or format of the pack; return False if they are the same."""
        before, now = self.wanted, self.wanted
        self.wanted = replace(now, scope=scope or now.scope, budget=budget or now.budget, format=form or now.format)
        return self.wanted != before

    def next_scope(self) -> bool:
        """Change to the next scope."""
        return self.want(scope=next_of(list(Scope), self.wanted.scope))

    def next_format(self) -> bool:
        """Change to the next format. The template format is included only if the settings name one."""
        with_template = bool(self._settings.template) or self._settings.format is Format.TEMPLATE
        formats = [each for each in Format if each is not Format.TEMPLATE or with_template]
        return self.want(form=next_of(formats, self.wanted.format))

    # --- the pack -----------------------------------------------------------------------------------------------------

    @property
    def is_answered(self) -> bool:
        """Whether the pack is the answer to the newest request."""
        return not self._is_delayed and not self._engine.is_waiting("pack")

    @property
    def cost_is_known(self) -> bool:
        """Whether no request for the cost of the selected fragment is pending."""
        return not self._settling.is_pending and not self._engine.is_waiting("cost")

    @property
    def is_empty(self) -> bool:
        """Whether the pack has no passages."""
        return self.packed is None or not self.packed.result.packs

    def ask(self, found: Result | None, strategy: Strategy) -> None:
        """Request the pack that would be copied now: of the marks, or else of the top hits of `found`."""
        marks = self.choices.marks
        if found is not None and found.query != self.query:
            self.query = found.query
            if marks:
                self.keep()
        hits = found.hits if found is not None else ()
        self._listed = frozenset(hit.fragment.id for hit in hits)
        # Nothing is requested without an open index; the caller asks again once it is open.
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
        self._engine.ask(AskPack(self._packer, self._request), self._pack_loaded, self._pack_failed)

    @property
    def lacks_memories(self) -> bool:
        """Whether memories are marked that the newest request for a pack does not include."""
        memories = self._memories(self.choices.marks)
        return bool(memories) and (self._request is None or self._request.memories != memories)

    def _pack_failed(self, _failure: Failure) -> None:
        self._take(None)
        self._failed()

    def _pack_loaded(self, packed: Packed) -> None:
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

    def newly_missing(self) -> int:
        """Return how many more marked fragments are gone from the vault than at the last call."""
        gone = frozenset(mark.fragment for mark in self.packed.gone) if self.packed is not None else frozenset()
        new, self._told_gone = gone - self._told_gone, gone
        return len(new)

    # --- cost of one more passage -------------------------------------------------------------------------------------

    def show_cost(self) -> None:
        """Show the estimated cost of the selected fragment. The exact cost is requested if it stays selected."""
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
        self._settling.schedule(_SETTLED, self._ask_cost)

    def _ask_cost(self) -> None:
        hit = self._selected()
        if hit is not None and self._request is not None:
            from excerpt.tui.pack.packer import AskCost

            mark = mark_of(hit)
            memories = self._memories((*self.choices.marks, mark))
            request = replace(self._request, memories=memories or ())
            self._engine.ask(AskCost(self._packer, request, mark), self._cost_loaded)

    def _cost_loaded(self, cost: Cost) -> None:
        self.cost = cost
        self._changed()

    # --- copying ------------------------------------------------------------------------------------------------------

    def to_copy(self, *, to_file: bool) -> CopyRequested | None:
        """Return the message that requests a copy of the pack; None if the pack is empty."""
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


_MIN_BUDGET, _MAX_BUDGET = 50, 1_000_000


def typed_budget(text: str) -> int | str:
    """Return the tokens typed, such as `4000`, `4,000` or `4k`; if they are not valid, a sentence that says why."""
    written = text.strip().lower().replace(",", "").replace("_", "").replace(" ", "")
    thousands = written.endswith("k")
    digits = written.removesuffix("k")
    if not (digits.isascii() and digits.isdigit()):
        return "A budget is a number of tokens, such as 4000 or 4k."
    tokens = int(digits[:9]) * (1_000 if thousands else 1)
    if _MIN_BUDGET <= tokens <= _MAX_BUDGET:
        return tokens
    return f"A budget is {_MIN_BUDGET} tokens at least and {_MAX_BUDGET:,} at most."


def next_budget(budget: int, steps: int) -> int:
    """Return the next larger (`steps` 1) or smaller (-1) of the `BUDGETS`, which need not include `budget`."""
    at = bisect_right(BUDGETS, budget) if steps > 0 else bisect_left(BUDGETS, budget) - 1
    return BUDGETS[max(0, min(at, len(BUDGETS) - 1))]
