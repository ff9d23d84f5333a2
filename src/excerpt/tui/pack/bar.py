"""The bar of the pack: its passages and tokens, what one more mark costs, and the keys that change or copy the pack."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input

from excerpt.base.kinds import Fill, Format, Scope, StopReason
from excerpt.base.settings import PackSettings
from excerpt.text.display import format_count
from excerpt.tui.common.strips import click_style
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import CopyRequested, CopyTarget, PartClicked, RememberRequested
from excerpt.tui.pack.controller import PackController, next_budget
from excerpt.tui.pack.labels import fitted_label, needs_label, not_found_label, scope_label, stop_label

if TYPE_CHECKING:
    from excerpt.base.model import PackResult
    from excerpt.service.packer import MarkCost
    from excerpt.tui.pack.dialogs import BudgetDialogResult

GAUGE_CELLS = 12
"""Width of the gauge in cells."""
_PARTS = ("options", "stop", "needs", "tokens", "order", "values", "gauge")
"""Parts of the bar besides passages and tokens, the most important first. The first that does not fit ends the bar."""
_COST_CELLS = 16
"""Cells kept free for what one more mark would do, so that the bar does not change with each row."""
_ACTIONS = {"scope": "scope", "budget": "type_budget", "format": "format"}
"""The actions of scope, budget and format by the ids of their keys."""


class PackState(Struct, frozen=True):
    """The state by which actions on the pack are enabled or disabled.

    `has_pack`: there is a pack to copy, or one is being built. `has_no_answer`: the pack is empty because no hit is
    likely to answer. `has_marks`: a fragment is marked. `can_undo` and `can_redo`: a choice for the pack can be undone
    or redone. `has_earlier_marks`: there are marks of fragments that are not listed.
    """

    has_pack: bool = False
    has_no_answer: bool = False
    has_marks: bool = False
    can_undo: bool = False
    can_redo: bool = False
    has_earlier_marks: bool = False


class PackBar(Widget):
    """A bar that shows the state of the pack, and at its right end what marking the selected fragment would do.

    A click on the scope, the budget or the format changes it, as the key beside it does. While the user types, the keys
    follow escape. Example: `2 passages · 518/4,000 · 2 marked  s scope  b budget  f format         mark: +211`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "pack--strong",
        "pack--key",
        "pack--full",
        "pack--empty",
        "pack--over",
        "pack--ghost",
    }

    DEFAULT_CSS = """
    PackBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-soft;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .pack--strong { color: $foreground; text-style: bold; }
        & > .pack--key { color: $accent; text-style: bold; }
        & > .pack--full { color: $secondary; }
        & > .pack--ghost { color: $accent; }
        & > .pack--empty { color: $text-faint; }
        & > .pack--over { color: $warning; }
    }
    """

    pack: reactive[PackResult | None] = reactive(None)
    """The newest pack; None if there is nothing to pack."""
    fitted: reactive[str] = reactive("")
    """How many passages have the whole section or note that was asked for: `1 of 4 fit`; "" if all have it."""
    mark_count: reactive[int] = reactive(0)
    """Number of marked fragments."""
    pack_settings: reactive[PackSettings] = reactive(PackSettings())
    """The settings of packs; scope, budget, format and fill have the values that the user has set on the screen."""
    order_name: reactive[str] = reactive("")
    """Order of the passages: `vault order`, `own order` (set by the user), or "" for the order of the scores."""
    follows_escape: reactive[bool] = reactive(True)
    """Whether the keys of scope, budget and format work only after escape, because letters are typed into a field."""
    cost: reactive[MarkCost | None] = reactive(None)
    """Tokens that marking the selected fragment would add; None if that fragment is marked already."""

    def __init__(
        self,
        controller: PackController,
        on_decision: Callable[[bool], object],
        *,
        open_panel: Callable[[], object],
        copy_request: Callable[[CopyTarget], CopyRequested | None],
        is_up_to_date: Callable[[], bool],
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Prepare the bar.

        `on_decision` is called after a key that changes the pack: with True if something changed. `open_panel` opens
        the pack panel. `copy_request` returns the message that requests to copy the pack, None if the pack is empty.
        `is_up_to_date` returns whether the newest query and its pack are answered.
        """
        super().__init__(id=id)
        self._controller = controller
        self._on_decision = on_decision
        self._open_panel = open_panel
        self._copy_request = copy_request
        self._is_up_to_date = is_up_to_date
        self._pending_copy: CopyTarget | None = None
        """Where the copy of the pack goes that waits for an answer; None if no copy waits."""

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._update_keys)

    def _update_keys(self) -> None:
        self.follows_escape = isinstance(self.screen.focused, Input)

    # --- calls from the pane ------------------------------------------------------------------------------------------

    def show_choices(self) -> None:
        """Show the number of marks, and the format, scope, budget and order of the pack."""
        controller = self._controller
        self.pack_settings, self.order_name = controller.pack_settings, controller.order
        self.mark_count = len(controller.choices.marks)

    def show_pack(self) -> None:
        """Show the newest pack, and what one more mark costs."""
        newest = self._controller.newest_pack
        self.pack, self.cost = newest.result if newest is not None else None, self._controller.cost
        self.fitted = fitted_label(newest.result, self._controller.scope_of) if newest is not None else ""

    def handle_built_pack(self) -> None:
        """Copy the pack if a copy waits for it, and say how many marked passages are gone from the vault."""
        if self._pending_copy is not None:
            self.copy(self._pending_copy)
        if count := self._controller.count_newly_missing():
            self.notify(f"{count} marked passage{' is' if count == 1 else 's are'} no longer in the vault.")

    def cancel_copy(self) -> None:
        """Cancel the copy that waits for a pack, because the pack could not be built."""
        self._pending_copy = None

    def copy(self, target: CopyTarget) -> None:
        """Copy the pack of the newest query to `target`; wait if that pack is still being built."""
        self._pending_copy = None if self._is_up_to_date() else target
        if self._pending_copy is not None:
            return
        request = self._copy_request(target)
        if request is None:
            self._notify_empty("print" if target is CopyTarget.STDOUT else "copy")
        else:
            self.post_message(request)

    def _notify_empty(self, verb: str) -> None:
        reason = empty_pack_reason(verb, has_no_answer=self._controller.has_no_answer)
        self.notify(reason, severity="warning", markup=False)

    # --- actions, and why they are disabled ---------------------------------------------------------------------------

    @property
    def key_state(self) -> PackState:
        """The state by which actions of the bar are enabled or disabled."""
        pack, is_up_to_date = self._controller, self._is_up_to_date()
        return PackState(
            has_pack=not is_up_to_date or not pack.is_empty,
            has_no_answer=is_up_to_date and pack.has_no_answer,
            has_marks=bool(pack.choices.marks),
            can_undo=pack.can_undo,
            can_redo=pack.can_redo,
            has_earlier_marks=bool(pack.earlier_or_unlisted_marks),
        )

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - as others have it
        """Return why an action of the bar is disabled, as a sentence; "" if the action is enabled."""
        return pack_bar_disabled_reason(action, self.key_state)

    def action_copy_pack(self) -> None:
        """Copy the pack of the newest query; wait if that pack is still being built."""
        self.copy(CopyTarget.CLIPBOARD)

    def action_save_pack(self) -> None:
        self.copy(CopyTarget.FILE)

    def action_remember_pack(self) -> None:
        """Store the text of the pack as a memory. The text names its sources, so the memory has none."""
        pack = self._controller
        if pack.newest_pack is None or pack.is_empty:
            self._notify_empty("remember")
        else:
            self.post_message(RememberRequested(None, pack.query, pack.newest_pack.text))

    def action_clear_marks(self) -> None:
        self._on_decision(self._controller.replace_choices(self._controller.choices.without_marks()))

    def action_undo(self) -> None:
        self._on_decision(self._controller.undo())

    def action_redo(self) -> None:
        self._on_decision(self._controller.redo())

    def action_show_earlier(self) -> None:
        """Restore the marks of an earlier session, and open the pack panel."""
        self._on_decision(self._controller.restore_marks())
        self._open_panel()

    def action_drop_earlier(self) -> None:
        self._on_decision(self._controller.drop_earlier())

    def action_order(self) -> None:
        pack = self._controller
        self._on_decision(pack.replace_choices(pack.choices.with_next_order(pack.query)))

    def action_scope(self) -> None:
        """Open a dialog to choose the scope of all passages."""
        from excerpt.tui.pack.dialogs import ScopeDialog

        def use(scope: Scope | None) -> None:
            if scope is not None:
                self._on_decision(self._controller.change_settings(scope=scope))

        self.app.push_screen(ScopeDialog(self._controller), use)

    def action_fill(self) -> None:
        self._on_decision(self._controller.next_fill())
        fills = self._controller.pack_settings.fill is Fill.BUDGET
        self.notify(
            "From now on, packs fill the budget."
            if fills
            else "From now on, packs end when they probably have the answer."
        )

    def action_format(self) -> None:
        self._on_decision(self._controller.next_format())

    def action_budget(self, steps: int) -> None:
        budget = next_budget(self._controller.pack_settings.budget, steps)
        self._on_decision(self._controller.change_settings(budget=budget))

    def action_type_budget(self) -> None:
        """Open a dialog to type the token budget; copy the pack afterwards if the user asks for that."""
        from excerpt.tui.pack.dialogs import BudgetDialog

        def use(typed: BudgetDialogResult | None) -> None:
            if typed is not None:
                self._on_decision(self._controller.change_settings(budget=typed.budget_tokens))
                if typed.copies_pack:
                    self.action_copy_pack()

        self.app.push_screen(BudgetDialog(self._controller), use)

    # --- drawing ------------------------------------------------------------------------------------------------------

    @property
    def link_style(self) -> Style:
        """No style: options have the colour of the bar, which Textual's colour of links would replace."""
        return Style.null()

    def action_click(self, action: str) -> None:
        self.post_message(PartClicked(action))

    def render(self) -> Text:
        width, shown, left = self.scrollable_content_region.width, set[str](), self._render_parts((), "")
        not_found = self._not_found_label(width)
        for part in _PARTS:
            longer = self._render_parts({*shown, part}, not_found)
            is_short = part == "options" or (part == "stop" and (bool(not_found) or self._is_stop_unusual))
            if longer.cell_len + (0 if is_short else _COST_CELLS + 1) > width:
                break  # a shorter part in its place would make the bar change with each row
            shown.add(part)
            left = longer
        right = Text(self._cost_label(width - left.cell_len - 1), self._component_style("ghost"))
        return Text.assemble(left, " " * (width - left.cell_len - right.cell_len), right)

    def _not_found_label(self, width: int) -> str:
        """Return the parts of the question that no passage covers, in the room that the options leave of `width`."""
        room = width - self._render_parts({"options"}, "").cell_len - len(" · ")
        return not_found_label(self.pack, room) if self.pack is not None else ""

    @property
    def _is_stop_unusual(self) -> bool:
        return self.mark_count > 0 or (self.pack is not None and self.pack.stopped is not StopReason.ENOUGH)

    def _render_parts(self, shown: Collection[str], not_found: str) -> Text:
        """Return the bar without its right end, with the parts named in `shown`.

        `not_found` is shown in place of why the pack ends, if it is not "".
        """
        text = Text()
        self._append_size(text, shown)
        if "stop" in shown and not_found:
            text.append(f" · {not_found}")
        elif "stop" in shown and self.pack is not None:
            stop = stop_label(self.pack, self.mark_count)
            style = self._component_style("over") if self.pack.stopped is StopReason.BUDGET else ""
            text.append(" · ").append(stop + (needs_label(self.pack) if "needs" in shown else ""), style)
        if "order" in shown and self.order_name:
            text.append(f" · {self.order_name}")
        if "options" in shown:
            self._append_options(text, has_values="values" in shown)
        return text

    def _append_options(self, text: Text, *, has_values: bool) -> None:
        """Append scope, budget and format to `text`, each with its key; with `has_values` also scope and format."""
        settings, key_style = self.pack_settings, self._component_style("key")
        pack_format = f": {settings.format}" if has_values or settings.format is not Format.MARKDOWN else ""
        scope = ", ".join(filter(None, (scope_label(settings.scope) if has_values else "", self.fitted)))
        names = {
            "scope": f"scope: {scope}" if scope else "scope",
            "budget": "budget",
            "format": f"format{pack_format}",
        }
        escape = key_sign("back")
        text.append("  ").append(escape if self.follows_escape else " " * len(escape), key_style)
        for id_, name in names.items():
            text.append(" " if id_ == "scope" else "  ").append(key_sign(id_), key_style)
            text.append(" ").append(name, click_style(f"click('{_ACTIONS[id_]}')"))

    def _append_size(self, text: Text, shown: Collection[str]) -> None:
        """Append passages and tokens to `text`; without an answer, only the passages."""
        pack, settings, strong = self.pack, self.pack_settings, self._component_style("strong")
        passages = len(pack.passages) if pack else 0
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'}")
        if pack is not None and pack.stopped is StopReason.NO_ANSWER:
            return
        tokens = pack.tokens if pack else 0
        text.append(" · ").append(f"{tokens:,}", strong).append("/")
        budget = format_count(settings.budget, "token") if "tokens" in shown else f"{settings.budget:,}"
        text.append(budget, click_style("click('type_budget')"))
        if "gauge" in shown:
            filled, added = self._count_gauge_cells(tokens)
            text.append(" ").append("▓" * filled, self._component_style("full"))
            text.append("▒" * added, self._component_style("ghost"))
            text.append("░" * (GAUGE_CELLS - filled - added), self._component_style("empty"))

    def _cost_label(self, room: int) -> str:
        """Return what marking the selected fragment would do to the pack, in tokens; "" if not known, or without room.

        The first mark makes a pack of only that fragment, in place of the best hits.
        """
        cost = self.cost
        if cost is None:
            return ""
        about = "" if cost.is_exact else "~"
        if cost.is_first_mark and not cost.reason:
            texts = [f"{words}: {about}{cost.tokens:,}" for words in ("mark only this", "mark this")]
            return next((text for text in texts if cell_len(text) <= room), "")
        if cost.reason:
            label = cost.reason
        elif not cost.tokens:
            label = "in the pack"
        else:
            label = f"{'-' if cost.tokens < 0 else '+'}{about}{abs(cost.tokens):,}"
        return next((text for text in (f"mark: {label}", label) if cell_len(text) <= room), "")

    def _count_gauge_cells(self, tokens: int) -> tuple[int, int]:
        """Return how many cells of the gauge are full, and how many more a mark of the selected fragment would fill."""

        def cells(count: int) -> int:
            budget = self.pack_settings.budget
            part = min(GAUGE_CELLS, round(count / budget * GAUGE_CELLS)) if budget else 0
            return max(part, 1 if count > 0 else 0)

        filled = cells(tokens)
        cost = self.cost
        added = cost.tokens if cost is not None and not cost.is_first_mark and not cost.reason else 0
        return filled, max(cells(tokens + added) - filled, 0)

    def _component_style(self, name: str) -> Style:
        return self.get_component_rich_style(f"pack--{name}", partial=True)


def pack_bar_disabled_reason(action: str, state: PackState) -> str:
    """Return why an action on the pack is disabled, as a sentence; "" if the action is enabled."""
    match action:
        case "copy_pack" | "save_pack" | "remember_pack":
            verb = {"copy_pack": "copy", "save_pack": "write", "remember_pack": "remember"}[action]
            return "" if state.has_pack else empty_pack_reason(verb, has_no_answer=state.has_no_answer)
        case "clear_marks":
            return "" if state.has_marks else "Nothing is marked."
        case "undo":
            reason = f"Nothing to undo: {key_sign('undo')} is for marks and passages, not scope, budget or format."
            return "" if state.can_undo else reason
        case "redo":
            return "" if state.can_redo else "Nothing to redo."
        case "show_earlier" | "drop_earlier":
            return "" if state.has_earlier_marks else _no_earlier_marks_reason(has_marks=state.has_marks)
    return ""


def _no_earlier_marks_reason(*, has_marks: bool) -> str:
    """Return why no marks of earlier queries can be shown or cleared, and what clears those of this list."""
    unmark = f"{key_sign('mark')} unmarks one, “Unmark all” of {key_sign('palette')} all."
    return f"All marks are in this list: {unmark}" if has_marks else "Nothing is marked."


def empty_pack_reason(verb: str, *, has_no_answer: bool) -> str:
    """Return why the pack cannot be copied, written or remembered (`verb`), and what to do, as one line."""
    if has_no_answer:
        return f"Nothing to {verb}: no hit answers. Pack the nearest hits by {key_sign('mark-nearest')} in the list."
    return f"Nothing to {verb}: the pack is empty."
