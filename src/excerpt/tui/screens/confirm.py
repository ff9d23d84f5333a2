"""Ask before something slow or final."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign
from excerpt.tui.screens.dialog import Dialog


class Confirm(Dialog[bool]):
    """Dismissed with True only by an explicit yes."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("A question")
    AUTO_FOCUS = "#no"

    DEFAULT_CSS = """
    Confirm {
        Horizontal { height: auto; margin-top: 1; }
        Button { margin-right: 2; }
    }
    """

    def __init__(self, title: str, question: str, yes: str) -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._question))
            with Horizontal():
                yield Button(
                    Content(f"{self._yes} ({key_sign('confirm-yes')})"), id="yes", variant="warning", compact=True
                )
                yield Button(Content(f"No ({key_sign('confirm-no')})"), id="no", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
