"""The dialogs of the pack, for its scope and its token budget. Each shows the pack that a choice would give."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from excerpt.base.kinds import Scope, StopReason, next_in_cycle
from excerpt.text.display import format_count
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.dialog import Dialog, DialogBox
from excerpt.tui.common.field import Field
from excerpt.tui.keymap import key_sign
from excerpt.tui.pack.controller import PackController, parse_budget
from excerpt.tui.pack.labels import pack_summary, scope_label

if TYPE_CHECKING:
    from excerpt.base.model import Pack, PackResult

_PREVIEW_DELAY_SECONDS = 0.15
"""Seconds without a change of the budget typed after which its pack is requested."""
_SCOPES = tuple(Scope)
_LABEL_CELLS = max(len(scope_label(scope)) for scope in _SCOPES)


class ScopeDialog(Dialog[Scope]):
    """A dialog that lists the scopes from narrow to wide, each with the size of the pack that it would give.

    With `pack`, one of the passages, the scope is that of this passage alone.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("The scope")

    DEFAULT_CSS = """
    ScopeDialog {
        & > .box { max-width: 64; }
        OptionList { height: auto; background: $surface; }
    }
    """

    def __init__(self, controller: PackController, pack: Pack | None = None) -> None:
        super().__init__()
        self._controller = controller
        self._pack = pack
        self._scope = controller.scope_of(pack) if pack is not None else controller.pack_settings.scope

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            of = "this passage: size of the whole pack" if self._pack is not None else "all passages"
            box.border_title = Content(f"Scope of {of}")
            box.set_hints(
                f"{key_sign('scopes-use')} use",
                f"{key_sign('scopes-next')} next",
                f"{key_sign('dialog-leave')} close",
            )
            yield OptionList(*(scope_label(scope) for scope in _SCOPES), markup=False, compact=True)

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = _SCOPES.index(self._scope)
        self._controller.preview_scopes(self._pack, self.show_results)

    def show_results(self, results: Mapping[Scope, PackResult]) -> None:
        """Show the pack of each scope; do nothing if the dialog is closed."""
        if not self.is_attached:
            return
        options = self.query_one(OptionList)
        tokens = {scope: format_count(result.tokens, "token") for scope, result in results.items()}
        cells = max(map(len, tokens.values()))
        for index, scope in enumerate(_SCOPES):
            result = results[scope]
            passages = format_count(len(result.passages), "passage")
            full = " · full" if result.stopped is StopReason.BUDGET else ""
            label = f"{scope_label(scope):<{_LABEL_CELLS}}  {tokens[scope]:>{cells}} · {passages}{full}"
            options.replace_option_prompt_at_index(index, label)

    def action_move(self, steps: int) -> None:
        options = self.query_one(OptionList)
        options.highlighted = max(0, min((options.highlighted or 0) + steps, len(_SCOPES) - 1))

    def action_next_scope(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = next_in_cycle(range(len(_SCOPES)), options.highlighted or 0)

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        self.dismiss(_SCOPES[self.query_one(OptionList).highlighted or 0])


class BudgetDialogResult(Struct, frozen=True):
    """The result of the budget dialog: the number of tokens, and whether to copy the pack with that budget."""

    budget_tokens: int
    copies_pack: bool


class BudgetDialog(Dialog[BudgetDialogResult]):
    """A dialog in which the user types the token budget of the pack, and sees the pack that it would give."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The budget")

    DEFAULT_CSS = """
    BudgetDialog {
        & > .box { max-width: 64; }
        #message { color: $text-soft; height: auto; margin-top: 1; }
        #message.-wrong { color: $warning; }
    }
    """

    def __init__(self, controller: PackController) -> None:
        super().__init__()
        self._controller = controller
        self._debouncer = Debouncer(self.set_timer)

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = Content("Token budget, such as 4000 or 4k")
            box.set_hints(
                f"{key_sign('budget-take')} take",
                f"{key_sign('budget-copy')} set and copy the pack",
                f"{key_sign('dialog-leave')} close",
            )
            yield Field(str(self._controller.pack_settings.budget), select_on_focus=True)
            yield Static(id="message")

    def on_mount(self) -> None:
        if self._controller.newest_pack is not None:
            self.show_result(self._controller.newest_pack.result)

    @property
    def _typed_budget(self) -> int | str:
        return parse_budget(self.query_one(Field).value)

    @on(Input.Changed)
    def _preview_budget(self) -> None:
        """Request the pack of the budget typed after a pause, or show at once why the budget is invalid."""
        budget = self._typed_budget
        if isinstance(budget, int):
            preview = partial(self._controller.preview_budget, budget, self.show_result)
            self._debouncer.schedule(_PREVIEW_DELAY_SECONDS, preview)
        else:
            self._debouncer.stop()
            self._show_message(budget, is_wrong=True)

    def show_result(self, result: PackResult) -> None:
        """Show the size of a pack, unless another budget has been typed or the dialog is closed."""
        if self.is_attached and result.budget == self._typed_budget:
            controller = self._controller
            self._show_message(pack_summary(result, len(controller.choices.marks)))

    def _show_message(self, text: str, *, is_wrong: bool = False) -> None:
        message = self.query_one("#message", Static)
        message.set_class(is_wrong, "-wrong")
        message.update(Content(text))

    def action_take(self, copies_pack: bool) -> None:
        """Close the dialog with the budget typed, or show why that budget is invalid."""
        budget = self._typed_budget
        if isinstance(budget, int):
            self.dismiss(BudgetDialogResult(budget, copies_pack))
        else:
            self._show_message(budget, is_wrong=True)
