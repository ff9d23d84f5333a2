"""Keep a finding: its text, tags, and why it matters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label, Static, TextArea

from excerpt.text.visible import visible, visible_line
from excerpt.tui.screens.dialog import Dialog


@dataclass(frozen=True, slots=True)
class Kept:
    """What the user decided to keep."""

    text: str
    tags: tuple[str, ...]
    why: str


class Remember(Dialog[Kept]):
    """Dismissed with what to keep, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s,ctrl+r", "keep", "keep", priority=True)]

    DEFAULT_CSS = """
    Remember {
        Label { color: $text-soft; }
        #source { color: $text-soft; margin-bottom: 1; }
        Input { margin-bottom: 1; background: $background; }
        TextArea { height: 8; max-height: 40vh; background: $background; border: none; padding: 0 1; }
        #trouble { color: $error; height: auto; }
    }
    """

    def __init__(self, text: str, source: str) -> None:
        """`source` says where the text came from, "" for a thought of the user's own."""
        super().__init__()
        self._text = text
        self._source = source

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Remember"
            box.border_subtitle = "⏎ or ^s keep · ⇥ next field · esc leave"
            if self._source:
                yield Static(Content(visible_line(self._source)), id="source")
            yield Label("Tags")
            yield Input(placeholder="sync, decision", compact=True, id="tags")
            yield Label("Why it matters")
            yield Input(compact=True, id="why")
            yield Label("Text")
            yield TextArea(visible(self._text), id="text", show_line_numbers=False, tab_behavior="focus")
            yield Static("", id="trouble", markup=False)

    def on_mount(self) -> None:
        self.query_one("#tags" if self._text else "#text").focus()

    def on_input_submitted(self) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        area = self.query_one("#text", TextArea)
        text = area.text
        if not text.strip():
            self.query_one("#trouble", Static).update("There is no text to keep.")
            area.focus()
            return
        # What was not edited is kept as it stands in the note, not as it is shown.
        kept = self._text if text == visible(self._text) else text
        why = self.query_one("#why", Input).value.strip()
        self.dismiss(Kept(kept, split_tags(self.query_one("#tags", Input).value), why))


def split_tags(written: str) -> tuple[str, ...]:
    """Tags as a user writes them: with commas or spaces between, with or without #."""
    return tuple(dict.fromkeys(tag for tag in re.split(r"[,\s]+", written.replace("#", " ")) if tag))
