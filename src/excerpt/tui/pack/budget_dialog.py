"""Type the token budget."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from excerpt.tui.common.dialog import Dialog
from excerpt.tui.common.field import Field
from excerpt.tui.pack.controller import typed_budget


class BudgetDialog(Dialog[int]):
    """Dismissed with the tokens that were typed."""

    DEFAULT_CSS = """
    BudgetDialog {
        & > .box { max-width: 60; }
        #told { color: $text-soft; height: auto; margin-top: 1; }
        #told.-wrong { color: $warning; }
    }
    """

    def __init__(self, budget: int) -> None:
        super().__init__()
        self._budget = budget

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content("token budget of the pack")
            yield Field(str(self._budget), select_on_focus=True)
            yield Static(Content("A number of tokens, such as 4000 or 4k."), id="told")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = typed_budget(event.value)
        if isinstance(typed, int):
            self.dismiss(typed)
        else:
            told = self.query_one("#told", Static)
            told.set_class(True, "-wrong")
            told.update(Content(typed))
