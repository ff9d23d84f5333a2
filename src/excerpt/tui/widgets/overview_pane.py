"""The Overview tab: what the vault holds about a topic, every line a place to go to."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from excerpt.tui.bindings import bindings
from excerpt.tui.widgets.notice import Notice, Said

_NO_TOPIC = Said(
    "What does the vault hold about …",
    "A topic gives its main notes, sections, related notes, tags, themes and key passages.",
    "Type a topic; what stands in the Search tab is taken over.",
)


class OverviewPane(Vertical):
    """State: the topic."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Overview")

    DEFAULT_CSS = """
    OverviewPane {
        #topic { background: $surface; padding: 0 2; }
    }
    """

    class Left(Message):
        """The user wants to go back to the search."""

    def compose(self) -> ComposeResult:
        yield Input(placeholder="A topic", compact=True, select_on_focus=False, id="topic")
        yield Notice(id="overview-notice")

    def on_mount(self) -> None:
        self.query_one("#overview-notice", Notice).said = _NO_TOPIC

    def action_move(self, rows: int) -> None:
        pass

    def action_back(self) -> None:
        field = self.query_one("#topic", Input)
        if field.value:
            field.value = ""
        else:
            self.post_message(self.Left())
