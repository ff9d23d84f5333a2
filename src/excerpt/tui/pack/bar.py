"""The bar of the pack: its passages and tokens, what one more mark costs, and the keys that change or copy the pack."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from excerpt.base.kinds import Fill, Format, Scope, StopReason
from excerpt.base.settings import PackSettings
from excerpt.text.display import format_count
from excerpt.tui.common.strips import click_style
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import CopyRequested, CopyTarget, PartClicked, RememberRequested
from excerpt.tui.pack.controller import PackController, next_budget
from excerpt.tui.pack.labels import needs_label, scope_label, stop_label

if TYPE_CHECKING:
    from excerpt.base.model import PackResult
    from excerpt.service.packer import MarkCost
    from excerpt.tui.pack.dialogs import BudgetDialogResult

GAUGE_CELLS = 12
"""Width of the gauge in cells."""
_PARTS = ("stop", "unit", "order", "needs", "cost", "format", "scope", "gauge")
"""Parts of the bar besides passages and tokens, the most important first. The first that does not fit ends the bar."""


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

    A click on the budget, the format or the scope changes it. Example:
    `2 passages · 518/4,000 tokens ▓▓▒░░░ · 2 marked · markdown · section     mark: +211 tokens`.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pack--strong", "pack--full", "pack--empty", "pack--over", "pack--ghost"}

    DEFAULT_CSS = """
    PackBar {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-soft;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .pack--strong { color: $foreground; text-style: bold; }
        & > .pack--full { color: $secondary; }
        & > .pack--ghost { color: $accent; }
        & > .pack--empty { color: $text-faint; }
        & > .pack--over { color: $warning; }
    }
    """

    pack: reactive[PackResult | None] = reactive(None)
    """The newest pack; None if there is nothing to pack."""
    mark_count: reactive[int] = reactive(0)
    """Number of marked fragments."""
    pack_settings: reactive[PackSettings] = reactive(PackSettings())
    """The settings of packs; scope, budget, format and fill have the values that the user has set on the screen."""
    order_name: reactive[str] = reactive("")
    """Order of the passages: `vault order`, `own order` (set by the user), or "" for the order of the scores."""
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
        self.notify("From now on, packs fill the budget." if fills else "From now on, packs end when they have enough.")

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
        width = self.scrollable_content_region.width
        is_default_format = self.pack_settings.format is Format.MARKDOWN
        shown: set[str] = set()
        for part in _PARTS if is_default_format else ("format", *_PARTS):
            left, right = self._render_parts({*shown, part})
            if left.cell_len + right.cell_len + 2 * bool(right) > width:
                break  # a shorter part in its place would make the bar change with each row
            shown.add(part)
        left, right = self._render_parts(shown)
        gap = " " * max(width - left.cell_len - right.cell_len, 0) if right else ""
        return Text.assemble(left, gap, right)

    def _render_parts(self, shown: Collection[str]) -> tuple[Text, Text]:
        """Return the left and the right text of the bar with the parts named in `shown`."""
        settings, text = self.pack_settings, Text()
        self._append_size(text, shown)
        if "stop" in shown and self.pack is not None:
            stop = stop_label(self.pack, settings, self.mark_count)
            style = self._component_style("over") if self.pack.stopped is StopReason.BUDGET else ""
            text.append(" · ").append(stop + (needs_label(self.pack) if "needs" in shown else ""), style)
        if "format" in shown:
            text.append(" · ").append(str(settings.format), click_style("click('format')"))
        if "order" in shown and self.order_name:
            text.append(f" · {self.order_name}")
        if "scope" in shown:
            text.append(" · ").append(scope_label(settings.scope), click_style("click('scope')"))
        return text, Text(self._cost_label() if "cost" in shown else "", self._component_style("ghost"))

    def _append_size(self, text: Text, shown: Collection[str]) -> None:
        """Append passages and tokens to `text`; without an answer, only the passages."""
        pack, settings, strong = self.pack, self.pack_settings, self._component_style("strong")
        passages = len(pack.passages) if pack else 0
        text.append(f"{passages:,}", strong).append(f" passage{'' if passages == 1 else 's'}")
        if pack is not None and pack.stopped is StopReason.NO_ANSWER:
            return
        tokens = pack.tokens if pack else 0
        text.append(" · ").append(f"{tokens:,}", strong).append("/")
        text.append(format_count(settings.budget, "token"), click_style("click('type_budget')"))
        text.append(" of its Markdown" if "unit" in shown and settings.format is Format.JSON else "")
        if "gauge" in shown:
            filled, added = self._count_gauge_cells(tokens)
            text.append(" ").append("▓" * filled, self._component_style("full"))
            text.append("▒" * added, self._component_style("ghost"))
            text.append("░" * (GAUGE_CELLS - filled - added), self._component_style("empty"))

    def _cost_label(self) -> str:
        """Return what marking the selected fragment would do to the pack; "" if not known.

        The first mark makes a pack of only that fragment, in place of the best hits.
        """
        cost = self.cost
        if cost is None:
            return ""
        if cost.reason:
            return f"mark: {cost.reason}"
        about = "" if cost.is_exact else "~"
        if cost.is_first_mark:
            return f"mark: only this, {about}{format_count(cost.tokens, 'token')}"
        if not cost.tokens:
            return "mark: in the pack already"
        return f"mark: {'-' if cost.tokens < 0 else '+'}{about}{format_count(abs(cost.tokens), 'token')}"

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
            return "" if state.can_undo else "Nothing to undo."
        case "redo":
            return "" if state.can_redo else "Nothing to redo."
        case "show_earlier" | "drop_earlier":
            return "" if state.has_earlier_marks else "No passage is marked outside of the list."
    return ""


def empty_pack_reason(verb: str, *, has_no_answer: bool) -> str:
    """Return why the pack cannot be copied, written or remembered (`verb`), and what to do, as one line."""
    if has_no_answer:
        return f"Nothing to {verb}: no hit answers. Pack the nearest hits by {key_sign('mark-nearest')} in the list."
    return f"Nothing to {verb}: the pack is empty."
