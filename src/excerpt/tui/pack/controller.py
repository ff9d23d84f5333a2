"""Control what goes into the pack: the user's marks and changes, scope, budget and format. Requests each pack."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from excerpt.base.kinds import Fill, Format, Scope, StopReason, Strategy, next_in_cycle
from excerpt.base.settings import PackSettings
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.pack.selection import NO_MARKS, NO_OVERRIDES, MarkedFragment, PackOverrides, SavedMarks
from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.event_loop import Failure
from excerpt.text.display import format_count, name_locations
from excerpt.text.tokens import parse_token_count
from excerpt.tui.common.debouncer import Debouncer, StartTimer
from excerpt.tui.messages import CopyRequested, CopyTarget

if TYPE_CHECKING:
    from excerpt.base.model import Hit, Memory, Pack, PackResult, Result
    from excerpt.pack.selection import MovedFragments
    from excerpt.search.usage import UsedHit
    from excerpt.service.packer import (
        AskCost,
        AskPack,
        BuiltPack,
        LeftOutRow,
        MarkCost,
        Packer,
        PackRequest,
        PackUpdate,
    )

BUDGETS = (250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 64_000, 128_000)
"""Token budgets through which keys step, from a short remark to the maximum of large models."""

_COST_DELAY_SECONDS = 0.15
"""Seconds that a fragment stays selected before its exact cost is requested, so that moving fast requests none."""

_SUFFIXES = {Format.MARKDOWN: ".md", Format.XML: ".xml", Format.JSON: ".json"}

MAX_UNDO_STEPS = 200
"""Maximum number of changes of the choices that can be undone."""


class PackChoices(Struct, frozen=True):
    """The user's marks, and the overrides: what the user has dropped, reordered or given another scope.

    Immutable: each method returns changed choices. `mark_overrides` apply to the packed marks, and stay when the query
    changes. While nothing is marked, the pack has the top hits of the query; then the overrides in `query_overrides`
    for this query apply. `ranked` says that passages are in the order of the scores or the user's own order, else they
    are in the order of the vault.
    """

    marks: tuple[MarkedFragment, ...] = ()
    mark_overrides: PackOverrides = NO_OVERRIDES
    query_overrides: Mapping[str, PackOverrides] = field(default_factory=dict)
    ranked: bool = True
    earlier_marks: SavedMarks = NO_MARKS
    """Marks of an earlier session. They are in no pack until the user restores them."""

    @property
    def marked_ids(self) -> frozenset[str]:
        """Ids of the marked fragments."""
        return frozenset(mark.fragment_id for mark in self.marks)

    def overrides(self, query: str) -> PackOverrides:
        """Return the overrides for the current pack, where `query` is the current query."""
        return self.mark_overrides if self.marks else self.query_overrides.get(query, NO_OVERRIDES)

    def to_saved_marks(self, query: str) -> SavedMarks:
        """Return what is saved for the next session: all marks, their overrides, and the query."""
        choices = self.with_earlier_marks()
        if not choices.marks:
            return NO_MARKS
        return SavedMarks(query or self.earlier_marks.query, choices.marks, choices.mark_overrides)

    def with_earlier_marks(self) -> PackChoices:
        """Return the choices with the marks of an earlier session restored, before the marks of this session."""
        marks = tuple({mark.fragment_id: mark for mark in (*self.earlier_marks.marks, *self.marks)}.values())
        overrides = self.mark_overrides if self.marks else self.earlier_marks.overrides
        return structs.replace(self, marks=marks, mark_overrides=overrides, earlier_marks=NO_MARKS)

    def without(self, fragment_ids: Collection[str]) -> PackChoices:
        """Return the choices without the marks of these fragments, and without the marks of an earlier session."""
        marks = tuple(mark for mark in self.marks if mark.fragment_id not in fragment_ids)
        overrides = self.mark_overrides if marks else NO_OVERRIDES
        return structs.replace(self, marks=marks, mark_overrides=overrides, earlier_marks=NO_MARKS)

    def with_toggled(self, mark: MarkedFragment) -> PackChoices:
        """Return the choices with `mark` added, or removed if its fragment_id is marked already.

        The fragment_id of the mark is no longer dropped.
        """
        marks = tuple(each for each in self.marks if each.fragment_id != mark.fragment_id)
        if len(marks) == len(self.marks):
            marks = (*marks, mark)
        if not marks:
            return self.without_marks()
        dropped = self.mark_overrides.dropped_ids - {mark.fragment_id}
        return structs.replace(
            self, marks=marks, mark_overrides=structs.replace(self.mark_overrides, dropped_ids=dropped)
        )

    def with_marks(self, marks: Iterable[MarkedFragment]) -> PackChoices:
        """Return the choices with `marks` added."""
        return structs.replace(self, marks=tuple({mark.fragment_id: mark for mark in (*self.marks, *marks)}.values()))

    def without_marks(self) -> PackChoices:
        """Return the choices without the marks of this session and their overrides."""
        return structs.replace(self, marks=(), mark_overrides=NO_OVERRIDES)

    def with_dropped(self, query: str, fragment_ids: Collection[str]) -> PackChoices:
        """Return the choices with these fragments dropped from the pack of `query`; of a pack of marks, unmarked."""
        if self.marks:
            marks = tuple(mark for mark in self.marks if mark.fragment_id not in fragment_ids)
            return structs.replace(self, marks=marks) if marks else self.without_marks()
        return self._with_overrides(query, self.overrides(query).with_dropped(fragment_ids))

    def with_restored(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        """Return the choices with these fragments no longer dropped from the pack of `query`."""
        overrides = self.overrides(query)
        return self._with_overrides(
            query, structs.replace(overrides, dropped_ids=overrides.dropped_ids.difference(fragment_ids))
        )

    def with_scope(self, query: str, fragment_ids: Iterable[str], scope: Scope) -> PackChoices:
        """Return the choices with their own scope for these fragments."""
        return self._with_overrides(query, self.overrides(query).with_scope(fragment_ids, scope))

    def with_order(self, query: str, fragment_ids: Iterable[str]) -> PackChoices:
        """Return the choices with the passages of these fragments first, in this order; others follow as before."""
        ids = tuple(fragment_ids)
        overrides = self.overrides(query)
        other_ids = (each for each in overrides.ordered_ids if each not in ids)
        return structs.replace(self, ranked=True)._with_overrides(query, overrides.with_order((*ids, *other_ids)))

    def with_next_order(self, query: str) -> PackChoices:
        """Return the choices with the next order of passages.

        The user's own order is followed by the order of the scores, and then by vault order and scores in turn.
        """
        overrides = self.overrides(query)
        if self.ranked and overrides.ordered_ids:
            return self._with_overrides(query, overrides.with_order(()))
        return structs.replace(self, ranked=not self.ranked)

    def order_name(self, query: str) -> str:
        """Return the name of the passages' order: `vault order`, `own order`, or "" for the order of the scores."""
        if not self.ranked:
            return "vault order"
        return "own order" if self.overrides(query).ordered_ids else ""

    def with_current_ids(self, moves: MovedFragments) -> PackChoices:
        """Return the choices with the current ids of fragments whose ids an edit has changed."""
        return structs.replace(
            self, marks=moves.update_marks(self.marks), mark_overrides=moves.update_overrides(self.mark_overrides)
        )

    def _with_overrides(self, query: str, overrides: PackOverrides) -> PackChoices:
        if self.marks:
            return structs.replace(self, mark_overrides=overrides)
        return structs.replace(self, query_overrides={**self.query_overrides, query: overrides})


class ChoiceHistory:
    """The user's current choices for the pack, with earlier ones to undo to and undone ones to redo."""

    def __init__(self) -> None:
        self.current = PackChoices()
        self._undo_stack: list[PackChoices] = []
        self._redo_stack: list[PackChoices] = []

    def replace_choices(self, choices: PackChoices) -> bool:
        """Replace the current choices, so that undo restores them; return False if `choices` are the same."""
        if choices == self.current:
            return False
        self._undo_stack, self._redo_stack = [*self._undo_stack[-MAX_UNDO_STEPS + 1 :], self.current], []
        self.current = choices
        return True

    @property
    def can_undo(self) -> bool:
        return bool(self._undo_stack)

    @property
    def can_redo(self) -> bool:
        return bool(self._redo_stack)

    def undo(self) -> bool:
        """Restore the previous choices; return False if there are none."""
        if not self._undo_stack:
            return False
        self._redo_stack.append(self.current)
        self.current = self._undo_stack.pop()
        return True

    def redo(self) -> bool:
        """Restore the choices that were undone last; return False if there are none."""
        if not self._redo_stack:
            return False
        self._undo_stack.append(self.current)
        self.current = self._redo_stack.pop()
        return True

    def update_fragment_ids(self, moves: MovedFragments) -> None:
        """Replace changed ids of fragments in all choices, the undone ones too. Undo does not revert this."""
        self.current = self.current.with_current_ids(moves)
        self._undo_stack = [each.with_current_ids(moves) for each in self._undo_stack]
        self._redo_stack = [each.with_current_ids(moves) for each in self._redo_stack]

    def load_saved_marks(self, saved_marks: SavedMarks) -> None:
        """Add the marks of an earlier session to all choices, so that undo does not remove these marks."""
        self.current = structs.replace(self.current, earlier_marks=saved_marks)
        self._undo_stack = [structs.replace(each, earlier_marks=saved_marks) for each in self._undo_stack]
        self._redo_stack = [structs.replace(each, earlier_marks=saved_marks) for each in self._redo_stack]


class PackController:
    """The state of the pack: the user's choices, the newest pack, and the cost of marking one more fragment.

    `start_timer` runs a function once after a number of seconds. `selected_hit` returns the hit selected in the list.
    `marked_memories` returns the memories among some marks, or None while memories are being read; the caller requests
    the pack again afterwards. `on_change` is called when the pack or the cost has changed, `on_build` after each pack,
    `on_failure` if a pack could not be built, `on_save` with the marks to save for the next session,
    `on_unmark` with the ids of fragments that were unmarked one by one or by undo, not all at once for a new pack.
    """

    def __init__(
        self,
        engine: QuestionQueue,
        open_packer: Callable[[], Packer],
        start_timer: StartTimer,
        settings: PackSettings,
        *,
        selected_hit: Callable[[], Hit | None],
        marked_memories: Callable[[Sequence[MarkedFragment]], tuple[Memory, ...] | None],
        on_change: Callable[[], object],
        on_build: Callable[[], object],
        on_failure: Callable[[], object],
        on_highlights: Callable[[Result], object],
        on_save: Callable[[SavedMarks], object],
        on_unmark: Callable[[frozenset[str]], object],
    ) -> None:
        self.pack_settings = settings
        """The settings of packs; scope, budget, format and fill have the values that the user has set on the screen."""
        self.newest_pack: BuiltPack | None = None
        """The newest pack; None if there is nothing to pack."""
        self.cost: MarkCost | None = None
        """Tokens that marking the selected fragment would add; None if that fragment is marked already."""
        self.query = ""
        """The query of the pack: the last query searched, even if the query bar is empty now."""
        self._engine = engine
        self._open_packer = open_packer
        self._settings = settings
        self._selected_hit = selected_hit
        self._marked_memories = marked_memories
        self._on_change = on_change
        self._on_build = on_build
        self._on_failure = on_failure
        self._on_highlights = on_highlights
        self._on_save = on_save
        self._on_unmark = on_unmark
        self._history = ChoiceHistory()
        self._request: PackRequest | None = None
        self._question: AskPack | None = None
        """The newest question for a pack."""
        self._awaits_memories = False
        self._cost_timer = Debouncer(start_timer)
        self._reported_missing: frozenset[str] = frozenset()
        self._listed_ids: frozenset[str] = frozenset()
        self._is_built_from_marks = False
        """Whether the newest pack was requested with marks, not with the top hits."""

    @cached_property
    def _packer(self) -> Packer:
        return self._open_packer()

    @property
    def choices(self) -> PackChoices:
        """The user's current choices."""
        return self._history.current

    @property
    def can_undo(self) -> bool:
        """Whether there is a change of the choices to undo."""
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone change of the choices to redo."""
        return self._history.can_redo

    @property
    def order(self) -> str:
        """Order of the passages: `vault order`, `own order` (set by the user), or "" for the order of the scores."""
        return self.choices.order_name(self.query)

    def load_saved_marks(self, saved_marks: SavedMarks) -> None:
        """Load the marks of an earlier session, which the pack does not include until the user restores them."""
        self._history.load_saved_marks(saved_marks)
        self.save_marks()

    @property
    def earlier_or_unlisted_marks(self) -> tuple[MarkedFragment, ...]:
        """Marks of an earlier session, and marks of this session whose fragments are not in the list of hits.

        Marked memories are not included.
        """
        choices = self.choices
        marked, saved = choices.marked_ids, choices.earlier_marks.marks
        elsewhere = (mark for mark in choices.marks if mark.fragment_id not in self._listed_ids)
        return (
            *(mark for mark in saved if mark.fragment_id not in marked),
            *(mark for mark in elsewhere if memory_id_of(mark.path) is None),
        )

    def restore_marks(self) -> bool:
        """Restore the marks of an earlier session, so that the pack includes them; return False if nothing changed."""
        self.query = self.query or self.choices.earlier_marks.query
        return self.replace_choices(self.choices.with_earlier_marks())

    def drop_earlier(self) -> bool:
        """Remove the `earlier_or_unlisted_marks`; return False if nothing changed."""
        return self.replace_choices(self.choices.without({mark.fragment_id for mark in self.earlier_or_unlisted_marks}))

    @property
    def packed_fragments(self) -> frozenset[str]:
        """Ids of the fragments in the pack.

        Empty while the pack is still built from the best hits although something is marked, or the reverse.
        """
        if self.newest_pack is None or self._is_built_from_marks != bool(self.choices.marks):
            return frozenset()
        return frozenset(each for pack in self.newest_pack.result.passages for each in pack.fragment_ids)

    def save_marks(self) -> None:
        """Call `on_save` with the marks to save for the next session."""
        self._on_save(self.choices.to_saved_marks(self.query))

    def replace_choices(self, choices: PackChoices) -> bool:
        """Replace the current choices, so that undo restores them; return False if `choices` are the same."""
        decided = self._history.replace_choices(choices)
        if decided:
            self.save_marks()
        return decided

    def undo(self) -> bool:
        """Undo the last change of the choices; return False if there is none."""
        marked = self.choices.marked_ids
        undone = self._history.undo()
        if undone:
            self.save_marks()
            self._report_unmarked(marked)
        return undone

    def redo(self) -> bool:
        """Redo the change of the choices that was undone last; return False if there is none."""
        redone = self._history.redo()
        if redone:
            self.save_marks()
        return redone

    def toggle_mark(self, mark: MarkedFragment) -> bool:
        """Add `mark`, or remove the mark of its fragment; return True, as the choices change."""
        marked = self.choices.marked_ids
        is_changed = self.replace_choices(self.choices.with_toggled(mark))
        self._report_unmarked(marked)
        return is_changed

    def _report_unmarked(self, marked_before: frozenset[str]) -> None:
        if unmarked := marked_before - self.choices.marked_ids:
            self._on_unmark(unmarked)

    def drop_or_restore(self, row: Pack | LeftOutRow) -> bool:
        """Drop a row of the pack panel from the pack, or restore a dropped row; return False if nothing changed.

        A marked row is unmarked, so that the pack without its last mark is that of the query again.
        """
        from excerpt.base.model import Pack

        choices, fragment_ids = self.choices, row.fragment_ids
        if not isinstance(row, Pack) and row.is_dropped:
            return self.replace_choices(choices.with_restored(self.query, fragment_ids))
        if not isinstance(row, Pack) and not row.line_start:
            return self.replace_choices(choices.with_toggled(MarkedFragment(fragment_ids[0], row.path)))
        is_changed = self.replace_choices(choices.with_dropped(self.query, fragment_ids))
        self._report_unmarked(choices.marked_ids)
        return is_changed

    def move_pack(self, row: int, steps: int) -> bool:
        """Move the passage in row `row`, from 0, down by `steps` rows, up if negative; return False if impossible."""
        entries = (
            [pack.entry.fragment_id for pack in self.newest_pack.result.passages]
            if self.newest_pack is not None
            else []
        )
        target = row + steps
        if not (row < len(entries) and 0 <= target < len(entries)):
            return False
        entries.insert(target, entries.pop(row))
        return self.replace_choices(self.choices.with_order(self.query, entries))

    def scope_of(self, pack: Pack) -> Scope:
        """Return the scope of this passage of the pack: its own, or that of all passages."""
        return dict(self.choices.overrides(self.query).scopes).get(pack.entry.fragment_id, self.pack_settings.scope)

    def use_scope(self, pack: Pack, scope: Scope) -> bool:
        """Use a scope for this passage of the pack alone; return False if nothing changed."""
        return scope is not self.scope_of(pack) and self.replace_choices(
            self.choices.with_scope(self.query, pack.fragment_ids, scope)
        )

    def apply_settings(self, settings: PackSettings) -> bool:
        """Use `settings` from now on; return False if they are the same as before.

        A scope, budget, format or fill that the user has set by a key stays, unless that setting has changed.
        """
        old, self._settings, current = self._settings, settings, self.pack_settings
        self.pack_settings = replace(
            settings,
            scope=current.scope if old.scope is settings.scope else settings.scope,
            budget=current.budget if old.budget == settings.budget else settings.budget,
            format=current.format if old.format is settings.format else settings.format,
            fill=current.fill if old.fill is settings.fill else settings.fill,
        )
        return old != settings

    def change_settings(
        self,
        *,
        scope: Scope | None = None,
        budget: int | None = None,
        pack_format: Format | None = None,
        fill: Fill | None = None,
    ) -> bool:
        """Change the scope, budget, format or fill of the pack; return False if the new values are the same."""
        old, current = self.pack_settings, self.pack_settings
        self.pack_settings = replace(
            current,
            scope=scope or current.scope,
            budget=budget or current.budget,
            format=pack_format or current.format,
            fill=fill or current.fill,
        )
        return self.pack_settings != old

    def next_fill(self) -> bool:
        """Fill the budget if the pack stops when it has enough, or the reverse; return True, as the settings change."""
        return self.change_settings(fill=next_in_cycle(list(Fill), self.pack_settings.fill))

    def next_format(self) -> bool:
        """Use the next format; return False if nothing changed. A template format needs a template in the settings."""
        with_template = bool(self._settings.template) or self._settings.format is Format.TEMPLATE
        formats = [each for each in Format if each is not Format.TEMPLATE or with_template]
        return self.change_settings(pack_format=next_in_cycle(formats, self.pack_settings.format))

    @property
    def is_answered(self) -> bool:
        """Whether the newest request for a pack has been answered."""
        return not self._awaits_memories and not self._engine.is_waiting("pack")

    @property
    def is_cost_exact(self) -> bool:
        """Whether no request for the cost of the selected fragment is pending."""
        waits = self._engine.is_waiting
        return not (self._cost_timer.is_pending or waits("cost") or waits("pack"))

    @property
    def is_empty(self) -> bool:
        """Whether the pack has no passages."""
        return self.newest_pack is None or not self.newest_pack.result.passages

    @property
    def has_no_answer(self) -> bool:
        """Whether the pack is empty because no hit is likely to answer the query."""
        return self.newest_pack is not None and self.newest_pack.result.stopped is StopReason.NO_ANSWER

    def ask_pack(self, result: Result | None, strategy: Strategy, unhighlighted: Result | None = None) -> None:
        """Request the pack of the marked fragments, or if nothing is marked, of the top hits of `result`.

        `unhighlighted` is the engine's result with the same hits, if not all of them have highlights yet.
        """
        marks = self.choices.marks
        if result is not None and result.query != self.query:
            self.query = result.query
            if marks:
                self.save_marks()
        hits = result.hits if result is not None else ()
        self._listed_ids = frozenset(hit.fragment.id for hit in hits)
        # Nothing is requested without an open index; the caller asks again once it is open.
        memories = self._marked_memories(marks) if self._engine.is_open else None
        self._awaits_memories = bool(marks) and memories is None
        if memories is None or not (marks or hits):
            self._engine.cancel("pack")
            if memories is not None:
                self._request = None
                self._replace_pack(None)
            return
        from excerpt.service.packer import AskPack, PackRequest

        self._request = PackRequest(
            queries=(self.query,) if self.query else (),
            strategy=strategy if marks or result is None else result.strategy,
            hits=hits,
            marks=marks,
            settings=self.pack_settings,
            overrides=self.choices.overrides(self.query),
            ranked=self.choices.ranked,
            memories=memories,
            confidence=result.confidence if result is not None else None,
            notice=result.notice if result is not None else "",
            words=result.words if result is not None else (),
            not_found=result.not_found if result is not None else (),
        )
        self._question = AskPack(self._packer, self._request, self._cost_question(), unhighlighted)
        self._engine.ask(self._question, self._handle_pack, self._handle_pack_failure)

    def preview_budget(self, budget: int, on_answer: Callable[[PackResult], object]) -> None:
        """Call `on_answer` with the pack of another budget, unless there is nothing to pack."""
        if self._request is not None:
            request = structs.replace(self._request, settings=replace(self.pack_settings, budget=budget))
            self._ask_pack_results((request,), lambda results: on_answer(results[0]))

    def preview_scopes(self, pack: Pack | None, on_answer: Callable[[Mapping[Scope, PackResult]], object]) -> None:
        """Call `on_answer` with the pack of each scope, unless there is nothing to pack.

        The scope applies to `pack` alone, one of the passages, or to all passages if `pack` is None.
        """
        if self._request is None:
            return
        requests = tuple(
            structs.replace(self._request, settings=replace(self.pack_settings, scope=scope))
            if pack is None
            else structs.replace(
                self._request,
                overrides=self.choices.with_scope(self.query, pack.fragment_ids, scope).overrides(self.query),
            )
            for scope in Scope
        )
        self._ask_pack_results(requests, lambda results: on_answer(dict(zip(Scope, results, strict=True))))

    def _ask_pack_results(
        self, requests: tuple[PackRequest, ...], on_answer: Callable[[tuple[PackResult, ...]], object]
    ) -> None:
        from excerpt.service.packer import AskPackResults

        self._engine.ask(AskPackResults(self._packer, requests), on_answer)

    @property
    def lacks_memories(self) -> bool:
        """Whether the newest request for a pack lacks memories that are marked."""
        memories = self._marked_memories(self.choices.marks)
        return bool(memories) and (self._request is None or self._request.memories != memories)

    def _handle_pack_failure(self, _failure: Failure) -> None:
        self._replace_pack(None)
        if self._question is not None and self._question.result is not None:
            from excerpt.service.questions import AskHighlights

            self._engine.ask(AskHighlights(self._question.result), self._on_highlights)
        self._on_failure()

    def _handle_pack(self, answer: PackUpdate) -> None:
        if answer.result is not None and self._request is not None:
            from excerpt.service.packer import with_highlights

            self._request = with_highlights(self._request, answer.result)
            self._on_highlights(answer.result)
        packed = answer.pack
        if packed.moves:
            self._history.update_fragment_ids(packed.moves)
            self.save_marks()
        self._is_built_from_marks = self._request is not None and bool(self._request.marks)
        self._replace_pack(packed, answer.cost)
        self._on_build()

    def _replace_pack(self, packed: BuiltPack | None, cost: MarkCost | None = None) -> None:
        """Use another pack, and `cost` if it is the cost of the selected fragment."""
        is_new = packed != self.newest_pack
        self.newest_pack = packed
        if is_new:
            self.update_cost()
        is_wanted = cost is not None and self.cost is not None and cost.fragment_id == self.cost.fragment_id
        if is_wanted:
            self._cost_timer.stop()
            self.cost = cost
        if is_new or is_wanted:
            self._on_change()

    def count_newly_missing(self) -> int:
        """Return how many marked fragments have disappeared from the vault since the last call."""
        missing = (
            frozenset(mark.fragment_id for mark in self.newest_pack.missing)
            if self.newest_pack is not None
            else frozenset()
        )
        new, self._reported_missing = missing - self._reported_missing, missing
        return len(new)

    def update_cost(self) -> None:
        """Set `cost` to an estimate for the selected fragment; request the exact cost if it stays selected."""
        hit, packed = self._selected_hit(), self.newest_pack
        self._cost_timer.stop()
        self._engine.cancel("cost")
        if hit is None or packed is None or hit.fragment.id in self.choices.marked_ids:
            self.cost = None
            return
        from excerpt.service.packer import MarkCost

        is_alone = not self.choices.marks
        is_packed = not is_alone and any(hit.fragment.id in pack.fragment_ids for pack in packed.result.passages)
        self.cost = MarkCost(hit.fragment.id, 0 if is_packed else hit.fragment.tokens, is_alone)
        asked = self._question.cost_question if self._question is not None and self._engine.is_waiting("pack") else None
        if asked is None or asked.mark.fragment_id != hit.fragment.id:  # else its cost comes with the pack
            self._cost_timer.schedule(_COST_DELAY_SECONDS, self._ask_cost)

    def _cost_question(self) -> AskCost | None:
        """Return the question for the cost of the selected fragment; None if it is marked or nothing is selected."""
        hit = self._selected_hit()
        if hit is None or self._request is None or hit.fragment.id in self.choices.marked_ids:
            return None
        from excerpt.service.packer import AskCost

        mark = mark_hit(hit)
        memories = self._marked_memories((*self.choices.marks, mark))
        return AskCost(self._packer, structs.replace(self._request, memories=memories or ()), mark)

    def _ask_cost(self) -> None:
        if (question := self._cost_question()) is not None:
            self._engine.ask(question, self._handle_cost)

    def _handle_cost(self, cost: MarkCost) -> None:
        self.cost = cost
        self._on_change()

    def copy_request(self, target: CopyTarget, used: tuple[UsedHit, ...] = ()) -> CopyRequested | None:
        """Return the message that requests to copy the pack to `target`; None if the pack is empty.

        `used` are the hits that are marked. A pack of the top hits has no used hits, because the user did not choose
        them.
        """
        packed = self.newest_pack
        if packed is None or not packed.result.passages:
            return None
        what = format_count(len(packed.result.passages), "passage")
        if self._is_built_from_marks and packed.result.over_budget:
            left_out = [(left.path, left.line_start, left.line_end) for left in packed.result.over_budget]
            what += f" without {len(left_out)} marked, over the budget ({name_locations(left_out)})"
        return CopyRequested(
            text=packed.text,
            what=what,
            tokens=packed.result.tokens,
            used=used if self._is_built_from_marks else (),
            pack=packed.result,
            suffix=_SUFFIXES.get(packed.result.format, ".txt"),
            target=target,
        )


def mark_hit(hit: Hit) -> MarkedFragment:
    """Return a mark for the fragment of a hit, with its matched words."""
    return MarkedFragment(hit.fragment.id, hit.fragment.path, hit.spans)


_MIN_BUDGET_TOKENS, _MAX_BUDGET_TOKENS = 50, 1_000_000


def parse_budget(text: str) -> int | str:
    """Return the number of tokens in `text`, such as `4000`, `4,000` or `4k`, or a sentence why `text` is invalid."""
    tokens = parse_token_count(text)
    if tokens is None:
        return "A budget is a number of tokens, such as 4000 or 4k."
    if _MIN_BUDGET_TOKENS <= tokens <= _MAX_BUDGET_TOKENS:
        return tokens
    return f"A budget is between {_MIN_BUDGET_TOKENS} and {_MAX_BUDGET_TOKENS:,} tokens."


def next_budget(budget: int, steps: int) -> int:
    """Return the next larger (`steps` 1) or smaller (-1) one of `BUDGETS`. `budget` may be any number of tokens."""
    index = bisect_right(BUDGETS, budget) if steps > 0 else bisect_left(BUDGETS, budget) - 1
    return BUDGETS[max(0, min(index, len(BUDGETS) - 1))]
