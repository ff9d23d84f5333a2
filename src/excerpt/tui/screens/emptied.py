"""Ask what it means that a vault has no notes any more."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from excerpt.text.counted import counted
from excerpt.text.visible import visible_line
from excerpt.tui.keymap import key_sign
from excerpt.tui.screens.dialog import Dialog


class Emptied(Dialog[bool]):
    """Dismissed with True only by the button for it: no letter does that, as somebody may be typing a query."""

    AUTO_FOCUS = "#keep"

    DEFAULT_CSS = """
    Emptied {
        Horizontal { height: auto; margin-top: 1; }
        Button { margin-right: 2; }
        &.-short > .box { padding: 0 2; max-height: 100%; }
    }
    """

    def __init__(self, vault: Path, notes: int) -> None:
        super().__init__()
        self._vault = vault
        self._notes = notes

    def compose(self) -> ComposeResult:
        held = counted(self._notes, "note")
        with Vertical(classes="box") as box:
            box.border_title = Content("Where have the notes gone?")
            yield Static(
                Content(
                    f"The index holds {held} of {visible_line(str(self._vault))}, but the folder has none now.\n\n"
                    "Perhaps its disk is not mounted, or it is being moved or synchronised: then keep the index. You "
                    "can search it, and it follows by itself when notes are back.\n\n"
                    "If you have emptied the folder on purpose, index it as empty. Your memories stay in any case."
                )
            )
            with Horizontal():
                yield Button(
                    Content(f"Keep the index ({key_sign('dialog-leave')})"), id="keep", variant="primary", compact=True
                )
                yield Button("Index it as empty", id="empty", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "empty")
