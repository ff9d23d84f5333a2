"""Waits for the label of a link, which the context draws over its first letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign
from excerpt.tui.screens.dialog import Leaving


class PickLink(ModalScreen[str | None], Leaving[str | None]):
    """Dismissed with the label typed, or with None by escape and by what begins no label."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Any dialog")

    DEFAULT_CSS = """
    PickLink {
        background: $background 0%;
        align: center bottom;
        & > Static { width: 100%; height: 1; padding: 0 1; background: $accent; color: $background; }
    }
    """

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self._labels = labels
        self._typed = ""

    def compose(self) -> ComposeResult:
        yield Static(Content(f"Type the letters on a link to follow it, {key_sign('dialog-leave')} to leave"))

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self._typed += event.character or "\0"
        if self._typed in self._labels:
            self.dismiss(self._typed)
        elif not any(label.startswith(self._typed) for label in self._labels):
            self.dismiss(None)

    def on_click(self) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)
