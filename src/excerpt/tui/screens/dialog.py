"""What all dialogs share: a box over the screen, escape to leave it, the focus given back after."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

from excerpt.tui.bindings import bindings

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """Dismissed with None by escape."""

    # They go before the field's own, so that what is typed ahead of a tab's turn is not given to the field before it.
    BINDINGS: ClassVar[list[BindingType]] = bindings("Any dialog")

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
