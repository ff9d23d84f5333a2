"""The half of the Search tab that makes the pack: what is in it, how it is wanted, what one more would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.reactive import var
from textual.timer import Timer

from excerpt.kinds import Format, Scope, Strategy
from excerpt.pack.marks_file import Kept, Mark
from excerpt.settings import Settings
from excerpt.text.counted import counted
from excerpt.tui.budget import next_budget
from excerpt.tui.choices import Choices, History
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.messages import CopyRequested, CostKnown, MarksChanged, PackBuilt, Trouble
from excerpt.tui.turn import next_in_turn
from excerpt.tui.widgets.aside import Aside
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.pack_bar import PackBar

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Result, Span
    from excerpt.tui.packing import Packed, PackRequest

_SETTLED = 0.15
"""Seconds a selection stands before its exact cost is asked for: whoever moves on needs none."""

_SUFFIXES = {Format.MARKDOWN: ".md", Format.XML: ".xml", Format.JSON: ".json"}


class PackDesk(Vertical):
    """State: the choices made by hand and those before, scope, budget and format, the pack as it stands.

    The other half, `SearchPane`, says what was found and what is selected.
    """

    strategy: var[Strategy] = var(Strategy.AUTO, init=False)
    scope: var[Scope] = var(Scope.NEIGHBORS, init=False)
    budget: var[int] = var(4000, init=False)
    form: var[Format] = var(Format.MARKDOWN, init=False)
    result: var[Result | None] = var(None, init=False)
    packed: var[Packed | None] = var(None, init=False)
    """None while there is nothing to pack."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._settings = settings
        self._engine = engine
        self._history = History()
        self._pack_asked = 0
        self._pack_shown = 0
        self._request: PackRequest | None = None
        self._copy_waits: bool | None = None
        self._last_query = ""
        self._told_gone: frozenset[str] = frozenset()
        self._cost_asked = 0
        self._cost_shown = 0
        self._settling: Timer | None = None
        self.set_reactive(PackDesk.strategy, settings.search.strategy)
        self.set_reactive(PackDesk.scope, settings.pack.scope)
        self.set_reactive(PackDesk.budget, settings.pack.budget)
        self.set_reactive(PackDesk.form, settings.pack.format)

    def use_settings(self, settings: Settings) -> None:
        """Other settings hold from now on: what they say differently is on the screen at once."""
        before, self._settings = self._settings, settings
        if before.search.strategy is not settings.search.strategy:
            self.strategy = settings.search.strategy
        if before.pack == settings.pack:
            return
        if before.pack.scope is not settings.pack.scope:
            self.scope = settings.pack.scope
        if before.pack.budget != settings.pack.budget:
            self.budget = settings.pack.budget
        if before.pack.format is not settings.pack.format:
            self.form = settings.pack.format
        self.ask_pack()

    # --- what the other half says and does ----------------------------------------------------------------------------

    @property
    def selected(self) -> Hit | None:
        """The fragment selected in the list."""
        return self.query_one(HitList).selected

    @property
    def aside(self) -> Aside:
        """Where the context and the panels stand."""
        return self.query_one(Aside)

    @property
    def answered(self) -> bool:
        """Whether the hits shown are those of what was asked last."""
        raise NotImplementedError

    def show_fragment(self, fragment_id: str, spans: Sequence[Span]) -> None:
        """Show it in the context."""
        raise NotImplementedError

    def focus_query(self) -> None:
        raise NotImplementedError

    def marked_memories(self, *more: Mark) -> tuple[Memory, ...] | None:
        """Those among the marks and `more`; None while they are being read, after which the pack is asked for again."""
        raise NotImplementedError

    # --- the pack -----------------------------------------------------------------------------------------------------

    @property
    def choices(self) -> Choices:
        return self._history.now

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to take back."""
        return self._history.can_undo

    @property
    def pack_query(self) -> str:
        """The question of the pack. That of marks is the last one asked, which stays when the query is cleared."""
        return self._last_query if self.choices.marks or self.result is None else self.result.query

    @property
    def asked_all_answered(self) -> bool:
        """Whether list and pack are of what was asked last."""
        return self.answered and self._pack_asked == self._pack_shown

    @property
    def cost_is_known(self) -> bool:
        """Whether nothing is on the way about what the selected fragment costs."""
        return self._cost_asked == self._cost_shown

    def restore(self, kept: Kept) -> None:
        """Take up the marks of an earlier session."""
        self._history.restore(kept)
        self._last_query = self._last_query or kept.query
        self._keep()  # what was decided before the file was read
        if kept.marks:
            self._show_choices()
            self.ask_pack()

    def look_for_gone(self) -> None:
        """Marked fragments that were gone may have been found elsewhere."""
        if self.packed is not None and self.packed.gone:
            self.ask_pack()

    def ask_pack(self) -> None:
        """Build the pack that would be copied now: of the marks, else of the top hits."""
        self._pack_asked += 1
        result, choices = self.result, self.choices
        if result is not None and result.query != self._last_query:
            self._last_query = result.query
            if choices.marks:
                self._keep()
        if not choices.marks and not (result is not None and result.hits):
            self._engine.forget("pack")
            self._pack_shown = self._pack_asked
            self._request = None
            self.packed = None
            return
        memories = self.marked_memories()
        if memories is None:
            return
        from excerpt.tui.packing import PackRequest

        self._request = PackRequest(
            query=self.pack_query,
            strategy=self.strategy if choices.marks or result is None else result.strategy,
            hits=result.hits if result is not None else (),
            marks=choices.marks,
            settings=replace(self._settings.pack, budget=self.budget, scope=self.scope, format=self.form),
            wishes=choices.wishes(self.pack_query),
            ranked=choices.ranked,
            memories=memories,
        )
        self._engine.pack(self._pack_asked, self._request)

    @on(PackBuilt)
    def _pack_built(self, message: PackBuilt) -> None:
        message.stop()
        if message.number != self._pack_asked:
            return
        self._pack_shown = message.number
        if message.packed.moves:
            self._history.move(message.packed.moves)
            self._keep()
            self._show_choices()
        self.packed = message.packed
        if self._copy_waits is not None and self.answered:
            self._copy(to_file=self._copy_waits)
        gone = frozenset(mark.fragment for mark in message.packed.gone)
        if new := len(gone - self._told_gone):
            self.notify(f"{new} marked fragment{' is' if new == 1 else 's are'} no longer in the vault.")
        self._told_gone = gone

    @on(Trouble)
    def _pack_failed(self, message: Trouble) -> None:
        """There is no pack then; the message goes on to the screen, which says why."""
        if message.asked == "pack":
            self._pack_shown = self._pack_asked
            self._copy_waits = None
            self.packed = None
        elif message.asked == "cost":
            self._cost_shown = self._cost_asked

    def watch_packed(self) -> None:
        self.query_one(PackBar).pack = self.packed.result if self.packed is not None else None
        self.show_cost()

    def _show_choices(self) -> None:
        self.query_one(HitList).marked = self.choices.marked
        self.show_wanted()

    def show_wanted(self) -> None:
        """How the pack is wanted, in its bar."""
        bar = self.query_one(PackBar)
        bar.scope, bar.budget, bar.form = self.scope, self.budget, self.form
        bar.marked, bar.order = len(self.choices.marks), self.choices.order_name(self.pack_query)

    def watch_scope(self) -> None:
        self.show_wanted()
        self.ask_pack()

    def watch_budget(self) -> None:
        self.show_wanted()
        self.ask_pack()

    def watch_form(self) -> None:
        self.show_wanted()
        self.ask_pack()

    # --- what one more would cost -------------------------------------------------------------------------------------

    def show_cost(self) -> None:
        """What is known at once of the selected fragment; the exact cost follows when it stays selected."""
        self._cost_asked += 1
        if self._settling is not None:
            self._settling.stop()
        hit, packed = self.selected, self.packed
        bar = self.query_one(PackBar)
        if hit is None or packed is None or hit.fragment.id in self.choices.marked:
            self._engine.forget("cost")
            self._cost_shown = self._cost_asked
            bar.cost = None
            return
        from excerpt.tui.packing import Cost

        alone = not self.choices.marks
        inside = not alone and any(hit.fragment.id in pack.fragment_ids for pack in packed.result.packs)
        bar.cost = Cost(hit.fragment.id, 0 if inside else hit.fragment.tokens, alone)
        self._settling = self.set_timer(_SETTLED, self._ask_cost)

    def _ask_cost(self) -> None:
        hit = self.selected
        if hit is not None and self._request is not None:
            mark = mark_of(hit)
            request = replace(self._request, memories=self.marked_memories(mark) or ())
            self._engine.cost(self._cost_asked, request, mark)

    @on(CostKnown)
    def _cost_known(self, message: CostKnown) -> None:
        message.stop()
        if message.number == self._cost_asked:
            self._cost_shown = message.number
            self.query_one(PackBar).cost = message.cost

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, choices: Choices) -> None:
        if self._history.decide(choices):
            self._decided()

    def _decided(self) -> None:
        self._show_choices()
        self._keep()
        self.ask_pack()

    def _keep(self) -> None:
        self.post_message(MarksChanged(self.choices.kept(self._last_query)))

    def toggle_mark(self, move_on: int) -> None:
        hit = self.selected
        if hit is not None:
            self.decide(self.choices.toggling(mark_of(hit)))
            self.query_one(HitList).move(move_on)

    def action_mark(self) -> None:
        self.toggle_mark(1)

    @on(HitList.MarkClicked)
    def _mark_clicked(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self.toggle_mark(0)

    def action_clear_marks(self) -> None:
        self.decide(self.choices.unmarked())

    def action_undo(self) -> None:
        if self._history.undo():
            self._decided()
        else:
            self.notify("There is nothing to take back.")

    def action_order(self) -> None:
        self.decide(self.choices.next_order(self.pack_query))

    def action_scope(self) -> None:
        self.scope = next_in_turn(list(Scope), self.scope)

    def action_format(self) -> None:
        """The next format; that of a template only where the settings name one."""
        with_template = bool(self._settings.pack.template) or self._settings.pack.format is Format.TEMPLATE
        self.form = next_in_turn([each for each in Format if each is not Format.TEMPLATE or with_template], self.form)

    def action_budget(self, steps: int) -> None:
        self.budget = next_budget(self.budget, steps)

    # --- taking it along ----------------------------------------------------------------------------------------------

    def action_copy_pack(self) -> None:
        """Copy the pack of what was asked last: where it is still being built, as soon as it is."""
        self._copy(to_file=False)

    def action_save_pack(self) -> None:
        self._copy(to_file=True)

    def _copy(self, *, to_file: bool) -> None:
        self._copy_waits = None if self.asked_all_answered else to_file
        if self._copy_waits is not None:
            return
        packed = self.packed
        if packed is None or not packed.result.packs:
            self.notify("There is nothing to copy yet: the pack is empty.", severity="warning")
            return
        packs = packed.result.packs
        self.post_message(
            CopyRequested(
                text=packed.text,
                what=f"Pack of {counted(len(packs), 'passage')}",
                tokens=packed.tokens,
                notes=tuple((one.path, one.entry.fragment_id) for one in packs),
                pack=packed.result,
                suffix=_SUFFIXES.get(packed.result.format, ".txt"),
                to_file=to_file,
            )
        )


def mark_of(hit: Hit) -> Mark:
    return Mark(hit.fragment.id, hit.fragment.path, hit.spans)
