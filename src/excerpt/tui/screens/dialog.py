"""What all dialogs share: a box over the screen, escape to leave it, the focus given back after."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Dismissed with None by escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close", priority=True),
        # Priority, so that what is typed ahead of the tab's turn is not given to the field before it.
        Binding("tab", "app.focus_next", "next field", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", "field before", show=False, priority=True),
    ]

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > .box {
            width: 90%;
            max-width: 84;
            height: auto;
            max-height: 90%;
            padding: 1 2;
            background: $surface;
            border: round $border;
            border-title-color: $accent;
            border-title-style: bold;
            border-subtitle-color: $text-soft;
        }
    }
    """

    def action_leave(self) -> None:
        self.dismiss(None)
